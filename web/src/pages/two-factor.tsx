import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { auth } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { words } from '../base/language.ts'
import { Button } from '../ui/button.tsx'
import { Doorway } from '../ui/doorway.tsx'
import { Input } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { useEnter } from './enter.ts'

const useWords = words({
  'pt-BR': {
    title: 'Verificação em duas etapas',
    totp: {
      text: 'Informe o código de 6 dígitos do seu aplicativo autenticador.',
      label: 'Código',
      other: 'Usar um código de recuperação',
    },
    recovery: {
      text: 'Informe um dos códigos guardados quando você ativou as duas etapas. Cada um vale uma vez.',
      label: 'Código de recuperação',
      other: 'Usar o aplicativo autenticador',
    },
    submit: 'Continuar',
    back: 'Voltar para a entrada',
  },
  en: {
    title: 'Two-step verification',
    totp: { text: 'Enter the 6-digit code of your authenticator app.', label: 'Code', other: 'Use a recovery code' },
    recovery: {
      text: 'Enter one of the codes that you kept when you turned two steps on. Each works once.',
      label: 'Recovery code',
      other: 'Use the authenticator app',
    },
    submit: 'Continue',
    back: 'Back to sign-in',
  },
})

const CODE_LENGTH = 6

export function TwoFactorPage() {
  const t = useWords()
  const errorText = useErrorText()
  const enter = useEnter()
  const [way, setWay] = useState<'totp' | 'recovery'>('totp')
  const [code, setCode] = useState('')
  const verify = useMutation({
    mutationFn: (text: string) =>
      auth.post(way === 'totp' ? 'two-factor/verify-totp' : 'two-factor/verify-backup-code', { code: text.trim() }),
    onSuccess: enter,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    verify.mutate(way === 'totp' ? code.replaceAll(/\s/g, '') : code)
  }
  const type = (text: string) => {
    setCode(text)
    // The last digit is the decision: nothing else could be meant.
    const digits = text.replaceAll(/\s/g, '')
    if (way === 'totp' && digits.length === CODE_LENGTH && !verify.isPending) verify.mutate(digits)
  }
  const change = () => {
    setWay(way === 'totp' ? 'recovery' : 'totp')
    setCode('')
    verify.reset()
  }
  return (
    <Doorway
      title={t.title}
      text={t[way].text}
      below={
        <Link to="/sign-in" className="link">
          {t.back}
        </Link>
      }
    >
      <form onSubmit={submit} className="space-y-5">
        <Input
          key={way}
          label={t[way].label}
          value={code}
          onChange={(event) => type(event.target.value)}
          inputMode={way === 'totp' ? 'numeric' : 'text'}
          autoComplete={way === 'totp' ? 'one-time-code' : 'off'}
          maxLength={way === 'totp' ? CODE_LENGTH + 1 : 64}
          required
          className="figures text-center font-mono text-xl tracking-[0.2em]"
        />
        {verify.error && <Notice tone="bad">{errorText(verify.error)}</Notice>}
        <Button type="submit" kind="primary" isBusy={verify.isPending} className="w-full">
          {t.submit}
        </Button>
        <Button kind="quiet" onClick={change} className="w-full">
          {t[way].other}
        </Button>
      </form>
    </Doorway>
  )
}
