import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useMay } from '../../base/session.ts'
import type { Attention, Me } from '../../contract/types.ts'
import { Card } from '../../ui/page.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { ChevronRightIcon, KeyIcon, ShieldIcon, WarningIcon, WebhookIcon } from '../../ui/icons.tsx'
import { TONES, type Tone } from '../../ui/notice.tsx'

const useTexts = translations({
  title: ['Precisa da sua atenção', 'Needs your attention'],
  payment_held: (money: string) => [`${money} recebidos, em análise`, `${money} received, under review`],
  code_payment_held: (money: string) => [
    `${money} recebidos por um código, em análise`,
    `${money} received by a code, under review`,
  ],
  heldText: {
    wrong_amount: [
      'O valor é diferente do cobrado. A equipe do guiche decide.',
      'The amount differs from the one requested. The guiche team decides.',
    ],
    second_payment: [
      'O depósito ou o pedido já estava pago. A equipe do guiche decide.',
      'The deposit or its order was already paid. The guiche team decides.',
    ],
    payer_unconfirmed: ['O provedor é consultado sobre quem pagou.', 'The provider is asked who paid.'],
    code_closed: [
      'O código está encerrado. A equipe do guiche decide.',
      'The code is closed. The guiche team decides.',
    ],
    code_limits: [
      'O valor está fora dos limites do código. A equipe do guiche decide.',
      'The amount is outside of the limits of its code. The guiche team decides.',
    ],
    other: ['A equipe do guiche decide.', 'The guiche team decides.'],
  },
  see: ['Ver', 'View'],
  webhook_disabled: (name: string) => [`O webhook “${name}” foi desativado`, `Webhook “${name}” was disabled`],
  webhook_failing: (name: string) => [`O webhook “${name}” está falhando`, `Webhook “${name}” is failing`],
  key_expiring: (name: string) => [`A chave “${name}” expira em breve`, `Key “${name}” expires soon`],
  no_key: () => ['Nenhuma chave de API ativa', 'No active API key'],
  no_webhook: () => ['Nenhum webhook configurado', 'No webhook configured'],
  no_second_factor: () => [
    'Proteja a conta com a verificação em duas etapas',
    'Protect your account with two-step verification',
  ],
  noWebhookText: [
    'Sem ele, seu sistema precisa consultar se cada depósito foi pago.',
    'Without one, your system has to poll for paid deposits.',
  ],
  noKeyText: ['Sem ela, seu sistema não consegue criar depósitos.', 'Without one, your system cannot create deposits.'],
  noSecondFactorText: ['Hoje só a senha protege seu saldo.', 'Only a password protects your balance.'],
  since: ['desde', 'since'],
  fix: ['Resolver', 'Fix'],
})

type Scope = Me['scopes'][number]
type Kind = Exclude<Attention['kind'], 'account_suspended'>

const KINDS: Record<Kind, { to: string; tone: Tone; icon: typeof KeyIcon; scope: Scope }> = {
  payment_held: { to: '/deposits', tone: 'wait', icon: WarningIcon, scope: 'deposits:read' },
  code_payment_held: { to: '/codes', tone: 'wait', icon: WarningIcon, scope: 'deposits:read' },
  webhook_disabled: { to: '/developers/webhooks', tone: 'bad', icon: WebhookIcon, scope: 'webhooks:read' },
  webhook_failing: { to: '/developers/webhooks', tone: 'bad', icon: WebhookIcon, scope: 'webhooks:read' },
  key_expiring: { to: '/developers', tone: 'wait', icon: KeyIcon, scope: 'keys:read' },
  no_key: { to: '/developers', tone: 'still', icon: KeyIcon, scope: 'keys:write' },
  no_webhook: { to: '/developers/webhooks', tone: 'still', icon: WebhookIcon, scope: 'webhooks:write' },
  no_second_factor: { to: '/settings', tone: 'still', icon: ShieldIcon, scope: 'members:write' },
}

const TOLD_REASONS = ['wrong_amount', 'second_payment', 'payer_unconfirmed', 'code_closed', 'code_limits'] as const

/** What is wrong or missing, with links. For an empty account the first steps ask for keys and webhooks. */
export function AttentionList({ attention, isEmpty }: { attention: readonly Attention[]; isEmpty: boolean }) {
  const t = useTexts()
  const may = useMay()
  const shown = attention.filter(
    // The shell shows a suspension on every page.
    (item): item is Attention & { kind: Kind } =>
      item.kind !== 'account_suspended' &&
      may(KINDS[item.kind].scope) &&
      !(isEmpty && (item.kind === 'no_key' || item.kind === 'no_webhook')),
  )
  if (shown.length === 0) return null
  return (
    <Card title={t.title} isFlush>
      <ul className="divide-y divide-line border-t border-line">
        {shown.map((item) => (
          <Item key={`${item.kind} ${item.subjectId} ${item.at}`} attention={item} />
        ))}
      </ul>
    </Card>
  )
}

function Item({ attention: { kind, subjectId, name, at, value } }: { attention: Attention & { kind: Kind } }) {
  const t = useTexts()
  const { money } = useFormat()
  const { to, tone, icon: Icon } = KINDS[kind]
  const isHeld = kind === 'payment_held' || kind === 'code_payment_held'
  const hasPage = isHeld || kind === 'webhook_failing' || kind === 'webhook_disabled'
  const why = t.heldText[TOLD_REASONS.find((reason) => reason === name) ?? 'other']
  const held = (
    <>
      {kind === 'code_payment_held' && `${subjectId}: `}
      {why} {at && <DateTime at={at} relative />}
    </>
  )
  const more: Record<Kind, ReactNode> = {
    payment_held: held,
    code_payment_held: held,
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
        to={hasPage ? `${to}/${encodeURIComponent(subjectId ?? '')}` : to}
        className="flex min-h-14 items-center gap-3.5 px-5 py-2.5 -outline-offset-2 hover:bg-hover"
      >
        <span className={`flex size-9 shrink-0 items-center justify-center rounded-full ${TONES[tone]}`}>
          <Icon className="size-4.5" />
        </span>
        <span className="min-w-0 grow">
          <span className="block font-medium wrap-anywhere">{t[kind](isHeld ? money(value ?? 0) : (name ?? ''))}</span>
          <span className="block text-sm text-soft">{more[kind]}</span>
        </span>
        <span className="hidden text-sm font-semibold sm:block">{isHeld ? t.see : t.fix}</span>
        <ChevronRightIcon className="size-4 shrink-0 text-soft" />
      </Link>
    </li>
  )
}
