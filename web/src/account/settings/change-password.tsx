import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { auth } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { useMe } from '../../base/session.ts'
import { Card } from '../../ui/card.tsx'
import { Checkbox, PasswordInput } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { NewPassword } from '../../ui/form/new-password.tsx'
import { toast } from '../../ui/toast.tsx'
import { CurrentCode } from './current-code.tsx'

const useTexts = translations({
  title: ['Senha', 'Password'],
  current: ['Senha atual', 'Current password'],
  others: ['Encerrar as outras sessões', 'Sign out of all other sessions'],
  othersHint: [
    'Recomendado se alguém pode ter visto sua senha.',
    'Recommended if someone may have seen your password.',
  ],
  submit: ['Alterar a senha', 'Change password'],
  done: ['Senha alterada.', 'Password changed.'],
})

export function ChangePassword() {
  const t = useTexts()
  const me = useMe()
  const [currentPassword, setCurrent] = useState('')
  const [newPassword, setNew] = useState('')
  const [code, setCode] = useState('')
  const [revokeOtherSessions, setRevoke] = useState(true)
  const change = useMutation({
    mutationFn: () => auth.post('change-password', { currentPassword, newPassword, revokeOtherSessions, code }),
    onSuccess: async () => {
      setCurrent('')
      setNew('')
      setCode('')
      toast.good(t.done)
      await refresh(['sessions'])
    },
  })
  return (
    <Card title={t.title}>
      <Form sending={change} onSend={() => change.mutate()} action={t.submit} className="max-w-md">
        {/* Tells password managers whose password changes. */}
        <input type="text" autoComplete="username" value={me.email} readOnly hidden />
        <PasswordInput label={t.current} value={currentPassword} onChange={setCurrent} />
        <CurrentCode value={code} onChange={setCode} />
        <NewPassword value={newPassword} onChange={setNew} />
        <Checkbox label={t.others} hint={t.othersHint} checked={revokeOtherSessions} onChange={setRevoke} />
      </Form>
    </Card>
  )
}
