import { useMutation, type QueryKey } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useId, useState, type ReactNode } from 'react'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { Button, ButtonLink } from '../button.tsx'
import { CopyButton } from '../data/values.tsx'
import { Notice } from '../notice.tsx'
import { toast } from '../toast.tsx'
import { Dialog } from './dialog.tsx'
import { FormError, Input, whenSubmitted } from './form.tsx'

const useTexts = translations({
  back: ['Voltar', 'Back'],
  reason: ['Motivo', 'Reason'],
  reasonHint: [
    'Fica registrado na auditoria, com o seu nome e a hora.',
    'Recorded in the audit log with your name and the time.',
  ],
  copied: ['Já copiei', 'I copied it'],
  wait: [
    'Copie antes de fechar: depois não há como recuperar. Se já copiou, feche pelo botão.',
    'Copy it first: it cannot be recovered later. If you already did, close this with the button.',
  ],
})

type DialogProps = {
  title: ReactNode
  text?: ReactNode
  /** The button's text: the action itself, never "OK". */
  action: string
  isDanger?: boolean
  isWide?: boolean
  onClose: () => void
  children?: ReactNode
}

type FormProps = DialogProps & {
  /** Rejects with the refusal. What it returns is not kept, because it may be a secret. */
  onSend: () => Promise<unknown>
  /** True if the required fields are filled in. */
  canSend?: boolean
  /** Checks the other fields when the form is sent; false sends nothing. */
  onCheck?: () => boolean
  /** Returns better words for refusals that this form knows. */
  errorText?: (error: Error) => string | undefined
  /** A refusal is hidden once a field changes. */
  hidesOldError?: boolean
  progress?: ReactNode
  /** The left button, where it is not "Cancel". */
  onBack?: () => void
}

/** A form in a dialog. It is sent once at a time, cannot be closed meanwhile, and shows a refusal beside its button. */
export function FormDialog(props: FormProps) {
  const t = useTexts()
  const formId = useId()
  const { canSend = true, onCheck = () => true, onClose, onSend } = props
  const sending = useMutation({
    mutationFn: async () => {
      await onSend()
    },
  })
  return (
    <Dialog
      onClose={() => !sending.isPending && onClose()}
      title={props.title}
      text={props.text}
      isWide={props.isWide ?? false}
      footer={
        <>
          <Button onClick={props.onBack ?? onClose} disabled={sending.isPending}>
            {t.back}
          </Button>
          <Button
            type="submit"
            form={formId}
            kind={props.isDanger ? 'danger' : 'primary'}
            isBusy={sending.isPending}
            disabled={!canSend}
          >
            {props.action}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="space-y-5"
        onSubmit={whenSubmitted(sending, () => canSend && onCheck() && sending.mutate())}
        onChange={() => props.hidesOldError && sending.reset()}
      >
        {props.children}
        {props.progress && <div aria-live="polite">{sending.isPending && props.progress}</div>}
        <FormError error={sending.error} text={props.errorText} />
      </form>
    </Dialog>
  )
}

type ConfirmProps = FormProps & {
  /** The text of the toast on success. */
  done?: string
  /** These queries load again on success. */
  refreshes?: readonly QueryKey[]
}

/** Asks before anything that cannot be undone. It stays open until the server has answered, and closes on success. */
export function ConfirmDialog({ onSend, done, refreshes = [], ...props }: ConfirmProps) {
  const send = async () => {
    await onSend()
    if (done !== undefined) toast.good(done)
    await refresh(...refreshes)
    props.onClose()
  }
  return <FormDialog {...props} onSend={send} />
}

/** The server allows no more. */
const MAX_REASON = 500

type ReasonProps = Omit<ConfirmProps, 'onSend'> & { onSend: (reason: string) => Promise<unknown> }

/** Confirms what an operator does to an account or to money, and asks for the reason. */
export function ReasonDialog({ onSend, canSend = true, children, ...props }: ReasonProps) {
  const t = useTexts()
  const [typed, setTyped] = useState('')
  const reason = typed.trim()
  return (
    <ConfirmDialog {...props} onSend={() => onSend(reason)} canSend={canSend && reason !== ''}>
      {children}
      <Input label={t.reason} hint={t.reasonHint} value={typed} onChange={setTyped} maxLength={MAX_REASON} required />
    </ConfirmDialog>
  )
}

/** Nothing closes it by accident: not Escape, a click outside, the back button or a reload. */
export function ShownOnce(props: {
  title: string
  warning: string
  action?: string
  /** A page to which the user can go instead of closing. */
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
