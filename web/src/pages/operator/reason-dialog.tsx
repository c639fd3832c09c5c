import { useMutation } from '@tanstack/react-query'
import { useId, useState, type ReactNode } from 'react'
import { isCanceled } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { words } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Input } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'

const useWords = words({
  'pt-BR': {
    reason: 'Motivo',
    hint: 'Fica registrado na auditoria, com o seu nome e a hora.',
    back: 'Voltar',
  },
  en: { reason: 'Reason', hint: 'Kept in the audit log, with your name and the time.', back: 'Back' },
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
  const formId = useId()
  const errorText = useErrorText()
  const [reason, setReason] = useState('')
  const act = useMutation({ mutationFn: onConfirm, onSuccess: onClose })
  const canSend = isReady && reason.trim() !== ''
  return (
    <Dialog
      isOpen
      onClose={() => !act.isPending && onClose()}
      title={title}
      isWide={isWide}
      {...(text !== undefined && { text })}
      footer={
        <>
          <Button onClick={onClose} disabled={act.isPending}>
            {t.back}
          </Button>
          <Button
            type="submit"
            form={formId}
            kind={isDanger ? 'danger' : 'primary'}
            isBusy={act.isPending}
            disabled={!canSend}
          >
            {action}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (canSend && !act.isPending) act.mutate(reason.trim())
        }}
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
        {act.error && !isCanceled(act.error) && <Notice tone="bad">{errorText(act.error)}</Notice>}
      </form>
    </Dialog>
  )
}
