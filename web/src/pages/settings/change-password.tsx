import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { auth } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { words } from '../../base/language.ts'
import { useMe } from '../../base/session.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Checkbox, PasswordInput } from '../../ui/field.tsx'
import { NewPassword } from '../../ui/new-password.tsx'
import { Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Senha',
    current: 'Senha atual',
    others: 'Encerrar as outras sessões',
    othersHint: 'Deixe marcado se alguém pode ter visto a senha.',
    submit: 'Trocar a senha',
    done: 'Senha trocada.',
  },
  en: {
    title: 'Password',
    current: 'Current password',
    others: 'Sign out all other sessions',
    othersHint: 'Keep this if somebody may have seen the password.',
    submit: 'Change the password',
    done: 'The password was changed.',
  },
})

export function ChangePassword() {
  const t = useWords()
  const me = useMe()
  const errorText = useErrorText()
  const queryClient = useQueryClient()
  const [currentPassword, setCurrent] = useState('')
  const [newPassword, setNew] = useState('')
  const [revokeOtherSessions, setRevoke] = useState(true)
  const change = useMutation({
    mutationFn: () => auth.post('change-password', { currentPassword, newPassword, revokeOtherSessions }),
    onSuccess: async () => {
      setCurrent('')
      setNew('')
      toast.good(t.done)
      await queryClient.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change.mutate()
  }
  return (
    <Card title={t.title}>
      <form onSubmit={submit} className="max-w-md space-y-5">
        {/* So that a password manager knows whose password changes. */}
        <input type="text" autoComplete="username" value={me.email} readOnly hidden />
        <PasswordInput
          label={t.current}
          required
          value={currentPassword}
          onChange={(event) => setCurrent(event.target.value)}
        />
        <NewPassword value={newPassword} onChange={setNew} />
        <Checkbox
          label={t.others}
          hint={t.othersHint}
          checked={revokeOtherSessions}
          onChange={(event) => setRevoke(event.target.checked)}
        />
        {change.error && <Notice tone="bad">{errorText(change.error)}</Notice>}
        <Button type="submit" isBusy={change.isPending}>
          {t.submit}
        </Button>
      </form>
    </Card>
  )
}
