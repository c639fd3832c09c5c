import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { auth } from '../base/api.ts'
import { translations } from '../base/language.ts'
import { ButtonLink } from '../ui/button.tsx'
import { Form, NewPassword } from '../ui/form/form.tsx'
import { AuthLayout, BackToSignIn } from './auth-layout.tsx'

const useTexts = translations({
  title: ['Escolha uma nova senha', 'Choose a new password'],
  text: ['Alterar a senha encerra todas as sessões da sua conta.', 'Changing your password signs you out everywhere.'],
  submit: ['Alterar a senha', 'Change password'],
  missing: ['Link incompleto', 'Incomplete link'],
  missingText: [
    'Abra esta página pelo link que você recebeu, ou peça outro.',
    'Open this page from the link you received, or request a new one.',
  ],
  again: ['Pedir outro link', 'Request a new link'],
})

export function ResetPasswordPage() {
  const t = useTexts()
  const navigate = useNavigate()
  const { token } = useSearch({ strict: false })
  const [newPassword, setNewPassword] = useState('')
  const reset = useMutation({
    mutationFn: () => auth.post('reset-password', { newPassword, token }),
    onSuccess: () => navigate({ to: '/sign-in', search: { done: 'password' } }),
  })
  if (!token)
    return (
      <AuthLayout title={t.missing} text={t.missingText} below={<BackToSignIn />}>
        <div className="grid">
          <ButtonLink to="/forgot-password" kind="primary">
            {t.again}
          </ButtonLink>
        </div>
      </AuthLayout>
    )
  const again = (
    <Link to="/forgot-password" className="font-semibold underline">
      {t.again}
    </Link>
  )
  return (
    <AuthLayout title={t.title} text={t.text} below={<BackToSignIn />}>
      <Form sending={reset} onSend={() => reset.mutate()} action={t.submit} errorAction={again} isWide>
        <NewPassword value={newPassword} onChange={setNewPassword} />
      </Form>
    </AuthLayout>
  )
}
