import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import * as icons from '../ui/icons.tsx'
import { logTimeText, preciseText } from '../base/dates.ts'
import { useFormat } from '../base/format.ts'
import { translations, useLanguage } from '../base/language.ts'
import { useMe } from '../base/session.ts'
import type { TimelineEntry } from '../contract/types.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/page.tsx'
import { useReasonText } from '../ui/data/delivery-reasons.ts'
import { useEventName } from '../ui/data/event-names.ts'
import { TONES, type Tone } from '../ui/notice.tsx'
import { useNatureText } from './natures.ts'

const useOwnTexts = translations({
  title: ['Histórico', 'History'],
  created: (money: string) => [`Criado: ${money}`, `Created: ${money}`],
  paid: {
    in_time: (money: string) => [`Pago: ${money}`, `Paid: ${money}`],
    after_expiry: (money: string) => [`Pago depois de vencer: ${money}`, `Paid after it expired: ${money}`],
    after_cancel: (money: string) => [`Pago depois de cancelado: ${money}`, `Paid after it was canceled: ${money}`],
  },
  confirmed: (provider: string) => [`Pagamento confirmado por ${provider}`, `Payment confirmed by ${provider}`],
  credited: (money: string) => [`${money} creditados no saldo`, `${money} credited to your balance`],
  creditedMore: (fee: string, balance: string) => [
    `Tarifa ${fee} · saldo ${balance}`,
    `Fee ${fee} · balance ${balance}`,
  ],
  held: {
    wrong_amount: (money: string) => [
      `Recebidos ${money}: valor diferente do esperado`,
      `Received ${money}: the amount differs from the one requested`,
    ],
    second_payment: (money: string) => [
      `Recebidos mais ${money}: já estava pago`,
      `Received another ${money}: already paid`,
    ],
    unknown_charge: (money: string) => [`Recebidos ${money}`, `Received ${money}`],
    wrong_provider: (money: string) => [
      `Recebidos ${money} por outro provedor`,
      `Received ${money} at another provider`,
    ],
    refunded_payment: (money: string) => [
      `Recebidos ${money} e já devolvidos pelo provedor`,
      `Received ${money}, already refunded by the provider`,
    ],
    payer_unconfirmed: (money: string) => [
      `Recebidos ${money}: falta confirmar quem pagou`,
      `Received ${money}: the payer has to be confirmed`,
    ],
  },
  heldMore: {
    other: ['Em análise até a equipe do guiche decidir.', 'Under review until the guiche team decides.'],
    payer: ['O provedor é consultado sobre quem pagou.', 'The provider is asked who paid.'],
  },
  released: {
    credit: (money: string) => [
      `A equipe do guiche creditou ${money} no seu saldo`,
      `The guiche team credited ${money} to your balance`,
    ],
    creditElsewhere: (money: string) => [
      `A equipe do guiche creditou ${money} a outra conta`,
      `The guiche team credited ${money} to another account`,
    ],
    refund: (money: string) => [`${money} devolvidos ao pagador`, `${money} was refunded to the payer`],
    write_off: (money: string) => [`A equipe do guiche deu baixa em ${money}`, `The guiche team wrote off ${money}`],
    match: (money: string) => [`${money} aceitos: depósito concluído`, `${money} accepted: deposit completed`],
  },
  expired: ['Expirou', 'Expired'],
  canceled: ['Cancelado', 'Canceled'],
  refund_requested: (money: string) => [`Devolução de ${money} pedida`, `Refund of ${money} requested`],
  refund_done: (money: string) => [`Devolução de ${money} concluída`, `Refund of ${money} succeeded`],
  reversed: (money: string) => [
    `O banco devolveu ${money} ao pagador, sem pedido`,
    `The bank returned ${money} to the payer, without a request`,
  ],
  refund_failed: (money: string) => [
    `Devolução de ${money} falhou; o valor voltou ao saldo`,
    `Refund of ${money} failed; the amount is back in your balance`,
  ],
  eventSent: (event: string) => [`Evento “${event}” enviado`, `Event “${event}” sent`],
  eventMade: (event: string) => [
    `Evento “${event}” criado; nenhum webhook o recebeu ainda`,
    `Event “${event}” created; no webhook has received it yet`,
  ],
  delivered: (name: string) => [`Entregue ao webhook “${name}”`, `Delivered to webhook “${name}”`],
  undelivered: (name: string) => [`Falha na entrega ao webhook “${name}”`, `Delivery to webhook “${name}” failed`],
  attempt: (number: number, ms: number, outcome: string) => [
    `Tentativa ${number} · ${outcome} · ${ms} ms`,
    `Attempt ${number} · ${outcome} · ${ms} ms`,
  ],
  noAnswer: ['sem resposta', 'no response'],
  next_check: ['Próxima consulta ao provedor', 'Next check with the provider'],
  all: (count: number) => [`Mostrar tudo (${count})`, `Show all (${count})`],
})

/** Operators read of a charge, and of an account that is not theirs. */
const useOperatorTexts = translations({
  created: (money: string) => [`Criada: ${money}`, `Created: ${money}`],
  paid: {
    in_time: (money: string) => [`Paga: ${money}`, `Paid: ${money}`],
    after_expiry: (money: string) => [`Paga depois de vencer: ${money}`, `Paid after it expired: ${money}`],
    after_cancel: (money: string) => [`Paga depois de cancelada: ${money}`, `Paid after it was canceled: ${money}`],
  },
  credited: (money: string) => [`${money} creditados ao saldo da conta`, `${money} credited to the account’s balance`],
  heldMore: {
    other: ['Na conta transitória até um operador decidir.', 'In suspense until an operator decides.'],
    payer: ['Na conta transitória até o provedor dizer quem pagou.', 'In suspense until the provider says who paid.'],
  },
  released: {
    credit: (money: string) => [`${money} creditados ao saldo da conta`, `${money} credited to the account’s balance`],
    creditElsewhere: (money: string) => [`${money} creditados a outra conta`, `${money} credited to another account`],
    refund: (money: string) => [`${money} devolvidos ao pagador`, `${money} was refunded to the payer`],
    write_off: (money: string) => [`Baixa de ${money}`, `${money} was written off`],
    match: (money: string) => [`${money} aceitos: cobrança concluída`, `${money} accepted: charge completed`],
  },
  canceled: ['Cancelada', 'Canceled'],
  refund_failed: (money: string) => [
    `Devolução de ${money} falhou; o valor voltou ao saldo da conta`,
    `Refund of ${money} failed; the amount is back in the account’s balance`,
  ],
})

function useTexts() {
  const own = useOwnTexts()
  const ofOperators = useOperatorTexts()
  return useMe().kind === 'operator' ? { ...own, ...ofOperators } : own
}

/** More entries come from a webhook that failed for days. They are shown on request. */
const SHOWN = 20

function Code({ children }: { children: string }) {
  return <code className="font-mono text-xs">{children}</code>
}

type Line = { icon: (props: { className?: string }) => ReactNode; tone: Tone; text: ReactNode; more?: ReactNode }

/** Without a `deliveryPath` the reader has no page of a delivery. */
type Props = { entries: readonly TimelineEntry[]; deliveryPath?: (delivery: Attempt) => string }

export function Timeline({ entries, deliveryPath }: Props) {
  const t = useTexts()
  const lineOf = useLines(entries, deliveryPath)
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole || entries.length <= SHOWN + 1 ? entries : entries.slice(0, SHOWN)
  return (
    <Card title={t.title}>
      <ol>
        {shown.map((entry, index) => (
          <Entry key={`${entry.kind} ${entry.at} ${index}`} at={entry.at} line={lineOf(entry)} />
        ))}
      </ol>
      {shown.length < entries.length && (
        <div className="pt-4">
          <Button size="small" onClick={() => setWhole(true)}>
            {t.all(entries.length)}
          </Button>
        </div>
      )}
    </Card>
  )
}

function Entry({ at, line }: { at: string; line: Line }) {
  const language = useLanguage()
  return (
    <li className="group relative flex gap-3.5 pb-5 last:pb-0">
      <span aria-hidden="true" className="absolute top-8 bottom-0 left-4 w-px bg-line group-last:hidden" />
      <span className={`flex size-8 shrink-0 items-center justify-center rounded-full ${TONES[line.tone]}`}>
        <line.icon className="size-4" />
      </span>
      <div className="min-w-0 grow pt-1">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4">
          <p className="font-medium wrap-anywhere">{line.text}</p>
          <time dateTime={at} title={preciseText(at, language)} className="figures text-sm text-soft">
            {logTimeText(at, language)}
          </time>
        </div>
        {line.more && <p className="text-sm text-soft wrap-anywhere">{line.more}</p>}
      </div>
    </li>
  )
}

function useLines(entries: Props['entries'], deliveryPath: Props['deliveryPath']): (entry: TimelineEntry) => Line {
  const t = useTexts()
  const eventName = useEventName()
  const { money } = useFormat()
  const reasonText = useReasonText()
  const natureText = useNatureText()
  const attempts = entries.filter((entry) => entry.kind === 'webhook_attempt')
  const sent = new Set(attempts.map(({ eventId }) => eventId))
  const whyHeld = ({ why }: HeldEntry) => t.heldMore[why === 'payer_unconfirmed' ? 'payer' : 'other']
  return (entry) => {
    if ('refundId' in entry) return refundLine(entry, t[entry.kind](money(entry.value)), natureText)
    switch (entry.kind) {
      case 'created':
        return { icon: icons.PlusIcon, tone: 'still', text: t.created(money(entry.value)) }
      case 'paid':
        return {
          icon: icons.DepositIcon,
          tone: 'good',
          text: t.paid[entry.timing](money(entry.value)),
          more: <Code>{entry.endToEndId}</Code>,
        }
      case 'confirmed':
        return { icon: icons.BankIcon, tone: 'good', text: t.confirmed(entry.provider) }
      case 'credited':
        return {
          icon: icons.CheckIcon,
          tone: 'good',
          text: t.credited(money(entry.value)),
          more: t.creditedMore(money(entry.fee), money(entry.balanceAfter)),
        }
      case 'payment_held':
        return {
          icon: icons.WarningIcon,
          tone: 'wait',
          text: t.held[entry.why](money(entry.value)),
          more: [whyHeld(entry), ' ', <Code key="endToEndId">{entry.endToEndId}</Code>],
        }
      case 'payment_released': {
        const way = entry.how === 'credit' && !entry.isOwn ? 'creditElsewhere' : entry.how
        return { icon: icons.CheckIcon, tone: 'mark', text: t.released[way](money(entry.value)) }
      }
      case 'expired':
        return { icon: icons.ClockIcon, tone: 'still', text: t.expired }
      case 'canceled':
        return { icon: icons.CloseIcon, tone: 'still', text: t.canceled }
      case 'event':
        return {
          icon: icons.LogIcon,
          tone: 'mark',
          text: (sent.has(entry.eventId) ? t.eventSent : t.eventMade)(eventName(entry.event)),
          more: <Code>{entry.event}</Code>,
        }
      case 'webhook_attempt':
        return attemptLine(
          // Numbers the attempts here, because the server starts a new count after a resend.
          { ...entry, number: attempts.filter((one) => isSameDelivery(one, entry)).indexOf(entry) + 1 },
          {
            t,
            reason: entry.error && reasonText({ code: entry.errorCode, detail: entry.errorDetail, text: entry.error }),
            path: deliveryPath?.(entry),
          },
        )
      case 'next_check':
        return { icon: icons.ClockIcon, tone: 'wait', text: t.next_check }
    }
  }
}

type RefundEntry = Extract<TimelineEntry, { refundId: string }>

function refundLine(entry: RefundEntry, text: string, natureText: ReturnType<typeof useNatureText>): Line {
  const more = entry.kind === 'reversed' ? natureText(entry.nature) : entry.kind === 'refund_requested' && entry.reason
  return {
    icon: icons.ArrowLeftIcon,
    tone: ({ refund_requested: 'wait', refund_done: 'good', refund_failed: 'bad', reversed: 'bad' } as const)[
      entry.kind
    ],
    text,
    ...(more && { more }),
  }
}

type HeldEntry = Extract<TimelineEntry, { kind: 'payment_held' }>
type Attempt = Extract<TimelineEntry, { kind: 'webhook_attempt' }>

function isSameDelivery(one: Attempt, other: Attempt): boolean {
  return one.eventId === other.eventId && one.webhookId === other.webhookId
}

function attemptLine(
  attempt: Attempt,
  { t, reason, path }: { t: ReturnType<typeof useTexts>; reason: string | null; path: string | undefined },
): Line {
  const { webhookName, number, status, latencyMs } = attempt
  const isDelivered = reason === null && status !== null && status >= 200 && status < 300
  const outcome = [status === null ? null : `HTTP ${status}`, reason].filter(Boolean).join(': ') || t.noAnswer
  const text = isDelivered ? t.delivered(webhookName) : t.undelivered(webhookName)
  return {
    icon: icons.WebhookIcon,
    tone: isDelivered ? 'good' : 'bad',
    text:
      path === undefined ? (
        text
      ) : (
        <Link to={path} className="hover:underline">
          {text}
        </Link>
      ),
    more: t.attempt(number, latencyMs, outcome),
  }
}
