import { translations } from '../base/language.ts'
import { Input, type InputProps } from '../ui/form/field.tsx'

const useTexts = translations({
  email: ['E-mail', 'Email'],
})

type Props = Pick<InputProps, 'value' | 'onChange'> & {
  /** Why it cannot be changed. */
  lockedBy?: string
}

export function EmailInput({ lockedBy, ...props }: Props) {
  return (
    <Input
      label={useTexts().email}
      type="email"
      autoComplete="username"
      required
      {...(lockedBy && { readOnly: true, hint: lockedBy, className: 'bg-still-ground! text-soft!' })}
      {...props}
    />
  )
}
