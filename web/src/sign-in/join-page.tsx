import { useMutation, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ApiError, auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { translations } from '../base/language.ts'
import { useRoleNames } from '../base/roles.ts'
import { sessionQuery, signOut } from '../base/session.ts'
import type { Role } from '../contract/codes.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Form, Input, NewPassword, useFields } from '../ui/form/form.tsx'
import { Failure, Skeleton } from '../ui/page.tsx'
import { AuthLayout, EmailInput, useAfterSignIn } from './auth-layout.tsx'

const useTexts = translations({
  title: (account: string) => [`Participar de ${account}`, `Join ${account}`],
  loading: ['Convite', 'Invitation'],
  text: (role: string) => [`Você foi convidado como ${role}.`, `You are invited as ${role}.`],
  dead: ['Este convite não vale mais', 'This invitation is no longer valid'],
  askAgain: ['Peça outro a quem convidou você.', 'Ask the person who invited you for a new one.'],
  locked: ['O convite é para este e-mail.', 'The invitation is for this address.'],
  name: ['Seu nome', 'Your name'],
  password: ['Senha', 'Password'],
  join: ['Participar', 'Join'],
  signIn: (email: string) => [`Entre como ${email} para participar.`, `Sign in as ${email} to join.`],
  toSignIn: ['Entrar', 'Sign in'],
  other: (email: string, other: string) => [
    `O convite é para ${email}, e você entrou como ${other}.`,
    `The invitation is for ${email}, and you are signed in as ${other}.`,
  ],
  signOut: ['Sair', 'Sign out'],
})

type Found = { accountName: string; email: string; role: Role; hasSignIn: boolean }

/** What an invited person sees: a form for those who are new, and a button for those who have a sign-in. */
export function JoinPage() {
  const t = useTexts()
  const errorText = useErrorText()
  const roleNames = useRoleNames()
  const { invitation: token = '' } = useSearch({ strict: false })
  const found = useQuery({
    queryKey: ['membership', token],
    queryFn: () => auth.post<{ invitation: Found }>('membership/invitation', { invitation: token }),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: token !== '',
  })
  if (token === '') return <AuthLayout title={t.dead} text={t.askAgain} />
  if (found.error instanceof ApiError && found.error.status === 409)
    return <AuthLayout title={t.dead} text={`${errorText(found.error)} ${t.askAgain}`} />
  if (!found.data)
    return (
      <AuthLayout title={t.loading}>
        {found.error ? (
          <Failure error={found.error} onRetry={() => void found.refetch()} />
        ) : (
          <Skeleton className="h-40 w-full" />
        )}
      </AuthLayout>
    )
  const { invitation } = found.data
  return (
    <AuthLayout title={t.title(invitation.accountName)} text={t.text(roleNames[invitation.role])}>
      <Accept token={token} invitation={invitation} />
    </AuthLayout>
  )
}

function Accept({ token, invitation }: { token: string; invitation: Found }) {
  const t = useTexts()
  const { email, hasSignIn } = invitation
  const { me } = useSuspenseQuery(sessionQuery).data
  if (me?.email === email) return <JoinButton token={token} />
  if (me)
    return (
      <div className="space-y-4">
        <p>{t.other(email, me.email)}</p>
        <Button onClick={() => void signOut()}>{t.signOut}</Button>
      </div>
    )
  if (!hasSignIn) return <NewSignIn token={token} email={email} />
  return (
    <div className="space-y-4">
      <p>{t.signIn(email)}</p>
      <Link
        to="/sign-in"
        search={{ to: `/join?invitation=${token}`, email }}
        className={buttonClass({ kind: 'primary' })}
      >
        {t.toSignIn}
      </Link>
    </div>
  )
}

function JoinButton({ token }: { token: string }) {
  const t = useTexts()
  const goHome = useAfterSignIn()
  const join = useMutation({
    mutationFn: () => auth.post('membership/join', { invitation: token }),
    onSuccess: goHome,
  })
  return (
    <Form sending={join} onSend={() => join.mutate()} action={t.join} isWide>
      {null}
    </Form>
  )
}

function NewSignIn({ token, email }: { token: string; email: string }) {
  const t = useTexts()
  const navigate = useNavigate()
  const { typed, field } = useFields({ name: '', password: '' })
  const signUp = useMutation({
    mutationFn: () =>
      auth.post('membership/sign-up', { invitation: token, name: typed.name.trim(), password: typed.password }),
    onSuccess: () => navigate({ to: '/sign-in', search: { done: 'joined', email } }),
  })
  return (
    <Form sending={signUp} onSend={() => signUp.mutate()} action={t.join} isWide>
      <EmailInput value={email} onChange={() => {}} lockedBy={t.locked} />
      <Input {...field('name')} label={t.name} autoComplete="name" required maxLength={100} />
      <NewPassword {...field('password')} label={t.password} />
    </Form>
  )
}
