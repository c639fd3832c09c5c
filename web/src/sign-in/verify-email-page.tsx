import { useMutation, useQuery } from '@tanstack/react-query'
import { Navigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { translations } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Form } from '../ui/form/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { Skeleton } from '../ui/page.tsx'
import { AuthLayout, BackToSignIn, ConfirmationLink, EmailInput } from './auth-layout.tsx'

const useTexts = translations({
  title: ['Confirme seu e-mail', 'Confirm your email'],
  sent: (email: string) => [
    `Enviamos um link para ${email}. Ele vale por 24 horas.`,
    `We sent a link to ${email}. It is valid for 24 hours.`,
  ],
  made: (email: string) => [
    `Conta criada. Falta abrir o link de confirmação de ${email}.`,
    `Account created. Next, open the confirmation link for ${email}.`,
  ],
  ask: [
    'Informe seu e-mail e enviaremos o link de confirmação de novo.',
    'Enter your email and we’ll resend the confirmation link.',
  ],
  askHere: [
    'Informe seu e-mail e mostraremos o link de confirmação aqui.',
    'Enter your email and we’ll show the confirmation link here.',
  ],
  none: [
    'Este serviço não envia e-mails. Peça à equipe do guiche que confirme o seu.',
    'This service sends no email. Ask the guiche team to confirm your address.',
  ],
  again: ['Enviar de novo', 'Resend'],
  show: ['Mostrar o link', 'Show link'],
  sentAgain: [
    'Se houver uma conta a confirmar com este e-mail, o link foi enviado.',
    'If an account with this email is waiting for confirmation, we sent the link.',
  ],
  logged: [
    'Se houver uma conta a confirmar com este e-mail, o link está no log do servidor.',
    'If an account with this email is waiting for confirmation, the link is in the server log.',
  ],
  checking: ['Confirmando…', 'Confirming…'],
  failed: ['Este link não vale mais', 'This link is no longer valid'],
})

export function VerifyEmailPage() {
  const { token } = useSearch({ strict: false })
  return token ? <Confirm token={token} /> : <Ask />
}

function Confirm({ token }: { token: string }) {
  const t = useTexts()
  const errorText = useErrorText()
  // Confirming twice is harmless, so the page does it as soon as it is opened.
  const confirm = useQuery({
    queryKey: ['verify-email', token],
    queryFn: () => auth.get<{ email: string }>('verify-email', { token }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (confirm.isPending)
    return (
      <AuthLayout title={t.checking}>
        <Skeleton className="h-11 w-full" />
      </AuthLayout>
    )
  if (confirm.error)
    return (
      <AuthLayout title={t.failed} text={errorText(confirm.error)}>
        <AskForm />
      </AuthLayout>
    )
  // The link does not sign in: somebody else's link would put the reader into their account unnoticed.
  return <Navigate to="/sign-in" search={{ done: 'email', email: confirm.data.email }} replace />
}

function Ask() {
  const t = useTexts()
  const { sendsMail, mode } = useService()
  const { email, sent } = useSearch({ strict: false })
  const isShown = !sendsMail && mode === 'test'
  const text = sent && email ? (sendsMail ? t.sent(email) : t.made(email)) : isShown ? t.askHere : t.ask
  return (
    <AuthLayout title={t.title} text={text} below={<BackToSignIn />}>
      <AskForm />
    </AuthLayout>
  )
}

function AskForm() {
  const t = useTexts()
  const { sendsMail, mode } = useService()
  const search = useSearch({ strict: false })
  const [email, setEmail] = useState(search.email ?? '')
  const send = useMutation({
    mutationFn: () => auth.post<{ confirmationLink?: string }>('send-verification-email', { email: email.trim() }),
  })
  // In live mode without a mail server no link is made, because a reader of the log could open it.
  if (!sendsMail && mode === 'live') return <Notice tone="mark">{t.none}</Notice>
  if (send.data?.confirmationLink) return <ConfirmationLink link={send.data.confirmationLink} />
  return (
    <Form sending={send} onSend={() => send.mutate()} action={sendsMail ? t.again : t.show} isWide>
      <EmailInput value={email} onChange={setEmail} />
      {send.isSuccess && <Notice tone="good">{sendsMail ? t.sentAgain : t.logged}</Notice>}
    </Form>
  )
}
