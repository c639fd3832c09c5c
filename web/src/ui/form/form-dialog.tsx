import { useMutation, type QueryKey } from '@tanstack/react-query'
import { useId, useState, type ReactNode } from 'react'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { Button } from '../button.tsx'
import { toast } from '../toast.tsx'
import { Dialog } from './dialog.tsx'
import { Input } from './field.tsx'
import { FormError, whenSubmitted } from './form.tsx'

const useTexts = translations({
  back: ['Voltar', 'Back'],
  reason: ['Motivo', 'Reason'],
  reasonHint: [
    'Fica registrado na auditoria, com o seu nome e a hora.',
    'Recorded in the audit log with your name and the time.',
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
  /** The required fields are filled in. */
  canSend?: boolean
  /** Checks the other fields when the form is sent; false sends nothing. */
  onCheck?: () => boolean
  /** Better words for refusals that this form knows. */
  errorText?: (error: Error) => string | undefined
  /** A refusal is hidden once a field changes. */
  hidesOldError?: boolean
  /** Shown while the server works. */
  progress?: ReactNode
  /** The left button, where it is not "Cancel". */
  onBack?: () => void
}

/** A form in a dialog: sent once at a time, not closed meanwhile, and with the refusal beside its button. */
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
  /** Said once it is done. */
  done?: string
  /** What it changes. */
  refreshes?: readonly QueryKey[]
}

/** Before anything that cannot be undone. It stays open until the server has answered, and closes on success. */
export function ConfirmDialog({ onSend, done, refreshes = [], ...props }: ConfirmProps) {
  const send = async () => {
    await onSend()
    if (done !== undefined) toast.good(done)
    await refresh(...refreshes)
    props.onClose()
  }
  return <FormDialog {...props} onSend={send} />
}

/** The server's bound. */
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
