import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { translations } from '../../base/language.ts'
import { IconButton } from '../button.tsx'
import { CloseIcon } from '../icons.tsx'
import { focusField } from './focus.ts'

const useTexts = translations({
  close: ['Fechar', 'Close'],
})

/**
 * The dialog is open while it is mounted. On phones it is at the bottom. The footer stays in sight while the rest
 * scrolls.
 */
export function Dialog(props: {
  onClose: () => void
  title: ReactNode
  text?: ReactNode
  isWide?: boolean
  footer?: ReactNode
  children?: ReactNode
}) {
  const t = useTexts()
  const { text, footer } = props
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && props.onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-appear bg-black/45" />
        <Radix.Content
          onOpenAutoFocus={focusContent}
          onInteractOutside={(event) => {
            if (event.target instanceof Element && event.target.closest('[data-toasts]')) event.preventDefault()
          }}
          {...(text === undefined && { 'aria-describedby': undefined })}
          className={`fixed inset-x-0 bottom-0 z-50 mx-auto flex max-h-[92dvh] w-full animate-rise flex-col rounded-t-2xl border border-line bg-raised shadow-float outline-none sm:inset-y-0 sm:my-auto sm:h-fit sm:rounded-2xl ${props.isWide ? 'sm:max-w-2xl' : 'sm:max-w-md'}`}
        >
          <div className="flex items-start gap-3 px-5 pt-5 pb-3">
            <div className="grow">
              <Radix.Title className="text-lg leading-snug font-semibold">{props.title}</Radix.Title>
              {text !== undefined && <Radix.Description className="mt-1 text-soft">{text}</Radix.Description>}
            </div>
            <Radix.Close asChild>
              <IconButton label={t.close} className="-mt-1 -mr-2">
                <CloseIcon />
              </IconButton>
            </Radix.Close>
          </div>
          <div data-content className="grow overflow-y-auto px-5 pt-1 pb-5">
            {props.children}
          </div>
          {footer && (
            <div
              data-content
              className="flex flex-col-reverse gap-2 border-t border-line px-5 pt-4 pb-[max(1rem,env(safe-area-inset-bottom))] sm:flex-row sm:justify-end"
            >
              {footer}
            </div>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/**
 * Focuses the first field, or else the first button or link of the content. It skips the close button, which comes
 * first.
 */
function focusContent(event: Event): void {
  const dialog = event.currentTarget
  if (!(dialog instanceof Element)) return
  event.preventDefault()
  if (!focusField(dialog)) dialog.querySelector<HTMLElement>('[data-content] :is(button, a)')?.focus()
}
