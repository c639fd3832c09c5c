import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useMe } from '../base/session.ts'
import { findShortcut, hasSingleKeys, isMac, keyName, shortcutsOf, type Shortcut } from '../ui/shortcuts.ts'
import { openDialog } from './opened.ts'

/** The second key of two comes within this time. */
const NEXT_KEY_MS = 1_500
const FIELDS = 'input, textarea, select, [contenteditable=true]'
/** Keys belong to what is open. */
const OPEN = '[role=dialog], [role=alertdialog], [role=menu], dialog[open]'

/** Follows the keys of the table while the frame is shown. */
export function useShortcuts(): void {
  const me = useMe()
  const navigate = useNavigate()
  useEffect(() => {
    const shortcuts = shortcutsOf(me)
    let begun = { keys: '', atMs: 0 }

    function follow(event: KeyboardEvent) {
      const name = keyName(event, isMac())
      if (name === undefined || event.defaultPrevented || event.isComposing || document.querySelector(OPEN)) return
      const isSingle = !name.startsWith('Mod+')
      if (isSingle && (!hasSingleKeys() || (event.target instanceof Element && event.target.closest(FIELDS)))) return
      const isSecond = begun.keys !== '' && event.timeStamp - begun.atMs < NEXT_KEY_MS
      const found = (isSecond && findShortcut(shortcuts, `${begun.keys} ${name}`)) || findShortcut(shortcuts, name)
      begun = found === 'begun' ? { keys: name, atMs: event.timeStamp } : { keys: '', atMs: 0 }
      if (found !== undefined && found !== 'begun' && run(found)) event.preventDefault()
    }

    /** False if the page has nothing for it. */
    function run(shortcut: Shortcut): boolean {
      if ('dialog' in shortcut) openDialog(shortcut.dialog)
      else if ('to' in shortcut) {
        const { to, open } = shortcut
        void navigate({ to, search: open === undefined ? {} : { open } })
      } else {
        const marked = document.querySelector<HTMLElement>(`[data-shortcut=${shortcut.press}]`)
        marked?.click()
        return marked !== null
      }
      return true
    }

    addEventListener('keydown', follow)
    return () => removeEventListener('keydown', follow)
  }, [me, navigate])
}
