import { words } from '../base/language.ts'
import { PasswordInput } from './field.tsx'

/** As the server has it; it has the last word. */
export const PASSWORD_MIN = 12
const PASSWORD_MAX = 200

const useWords = words({
  'pt-BR': {
    label: 'Nova senha',
    hint: `Pelo menos ${PASSWORD_MIN} caracteres. Uma frase é fácil de lembrar e difícil de adivinhar.`,
  },
  en: {
    label: 'New password',
    hint: `At least ${PASSWORD_MIN} characters. A sentence is easy to remember and hard to guess.`,
  },
})

/** Shown on request instead of typed twice: that catches a slip as well, and password managers get along with it. */
export function NewPassword({
  value,
  onChange,
  label,
}: {
  value: string
  onChange: (value: string) => void
  label?: string
}) {
  const t = useWords()
  return (
    <PasswordInput
      label={label ?? t.label}
      hint={t.hint}
      autoComplete="new-password"
      minLength={PASSWORD_MIN}
      maxLength={PASSWORD_MAX}
      required
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
