import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { logTimeText, preciseText } from '../../base/dates.ts'
import { useLanguage, words } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import * as icons from '../../ui/icons.tsx'
import type { Tone } from '../../ui/notice.tsx'
import { useReason } from '../developers/reasons.ts'
import type { Moment } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Histórico',
    created: (money: string) => `Criado, no valor de ${money}`,
    paid: (money: string) => `Pago: ${money}`,
    confirmed: (provider: string) => `Pagamento confirmado por ${provider}`,
    credited: (money: string) => `${money} creditados no saldo`,
    creditedMore: (fee: string, balance: string) => `Tarifa de ${fee} · saldo depois: ${balance}`,
    held: {
      wrong_amount: (money: string) => `Recebidos ${money}: valor diferente do esperado`,
      second_payment: (money: string) => `Recebidos mais ${money}: já estava pago`,
      unknown_charge: (money: string) => `Recebidos ${money}`,
      wrong_provider: (money: string) => `Recebidos ${money} por outra instituição`,
    },
    heldMore: 'O dinheiro está guardado até o operador decidir.',
    released: {
      credit: (money: string) => `O operador creditou ${money} no seu saldo`,
      creditElsewhere: (money: string) => `O operador creditou ${money} a outra conta`,
      refund: (money: string) => `${money} voltaram ao pagador`,
      write_off: (money: string) => `O operador deu baixa em ${money}`,
      match: (money: string) => `Os ${money} concluíram este depósito`,
    },
    expired: 'Expirou sem pagamento',
    canceled: 'Cancelado',
    refund_requested: (money: string) => `Devolução de ${money} pedida`,
    refund_done: (money: string) => `Devolução de ${money} concluída`,
    refund_failed: (money: string) => `Devolução de ${money} não aconteceu; o valor voltou ao saldo`,
    event: (event: string) => `Evento ${event}`,
    delivered: (name: string) => `Webhook “${name}” recebeu`,
    undelivered: (name: string) => `Webhook “${name}” não recebeu`,
    attempt: (number: number, ms: number, outcome: string) => `Tentativa ${number} · ${outcome} · ${ms} ms`,
    noAnswer: 'sem resposta',
    next_check: 'Próxima consulta à instituição',
    all: (count: number) => `Mostrar tudo (${count})`,
  },
  en: {
    title: 'History',
    created: (money: string) => `Created, for ${money}`,
    paid: (money: string) => `Paid: ${money}`,
    confirmed: (provider: string) => `Payment confirmed by ${provider}`,
    credited: (money: string) => `${money} credited to the balance`,
    creditedMore: (fee: string, balance: string) => `Fee of ${fee} · balance after: ${balance}`,
    held: {
      wrong_amount: (money: string) => `Received ${money}: not the amount asked for`,
      second_payment: (money: string) => `Received another ${money}: it was paid already`,
      unknown_charge: (money: string) => `Received ${money}`,
      wrong_provider: (money: string) => `Received ${money} at another provider`,
    },
    heldMore: 'The money is held until the operator decides.',
    released: {
      credit: (money: string) => `The operator credited ${money} to your balance`,
      creditElsewhere: (money: string) => `The operator credited ${money} to another account`,
      refund: (money: string) => `${money} went back to the payer`,
      write_off: (money: string) => `The operator wrote off ${money}`,
      match: (money: string) => `The ${money} completed this deposit`,
    },
    expired: 'Expired without a payment',
    canceled: 'Canceled',
    refund_requested: (money: string) => `Refund of ${money} requested`,
    refund_done: (money: string) => `Refund of ${money} done`,
    refund_failed: (money: string) => `Refund of ${money} did not happen; the balance has it again`,
    event: (event: string) => `Event ${event}`,
    delivered: (name: string) => `Webhook “${name}” received it`,
    undelivered: (name: string) => `Webhook “${name}” did not receive it`,
    attempt: (number: number, ms: number, outcome: string) => `Attempt ${number} · ${outcome} · ${ms} ms`,
    noAnswer: 'no answer',
    next_check: 'The provider is asked again',
    all: (count: number) => `Show all (${count})`,
  },
})

/** More than this is a receiver that failed for days: its attempts are shown on request. */
const SHOWN = 20

type Line = { icon: (props: { className?: string }) => ReactNode; tone: Tone; text: ReactNode; more?: ReactNode }

export function Timeline({ moments }: { moments: readonly Moment[] }) {
  const t = useWords()
  const lineOf = useLines()
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole || moments.length <= SHOWN + 1 ? moments : moments.slice(0, SHOWN)
  return (
    <Card title={t.title}>
      <ol>
        {shown.map((moment, index) => (
          <Entry key={`${moment.kind} ${moment.at} ${index}`} moment={moment} line={lineOf(moment)} />
        ))}
      </ol>
      {shown.length < moments.length && (
        <div className="pt-4">
          <Button size="small" onClick={() => setWhole(true)}>
            {t.all(moments.length)}
          </Button>
        </div>
      )}
    </Card>
  )
}

const TONES: Record<Tone, string> = {
  good: 'bg-good-ground text-good',
  wait: 'bg-wait-ground text-wait',
  bad: 'bg-bad-ground text-bad',
  mark: 'bg-mark-ground text-mark',
  still: 'bg-still-ground text-still',
}

function Entry({ moment, line }: { moment: Moment; line: Line }) {
  const language = useLanguage()
  return (
    <li className="group relative flex gap-3.5 pb-5 last:pb-0">
      {/* The line from this one to the next. */}
      <span aria-hidden="true" className="absolute top-8 bottom-0 left-4 w-px bg-line group-last:hidden" />
      <span className={`flex size-8 shrink-0 items-center justify-center rounded-full ${TONES[line.tone]}`}>
        <line.icon className="size-4" />
      </span>
      <div className="min-w-0 grow pt-1">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4">
          <p className="font-medium wrap-anywhere">{line.text}</p>
          <time dateTime={moment.at} title={preciseText(moment.at, language)} className="figures text-sm text-soft">
            {logTimeText(moment.at, language)}
          </time>
        </div>
        {line.more && <p className="text-sm text-soft wrap-anywhere">{line.more}</p>}
      </div>
    </li>
  )
}

/** Each kind of moment in words. */
function useLines(): (moment: Moment) => Line {
  const t = useWords()
  const language = useLanguage()
  const reason = useReason()
  const money = (cents: number) => moneyText(cents, language)
  return (moment) => {
    switch (moment.kind) {
      case 'created':
        return { icon: icons.PlusIcon, tone: 'still', text: t.created(money(moment.value)) }
      case 'paid':
        return {
          icon: icons.DepositIcon,
          tone: 'good',
          text: t.paid(money(moment.value)),
          more: <code className="font-mono text-xs">{moment.endToEndId}</code>,
        }
      case 'confirmed':
        return { icon: icons.BankIcon, tone: 'good', text: t.confirmed(moment.provider) }
      case 'credited':
        return {
          icon: icons.CheckIcon,
          tone: 'good',
          text: t.credited(money(moment.value)),
          more: t.creditedMore(money(moment.fee), money(moment.balanceAfter)),
        }
      case 'payment_held':
        return {
          icon: icons.WarningIcon,
          tone: 'wait',
          text: t.held[moment.why](money(moment.value)),
          more: (
            <>
              {t.heldMore} <code className="font-mono text-xs">{moment.endToEndId}</code>
            </>
          ),
        }
      case 'payment_released': {
        const way = moment.how === 'credit' && !moment.isOwn ? 'creditElsewhere' : moment.how
        return { icon: icons.CheckIcon, tone: 'mark', text: t.released[way](money(moment.value)) }
      }
      case 'expired':
        return { icon: icons.ClockIcon, tone: 'still', text: t.expired }
      case 'canceled':
        return { icon: icons.CloseIcon, tone: 'still', text: t.canceled }
      case 'refund_requested':
      case 'refund_done':
      case 'refund_failed':
        return {
          icon: icons.ArrowLeftIcon,
          tone: ({ refund_requested: 'wait', refund_done: 'good', refund_failed: 'bad' } as const)[moment.kind],
          text: t[moment.kind](money(moment.value)),
          ...(moment.reason && moment.kind === 'refund_requested' && { more: moment.reason }),
        }
      case 'event':
        return { icon: icons.LogIcon, tone: 'mark', text: t.event(moment.event) }
      case 'webhook_attempt':
        return attemptLine(
          moment,
          t,
          moment.error && reason({ code: moment.errorCode, detail: moment.errorDetail, text: moment.error }),
        )
      case 'next_check':
        return { icon: icons.ClockIcon, tone: 'wait', text: t.next_check }
    }
  }
}

function attemptLine(
  { eventId, endpointId, endpointName, number, status, latencyMs }: Extract<Moment, { kind: 'webhook_attempt' }>,
  t: ReturnType<typeof useWords>,
  reason: string | null,
): Line {
  const isDelivered = reason === null && status !== null && status >= 200 && status < 300
  const outcome = [status === null ? null : `HTTP ${status}`, reason].filter(Boolean).join(': ') || t.noAnswer
  return {
    icon: icons.WebhookIcon,
    tone: isDelivered ? 'good' : 'bad',
    text: (
      <Link to={`/developers/deliveries/${eventId}/${endpointId}`} className="hover:underline">
        {isDelivered ? t.delivered(endpointName) : t.undelivered(endpointName)}
      </Link>
    ),
    more: t.attempt(number, latencyMs, outcome),
  }
}
