import { useId, type ReactNode } from 'react'
import { isCanceled } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Notice } from './notice.tsx'

const useWords = words({ 'pt-BR': { back: 'Voltar' }, en: { back: 'Back' } })

/** A form in a dialog: sent once at a time, not closed meanwhile, and with the refusal beside its button. */
export function FormDialog({
  title,
  text,
  action,
  sending,
  onSend,
  onClose,
  canSend = true,
  isDanger = false,
  isWide = false,
  refusalText,
  children,
}: {
  title: ReactNode
  text?: ReactNode
  /** What the button says: the act itself. */
  action: string
  /** A mutation. */
  sending: { isPending: boolean; error: Error | null }
  onSend: () => void
  onClose: () => void
  /** What must be filled in is. */
  canSend?: boolean
  isDanger?: boolean
  isWide?: boolean
  /** In words of its own, for refusals that it knows better. */
  refusalText?: (error: Error) => string | undefined
  children: ReactNode
}) {
  const t = useWords()
  const formId = useId()
  const errorText = useErrorText()
  const { isPending, error } = sending
  return (
    <Dialog
      isOpen
      onClose={() => !isPending && onClose()}
      title={title}
      isWide={isWide}
      {...(text !== undefined && { text })}
      footer={
        <>
          <Button onClick={onClose} disabled={isPending}>
            {t.back}
          </Button>
          <Button
            type="submit"
            form={formId}
            kind={isDanger ? 'danger' : 'primary'}
            isBusy={isPending}
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
          if (canSend && !isPending) onSend()
        }}
      >
        {children}
        {error && !isCanceled(error) && <Notice tone="bad">{refusalText?.(error) ?? errorText(error)}</Notice>}
      </form>
    </Dialog>
  )
}
