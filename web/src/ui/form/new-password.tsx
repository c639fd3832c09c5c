import { translations } from '../../base/language.ts'
import { PasswordInput, type InputProps } from './field.tsx'

// The server's bounds; it has the last word.
const PASSWORD_MIN = 12
const PASSWORD_MAX = 200

const useTexts = translations({
  label: ['Nova senha', 'New password'],
  hint: [
    `Pelo menos ${PASSWORD_MIN} caracteres. Uma frase é fácil de lembrar e difícil de adivinhar.`,
    `At least ${PASSWORD_MIN} characters. A sentence is easy to remember and hard to guess.`,
  ],
})

/** Can be shown instead of typed twice: that catches typos too, and works with password managers. */
export function NewPassword(props: Pick<InputProps, 'value' | 'onChange'> & { label?: string }) {
  const t = useTexts()
  return (
    <PasswordInput
      label={t.label}
      hint={t.hint}
      autoComplete="new-password"
      minLength={PASSWORD_MIN}
      maxLength={PASSWORD_MAX}
      {...props}
    />
  )
}
