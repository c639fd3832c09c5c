import { useBlocker } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { translations } from '../../base/language.ts'
import { Button, ButtonLink } from '../button.tsx'
import { CopyButton } from '../data/copy-button.tsx'
import { Notice } from '../notice.tsx'
import { Dialog } from './dialog.tsx'

const useTexts = translations({
  copied: ['Já copiei', 'I copied it'],
  wait: [
    'Copie antes de fechar: depois não há como recuperar. Se já copiou, feche pelo botão.',
    'Copy it first: it cannot be recovered later. If you already did, close this with the button.',
  ],
})

/** Nothing closes it by accident: not Escape, a click outside, the back button or a reload. */
export function ShownOnce(props: {
  title: string
  warning: string
  /** The button that closes it. */
  action?: string
  /** A page to go on to instead. */
  next?: { text: string; to: string }
  onClose: () => void
  children: ReactNode
}) {
  const t = useTexts()
  const [isWarned, setWarned] = useState(false)
  const warn = () => setWarned(true)
  useBlocker({
    shouldBlockFn: ({ next }) => {
      if (next.pathname === props.next?.to) return false
      warn()
      return true
    },
    enableBeforeUnload: true,
  })
  return (
    <Dialog
      isWide
      onClose={warn}
      title={props.title}
      text={props.warning}
      footer={
        <>
          {isWarned && (
            <div className="grow max-sm:order-last">
              <Notice tone="bad">{t.wait}</Notice>
            </div>
          )}
          {props.next && <ButtonLink to={props.next.to}>{props.next.text}</ButtonLink>}
          <Button kind="primary" onClick={props.onClose} className="sm:self-end">
            {props.action ?? t.copied}
          </Button>
        </>
      }
    >
      <div className="space-y-5">{props.children}</div>
    </Dialog>
  )
}

export function Secret({ label, text, copyLabel }: { label: string; text: string; copyLabel: string }) {
  return (
    <section aria-label={label} className="rounded-xl border border-edge bg-code-ground p-4">
      <p className="text-sm font-semibold">{label}</p>
      <p className="mt-1.5 font-mono text-[0.9375rem] leading-relaxed break-all">{text}</p>
      <div className="mt-3">
        <CopyButton text={text} label={copyLabel} />
      </div>
    </section>
  )
}
