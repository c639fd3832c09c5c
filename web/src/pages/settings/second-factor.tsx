import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent, type ReactNode } from 'react'
import { auth, isCanceled } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { words } from '../../base/language.ts'
import { sessionQuery, useMe } from '../../base/session.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Input, PasswordInput } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { TotpSecret } from './totp-secret.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Verificação em duas etapas',
    text: 'Além da senha, um código do seu celular. Sem ele, uma senha vazada não abre a conta.',
    isOn: 'Ativada',
    isOff: 'Desativada',
    enable: 'Ativar',
    disable: 'Desativar',
    renew: 'Novos códigos de recuperação',
    password: 'Sua senha',
    next: 'Continuar',
    back: 'Voltar',
    finish: 'Guardei os códigos',
    code: 'Código de 6 dígitos do aplicativo',
    activate: 'Ativar',
    enableTitle: 'Ativar as duas etapas',
    enableText: 'Confirme a senha para começar.',
    scanTitle: 'Leia o código QR',
    scanText:
      'Com um aplicativo autenticador (como Aegis, 1Password, Google Authenticator). Depois digite o código que ele mostra.',
    codesTitle: 'Guarde os códigos de recuperação',
    codesText: 'Cada um vale uma vez, se você perder o celular. Eles não serão mostrados de novo.',
    renewTitle: 'Criar novos códigos de recuperação',
    renewText: 'Os códigos antigos deixam de valer.',
    disableTitle: 'Desativar as duas etapas',
    disableText: 'Depois disso, só a senha protege a conta.',
    enabled: 'Verificação em duas etapas ativada.',
    disabled: 'Verificação em duas etapas desativada.',
  },
  en: {
    title: 'Two-step verification',
    text: 'A code from your phone besides the password. Without it, a leaked password does not open the account.',
    isOn: 'On',
    isOff: 'Off',
    enable: 'Turn on',
    disable: 'Turn off',
    renew: 'New recovery codes',
    password: 'Your password',
    next: 'Continue',
    back: 'Back',
    finish: 'I have kept the codes',
    code: '6-digit code of the app',
    activate: 'Turn on',
    enableTitle: 'Turn on two steps',
    enableText: 'Confirm the password to begin.',
    scanTitle: 'Scan the QR code',
    scanText:
      'With an authenticator app (such as Aegis, 1Password, Google Authenticator). Then type the code that it shows.',
    codesTitle: 'Keep the recovery codes',
    codesText: 'Each works once, should you lose your phone. They will not be shown again.',
    renewTitle: 'Make new recovery codes',
    renewText: 'The old codes stop working.',
    disableTitle: 'Turn off two steps',
    disableText: 'After that, the password alone protects the account.',
    enabled: 'Two-step verification is on.',
    disabled: 'Two-step verification is off.',
  },
})

type Step =
  | { kind: 'enable' | 'renew' | 'disable' }
  | { kind: 'scan'; totpURI: string; backupCodes: string[] }
  | { kind: 'codes'; backupCodes: string[] }

/** Turning it on: password, QR code, a code as proof, recovery codes. It is on only after the proof. */
export function SecondFactor() {
  const t = useWords()
  const me = useMe()
  const [step, setStep] = useState<Step | null>(null)
  return (
    <Card
      title={
        <span className="flex flex-wrap items-center gap-2">
          {t.title}
          <Badge tone={me.isTwoFactor ? 'good' : 'wait'}>{me.isTwoFactor ? t.isOn : t.isOff}</Badge>
        </span>
      }
    >
      <p className="max-w-xl text-soft">{t.text}</p>
      <div className="mt-4 flex flex-wrap gap-2">
        {me.isTwoFactor ? (
          <>
            <Button onClick={() => setStep({ kind: 'renew' })}>{t.renew}</Button>
            <Button onClick={() => setStep({ kind: 'disable' })}>{t.disable}</Button>
          </>
        ) : (
          <Button kind="primary" onClick={() => setStep({ kind: 'enable' })}>
            {t.enable}
          </Button>
        )}
      </div>
      {step && <StepDialog step={step} onStep={setStep} />}
    </Card>
  )
}

function StepDialog({ step, onStep }: { step: Step; onStep: (step: Step | null) => void }) {
  const t = useWords()
  const queryClient = useQueryClient()
  const reread = () => queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey })
  const close = () => onStep(null)
  switch (step.kind) {
    case 'enable':
      return (
        <Asking
          key="enable"
          title={t.enableTitle}
          text={t.enableText}
          label={t.password}
          action={t.next}
          onClose={close}
          onAnswer={async (password) => {
            const made = await auth.post<{ totpURI: string; backupCodes: string[] }>('two-factor/enable', { password })
            onStep({ kind: 'scan', ...made })
          }}
        />
      )
    case 'scan':
      return (
        <Asking
          key="scan"
          title={t.scanTitle}
          text={t.scanText}
          label={t.code}
          isCode
          action={t.activate}
          onClose={close}
          onAnswer={async (code) => {
            await auth.post('two-factor/verify-totp', { code: code.replaceAll(/\s/g, '') })
            onStep({ kind: 'codes', backupCodes: step.backupCodes })
            toast.good(t.enabled)
            await reread()
          }}
        >
          <TotpSecret uri={step.totpURI} />
        </Asking>
      )
    case 'renew':
      return (
        <Asking
          key="renew"
          title={t.renewTitle}
          text={t.renewText}
          label={t.password}
          action={t.next}
          onClose={close}
          onAnswer={async (password) => {
            const made = await auth.post<{ backupCodes: string[] }>('two-factor/generate-backup-codes', { password })
            onStep({ kind: 'codes', backupCodes: made.backupCodes })
          }}
        />
      )
    case 'codes':
      return (
        <Dialog
          isOpen
          isFirm
          onClose={close}
          title={t.codesTitle}
          text={t.codesText}
          footer={
            <Button kind="primary" onClick={close}>
              {t.finish}
            </Button>
          }
        >
          <RecoveryCodes codes={step.backupCodes} />
        </Dialog>
      )
    case 'disable':
      return (
        <Asking
          key="disable"
          title={t.disableTitle}
          text={t.disableText}
          label={t.password}
          action={t.disable}
          isDanger
          onClose={close}
          onAnswer={async (password) => {
            await auth.post('two-factor/disable', { password })
            close()
            toast.good(t.disabled)
            await reread()
          }}
        />
      )
  }
}

/** One question, a password or a code, and an act that needs the answer. */
function Asking(props: {
  title: string
  text: string
  label: string
  action: string
  isCode?: boolean
  isDanger?: boolean
  onClose: () => void
  onAnswer: (answer: string) => Promise<void>
  children?: ReactNode
}) {
  const t = useWords()
  const errorText = useErrorText()
  const [answer, setAnswer] = useState('')
  const act = useMutation({ mutationFn: () => props.onAnswer(answer) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    act.mutate()
  }
  const field = {
    label: props.label,
    required: true,
    value: answer,
    onChange: (event: { target: { value: string } }) => setAnswer(event.target.value),
  }
  return (
    <Dialog
      isOpen
      onClose={props.onClose}
      title={props.title}
      text={props.text}
      footer={
        <>
          <Button onClick={props.onClose}>{t.back}</Button>
          <Button
            type="submit"
            form="second-factor"
            kind={props.isDanger ? 'danger' : 'primary'}
            isBusy={act.isPending}
          >
            {props.action}
          </Button>
        </>
      }
    >
      <form id="second-factor" onSubmit={submit} className="space-y-5">
        {props.children}
        {props.isCode ? (
          <Input
            {...field}
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={7}
            className="figures font-mono tracking-[0.2em]"
          />
        ) : (
          <PasswordInput {...field} />
        )}
        {act.error && !isCanceled(act.error) && <Notice tone="bad">{errorText(act.error)}</Notice>}
      </form>
    </Dialog>
  )
}
