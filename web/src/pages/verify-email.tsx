import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, Navigate, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmationLink } from '../ui/confirmation-link.tsx'
import { Doorway } from '../ui/doorway.tsx'
import { Input } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { Skeleton } from '../ui/skeleton.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Confirme o seu e-mail',
    sent: (email: string) => `Mandamos um link para ${email}. Ele vale por 24 horas.`,
    made: (email: string) => `A conta foi criada. Falta abrir o link de confirmação de ${email}.`,
    ask: 'Informe o seu e-mail e mandamos o link de confirmação de novo.',
    askHere: 'Informe o seu e-mail e mostramos o link de confirmação aqui.',
    none: 'Este serviço não envia e-mails. Peça a quem o opera que confirme o seu e-mail.',
    email: 'E-mail',
    again: 'Enviar de novo',
    show: 'Mostrar o link',
    sentAgain: 'Se há uma conta a confirmar com este e-mail, o link foi enviado.',
    checking: 'Confirmando…',
    failed: 'Este link não vale mais',
    back: 'Voltar para a entrada',
  },
  en: {
    title: 'Confirm your e-mail',
    sent: (email: string) => `We sent a link to ${email}. It works for 24 hours.`,
    made: (email: string) => `The account is made. The confirmation link for ${email} must still be opened.`,
    ask: 'Enter your e-mail and we send the confirmation link again.',
    askHere: 'Enter your e-mail and we show the confirmation link here.',
    none: 'This service sends no mail. Ask whoever runs it to confirm your e-mail.',
    email: 'E-mail',
    again: 'Send it again',
    show: 'Show the link',
    sentAgain: 'If there is an account to confirm with this e-mail, the link was sent.',
    checking: 'Confirming…',
    failed: 'This link is not valid any more',
    back: 'Back to sign-in',
  },
})

export function VerifyEmailPage() {
  const { token } = useSearch({ strict: false })
  return token ? <Confirm token={token} /> : <Ask />
}

function Confirm({ token }: { token: string }) {
  const t = useWords()
  const errorText = useErrorText()
  // Confirming twice does no harm, and a link is opened, not pressed: so it is done as soon as the page is here.
  const confirm = useQuery({
    queryKey: ['verify-email', token],
    queryFn: () => auth.get<{ email: string }>('verify-email', { token }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (confirm.isPending)
    return (
      <Doorway title={t.checking}>
        <Skeleton className="h-11 w-full" />
      </Doorway>
    )
  if (confirm.error)
    return (
      <Doorway title={t.failed} text={errorText(confirm.error)}>
        <AskForm />
      </Doorway>
    )
  // Opening the link does not sign in: somebody could send a link of their own, and the reader would be in a stranger's account without noticing.
  return <Navigate to="/sign-in" search={{ done: 'email', email: confirm.data.email }} replace />
}

function Ask() {
  const t = useWords()
  const { sendsMail, mode } = useService()
  const { email, sent } = useSearch({ strict: false })
  const isShown = !sendsMail && mode === 'test'
  return (
    <Doorway
      title={t.title}
      text={sent && email ? (sendsMail ? t.sent(email) : t.made(email)) : isShown ? t.askHere : t.ask}
      below={
        <Link to="/sign-in" className="link">
          {t.back}
        </Link>
      }
    >
      <AskForm />
    </Doorway>
  )
}

function AskForm() {
  const t = useWords()
  const errorText = useErrorText()
  const { sendsMail, mode } = useService()
  const search = useSearch({ strict: false })
  const [email, setEmail] = useState(search.email ?? '')
  const send = useMutation({
    mutationFn: () => auth.post<{ confirmationLink?: string }>('send-verification-email', { email: email.trim() }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send.mutate()
  }
  // Where money is real, no link is made that whoever reads the log could open.
  if (!sendsMail && mode === 'live') return <Notice tone="mark">{t.none}</Notice>
  if (send.data?.confirmationLink) return <ConfirmationLink link={send.data.confirmationLink} />
  return (
    <form onSubmit={submit} className="space-y-5">
      <Input
        label={t.email}
        type="email"
        autoComplete="username"
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      {send.isSuccess && <Notice tone="good">{t.sentAgain}</Notice>}
      {send.error && <Notice tone="bad">{errorText(send.error)}</Notice>}
      <Button type="submit" isBusy={send.isPending} className="w-full">
        {sendsMail ? t.again : t.show}
      </Button>
    </form>
  )
}
