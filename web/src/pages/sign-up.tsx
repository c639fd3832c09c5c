import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmationLink } from '../ui/confirmation-link.tsx'
import { Doorway } from '../ui/doorway.tsx'
import { Input } from '../ui/field.tsx'
import { NewPassword } from '../ui/new-password.tsx'
import { Notice } from '../ui/notice.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Criar conta',
    invited: 'Você foi convidado. Falta pouco.',
    name: 'Nome',
    nameHint: 'De você ou da sua empresa. Quem paga o vê na página de pagamento.',
    email: 'E-mail',
    password: 'Senha',
    submit: 'Criar conta',
    known: 'Já tem conta?',
    signIn: 'Entrar',
    closed: 'Não há cadastro aberto',
    closedText: 'Neste guiche, as contas são criadas por quem o opera. Fale com essa pessoa para ter a sua.',
    inviteText: 'Neste guiche, cada conta precisa de um convite. Peça o link a quem o opera.',
    made: 'Conta criada',
    madeText: (email: string) => `Falta confirmar o e-mail ${email}.`,
  },
  en: {
    title: 'Create an account',
    invited: 'You are invited. It takes a minute.',
    name: 'Name',
    nameHint: 'Yours or your company’s. Whoever pays sees it on the payment page.',
    email: 'E-mail',
    password: 'Password',
    submit: 'Create the account',
    known: 'Have an account?',
    signIn: 'Sign in',
    closed: 'Sign-up is not open',
    closedText: 'Accounts here are made by whoever runs this guiche. Ask them for one.',
    inviteText: 'Accounts here need an invitation. Ask whoever runs this guiche for the link.',
    made: 'Account created',
    madeText: (email: string) => `The e-mail ${email} must still be confirmed.`,
  },
})

export function SignUpPage() {
  const t = useWords()
  const { signup } = useService()
  const { invitation } = useSearch({ strict: false })
  const [shown, setShown] = useState<{ email: string; link: string }>()
  const below = (
    <>
      {t.known}{' '}
      <Link to="/sign-in" className="link">
        {t.signIn}
      </Link>
    </>
  )
  if (shown)
    return (
      <Doorway title={t.made} text={t.madeText(shown.email)}>
        <ConfirmationLink link={shown.link} />
      </Doorway>
    )
  if (signup === 'closed') return <Doorway title={t.closed} text={t.closedText} below={below} />
  if (signup === 'invite' && !invitation) return <Doorway title={t.closed} text={t.inviteText} below={below} />
  return (
    <Doorway title={t.title} text={invitation && t.invited} below={below}>
      <SignUpForm onLink={setShown} />
    </Doorway>
  )
}

function SignUpForm({ onLink }: { onLink: (shown: { email: string; link: string }) => void }) {
  const t = useWords()
  const errorText = useErrorText()
  const navigate = useNavigate()
  const { invitation } = useSearch({ strict: false })
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signUp = useMutation({
    mutationFn: () =>
      auth.post<{ user: { emailVerified: boolean }; confirmationLink?: string }>('sign-up/email', {
        name: name.trim(),
        email: email.trim(),
        password,
        ...(invitation && { invitation }),
      }),
    onSuccess: ({ user, confirmationLink: link }) => {
      if (user.emailVerified) return navigate({ to: '/sign-in', search: { done: 'email', email: email.trim() } })
      if (link) return onLink({ email: email.trim(), link })
      return navigate({ to: '/verify-email', search: { email: email.trim(), sent: 'yes' } })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    signUp.mutate()
  }
  return (
    <form onSubmit={submit} className="space-y-5">
      <Input
        label={t.name}
        hint={t.nameHint}
        autoComplete="organization"
        required
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Input
        label={t.email}
        type="email"
        autoComplete="username"
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <NewPassword label={t.password} value={password} onChange={setPassword} />
      {signUp.error && <Notice tone="bad">{errorText(signUp.error)}</Notice>}
      <Button type="submit" kind="primary" isBusy={signUp.isPending} className="w-full">
        {t.submit}
      </Button>
    </form>
  )
}
