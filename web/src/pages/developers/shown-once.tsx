import { useBlocker } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { words } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Notice } from '../../ui/notice.tsx'

const useWords = words({
  'pt-BR': {
    copied: 'Já copiei',
    wait: 'Copie antes de fechar: depois não há como recuperar. Se já copiou, confirme no botão abaixo.',
  },
  en: {
    copied: 'I have copied it',
    wait: 'Copy it before you close: there is no way to get it back. If you have, confirm with the button below.',
  },
})

/** A key or a secret, on its only appearance. Nothing closes it by accident: not Escape, a click beside it, the back button or a reload. */
export function ShownOnce({
  title,
  label,
  text,
  warning,
  copyLabel,
  onClose,
  before,
  after,
}: {
  title: string
  label: string
  text: string
  warning: string
  copyLabel: string
  onClose: () => void
  before?: ReactNode
  after?: ReactNode
}) {
  const t = useWords()
  const [isWarned, setWarned] = useState(false)
  const warn = () => setWarned(true)
  useBlocker({
    shouldBlockFn: () => {
      warn()
      return true
    },
    enableBeforeUnload: true,
  })
  return (
    <Dialog
      isOpen
      isWide
      onClose={warn}
      title={title}
      text={warning}
      footer={
        <>
          {isWarned && (
            <div className="grow max-sm:order-last">
              <Notice tone="bad">{t.wait}</Notice>
            </div>
          )}
          <Button kind="primary" onClick={onClose} className="sm:self-end">
            {t.copied}
          </Button>
        </>
      }
    >
      <div className="space-y-5">
        {before}
        <section aria-label={label} className="rounded-xl border border-edge bg-code-ground p-4">
          <p className="text-sm font-semibold">{label}</p>
          <p className="mt-1.5 font-mono text-[0.9375rem] leading-relaxed break-all">{text}</p>
          <div className="mt-3">
            <CopyButton text={text} label={copyLabel} />
          </div>
        </section>
        {after}
      </div>
    </Dialog>
  )
}
