import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { get } from '../../base/api.ts'
import { dayText } from '../../base/dates.ts'
import { useLanguage, words } from '../../base/language.ts'
import { countText, moneyText, shortMoneyText } from '../../base/money.ts'
import { Card, Facts, Figure } from '../../ui/card.tsx'
import { Chart } from '../../ui/chart.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { CheckIcon, ChevronRightIcon, WarningIcon } from '../../ui/icons.tsx'
import { Money } from '../../ui/money.tsx'
import { Page } from '../../ui/page.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Empty, Failure } from '../../ui/table.tsx'
import { BreakerBadge } from './names.tsx'
import type { Overview } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Visão geral',
    decide: 'Precisa de você',
    calm: 'Nada a decidir',
    calmText: 'Sem exceções abertas, diferenças no último fechamento ou falhas de instituições e webhooks.',
    exceptions: (count: string) => (count === '1' ? '1 exceção a resolver' : `${count} exceções a resolver`),
    exceptionsText: 'Pagamentos que não quitaram uma cobrança, ou devoluções que ninguém pediu.',
    missing: (amount: string) => `${amount} saíram sem pedido nosso`,
    missingText: 'Devoluções feitas pela instituição: falta decidir quem arca com elas.',
    closing: (count: string, day: string) =>
      count === '1' ? `1 diferença no fechamento de ${day}` : `${count} diferenças no fechamento de ${day}`,
    closingText: 'A instituição e o nosso razão não contam o mesmo.',
    provider: (name: string) => `A instituição ${name} está com problemas`,
    providerText: 'Depois de falhas seguidas, fica em pausa por um tempo.',
    webhooks: (count: string) => (count === '1' ? '1 webhook falhando' : `${count} webhooks falhando`),
    webhooksText: 'Clientes que não estão recebendo os avisos.',
    today: 'Recebido hoje',
    deposits: (paid: string, created: string) => `${paid} pagos de ${created} criados`,
    fees: 'Tarifas de hoje',
    suspense: 'Em conta transitória',
    suspenseNote: 'chegou e ainda não é de ninguém',
    missingLabel: 'Saídas a atribuir',
    missingNote: 'devolvido sem pedido nosso',
    accounts: 'Contas',
    volume: 'Volume de 30 dias',
    volumeText: 'Depósitos pagos, de todas as contas',
    summary: (total: string) => `Valor pago por dia nos últimos 30 dias; total de ${total}.`,
    total: 'Total',
    paid: 'Pago',
    noVolume: 'Nenhum depósito pago nos últimos 30 dias',
    providers: 'Instituições',
    lastClosing: 'Último fechamento',
    none: 'Nenhum dia fechado ainda',
    noneText: 'Cada dia é fechado duas horas depois de terminar.',
    day: 'Dia',
    atProvider: 'Na instituição',
    inLedger: 'No razão',
    differences: 'Diferenças',
    closedAt: 'Fechado em',
  },
  en: {
    title: 'Overview',
    decide: 'Needs you',
    calm: 'Nothing to decide',
    calmText: 'No open exceptions, differences in the last closing, or failing providers and webhooks.',
    exceptions: (count: string) => (count === '1' ? '1 exception to resolve' : `${count} exceptions to resolve`),
    exceptionsText: 'Payments that completed no charge, or refunds that nobody asked for.',
    missing: (amount: string) => `${amount} went without our asking`,
    missingText: 'Refunds made by the provider: who bears them is still to be decided.',
    closing: (count: string, day: string) =>
      count === '1' ? `1 difference in the closing of ${day}` : `${count} differences in the closing of ${day}`,
    closingText: 'The provider and our ledger do not say the same.',
    provider: (name: string) => `The provider ${name} is in trouble`,
    providerText: 'After failing again and again it is left alone for a while.',
    webhooks: (count: string) => (count === '1' ? '1 webhook fails' : `${count} webhooks fail`),
    webhooksText: 'Customers who do not receive their notices.',
    today: 'Received today',
    deposits: (paid: string, created: string) => `${paid} paid of ${created} created`,
    fees: 'Fees of today',
    suspense: 'In suspense',
    suspenseNote: 'arrived, and nobody’s yet',
    missingLabel: 'Missing',
    missingNote: 'refunded without our asking',
    accounts: 'Accounts',
    volume: 'Volume of 30 days',
    volumeText: 'Paid deposits, of all accounts',
    summary: (total: string) => `Amount paid on each of the last 30 days; ${total} in total.`,
    total: 'Total',
    paid: 'Paid',
    noVolume: 'No deposit was paid in the last 30 days',
    providers: 'Providers',
    lastClosing: 'Last closing',
    none: 'No day is closed yet',
    noneText: 'Each day is closed two hours after its end.',
    day: 'Day',
    atProvider: 'At the provider',
    inLedger: 'In the ledger',
    differences: 'Differences',
    closedAt: 'Closed at',
  },
})

/** It stays open on a screen all day. */
const REFRESH_MS = 30_000

export function OperatorOverviewPage() {
  const t = useWords()
  const { data, error, refetch } = useQuery({
    queryKey: ['operator-overview'],
    queryFn: ({ signal }) => get<Overview>('/operator/overview', {}, { signal }),
    refetchInterval: REFRESH_MS,
  })
  if (!data && error)
    return (
      <Page title={t.title}>
        <Card>
          <Failure error={error} onRetry={() => void refetch()} />
        </Card>
      </Page>
    )
  return (
    <Page title={t.title}>
      <Card title={t.decide} isFlush>
        <Decisions overview={data} />
      </Card>
      <Figures overview={data} />
      <Volume days={data?.days} />
      <div className="grid grid-cols-1 items-start gap-6 md:grid-cols-2">
        <Providers overview={data} />
        <LastClosing overview={data} />
      </div>
    </Page>
  )
}

function Decisions({ overview }: { overview: Overview | undefined }) {
  const t = useWords()
  const language = useLanguage()
  if (!overview)
    return (
      <div className="border-t border-line px-5 py-4">
        <Skeleton className="h-11 w-72" />
      </div>
    )
  const { openExceptions, missingCents, failingWebhooks, lastClosing } = overview
  const count = (number: number) => countText(number, language)
  const items: Decision[] = [
    ...(openExceptions > 0
      ? [{ to: '/operator/exceptions', title: t.exceptions(count(openExceptions)), text: t.exceptionsText }]
      : []),
    ...(missingCents > 0
      ? [
          {
            to: '/operator/exceptions?kind=foreign_refund',
            title: t.missing(moneyText(missingCents, language)),
            text: t.missingText,
          },
        ]
      : []),
    ...(lastClosing && lastClosing.differenceCount > 0
      ? [
          {
            to: `/operator/reconciliation/${lastClosing.day}`,
            title: t.closing(count(lastClosing.differenceCount), dayText(lastClosing.day, language)),
            text: t.closingText,
          },
        ]
      : []),
    ...overview.providers
      .filter(({ breaker }) => breaker !== 'closed')
      .map(({ name, lastError }) => ({
        to: '/operator/providers',
        title: t.provider(name),
        text: lastError ?? t.providerText,
      })),
    ...(failingWebhooks > 0
      ? [{ to: '/operator/webhooks', title: t.webhooks(count(failingWebhooks)), text: t.webhooksText }]
      : []),
  ]
  if (items.length === 0)
    return (
      <p className="flex items-start gap-3 border-t border-line px-5 py-4">
        <CheckIcon className="mt-0.5 size-5 text-good" />
        <span>
          <b className="font-semibold">{t.calm}.</b> <span className="text-soft">{t.calmText}</span>
        </span>
      </p>
    )
  return (
    <ul className="divide-y divide-line border-t border-line">
      {items.map((item) => (
        <DecisionRow key={item.to + item.title} {...item} />
      ))}
    </ul>
  )
}

type Decision = { to: string; title: string; text: string }

function DecisionRow({ to, title, text }: Decision) {
  return (
    <li>
      <Link to={to} className="flex items-center gap-3 px-5 py-3 -outline-offset-2 hover:bg-hover">
        <WarningIcon className="size-5 text-bad" />
        <span className="min-w-0 grow">
          <span className="figures block font-semibold">{title}</span>
          <span className="block text-sm text-soft wrap-anywhere">{text}</span>
        </span>
        <ChevronRightIcon className="size-5 text-soft" />
      </Link>
    </li>
  )
}

function Figures({ overview }: { overview: Overview | undefined }) {
  const t = useWords()
  const language = useLanguage()
  const count = (number: number) => countText(number, language)
  const wait = <Skeleton className="h-6 w-28" />
  const money = (cents: number | undefined): ReactNode => (cents === undefined ? wait : <Money cents={cents} />)
  return (
    <Card>
      <div className="grid grid-cols-[repeat(auto-fit,minmax(13rem,1fr))] gap-x-4 gap-y-5">
        <Figure
          label={t.today}
          value={money(overview?.today.paidValue)}
          note={overview ? t.deposits(count(overview.today.paid), count(overview.today.created)) : ''}
        />
        <Figure
          label={t.fees}
          value={money(overview?.today.fees)}
          note={overview ? `${t.accounts}: ${count(overview.accounts)}` : ''}
        />
        <Figure label={t.suspense} value={money(overview?.suspenseCents)} note={t.suspenseNote} />
        <Figure label={t.missingLabel} value={money(overview?.missingCents)} note={t.missingNote} />
      </div>
    </Card>
  )
}

/** In about the height of the chart, so that nothing jumps. */
const CHART_HEIGHT = 220

function Volume({ days }: { days: Overview['days'] | undefined }) {
  const t = useWords()
  const language = useLanguage()
  const total = days?.reduce((sum, day) => sum + day.paidValue, 0)
  return (
    <Card
      title={t.volume}
      text={t.volumeText}
      actions={
        <p className="figures text-right font-semibold">
          {total === undefined ? <Skeleton className="h-5 w-28" /> : <Money cents={total} />}
        </p>
      }
    >
      {days === undefined || total === undefined ? (
        <div style={{ height: CHART_HEIGHT }}>
          <Skeleton className="h-full w-full rounded-lg" />
        </div>
      ) : total === 0 ? (
        <p className="flex items-center justify-center text-center text-soft" style={{ height: CHART_HEIGHT }}>
          {t.noVolume}
        </p>
      ) : (
        <Chart
          summary={t.summary(moneyText(total, language))}
          days={days.map(({ day }) => day)}
          series={[{ label: t.paid, values: days.map(({ paidValue }) => paidValue), kind: 'bars' }]}
          format={(cents) => moneyText(cents, language)}
          formatAxis={(cents) => shortMoneyText(Math.round(cents), language)}
          height={CHART_HEIGHT}
        />
      )}
    </Card>
  )
}

function Providers({ overview }: { overview: Overview | undefined }) {
  const t = useWords()
  return (
    <Card title={t.providers}>
      {overview ? (
        <Facts
          facts={overview.providers.map(({ name, breaker }) => ({ name, value: <BreakerBadge breaker={breaker} /> }))}
        />
      ) : (
        <Skeleton className="h-6 w-full" />
      )}
    </Card>
  )
}

function LastClosing({ overview }: { overview: Overview | undefined }) {
  const t = useWords()
  const language = useLanguage()
  const closing = overview?.lastClosing
  return (
    <Card title={t.lastClosing}>
      {closing === undefined && <Skeleton className="h-40 w-full" />}
      {closing === null && <Empty title={t.none} text={t.noneText} />}
      {closing && (
        <Facts
          facts={[
            {
              name: t.day,
              value: (
                <Link to="/operator/reconciliation/$day" params={{ day: closing.day }} className="link">
                  {dayText(closing.day, language)}, {closing.provider}
                </Link>
              ),
            },
            { name: t.atProvider, value: <Money cents={closing.providerTotal} /> },
            { name: t.inLedger, value: <Money cents={closing.ledgerTotal} /> },
            {
              name: t.differences,
              value: (
                <span className={`figures font-semibold ${closing.differenceCount > 0 ? 'text-bad' : 'text-good'}`}>
                  {countText(closing.differenceCount, language)}
                </span>
              ),
            },
            { name: t.closedAt, value: <DateTime at={closing.closedAt} /> },
          ]}
        />
      )}
    </Card>
  )
}
