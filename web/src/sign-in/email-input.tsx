import { translations } from '../base/language.ts'
import { Input, type InputProps } from '../ui/form/field.tsx'

const useTexts = translations({ 'pt-BR': { email: 'E-mail' }, en: { email: 'Email' } })

export function EmailInput(props: Pick<InputProps, 'value' | 'onChange'>) {
  return <Input label={useTexts().email} type="email" autoComplete="username" required {...props} />
}
