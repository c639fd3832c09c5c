import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Button } from '../ui/button.tsx'
import { Doorway } from '../ui/doorway.tsx'
import { Input } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Esqueci a senha',
    text: 'Informe o seu e-mail e mandamos um link para escolher outra.',
    log: 'Este serviço não envia e-mails: o link estará no log do servidor, onde quem o opera pode vê-lo.',
    none: 'Este serviço não envia e-mails. Peça a quem o opera que defina uma nova senha para você.',
    email: 'E-mail',
    submit: 'Enviar o link',
    sent: 'Se há uma conta com este e-mail, o link foi enviado. Ele vale por uma hora.',
    back: 'Voltar para a entrada',
  },
  en: {
    title: 'Forgot your password?',
    text: 'Enter your e-mail and we send you a link to choose another one.',
    log: 'This service sends no mail: the link will stand in the server’s log, where whoever runs it can see it.',
    none: 'This service sends no mail. Ask whoever runs it to set a new password for you.',
    email: 'E-mail',
    submit: 'Send the link',
    sent: 'If there is an account with this e-mail, the link was sent. It works for one hour.',
    back: 'Back to sign-in',
  },
})

export function ForgotPasswordPage() {
  const t = useWords()
  const errorText = useErrorText()
  const { sendsMail, mode } = useService()
  const [email, setEmail] = useState('')
  const ask = useMutation({
    mutationFn: () => auth.post('request-password-reset', { email: email.trim(), redirectTo: '/reset-password' }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    ask.mutate()
  }
  const below = (
    <Link to="/sign-in" className="link">
      {t.back}
    </Link>
  )
  if (!sendsMail && mode === 'live') return <Doorway title={t.title} text={t.none} below={below} />
  return (
    <Doorway title={t.title} text={t.text} below={below}>
      <form onSubmit={submit} className="space-y-5">
        {!sendsMail && <Notice tone="mark">{t.log}</Notice>}
        <Input
          label={t.email}
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        {ask.isSuccess && <Notice tone="good">{t.sent}</Notice>}
        {ask.error && <Notice tone="bad">{errorText(ask.error)}</Notice>}
        <Button type="submit" kind="primary" isBusy={ask.isPending} className="w-full">
          {t.submit}
        </Button>
      </form>
    </Doorway>
  )
}
