import { translations } from '../base/language.ts'
import { Input } from '../ui/form/field.tsx'

const useTexts = translations({ 'pt-BR': { email: 'E-mail' }, en: { email: 'Email' } })

export function EmailInput({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <Input label={useTexts().email} type="email" autoComplete="username" required value={value} onChange={onChange} />
  )
}
