import type { ReactNode } from 'react'
import { translations } from '../../base/language.ts'
import type { Attention } from '../../contract/types.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { CheckIcon } from '../../ui/icons.tsx'
import { NewDepositButton } from '../deposits/new-deposit-button.tsx'

const useTexts = translations({
  title: ['Primeiros passos', 'Get started'],
  text: ['Do zero ao primeiro Pix recebido.', 'From zero to your first Pix.'],
  done: ['Feito', 'Done'],
  key: ['Crie uma chave de API', 'Create an API key'],
  keyText: [
    'Seu sistema cria depósitos com ela. Ela aparece uma única vez: guarde em lugar seguro.',
    'Your system creates deposits with it. It is shown only once: store it safely.',
  ],
  keyAction: ['Criar chave', 'Create key'],
  webhook: ['Adicione um webhook', 'Add a webhook'],
  webhookText: [
    'Avisamos seu sistema assim que um depósito for pago.',
    'We notify your system as soon as a deposit is paid.',
  ],
  webhookAction: ['Adicionar webhook', 'Add webhook'],
  deposit: ['Crie seu primeiro depósito', 'Create your first deposit'],
  depositText: ['Crie um aqui e veja o que o pagador recebe.', 'Create one here and see what the payer gets.'],
})

/** Shown for an account without deposits, instead of empty charts. */
export function FirstSteps({ attention }: { attention: readonly Attention[] }) {
  const t = useTexts()
  const lacks = (kind: Attention['kind']) => attention.some((item) => item.kind === kind)
  return (
    <Card title={t.title} text={t.text} isFlush>
      <ol className="divide-y divide-line border-t border-line">
        <Step
          number={1}
          isDone={!lacks('no_key')}
          title={t.key}
          text={t.keyText}
          action={<ButtonLink to="/developers">{t.keyAction}</ButtonLink>}
        />
        <Step
          number={2}
          isDone={!lacks('no_webhook')}
          title={t.webhook}
          text={t.webhookText}
          action={<ButtonLink to="/developers/webhooks">{t.webhookAction}</ButtonLink>}
        />
        <Step
          number={3}
          isDone={false}
          title={t.deposit}
          text={t.depositText}
          action={<NewDepositButton kind="secondary" />}
        />
      </ol>
    </Card>
  )
}

function Step(props: { number: number; isDone: boolean; title: string; text: string; action: ReactNode }) {
  const t = useTexts()
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-3 px-5 py-4">
      <span
        className={`flex size-9 shrink-0 items-center justify-center rounded-full font-semibold ${props.isDone ? 'bg-good-ground text-good' : 'bg-still-ground text-still'}`}
      >
        {props.isDone ? <CheckIcon className="size-5" /> : props.number}
      </span>
      <div className="min-w-0 flex-1 basis-52">
        <h3 className="font-semibold">{props.title}</h3>
        <p className="text-soft">{props.text}</p>
      </div>
      <div className="max-sm:ml-13">
        {props.isDone ? <span className="font-medium text-good">{t.done}</span> : props.action}
      </div>
    </li>
  )
}
