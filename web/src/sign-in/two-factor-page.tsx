import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { auth } from '../base/api.ts'
import { translations } from '../base/language.ts'
import { Button } from '../ui/button.tsx'
import { Form, Input } from '../ui/form/form.tsx'
import { AuthLayout, BackToSignIn, useAfterSignIn } from './auth-layout.tsx'
import { PasskeyButton } from './passkey-button.tsx'

const useTexts = translations({
  title: ['Verificação em duas etapas', 'Two-step verification'],
  totp: {
    text: [
      'Informe o código de 6 dígitos do seu aplicativo autenticador.',
      'Enter the 6-digit code from your authenticator app.',
    ],
    label: ['Código', 'Code'],
    other: ['Usar um código de recuperação', 'Use a recovery code'],
  },
  recovery: {
    text: [
      'Informe um dos códigos que você guardou ao ativar as duas etapas. Cada um vale uma vez.',
      'Enter one of the codes you saved when you turned on two-step verification. Each works once.',
    ],
    label: ['Código de recuperação', 'Recovery code'],
    other: ['Usar o aplicativo autenticador', 'Use your authenticator app'],
  },
  submit: ['Continuar', 'Continue'],
})

const CODE_LENGTH = 6

export function TwoFactorPage() {
  const t = useTexts()
  const afterSignIn = useAfterSignIn()
  const [method, setMethod] = useState<'totp' | 'recovery'>('totp')
  const [code, setCode] = useState('')
  const isTotp = method === 'totp'
  const verify = useMutation({
    mutationFn: (text: string) =>
      auth.post(isTotp ? 'two-factor/verify-totp' : 'two-factor/verify-backup-code', { code: text.trim() }),
    onSuccess: afterSignIn,
  })
  const digitsOf = (text: string) => text.replaceAll(/\s/g, '')
  const type = (text: string) => {
    setCode(text)
    // The last digit submits the code.
    if (isTotp && digitsOf(text).length === CODE_LENGTH && !verify.isPending) verify.mutate(digitsOf(text))
  }
  const change = () => {
    setMethod(isTotp ? 'recovery' : 'totp')
    setCode('')
    verify.reset()
  }
  return (
    <AuthLayout title={t.title} text={t[method].text} below={<BackToSignIn />}>
      <Form sending={verify} onSend={() => verify.mutate(isTotp ? digitsOf(code) : code)} action={t.submit} isWide>
        <Input
          key={method}
          label={t[method].label}
          value={code}
          onChange={type}
          inputMode={isTotp ? 'numeric' : 'text'}
          autoComplete={isTotp ? 'one-time-code' : 'off'}
          maxLength={isTotp ? CODE_LENGTH + 1 : 64}
          required
          className="figures text-center font-mono text-xl tracking-[0.2em]"
        />
      </Form>
      <Button kind="quiet" onClick={change} className="mt-3 w-full">
        {t[method].other}
      </Button>
      <PasskeyButton />
    </AuthLayout>
  )
}
