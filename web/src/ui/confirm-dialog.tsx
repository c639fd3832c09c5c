import { useMutation } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { isCanceled } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Input } from './field.tsx'
import { Notice } from './notice.tsx'

const useWords = words({
  'pt-BR': { cancel: 'Voltar', type: (word: string) => `Para confirmar, digite ${word}` },
  en: { cancel: 'Back', type: (word: string) => `To confirm, type ${word}` },
})

/**
 * Before anything that cannot be taken back. It stays open until the server has answered, shows a refusal where the button is, and closes on
 * success: nothing is shown as done before it is.
 */
export function ConfirmDialog({
  isOpen,
  onClose,
  title,
  text,
  action,
  onConfirm,
  isDanger = false,
  typed,
  children,
}: {
  isOpen: boolean
  onClose: () => void
  title: ReactNode
  text?: ReactNode
  /** What the button says: the act itself, never "OK". */
  action: string
  onConfirm: () => Promise<unknown>
  isDanger?: boolean
  /** A word to be typed first, for what hurts most. */
  typed?: string
  children?: ReactNode
}) {
  const t = useWords()
  const errorText = useErrorText()
  const [written, setWritten] = useState('')
  const act = useMutation({ mutationFn: onConfirm, onSuccess: close })
  function close() {
    act.reset()
    setWritten('')
    onClose()
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={() => !act.isPending && close()}
      title={title}
      {...(text !== undefined && { text })}
      footer={
        <>
          <Button onClick={close} disabled={act.isPending}>
            {t.cancel}
          </Button>
          <Button
            kind={isDanger ? 'danger' : 'primary'}
            isBusy={act.isPending}
            disabled={typed !== undefined && written.trim() !== typed}
            onClick={() => act.mutate()}
          >
            {action}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        {children}
        {typed !== undefined && (
          <Input
            label={t.type(typed)}
            value={written}
            onChange={(event) => setWritten(event.target.value)}
            autoComplete="off"
          />
        )}
        {act.error && !isCanceled(act.error) && <Notice tone="bad">{errorText(act.error)}</Notice>}
      </div>
    </Dialog>
  )
}
