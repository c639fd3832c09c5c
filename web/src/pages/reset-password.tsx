import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Doorway } from '../ui/doorway.tsx'
import { NewPassword } from '../ui/new-password.tsx'
import { Notice } from '../ui/notice.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Escolha uma nova senha',
    text: 'Todas as sessões da sua conta terminam quando a senha é trocada.',
    submit: 'Trocar a senha',
    missing: 'Falta o link',
    missingText: 'Abra esta página pelo link que você recebeu, ou peça outro.',
    again: 'Pedir outro link',
    back: 'Voltar para a entrada',
  },
  en: {
    title: 'Choose a new password',
    text: 'All sessions of your account end when the password is changed.',
    submit: 'Change the password',
    missing: 'The link is missing',
    missingText: 'Open this page by the link that you got, or ask for another one.',
    again: 'Ask for another link',
    back: 'Back to sign-in',
  },
})

export function ResetPasswordPage() {
  const t = useWords()
  const errorText = useErrorText()
  const navigate = useNavigate()
  const { token } = useSearch({ strict: false })
  const [newPassword, setNewPassword] = useState('')
  const reset = useMutation({
    mutationFn: () => auth.post('reset-password', { newPassword, token }),
    onSuccess: () => navigate({ to: '/sign-in', search: { done: 'password' } }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    reset.mutate()
  }
  const below = (
    <Link to="/sign-in" className="link">
      {t.back}
    </Link>
  )
  if (!token)
    return (
      <Doorway title={t.missing} text={t.missingText} below={below}>
        <div className="grid">
          <ButtonLink to="/forgot-password" kind="primary">
            {t.again}
          </ButtonLink>
        </div>
      </Doorway>
    )
  return (
    <Doorway title={t.title} text={t.text} below={below}>
      <form onSubmit={submit} className="space-y-5">
        <NewPassword value={newPassword} onChange={setNewPassword} />
        {reset.error && (
          <Notice
            tone="bad"
            action={
              <Link to="/forgot-password" className="font-semibold underline">
                {t.again}
              </Link>
            }
          >
            {errorText(reset.error)}
          </Notice>
        )}
        <Button type="submit" kind="primary" isBusy={reset.isPending} className="w-full">
          {t.submit}
        </Button>
      </form>
    </Doorway>
  )
}
