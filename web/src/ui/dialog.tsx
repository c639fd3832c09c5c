import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { words } from '../base/language.ts'
import { IconButton } from './button.tsx'
import { CloseIcon } from './icons.tsx'

const useWords = words({ 'pt-BR': { close: 'Fechar' }, en: { close: 'Close' } })

/** On phones it stands at the bottom, near the thumb. What is given as `footer` stays in sight while the rest scrolls. */
export function Dialog({
  isOpen,
  onClose,
  title,
  text,
  isWide = false,
  isFirm = false,
  footer,
  children,
}: {
  isOpen: boolean
  onClose: () => void
  title: ReactNode
  text?: ReactNode
  isWide?: boolean
  /** A press beside it does not close it: for what is shown once only. */
  isFirm?: boolean
  footer?: ReactNode
  children?: ReactNode
}) {
  const t = useWords()
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-appear bg-black/45" />
        <Radix.Content
          onInteractOutside={(event) => {
            const isToast = event.target instanceof Element && event.target.closest('[data-toasts]') !== null
            if (isFirm || isToast) event.preventDefault()
          }}
          {...(text === undefined && { 'aria-describedby': undefined })}
          className={`fixed inset-x-0 bottom-0 z-50 mx-auto flex max-h-[92dvh] w-full animate-rise flex-col rounded-t-2xl border border-line bg-raised shadow-float outline-none sm:inset-y-0 sm:my-auto sm:h-fit sm:rounded-2xl ${isWide ? 'sm:max-w-2xl' : 'sm:max-w-md'}`}
        >
          <div className="flex items-start gap-3 px-5 pt-5 pb-3">
            <div className="grow">
              <Radix.Title className="text-lg leading-snug font-semibold">{title}</Radix.Title>
              {text !== undefined && <Radix.Description className="mt-1 text-soft">{text}</Radix.Description>}
            </div>
            <Radix.Close asChild>
              <IconButton label={t.close} className="-mt-1 -mr-2">
                <CloseIcon />
              </IconButton>
            </Radix.Close>
          </div>
          <div className="grow overflow-y-auto px-5 pt-1 pb-5">{children}</div>
          {footer && <DialogFooter>{footer}</DialogFooter>}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** The row of buttons; inside a form it stands at the form's end instead of `footer`. */
export function DialogFooter({ children }: { children: ReactNode }) {
  return (
    <div className="flex flex-col-reverse gap-2 border-t border-line px-5 pt-4 pb-[max(1rem,env(safe-area-inset-bottom))] sm:flex-row sm:justify-end">
      {children}
    </div>
  )
}
