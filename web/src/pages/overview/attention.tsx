import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useLanguage, words } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { Card } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { ChevronRightIcon, KeyIcon, ShieldIcon, WarningIcon, WebhookIcon } from '../../ui/icons.tsx'
import type { Attention } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Precisa da sua atenção',
    payment_held: (money: string) => `${money} recebidos estão guardados`,
    heldText: {
      wrong_amount: 'O valor é diferente do que você pediu. O operador decide.',
      second_payment: 'O depósito já estava pago. O operador decide.',
      other: 'O operador decide.',
    },
    see: 'Ver',
    webhook_disabled: (name: string) => `O webhook “${name}” foi desativado`,
    webhook_failing: (name: string) => `O webhook “${name}” está falhando`,
    key_expiring: (name: string) => `A chave “${name}” vai expirar`,
    no_key: () => 'Nenhuma chave de API em uso',
    no_webhook: () => 'Nenhum webhook configurado',
    no_second_factor: () => 'Proteja a conta com a verificação em duas etapas',
    noWebhookText: 'Sem ele, seu sistema precisa perguntar se cada depósito foi pago.',
    noKeyText: 'Sem ela, seu sistema não consegue pedir depósitos.',
    noSecondFactorText: 'Só a senha separa alguém do seu saldo.',
    since: 'desde',
    fix: 'Resolver',
  },
  en: {
    title: 'Needs your attention',
    payment_held: (money: string) => `${money} was received and is held`,
    heldText: {
      wrong_amount: 'It is not the amount that you asked for. The operator decides.',
      second_payment: 'The deposit was paid already. The operator decides.',
      other: 'The operator decides.',
    },
    see: 'See it',
    webhook_disabled: (name: string) => `The webhook “${name}” has been disabled`,
    webhook_failing: (name: string) => `The webhook “${name}” is failing`,
    key_expiring: (name: string) => `The key “${name}” is about to expire`,
    no_key: () => 'No API key in use',
    no_webhook: () => 'No webhook is set',
    no_second_factor: () => 'Protect the account with two-step verification',
    noWebhookText: 'Without one your system has to ask whether each deposit was paid.',
    noKeyText: 'Without one your system cannot ask for deposits.',
    noSecondFactorText: 'A password alone stands between somebody and your balance.',
    since: 'since',
    fix: 'Fix it',
  },
})

type Kind = Exclude<Attention['kind'], 'account_suspended'>

const KINDS: Record<Kind, { to: string; tone: string; icon: typeof KeyIcon }> = {
  payment_held: { to: '/deposits', tone: 'bg-wait-ground text-wait', icon: WarningIcon },
  webhook_disabled: { to: '/developers/webhooks', tone: 'bg-bad-ground text-bad', icon: WebhookIcon },
  webhook_failing: { to: '/developers/webhooks', tone: 'bg-bad-ground text-bad', icon: WebhookIcon },
  key_expiring: { to: '/developers', tone: 'bg-wait-ground text-wait', icon: KeyIcon },
  no_key: { to: '/developers', tone: 'bg-still-ground text-still', icon: KeyIcon },
  no_webhook: { to: '/developers/webhooks', tone: 'bg-still-ground text-still', icon: WebhookIcon },
  no_second_factor: { to: '/settings', tone: 'bg-still-ground text-still', icon: ShieldIcon },
}

/** What is wrong or missing, each a link to where it is mended. Beginners have keys and webhooks among their first steps. */
export function AttentionList({ attention, isEmpty }: { attention: readonly Attention[]; isEmpty: boolean }) {
  const t = useWords()
  const shown = attention.filter(
    // A suspension is told on every page, by the frame.
    (one): one is Attention & { kind: Kind } =>
      one.kind !== 'account_suspended' && !(isEmpty && (one.kind === 'no_key' || one.kind === 'no_webhook')),
  )
  if (shown.length === 0) return null
  return (
    <Card title={t.title} isFlush>
      <ul className="divide-y divide-line border-t border-line">
        {shown.map((one) => (
          <Item key={`${one.kind} ${one.subjectId} ${one.at}`} attention={one} />
        ))}
      </ul>
    </Card>
  )
}

function Item({ attention: { kind, subjectId, name, at, value } }: { attention: Attention & { kind: Kind } }) {
  const t = useWords()
  const language = useLanguage()
  const { to, tone, icon: Icon } = KINDS[kind]
  const isHeld = kind === 'payment_held'
  const held = name === 'wrong_amount' || name === 'second_payment' ? name : 'other'
  const more: Record<Kind, ReactNode> = {
    payment_held: (
      <>
        {t.heldText[held]} {at && <DateTime at={at} relative />}
      </>
    ),
    webhook_disabled: at && <DateTime at={at} relative />,
    webhook_failing: at && (
      <>
        {t.since} <DateTime at={at} />
      </>
    ),
    key_expiring: at && <DateTime at={at} relative />,
    no_key: t.noKeyText,
    no_webhook: t.noWebhookText,
    no_second_factor: t.noSecondFactorText,
  }
  return (
    <li>
      <Link
        to={isHeld ? `${to}/${subjectId}` : to}
        className="flex min-h-14 items-center gap-3.5 px-5 py-2.5 -outline-offset-2 hover:bg-hover"
      >
        <span className={`flex size-9 shrink-0 items-center justify-center rounded-full ${tone}`}>
          <Icon className="size-4.5" />
        </span>
        <span className="min-w-0 grow">
          <span className="block font-medium wrap-anywhere">
            {t[kind](isHeld ? moneyText(value ?? 0, language) : (name ?? ''))}
          </span>
          <span className="block text-sm text-soft">{more[kind]}</span>
        </span>
        <span className="hidden text-sm font-semibold sm:block">{isHeld ? t.see : t.fix}</span>
        <ChevronRightIcon className="size-4 shrink-0 text-soft" />
      </Link>
    </li>
  )
}
