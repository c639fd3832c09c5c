import { useEffect, useState } from 'react'
import { translations } from '../../base/language.ts'
import { Button, IconButton } from '../button.tsx'
import { CheckIcon, CopyIcon } from '../icons.tsx'

const useTexts = translations({
  copy: ['Copiar', 'Copy'],
  copied: ['Copiado', 'Copied'],
})

const COPIED_MS = 2_000

/** `isIcon`: small, beside what it copies; `label` then names it. */
export function CopyButton({ text, label, isIcon = false }: { text: string; label?: string; isIcon?: boolean }) {
  const t = useTexts()
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
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

/** An identifier in monospace, cut if too long, with a button that copies it. */
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

/** The clipboard API needs a secure page; elsewhere execCommand still works. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.setAttribute('aria-hidden', 'true')
    area.className = 'fixed top-0 opacity-0'
    // Inside an open dialog, because it traps the focus.
    const place = document.querySelector('[role=dialog]') ?? document.body
    place.append(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    return isDone
  }
}
