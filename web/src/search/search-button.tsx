import { translations } from '../base/language.ts'
import { isMac } from '../ui/shortcuts.ts'
import { IconButton } from '../ui/button.tsx'
import { SearchIcon } from '../ui/icons.tsx'
import { lazyComponent } from '../ui/lazy-component.tsx'
import { useShortcuts } from './keyboard.ts'
import { closeDialog, openDialog, useOpened } from './opened.ts'
import type { Place } from './match-places.ts'

const useTexts = translations({
  search: ['Buscar', 'Search'],
})

const SearchDialog = lazyComponent(() => import('./search-dialog.tsx'), 'SearchDialog')
const ShortcutSheet = lazyComponent(() => import('./shortcut-sheet.tsx'), 'ShortcutSheet')

/** Mounted once. Opens the dialogs of the frame, by its buttons or by keys. */
export function FrameDialogs({ pages }: { pages: readonly Place[] }) {
  const opened = useOpened()
  useShortcuts()
  if (opened === 'search') return <SearchDialog pages={pages} onClose={closeDialog} />
  return opened === 'shortcuts' ? <ShortcutSheet onClose={closeDialog} /> : null
}

export function SearchButton() {
  const t = useTexts()
  return (
    <button
      type="button"
      aria-haspopup="dialog"
      aria-keyshortcuts={isMac() ? 'Meta+K' : 'Control+K'}
      onClick={() => openDialog('search')}
      onPointerEnter={() => void SearchDialog.preload()}
      className="flex min-h-10 grow items-center gap-3 rounded-lg border border-edge px-3 text-soft hover:bg-hover hover:text-ink"
    >
      <SearchIcon className="size-4" />
      {t.search}
      <kbd className="ml-auto font-sans text-xs">{isMac() ? '⌘K' : 'Ctrl K'}</kbd>
    </button>
  )
}

/** For phones. */
export function SearchIconButton() {
  return (
    <IconButton
      label={useTexts().search}
      aria-haspopup="dialog"
      onClick={() => openDialog('search')}
      className="size-10!"
    >
      <SearchIcon />
    </IconButton>
  )
}
