import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { ApiError, auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { useService } from '../base/session.ts'
import { Button } from '../ui/button.tsx'
import { Doorway } from '../ui/doorway.tsx'
import { Checkbox, Input, PasswordInput } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { useEnter } from './enter.ts'

const useWords = words({
  'pt-BR': {
    title: 'Entrar',
    email: 'E-mail',
    password: 'Senha',
    remember: 'Continuar conectado',
    submit: 'Entrar',
    forgot: 'Esqueci a senha',
    none: 'Ainda não tem conta?',
    signUp: 'Criar conta',
    unconfirmed: 'Enviar o link de confirmação de novo',
    changed: 'Senha trocada. Entre com a nova.',
    confirmed: 'E-mail confirmado. Agora é só entrar.',
    demo: 'O e-mail e a senha da conta de demonstração aparecem no terminal na primeira vez que o guiche é iniciado.',
  },
  en: {
    title: 'Sign in',
    email: 'E-mail',
    password: 'Password',
    remember: 'Keep me signed in',
    submit: 'Sign in',
    forgot: 'Forgot your password?',
    none: 'No account yet?',
    signUp: 'Create one',
    unconfirmed: 'Send the confirmation link again',
    changed: 'The password was changed. Sign in with the new one.',
    confirmed: 'The e-mail address is confirmed. Now sign in.',
    demo: 'The e-mail and password of the demo account are in the terminal, where guiche was started for the first time.',
  },
})

export function SignInPage() {
  const t = useWords()
  const service = useService()
  const { done } = useSearch({ strict: false })
  return (
    <Doorway
      title={t.title}
      below={
        service.signup === 'open' && (
          <>
            {t.none}{' '}
            <Link to="/sign-up" className="link">
              {t.signUp}
            </Link>
          </>
        )
      }
    >
      <div className="space-y-5">
        {done === 'password' && <Notice tone="good">{t.changed}</Notice>}
        {done === 'email' && <Notice tone="good">{t.confirmed}</Notice>}
        <SignInForm />
        {service.mode === 'test' && <p className="text-sm text-soft">{t.demo}</p>}
      </div>
    </Doorway>
  )
}

function SignInForm() {
  const t = useWords()
  const errorText = useErrorText()
  const navigate = useNavigate()
  const enter = useEnter()
  const { to, email: known } = useSearch({ strict: false })
  const [email, setEmail] = useState(known ?? '')
  const [password, setPassword] = useState('')
  const [rememberMe, setRememberMe] = useState(true)
  const signIn = useMutation({
    mutationFn: () =>
      auth.post<{ twoFactorRedirect?: boolean }>('sign-in/email', { email: email.trim(), password, rememberMe }),
    onSuccess: (answer) => (answer.twoFactorRedirect ? navigate({ to: '/two-factor', search: { to } }) : enter()),
  })
  const isUnconfirmed = signIn.error instanceof ApiError && signIn.error.code === 'EMAIL_NOT_VERIFIED'
  const submit = (event: FormEvent) => {
    event.preventDefault()
    signIn.mutate()
  }
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
      <div className="space-y-2">
        <PasswordInput
          label={t.password}
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Link to="/forgot-password" className="link inline-block text-sm">
          {t.forgot}
        </Link>
      </div>
      <Checkbox label={t.remember} checked={rememberMe} onChange={(event) => setRememberMe(event.target.checked)} />
      {signIn.error && (
        <Notice
          tone="bad"
          action={
            isUnconfirmed && (
              <Link to="/verify-email" search={{ email: email.trim() }} className="font-semibold underline">
                {t.unconfirmed}
              </Link>
            )
          }
        >
          {errorText(signIn.error)}
        </Notice>
      )}
      <Button type="submit" kind="primary" isBusy={signIn.isPending} className="w-full">
        {t.submit}
      </Button>
    </form>
  )
}
