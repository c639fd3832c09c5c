import { useMutation } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { words } from '../../base/language.ts'
import { Input } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'

const useWords = words({
  'pt-BR': {
    reason: 'Motivo',
    hint: 'Fica registrado na auditoria, com o seu nome e a hora.',
  },
  en: { reason: 'Reason', hint: 'Kept in the audit log, with your name and the time.' },
})

/** As the server bounds it. */
const MAX_REASON = 500

/**
 * Confirms what is done to somebody's money or account, and asks why. It stays open until the server has answered, and says there what was refused. Mount it when
 * it is wanted, so that it begins empty.
 */
export function ReasonDialog({
  onClose,
  title,
  text,
  action,
  onConfirm,
  isDanger = false,
  isReady = true,
  isWide = false,
  children,
}: {
  onClose: () => void
  title: string
  text?: ReactNode
  /** What the button says: the act itself. */
  action: string
  onConfirm: (reason: string) => Promise<unknown>
  isDanger?: boolean
  /** The other fields are filled in. */
  isReady?: boolean
  isWide?: boolean
  children?: ReactNode
}) {
  const t = useWords()
  const [reason, setReason] = useState('')
  const act = useMutation({ mutationFn: onConfirm, onSuccess: onClose })
  return (
    <FormDialog
      title={title}
      {...(text !== undefined && { text })}
      action={action}
      sending={act}
      onSend={() => act.mutate(reason.trim())}
      onClose={onClose}
      canSend={isReady && reason.trim() !== ''}
      isDanger={isDanger}
      isWide={isWide}
    >
      {children}
      <Input
        label={t.reason}
        hint={t.hint}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        maxLength={MAX_REASON}
        required
        autoComplete="off"
      />
    </FormDialog>
  )
}
