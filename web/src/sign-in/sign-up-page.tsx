import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { auth } from '../base/api.ts'
import { translations } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Input } from '../ui/form/field.tsx'
import { Form } from '../ui/form/form.tsx'
import { NewPassword } from '../ui/form/new-password.tsx'
import { AuthLayout } from './auth-layout.tsx'
import { ConfirmationLink } from './confirmation-link.tsx'
import { EmailInput } from './email-input.tsx'

const useTexts = translations({
  'pt-BR': {
    title: 'Criar conta',
    invited: 'Você foi convidado. Falta pouco.',
    name: 'Nome',
    nameHint: 'Seu ou da sua empresa. Os pagadores o veem na página de pagamento.',
    password: 'Senha',
    submit: 'Criar conta',
    known: 'Já tem conta?',
    signIn: 'Entrar',
    closed: 'Cadastro fechado',
    closedText: 'As contas deste guiche são criadas pelo operador. Fale com ele para ter a sua.',
    inviteText: 'Para criar uma conta neste guiche é preciso um convite. Peça o link ao operador.',
    made: 'Conta criada',
    madeText: (email: string) => `Falta confirmar o e-mail ${email}.`,
  },
  en: {
    title: 'Create your account',
    invited: 'You’ve been invited. This takes a minute.',
    name: 'Name',
    nameHint: 'Yours or your company’s. Payers see it on the payment page.',
    password: 'Password',
    submit: 'Create account',
    known: 'Already have an account?',
    signIn: 'Sign in',
    closed: 'Sign-up is closed',
    closedText: 'Accounts on this guiche are created by its operator. Ask them for one.',
    inviteText: 'You need an invitation to create an account on this guiche. Ask the operator for the link.',
    made: 'Account created',
    madeText: (email: string) => `Next, confirm your email address ${email}.`,
  },
})

export function SignUpPage() {
  const t = useTexts()
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
      <AuthLayout title={t.made} text={t.madeText(shown.email)}>
        <ConfirmationLink link={shown.link} />
      </AuthLayout>
    )
  if (signup === 'closed') return <AuthLayout title={t.closed} text={t.closedText} below={below} />
  if (signup === 'invite' && !invitation) return <AuthLayout title={t.closed} text={t.inviteText} below={below} />
  return (
    <AuthLayout title={t.title} text={invitation && t.invited} below={below}>
      <SignUpForm onLink={setShown} />
    </AuthLayout>
  )
}

function SignUpForm({ onLink }: { onLink: (shown: { email: string; link: string }) => void }) {
  const t = useTexts()
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
  return (
    <Form sending={signUp} onSend={() => signUp.mutate()} action={t.submit} isWide>
      <Input
        label={t.name}
        hint={t.nameHint}
        autoComplete="organization"
        required
        maxLength={100}
        value={name}
        onChange={setName}
      />
      <EmailInput value={email} onChange={setEmail} />
      <NewPassword label={t.password} value={password} onChange={setPassword} />
    </Form>
  )
}
