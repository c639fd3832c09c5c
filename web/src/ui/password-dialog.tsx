import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { ApiError, post } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { sessionQuery } from '../base/session.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { PasswordInput } from './field.tsx'
import { Notice } from './notice.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Confirme a sua senha',
    text: 'Para mudar o que protege a conta ou move dinheiro, pedimos a senha de novo depois de 15 minutos.',
    password: 'Senha',
    wrong: 'Senha incorreta.',
    confirm: 'Confirmar',
    cancel: 'Voltar',
  },
  en: {
    title: 'Confirm your password',
    text: 'Before anything that protects the account or moves money, we ask for the password again after 15 minutes.',
    password: 'Password',
    wrong: 'Wrong password.',
    confirm: 'Confirm',
    cancel: 'Back',
  },
})

/** Asks until the password is right or the reader gives up. ui/password-door.tsx opens it. */
export default function PasswordDialog({ onEnd }: { onEnd: (isDone: boolean) => void }) {
  const t = useWords()
  const errorText = useErrorText()
  const queryClient = useQueryClient()
  const [password, setPassword] = useState('')
  const prove = useMutation({
    mutationFn: () => post('/reauthenticate', { password }),
    onSuccess: async () => {
      onEnd(true)
      await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    prove.mutate()
  }
  const isWrong = prove.error instanceof ApiError && prove.error.code === 'bad_request'
  return (
    <Dialog
      isOpen
      onClose={() => !prove.isPending && onEnd(false)}
      title={t.title}
      text={t.text}
      footer={
        <>
          <Button onClick={() => onEnd(false)} disabled={prove.isPending}>
            {t.cancel}
          </Button>
          <Button type="submit" form="reauthenticate" kind="primary" isBusy={prove.isPending} disabled={!password}>
            {t.confirm}
          </Button>
        </>
      }
    >
      <form id="reauthenticate" onSubmit={submit} className="space-y-4">
        <PasswordInput
          label={t.password}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          required
        />
        {prove.error && <Notice tone="bad">{isWrong ? t.wrong : errorText(prove.error)}</Notice>}
      </form>
    </Dialog>
  )
}
