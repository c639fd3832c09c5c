import { useState, type FormEvent, type ReactNode } from 'react'
import { isCanceled } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { Button } from '../button.tsx'
import { Notice } from '../notice.tsx'

/** The part of a mutation that a form needs. */
type Sending = { isPending: boolean; error: Error | null }

/** A refusal of the server, in the form's own words where it has better ones. */
export function FormError(props: {
  error: Error | null
  text?: ((error: Error) => string | undefined) | undefined
  action?: ReactNode
}) {
  const errorText = useErrorText()
  const { error } = props
  if (!error || isCanceled(error)) return null
  return (
    <Notice tone="bad" action={props.action}>
      {props.text?.(error) ?? errorText(error)}
    </Notice>
  )
}

/** A form on a page: sent once at a time, with the refusal above its button. */
export function Form(props: {
  sending: Sending
  onSend: () => void
  /** The button's text. */
  action: string
  /** Shown with a refusal, such as a link to the way out. */
  errorAction?: ReactNode
  /** The button takes the form's width. */
  isWide?: boolean
  className?: string
  children: ReactNode
}) {
  const { sending, isWide = false } = props
  return (
    <form onSubmit={whenSubmitted(sending, props.onSend)} className={`space-y-5 ${props.className ?? ''}`}>
      {props.children}
      <FormError error={sending.error} action={props.errorAction} />
      <Button
        type="submit"
        kind={isWide ? 'primary' : 'secondary'}
        isBusy={sending.isPending}
        className={isWide ? 'w-full' : ''}
      >
        {props.action}
      </Button>
    </form>
  )
}

export function whenSubmitted(sending: Sending, onSend: () => void): (event: FormEvent) => void {
  return (event) => {
    event.preventDefault()
    if (!sending.isPending) onSend()
  }
}

/** What is typed into a form: `<Input {...field('name')} label={t.name} />`. */
export function useFields<Fields extends object>(initial: Fields | (() => Fields), onEdit?: () => void) {
  const [typed, setTyped] = useState(initial)
  const set = (changes: Partial<Fields>) => {
    setTyped((typed) => ({ ...typed, ...changes }))
    onEdit?.()
  }
  const field = <Name extends keyof Fields>(name: Name) => ({
    value: typed[name],
    // TypeScript widens a computed key to string.
    onChange: (value: Fields[Name]) => set({ [name]: value } as unknown as Partial<Fields>),
  })
  return { typed, set, field }
}

/** A field's own error is shown from the first attempt to send on: `onCheck` is that attempt. */
export function useCheck(isValid: boolean): { isWrong: boolean; onCheck: () => boolean } {
  const [isTried, setTried] = useState(false)
  const onCheck = () => {
    setTried(true)
    return isValid
  }
  return { isWrong: isTried && !isValid, onCheck }
}
