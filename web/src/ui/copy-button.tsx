import { useEffect, useState } from 'react'
import { words } from '../base/language.ts'
import { Button, IconButton } from './button.tsx'
import { CheckIcon, CopyIcon } from './icons.tsx'

const useWords = words({ 'pt-BR': { copy: 'Copiar', copied: 'Copiado' }, en: { copy: 'Copy', copied: 'Copied' } })

const SAID_MS = 2_000

/** Copies a text. With `isIcon` it is as small as a character, to stand behind what it copies; `label` then says what that is. */
export function CopyButton({ text, label, isIcon = false }: { text: string; label?: string; isIcon?: boolean }) {
  const t = useWords()
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), SAID_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = () => void copyText(text).then(setCopied)
  const Icon = isCopied ? CheckIcon : CopyIcon
  const said = isCopied ? t.copied : (label ?? t.copy)
  if (isIcon)
    return (
      <IconButton label={said} onClick={copy} className={`size-8! ${isCopied ? 'text-good!' : ''}`}>
        <Icon className="size-4" />
      </IconButton>
    )
  return (
    <Button size="small" onClick={copy}>
      <Icon className="size-4" />
      <span aria-live="polite">{said}</span>
    </Button>
  )
}

/** Something with an identity, in monospace, with a button that copies it. Long ones are cut at their end. */
export function Copyable({ text, shown = text, label }: { text: string; shown?: string; label?: string }) {
  return (
    <span className="inline-flex max-w-full items-center gap-0.5 align-middle">
      <code className="truncate font-mono text-[0.8125rem]" title={text}>
        {shown}
      </code>
      <CopyButton text={text} isIcon {...(label && { label })} />
    </span>
  )
}

/** The clipboard is open to secure pages only; elsewhere the old way still works. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.setAttribute('aria-hidden', 'true')
    area.className = 'fixed top-0 opacity-0'
    // Within an open dialog, for it keeps the focus to itself.
    const place = document.querySelector('[role=dialog]') ?? document.body
    place.append(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    return isDone
  }
}
