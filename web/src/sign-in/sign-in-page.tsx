import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ApiError, auth } from '../base/api.ts'
import { translations } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Checkbox, Form, PasswordInput, useFields } from '../ui/form/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { AuthLayout, EmailInput, useAfterSignIn } from './auth-layout.tsx'
import { PasskeyButton } from './passkey-button.tsx'

const useTexts = translations({
  title: ['Entrar', 'Sign in'],
  password: ['Senha', 'Password'],
  remember: ['Continuar conectado', 'Keep me signed in'],
  submit: ['Entrar', 'Sign in'],
  forgot: ['Esqueci a senha', 'Forgot your password?'],
  none: ['Ainda não tem conta?', 'Don’t have an account?'],
  signUp: ['Criar conta', 'Sign up'],
  unconfirmed: ['Enviar o link de confirmação de novo', 'Resend the confirmation link'],
  changed: ['Senha alterada. Entre com a nova.', 'Password changed. Sign in with the new one.'],
  ended: ['Sua sessão terminou. Entre de novo.', 'Your session has ended. Sign in again.'],
  joined: ['Tudo certo. Entre com a senha que você escolheu.', 'All set. Sign in with the password you chose.'],
  confirmed: ['E-mail confirmado. Agora é só entrar.', 'Email confirmed. You can sign in now.'],
  demo: [
    'O e-mail e a senha da conta de demonstração aparecem no terminal na primeira vez que o guiche é iniciado.',
    'The email and password of the demo account are printed in the terminal when guiche starts for the first time.',
  ],
})

export function SignInPage() {
  const t = useTexts()
  const service = useService()
  const { done } = useSearch({ strict: false })
  const signUp = (
    <>
      {t.none}{' '}
      <Link to="/sign-up" className="link">
        {t.signUp}
      </Link>
    </>
  )
  return (
    <AuthLayout title={t.title} below={service.signup === 'open' && signUp}>
      <div className="space-y-5">
        {done === 'session' && <Notice tone="wait">{t.ended}</Notice>}
        {done === 'password' && <Notice tone="good">{t.changed}</Notice>}
        {done === 'joined' && <Notice tone="good">{t.joined}</Notice>}
        {done === 'email' && <Notice tone="good">{t.confirmed}</Notice>}
        <SignInForm />
        {service.mode === 'test' && <p className="text-sm text-soft">{t.demo}</p>}
      </div>
    </AuthLayout>
  )
}

function SignInForm() {
  const t = useTexts()
  const navigate = useNavigate()
  const afterSignIn = useAfterSignIn()
  const { to, email: known } = useSearch({ strict: false })
  const { typed, field } = useFields({ email: known ?? '', password: '', rememberMe: true })
  const email = typed.email.trim()
  const signIn = useMutation({
    mutationFn: () => auth.post<{ twoFactorRedirect?: boolean }>('sign-in/email', { ...typed, email }),
    onSuccess: (answer) => (answer.twoFactorRedirect ? navigate({ to: '/two-factor', search: { to } }) : afterSignIn()),
  })
  const isUnconfirmed = signIn.error instanceof ApiError && signIn.error.code === 'EMAIL_NOT_VERIFIED'
  const resend = isUnconfirmed && (
    <Link to="/verify-email" search={{ email }} className="font-semibold underline">
      {t.unconfirmed}
    </Link>
  )
  return (
    <>
      <Form sending={signIn} onSend={() => signIn.mutate()} action={t.submit} errorAction={resend} isWide>
        <EmailInput {...field('email')} />
        <div className="space-y-2">
          <PasswordInput {...field('password')} label={t.password} />
          <Link to="/forgot-password" className="link inline-block text-sm">
            {t.forgot}
          </Link>
        </div>
        <Checkbox {...field('rememberMe')} label={t.remember} />
      </Form>
      <PasskeyButton rememberMe={typed.rememberMe} />
    </>
  )
}
