import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { sessionQuery } from '../../base/session.ts'
import { PasswordInput } from './form.tsx'
import { FormDialog } from './form-dialog.tsx'

const useTexts = translations({
  title: ['Confirme sua senha', 'Confirm your password'],
  text: [
    'Pedimos a senha de novo após 15 minutos para ações que movem dinheiro ou mudam a segurança da conta.',
    'After 15 minutes we ask for your password again before actions that move money or change account security.',
  ],
  password: ['Senha', 'Password'],
  confirm: ['Confirmar', 'Confirm'],
})

/** Asks until the password is right or the user cancels. */
export function ReauthDialog({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const t = useTexts()
  const [password, setPassword] = useState('')
  const prove = async () => {
    await post('/reauthenticate', { password })
    onDone()
    await refresh(sessionQuery.queryKey)
  }
  return (
    <FormDialog
      title={t.title}
      text={t.text}
      action={t.confirm}
      onSend={prove}
      onClose={onClose}
      canSend={password !== ''}
    >
      <PasswordInput label={t.password} value={password} onChange={setPassword} />
    </FormDialog>
  )
}
