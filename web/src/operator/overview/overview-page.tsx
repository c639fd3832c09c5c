import { Link } from '@tanstack/react-router'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { shortMoneyText } from '../../base/money.ts'
import { useGet } from '../../base/queries.ts'
import type { ExceptionKind } from '../../contract/codes.ts'
import type { HealthLine, OpenItem, OpenWork, OperatorOverview } from '../../contract/types.ts'
import { Card, DetailList, Empty, Figure, Page, Skeleton } from '../../ui/page.tsx'
import { Chart, CHART_HEIGHT } from '../../ui/data/chart.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { CheckIcon, ChevronRightIcon, WarningIcon } from '../../ui/icons.tsx'
import { useHealthTexts, useLineTitle } from '../health/health-texts.ts'
import { BreakerBadge, useLabels } from '../labels.tsx'

const useTexts = translations({
  title: ['Visão geral', 'Overview'],
  attention: ['Precisa de atenção', 'Needs attention'],
  calm: ['Tudo em ordem', 'All clear'],
  calmText: [
    'Sem exceções, repasses, contestações ou webhooks à espera de você, e nenhum alerta de saúde.',
    'No exceptions, payouts, disputes or webhooks wait for you, and no health alert.',
  ],
  exception: (amount: string, kind: string) => [`${amount}: ${kind}`, `${amount}: ${kind}`],
  noAccount: ['Sem conta', 'No account'],
  dispute: (amount: string) => [`Contestação de ${amount} em análise`, `Open dispute of ${amount}`],
  payout: (amount: string) => [`Repasse de ${amount} em aberto`, `Open payout of ${amount}`],
  failing: (name: string) => [`O webhook “${name}” está falhando`, `The webhook “${name}” is failing`],
  disabled: (name: string) => [`O webhook “${name}” foi desativado`, `The webhook “${name}” was disabled`],
  all: {
    exceptions: (count: string) => [
      count === '1' ? '1 exceção pendente' : `${count} exceções pendentes`,
      count === '1' ? '1 open exception' : `${count} open exceptions`,
    ],
    payouts: (count: string) => [
      count === '1' ? '1 repasse em aberto' : `${count} repasses em aberto`,
      count === '1' ? '1 open payout' : `${count} open payouts`,
    ],
    disputes: (count: string) => [
      count === '1' ? '1 contestação em análise' : `${count} contestações em análise`,
      count === '1' ? '1 open dispute' : `${count} open disputes`,
    ],
    webhooks: (count: string) => [
      count === '1' ? '1 webhook com falha' : `${count} webhooks com falha`,
      count === '1' ? '1 failing webhook' : `${count} failing webhooks`,
    ],
    health: (count: string) => [
      count === '1' ? '1 alerta de saúde' : `${count} alertas de saúde`,
      count === '1' ? '1 health alert' : `${count} health alerts`,
    ],
  },
  today: ['Recebido hoje', 'Received today'],
  charges: (paid: string, created: string) => [`${paid} de ${created} pagas`, `${paid} of ${created} paid`],
  fees: ['Tarifas hoje', 'Fees today'],
  suspense: ['Em conta transitória', 'In suspense'],
  suspenseNote: ['aguardando identificação', 'not yet allocated'],
  missingLabel: ['Devoluções externas', 'External refunds'],
  missingNote: ['feitas fora do guiche', 'made outside guiche'],
  accounts: ['Contas', 'Accounts'],
  volume: ['Últimos 30 dias', 'Last 30 days'],
  volumeText: ['Cobranças pagas, todas as contas', 'Paid charges, all accounts'],
  summary: (total: string) => [
    `Valor pago por dia nos últimos 30 dias; total de ${total}.`,
    `Amount paid on each of the last 30 days; ${total} in total.`,
  ],
  paid: ['Pago', 'Paid'],
  noVolume: ['Nenhuma cobrança paga nos últimos 30 dias', 'No paid charges in the last 30 days'],
  providers: ['Provedores', 'Providers'],
  lastClosing: ['Último fechamento', 'Last closing'],
  none: ['Nenhum dia fechado ainda', 'No closed days yet'],
  noneText: ['Cada dia é fechado duas horas depois de terminar.', 'Each day is closed two hours after it ends.'],
  day: ['Dia', 'Day'],
  atProvider: ['No provedor', 'At the provider'],
  inLedger: ['No livro-razão', 'In the ledger'],
  differences: ['Diferenças', 'Differences'],
  closedAt: ['Fechado em', 'Closed'],
})

/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 30_000

export function OperatorOverviewPage() {
  const t = useTexts()
  const overview = useGet<OperatorOverview>(['operator-overview'], '/operator/overview', {
    refetchInterval: REFRESH_MS,
  })
  const { data } = overview
  return (
    <Page title={t.title} query={overview}>
      <OpenWorkCard />
      <Figures overview={data} />
      <Volume days={data?.days} />
      <div className="grid grid-cols-1 items-start gap-6 md:grid-cols-2">
        <Providers overview={data} />
        <LastClosing overview={data} />
      </div>
    </Page>
  )
}

const PLACES = {
  exceptions: '/operator/exceptions',
  payouts: '/operator/payouts',
  disputes: '/operator/disputes',
  webhooks: '/operator/webhooks',
  health: '/operator/providers',
} as const

/** What is open, and how much of it there is in all. */
function OpenWorkCard() {
  const t = useTexts()
  const { count } = useFormat()
  const { data } = useGet<OpenWork>(['open'], '/operator/open', { refetchInterval: REFRESH_MS })
  const open = data && (Object.keys(PLACES) as (keyof typeof PLACES)[]).filter((what) => data.counts[what] > 0)
  return (
    <Card
      title={t.attention}
      isFlush
      actions={
        open && (
          <p className="figures flex flex-wrap gap-x-4 text-sm">
            {open.map((what) => (
              <Link key={what} to={PLACES[what]} className="link">
                {t.all[what](count(data.counts[what]))}
              </Link>
            ))}
          </p>
        )
      }
    >
      {!data && (
        <div className="border-t border-line px-5 py-4">
          <Skeleton className="h-11 w-72" />
        </div>
      )}
      {data && data.items.length === 0 && (
        <p className="flex items-start gap-3 border-t border-line px-5 py-4">
          <CheckIcon className="mt-0.5 size-5 text-good" />
          <span>
            <b className="font-semibold">{t.calm}.</b> <span className="text-soft">{t.calmText}</span>
          </span>
        </p>
      )}
      {data && data.items.length > 0 && (
        <ul className="divide-y divide-line border-t border-line">
          {data.items.map((item) => (
            <OpenEntry key={`${item.kind} ${item.id} ${item.what}`} item={item} />
          ))}
        </ul>
      )}
    </Card>
  )
}

function OpenEntry({ item }: { item: OpenItem }) {
  const { to, title, text } = useEntry()(item)
  return (
    <li>
      <Link to={to} className="flex items-center gap-3 px-5 py-3 -outline-offset-2 hover:bg-hover">
        <WarningIcon className={`size-5 ${item.kind === 'health' ? 'text-bad' : 'text-wait'}`} />
        <span className="min-w-0 grow sm:flex sm:items-center sm:gap-3">
          <span className="block min-w-0 grow">
            <span className="figures block font-semibold wrap-anywhere">{title}</span>
            <span className="block text-sm text-soft wrap-anywhere">{text}</span>
          </span>
          {item.since && (
            <span className="block shrink-0 text-sm text-soft">
              <DateTime at={item.since} relative />
            </span>
          )}
        </span>
        <ChevronRightIcon className="size-5 text-soft" />
      </Link>
    </li>
  )
}

function useEntry(): (item: OpenItem) => { to: string; title: string; text: string } {
  const t = useTexts()
  const labels = useLabels()
  const healthTexts = useHealthTexts()
  const lineTitle = useLineTitle()
  const { money } = useFormat()
  return ({ kind, id, what, email, value }) => {
    const text = email ?? t.noAccount
    switch (kind) {
      case 'exception': {
        const title = t.exception(money(value ?? 0), labels.kind[what as ExceptionKind])
        return { to: `/operator/exceptions/${id}`, title, text }
      }
      case 'payout':
        return { to: PLACES.payouts, title: t.payout(money(value ?? 0)), text }
      case 'dispute':
        return { to: `/operator/disputes/${id}`, title: t.dispute(money(value ?? 0)), text }
      case 'webhook_failing':
        return { to: PLACES.webhooks, title: t.failing(what ?? ''), text }
      case 'webhook_disabled':
        return { to: PLACES.webhooks, title: t.disabled(what ?? ''), text }
      case 'health': {
        const check = id as HealthLine['check']
        const to = check === 'closing_differences' ? '/operator/reconciliation' : PLACES.health
        return { to, title: lineTitle({ check, subject: what }), text: healthTexts[check].act }
      }
    }
  }
}

function Figures({ overview }: { overview: OperatorOverview | undefined }) {
  const t = useTexts()
  const { count } = useFormat()
  const money = (cents: number | undefined) =>
    cents === undefined ? <Skeleton className="h-6 w-28" /> : <Money cents={cents} />
  return (
    <Card>
      <div className="grid grid-cols-[repeat(auto-fit,minmax(13rem,1fr))] gap-x-4 gap-y-5">
        <Figure
          label={t.today}
          value={money(overview?.today.paidValue)}
          note={overview ? t.charges(count(overview.today.paid), count(overview.today.created)) : ''}
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

function Volume({ days }: { days: OperatorOverview['days'] | undefined }) {
  const t = useTexts()
  const { language, money } = useFormat()
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
          summary={t.summary(money(total))}
          days={days.map(({ day }) => day)}
          series={[{ label: t.paid, values: days.map(({ paidValue }) => paidValue) }]}
          format={money}
          formatAxis={(cents) => shortMoneyText(Math.round(cents), language)}
        />
      )}
    </Card>
  )
}

function Providers({ overview }: { overview: OperatorOverview | undefined }) {
  const t = useTexts()
  return (
    <Card title={t.providers}>
      {overview ? (
        <DetailList
          details={overview.providers.map(({ name, breaker }) => ({ name, value: <BreakerBadge breaker={breaker} /> }))}
        />
      ) : (
        <Skeleton className="h-6 w-full" />
      )}
    </Card>
  )
}

function LastClosing({ overview }: { overview: OperatorOverview | undefined }) {
  const t = useTexts()
  const { count, day } = useFormat()
  const closing = overview?.lastClosing
  return (
    <Card title={t.lastClosing}>
      {closing === undefined && <Skeleton className="h-40 w-full" />}
      {closing === null && <Empty title={t.none} text={t.noneText} />}
      {closing && (
        <DetailList
          details={[
            {
              name: t.day,
              value: (
                <Link to="/operator/reconciliation/$day" params={{ day: closing.day }} className="link">
                  {day(closing.day)}, {closing.provider}
                </Link>
              ),
            },
            { name: t.atProvider, value: <Money cents={closing.providerTotal} /> },
            { name: t.inLedger, value: <Money cents={closing.ledgerTotal} /> },
            {
              name: t.differences,
              value: (
                <span className={`figures font-semibold ${closing.differenceCount > 0 ? 'text-bad' : 'text-good'}`}>
                  {count(closing.differenceCount)}
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
