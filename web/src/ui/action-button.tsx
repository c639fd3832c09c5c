import { useMutation } from '@tanstack/react-query'
import { useState, type ComponentProps, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { toast } from './toast.tsx'

type ButtonProps = Omit<ComponentProps<typeof Button>, 'onClick' | 'isBusy'>

/** Asks the server for something: busy meanwhile, and a refusal is a toast. */
export function ActionButton({ onAction, ...rest }: ButtonProps & { onAction: () => Promise<unknown> }) {
  const action = useMutation({ mutationFn: onAction, onError: toast.bad })
  return <Button {...rest} isBusy={action.isPending} onClick={() => action.mutate()} />
}

/** Opens a dialog, which is mounted while it is open. */
export function DialogButton({ dialog, ...rest }: ButtonProps & { dialog: (onClose: () => void) => ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button {...rest} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  )
}
