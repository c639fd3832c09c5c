import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { auth } from '../base/api.ts'
import { translations } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Form } from '../ui/form/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { AuthLayout, BackToSignIn, EmailInput } from './auth-layout.tsx'

const useTexts = translations({
  title: ['Esqueci a senha', 'Forgot your password?'],
  text: [
    'Informe seu e-mail e enviaremos um link para escolher outra senha.',
    'Enter your email and we’ll send you a link to choose a new password.',
  ],
  logText: [
    'Informe seu e-mail para receber um link e escolher outra senha.',
    'Enter your email to get a link and choose a new password.',
  ],
  log: [
    'Este serviço não envia e-mails: o link aparece no log do servidor.',
    'This service sends no email: the link appears in the server log.',
  ],
  none: [
    'Este serviço não envia e-mails. Peça à equipe do guiche que defina uma nova senha para você.',
    'This service sends no email. Ask the guiche team to set a new password for you.',
  ],
  submit: ['Enviar link', 'Send link'],
  make: ['Gerar link', 'Create link'],
  sent: [
    'Se houver uma conta com este e-mail, o link foi enviado. Ele vale por uma hora.',
    'If an account with this email exists, we sent the link. It is valid for one hour.',
  ],
  logged: [
    'Se houver uma conta com este e-mail, o link está no log do servidor. Ele vale por uma hora.',
    'If an account with this email exists, the link is in the server log. It is valid for one hour.',
  ],
})

export function ForgotPasswordPage() {
  const t = useTexts()
  const { sendsMail, mode } = useService()
  const [email, setEmail] = useState('')
  const ask = useMutation({
    mutationFn: () => auth.post('request-password-reset', { email: email.trim() }),
  })
  if (!sendsMail && mode === 'live') return <AuthLayout title={t.title} text={t.none} below={<BackToSignIn />} />
  return (
    <AuthLayout title={t.title} text={sendsMail ? t.text : t.logText} below={<BackToSignIn />}>
      <Form sending={ask} onSend={() => ask.mutate()} action={sendsMail ? t.submit : t.make} isWide>
        {!sendsMail && <Notice tone="mark">{t.log}</Notice>}
        <EmailInput value={email} onChange={setEmail} />
        {ask.isSuccess && <Notice tone="good">{sendsMail ? t.sent : t.logged}</Notice>}
      </Form>
    </AuthLayout>
  )
}
