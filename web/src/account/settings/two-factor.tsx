import { useState, type ReactNode } from 'react'
import { auth } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { sessionQuery, useMe } from '../../base/session.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { Copyable, CopyButton } from '../../ui/data/values.tsx'
import { QrCode } from '../../ui/data/qr-code.tsx'
import { Input, PasswordInput, useFields } from '../../ui/form/form.tsx'
import { FormDialog, ShownOnce } from '../../ui/form/form-dialog.tsx'
import { DownloadIcon } from '../../ui/icons.tsx'
import { toast } from '../../ui/toast.tsx'
import { CurrentCode } from './current-code.tsx'

const useTexts = translations({
  title: ['Verificação em duas etapas', 'Two-step verification'],
  text: [
    'Pede um código do seu celular depois da senha: uma senha vazada não basta para entrar.',
    'Asks for a code from your phone after your password, so a leaked password is not enough to sign in.',
  ],
  isOn: ['Ativada', 'On'],
  isOff: ['Desativada', 'Off'],
  enable: ['Ativar', 'Turn on'],
  disable: ['Desativar', 'Turn off'],
  renew: ['Novos códigos de recuperação', 'New recovery codes'],
  password: ['Sua senha', 'Your password'],
  next: ['Continuar', 'Continue'],
  finish: ['Guardei os códigos', 'I saved these codes'],
  copy: ['Copiar todos', 'Copy all'],
  download: ['Baixar', 'Download'],
  file: ['guiche-codigos-de-recuperacao.txt', 'guiche-recovery-codes.txt'],
  qr: ['QR code para o aplicativo autenticador', 'QR code for your authenticator app'],
  byHand: ['Sem câmera? Digite esta chave no aplicativo:', 'No camera? Enter this key in the app:'],
  code: ['Código de 6 dígitos do aplicativo', '6-digit code from the app'],
  activate: ['Ativar', 'Turn on'],
  enableTitle: ['Ativar a verificação em duas etapas', 'Turn on two-step verification'],
  enableText: ['Informe sua senha para começar.', 'Enter your password to start.'],
  scanTitle: ['Leia o QR code', 'Scan the QR code'],
  scanText: [
    'Use um aplicativo autenticador (como Aegis, 1Password ou Google Authenticator) e digite o código que ele mostra.',
    'Use an authenticator app (such as Aegis, 1Password or Google Authenticator), then enter the code it shows.',
  ],
  codesTitle: ['Guarde os códigos de recuperação', 'Save your recovery codes'],
  codesText: [
    'Cada um vale uma vez, caso você perca o celular. Eles não serão mostrados de novo.',
    'Each works once if you lose your phone. They won’t be shown again.',
  ],
  renewTitle: ['Criar novos códigos de recuperação', 'Create new recovery codes'],
  renewText: ['Os códigos antigos deixam de valer.', 'The old codes stop working.'],
  disableTitle: ['Desativar a verificação em duas etapas', 'Turn off two-step verification'],
  disableText: ['Só a senha vai proteger sua conta.', 'Only your password will protect your account.'],
  enabled: ['Verificação em duas etapas ativada.', 'Two-step verification turned on.'],
  disabled: ['Verificação em duas etapas desativada.', 'Two-step verification turned off.'],
})

type Step =
  | { kind: 'enable' | 'renew' | 'disable' }
  | { kind: 'scan'; totpURI: string; backupCodes: string[] }
  | { kind: 'codes'; backupCodes: string[] }

/** Turning it on takes the password, a QR code, a code as proof, and recovery codes. It is on only after the proof. */
export function TwoFactor() {
  const t = useTexts()
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
      {step && <StepDialog key={step.kind} step={step} onStep={setStep} />}
    </Card>
  )
}

function StepDialog({ step, onStep }: { step: Step; onStep: (step: Step | null) => void }) {
  const t = useTexts()
  const close = () => onStep(null)
  const password = { label: t.password, action: t.next, onClose: close }
  switch (step.kind) {
    case 'enable':
      return (
        <PromptDialog
          {...password}
          title={t.enableTitle}
          text={t.enableText}
          onAnswer={async (password) => {
            const made = await auth.post<{ totpURI: string; backupCodes: string[] }>('two-factor/enable', { password })
            onStep({ kind: 'scan', ...made })
          }}
        />
      )
    case 'scan':
      return (
        <PromptDialog
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
            await refresh(sessionQuery.queryKey)
          }}
        >
          <TotpSecret uri={step.totpURI} />
        </PromptDialog>
      )
    case 'renew':
      return (
        <PromptDialog
          {...password}
          title={t.renewTitle}
          text={t.renewText}
          onAnswer={async (password, code) => {
            const proof = { password, code }
            const made = await auth.post<{ backupCodes: string[] }>('two-factor/generate-backup-codes', proof)
            onStep({ kind: 'codes', ...made })
          }}
        />
      )
    case 'codes':
      return <RecoveryCodes codes={step.backupCodes} onClose={close} />
    case 'disable':
      return (
        <PromptDialog
          {...password}
          title={t.disableTitle}
          text={t.disableText}
          action={t.disable}
          isDanger
          onAnswer={async (password, code) => {
            await auth.post('two-factor/disable', { password, code })
            close()
            toast.good(t.disabled)
            await refresh(sessionQuery.queryKey)
          }}
        />
      )
  }
}

/** Asks for the password, with a code if two-step verification is on; or for the first code of a new app. */
function PromptDialog(props: {
  title: string
  text: string
  label: string
  action: string
  isCode?: boolean
  isDanger?: boolean
  onClose: () => void
  onAnswer: (answer: string, code: string) => Promise<void>
  children?: ReactNode
}) {
  const { label, isCode, onAnswer, children, ...rest } = props
  const { typed, field } = useFields({ answer: '', code: '' })
  return (
    <FormDialog {...rest} onSend={() => onAnswer(typed.answer, typed.code)}>
      {children}
      {isCode ? (
        <Input
          {...field('answer')}
          label={label}
          required
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={7}
          className="figures font-mono tracking-[0.2em]"
        />
      ) : (
        <>
          <PasswordInput {...field('answer')} label={label} />
          <CurrentCode {...field('code')} />
        </>
      )}
    </FormDialog>
  )
}

/** What the authenticator app needs, as a QR code and as text. */
function TotpSecret({ uri }: { uri: string }) {
  const t = useTexts()
  const secret = URL.canParse(uri) ? (new URL(uri).searchParams.get('secret') ?? '') : ''
  return (
    <div className="space-y-3">
      <QrCode text={uri} label={t.qr} className="mx-auto w-52 rounded-lg border border-line" />
      <div className="text-sm text-soft">
        {t.byHand}
        <div className="text-ink">
          <Copyable text={secret} />
        </div>
      </div>
    </div>
  )
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const t = useTexts()
  const text = codes.join('\n')
  return (
    <ShownOnce title={t.codesTitle} warning={t.codesText} action={t.finish} onClose={onClose}>
      <ul className="grid grid-cols-2 gap-x-6 gap-y-1.5 rounded-lg border border-line bg-code-ground px-4 py-3 font-mono text-sm">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={text} label={t.copy} />
        <Button icon={DownloadIcon} size="small" onClick={() => saveText(t.file, `${text}\n`)}>
          {t.download}
        </Button>
      </div>
    </ShownOnce>
  )
}

function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
