import { useMutation } from '@tanstack/react-query'
import { auth } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { useMe } from '../../base/session.ts'
import { Card } from '../../ui/page.tsx'
import { Checkbox, Form, NewPassword, PasswordInput, useFields } from '../../ui/form/form.tsx'
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

const EMPTY = { currentPassword: '', newPassword: '', code: '' }

export function ChangePassword() {
  const t = useTexts()
  const me = useMe()
  const { typed, set, field } = useFields({ ...EMPTY, revokeOtherSessions: true })
  const change = useMutation({
    mutationFn: () => auth.post('change-password', typed),
    onSuccess: async () => {
      set(EMPTY)
      toast.good(t.done)
      await refresh(['sessions'])
    },
  })
  return (
    <Card title={t.title}>
      <Form sending={change} onSend={() => change.mutate()} action={t.submit} className="max-w-md">
        {/* Tells password managers whose password changes. */}
        <input type="text" autoComplete="username" value={me.email} readOnly hidden />
        <PasswordInput label={t.current} {...field('currentPassword')} />
        <CurrentCode {...field('code')} />
        <NewPassword {...field('newPassword')} />
        <Checkbox {...field('revokeOtherSessions')} label={t.others} hint={t.othersHint} />
      </Form>
    </Card>
  )
}
