import { useEffect, useState } from 'react'
import { dateTimeText, preciseText, relativeText, shortDateTimeText } from '../../base/dates.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { Button, IconButton } from '../button.tsx'
import { CheckIcon, CopyIcon } from '../icons.tsx'

/** Shows cents as money. `sign` adds + or −, for movements. */
export function Money({ cents, sign = false, className = '' }: { cents: number; sign?: boolean; className?: string }) {
  return <span className={`figures whitespace-nowrap ${className}`}>{moneyText(cents, useLanguage(), { sign })}</span>
}

const TICK_MS = 30_000

/** Shows a time. Its title has the seconds and the zone. `isShort` leaves out the current year, for cards. */
export function DateTime({ at, relative, isShort }: { at: string; relative?: boolean; isShort?: boolean }) {
  const language = useLanguage()
  return (
    <time dateTime={at} title={preciseText(at, language)} className="figures whitespace-nowrap">
      {relative ? <Relative at={at} /> : isShort ? shortDateTimeText(at, language) : dateTimeText(at, language)}
    </time>
  )
}

function Relative({ at }: { at: string }) {
  const language = useLanguage()
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return relativeText(at, language, nowMs)
}

const useTexts = translations({
  copy: ['Copiar', 'Copy'],
  copied: ['Copiado', 'Copied'],
})

const COPIED_MS = 2_000

/** With `isIcon` it is small and stands beside what it copies; `label` then names it. */
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
    // The field is inside an open dialog, because a dialog traps the focus.
    const place = document.querySelector('[role=dialog]') ?? document.body
    place.append(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    return isDone
  }
}

/** Code to read and copy. It scrolls sideways, also with the keyboard. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="relative min-w-0">
      <pre
        // A region that scrolls must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label={label}
        className="max-h-[32rem] overflow-auto rounded-lg border border-line bg-code-ground py-3 pr-12 pl-4 font-mono text-[0.8125rem] leading-relaxed"
      >
        <code>{code}</code>
      </pre>
      <div className="absolute top-1.5 right-1.5 rounded-lg bg-code-ground">
        <CopyButton text={code} isIcon />
      </div>
    </div>
  )
}
