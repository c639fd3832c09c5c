import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { ApiError, auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { translations } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Form, Input, NewPassword, useFields } from '../ui/form/form.tsx'
import { Failure, Skeleton } from '../ui/page.tsx'
import { AuthLayout, ConfirmationLink, EmailInput } from './auth-layout.tsx'

const useTexts = translations({
  title: ['Criar conta', 'Create your account'],
  invited: ['Você recebeu um convite. Falta pouco.', 'You’ve been invited. This takes a minute.'],
  dead: ['Este convite não vale mais', 'This invitation is no longer valid'],
  unknown: [
    'Convite não encontrado. Confira o link: pode faltar uma parte.',
    'Invitation not found. Check the link: part of it may be missing.',
  ],
  askAgain: ['Peça outro a quem convidou você.', 'Ask the person who invited you for a new one.'],
  locked: ['O convite é para este e-mail.', 'The invitation is for this address.'],
  name: ['Nome', 'Name'],
  nameHint: [
    'Seu ou da sua empresa. Os pagadores o veem na página de pagamento.',
    'Yours or your company’s. Payers see it on the payment page.',
  ],
  password: ['Senha', 'Password'],
  submit: ['Criar conta', 'Create account'],
  known: ['Já tem conta?', 'Already have an account?'],
  signIn: ['Entrar', 'Sign in'],
  closed: ['Cadastro fechado', 'Sign-up is closed'],
  closedText: [
    'As contas são criadas pela equipe do guiche. Fale com ela para ter a sua.',
    'Accounts are created by the guiche team. Ask them for one.',
  ],
  inviteText: [
    'Para criar uma conta é preciso um convite. Peça o link à equipe do guiche.',
    'You need an invitation to create an account. Ask the guiche team for the link.',
  ],
  made: ['Conta criada', 'Account created'],
  madeText: (email: string) => [`Falta confirmar o e-mail ${email}.`, `Next, confirm your email address ${email}.`],
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
  if (invitation) return <Invited token={invitation} below={below} onLink={setShown} />
  return (
    <AuthLayout title={t.title} below={below}>
      <SignUpForm onLink={setShown} />
    </AuthLayout>
  )
}

type OnLink = (shown: { email: string; link: string }) => void

/** Asks about the invitation first: nobody should fill in a form that is refused. */
function Invited({ token, below, onLink }: { token: string; below: ReactNode; onLink: OnLink }) {
  const t = useTexts()
  const errorText = useErrorText()
  const found = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => auth.post<{ invitation: { email: string | null } }>('invitation', { invitation: token }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const status = found.error instanceof ApiError ? found.error.status : 0
  if (status === 404 || status === 409) {
    const why = status === 404 ? t.unknown : errorText(found.error)
    return <AuthLayout title={t.dead} text={`${why} ${t.askAgain}`} below={below} />
  }
  return (
    <AuthLayout title={t.title} text={found.data && t.invited} below={below}>
      {found.data && <SignUpForm invitation={{ token, ...found.data.invitation }} onLink={onLink} />}
      {found.error && <Failure error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <Skeleton className="h-72 w-full" />}
    </AuthLayout>
  )
}

type Invitation = { token: string; email: string | null }

function SignUpForm({ invitation, onLink }: { invitation?: Invitation; onLink: OnLink }) {
  const t = useTexts()
  const navigate = useNavigate()
  const { typed, field } = useFields({ name: '', email: invitation?.email ?? '', password: '' })
  const email = typed.email.trim()
  const signUp = useMutation({
    mutationFn: () =>
      auth.post<{ user: { emailVerified: boolean }; confirmationLink?: string }>('sign-up/email', {
        ...typed,
        name: typed.name.trim(),
        email,
        ...(invitation && { invitation: invitation.token }),
      }),
    onSuccess: ({ user, confirmationLink: link }) => {
      if (user.emailVerified) return navigate({ to: '/sign-in', search: { done: 'email', email } })
      if (link) return onLink({ email, link })
      return navigate({ to: '/verify-email', search: { email, sent: 'yes' } })
    },
  })
  return (
    <Form sending={signUp} onSend={() => signUp.mutate()} action={t.submit} isWide>
      <Input {...field('name')} label={t.name} hint={t.nameHint} autoComplete="organization" required maxLength={100} />
      <EmailInput {...field('email')} {...(invitation?.email && { lockedBy: t.locked })} />
      <NewPassword {...field('password')} label={t.password} />
    </Form>
  )
}
