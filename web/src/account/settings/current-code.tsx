import { translations } from '../../base/language.ts'
import { useMe } from '../../base/session.ts'
import { Input } from '../../ui/form/form.tsx'

const useTexts = translations({
  label: ['Código do aplicativo autenticador', 'Code from your authenticator app'],
  hint: ['Ou um dos códigos de recuperação.', 'Or one of your recovery codes.'],
})

/** The server asks users with two-step verification for this code, besides the password. Others see nothing. */
export function CurrentCode({ value, onChange }: { value: string; onChange: (code: string) => void }) {
  const t = useTexts()
  const me = useMe()
  if (!me.isTwoFactor) return null
  return (
    <Input
      label={t.label}
      hint={t.hint}
      value={value}
      onChange={onChange}
      required
      autoComplete="one-time-code"
      maxLength={64}
      className="figures font-mono tracking-[0.2em]"
    />
  )
}
