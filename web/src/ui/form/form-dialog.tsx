import { useMutation } from '@tanstack/react-query'
import { useId, useState, type ReactNode } from 'react'
import { translations } from '../../base/language.ts'
import { Button } from '../button.tsx'
import { Dialog } from './dialog.tsx'
import { Input } from './field.tsx'
import { FormError, whenSubmitted, type Sending } from './form.tsx'

const useTexts = translations({
  'pt-BR': {
    back: 'Voltar',
    reason: 'Motivo',
    reasonHint: 'Fica registrado na auditoria, com o seu nome e a hora.',
  },
  en: { back: 'Back', reason: 'Reason', reasonHint: 'Recorded in the audit log with your name and the time.' },
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

/** A form in a dialog: sent once at a time, not closed meanwhile, and with the refusal beside its button. */
export function FormDialog(
  props: DialogProps & {
    sending: Sending
    onSend: () => void
    /** The required fields are filled in. */
    canSend?: boolean
    /** Better words for refusals that this form knows. */
    errorText?: (error: Error) => string | undefined
    /** The left button, where it is not "Cancel". */
    onBack?: () => void
  },
) {
  const t = useTexts()
  const formId = useId()
  const { sending, canSend = true, onClose } = props
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
      <form id={formId} className="space-y-5" onSubmit={whenSubmitted(sending, () => canSend && props.onSend())}>
        {props.children}
        <FormError error={sending.error} text={props.errorText} />
      </form>
    </Dialog>
  )
}

/** Before anything that cannot be undone. It stays open until the server has answered, and closes on success. */
export function ConfirmDialog({ onConfirm, ...props }: DialogProps & { onConfirm: () => Promise<unknown> }) {
  const sending = useMutation({ mutationFn: onConfirm, onSuccess: props.onClose })
  return <FormDialog {...props} sending={sending} onSend={() => sending.mutate()} />
}

/** The server's bound. */
const MAX_REASON = 500

/** Confirms what an operator does to an account or to money, and asks for the reason. */
export function ReasonDialog({
  onConfirm,
  isReady = true,
  children,
  ...props
}: DialogProps & {
  onConfirm: (reason: string) => Promise<unknown>
  /** The other fields are filled in. */
  isReady?: boolean
}) {
  const t = useTexts()
  const [reason, setReason] = useState('')
  const sending = useMutation({ mutationFn: onConfirm, onSuccess: props.onClose })
  return (
    <FormDialog
      {...props}
      sending={sending}
      onSend={() => sending.mutate(reason.trim())}
      canSend={isReady && reason.trim() !== ''}
    >
      {children}
      <Input
        label={t.reason}
        hint={t.reasonHint}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        maxLength={MAX_REASON}
        required
        autoComplete="off"
      />
    </FormDialog>
  )
}
