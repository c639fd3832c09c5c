import { Link } from '@tanstack/react-router'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { shortMoneyText } from '../../base/money.ts'
import { useGet } from '../../base/queries.ts'
import type { OperatorOverview } from '../../contract/types.ts'
import { Card, DetailList, Empty, Figure, Page, Skeleton } from '../../ui/page.tsx'
import { Chart, CHART_HEIGHT } from '../../ui/data/chart.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { CheckIcon, ChevronRightIcon, WarningIcon } from '../../ui/icons.tsx'
import { BreakerBadge } from '../labels.tsx'

const useTexts = translations({
  title: ['Visão geral', 'Overview'],
  attention: ['Precisa de atenção', 'Needs attention'],
  calm: ['Tudo em ordem', 'All clear'],
  calmText: [
    'Sem exceções pendentes, diferenças no último fechamento ou falhas de provedores e webhooks.',
    'No open exceptions, no differences in the last closing, no failing providers or webhooks.',
  ],
  exceptions: (count: string) => [
    count === '1' ? '1 exceção pendente' : `${count} exceções pendentes`,
    count === '1' ? '1 open exception' : `${count} open exceptions`,
  ],
  exceptionsText: [
    'Pagamentos que não quitaram uma cobrança, ou devoluções externas.',
    'Payments that did not complete a charge, or external refunds.',
  ],
  payouts: (count: string) => [
    count === '1' ? '1 repasse em aberto' : `${count} repasses em aberto`,
    count === '1' ? '1 open payout' : `${count} open payouts`,
  ],
  payoutsText: ['Pague pelo banco e registre, ou recuse.', 'Pay from your bank and record it, or reject.'],
  missing: (amount: string) => [`${amount} devolvidos fora do guiche`, `${amount} refunded outside guiche`],
  missingText: ['Falta decidir quem assume o valor.', 'It is not yet decided who covers the amount.'],
  closing: (count: string, day: string) => [
    count === '1' ? `1 diferença no fechamento de ${day}` : `${count} diferenças no fechamento de ${day}`,
    count === '1' ? `1 difference in the closing of ${day}` : `${count} differences in the closing of ${day}`,
  ],
  closingText: ['O provedor e o livro-razão não conferem.', 'The provider and the ledger do not match.'],
  provider: (name: string) => [`O provedor ${name} está com problemas`, `Provider ${name} has problems`],
  providerText: ['Em pausa após falhas repetidas.', 'Paused after repeated failures.'],
  webhooks: (count: string) => [
    count === '1' ? '1 webhook falhando' : `${count} webhooks falhando`,
    count === '1' ? '1 failing webhook' : `${count} failing webhooks`,
  ],
  webhooksText: ['Contas que não estão recebendo seus eventos.', 'Accounts missing their events.'],
  disabled: (count: string) => [
    count === '1' ? '1 webhook desativado' : `${count} webhooks desativados`,
    count === '1' ? '1 disabled webhook' : `${count} disabled webhooks`,
  ],
  disabledText: [
    'Nada é entregue até que o titular da conta o ative de novo.',
    'Nothing is delivered until the account holder enables it again.',
  ],
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

const REFRESH_MS = 30_000

export function OperatorOverviewPage() {
  const t = useTexts()
  const overview = useGet<OperatorOverview>(['operator-overview'], '/operator/overview', {
    refetchInterval: REFRESH_MS,
  })
  const { data } = overview
  return (
    <Page title={t.title} query={overview}>
      <Card title={t.attention} isFlush>
        <AttentionList overview={data} />
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

function AttentionList({ overview }: { overview: OperatorOverview | undefined }) {
  const t = useTexts()
  const itemsOf = useAttentionItems()
  if (!overview)
    return (
      <div className="border-t border-line px-5 py-4">
        <Skeleton className="h-11 w-72" />
      </div>
    )
  const items = itemsOf(overview)
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
      {items.map(({ to, title, text }) => (
        <li key={to + title}>
          <Link to={to} className="flex items-center gap-3 px-5 py-3 -outline-offset-2 hover:bg-hover">
            <WarningIcon className="size-5 text-bad" />
            <span className="min-w-0 grow">
              <span className="figures block font-semibold">{title}</span>
              <span className="block text-sm text-soft wrap-anywhere">{text}</span>
            </span>
            <ChevronRightIcon className="size-5 text-soft" />
          </Link>
        </li>
      ))}
    </ul>
  )
}

type AttentionItem = { to: string; title: string; text: string }

function useAttentionItems(): (overview: OperatorOverview) => AttentionItem[] {
  const t = useTexts()
  const { money, count, day } = useFormat()
  return ({ openExceptions, openPayouts, missingCents, lastClosing, providers, failingWebhooks, disabledWebhooks }) => {
    const items: AttentionItem[] = []
    const add = (to: string, title: string, text: string) => items.push({ to, title, text })
    if (openExceptions > 0) add('/operator/exceptions', t.exceptions(count(openExceptions)), t.exceptionsText)
    if (openPayouts > 0) add('/operator/payouts', t.payouts(count(openPayouts)), t.payoutsText)
    if (missingCents > 0) add('/operator/exceptions?kind=foreign_refund', t.missing(money(missingCents)), t.missingText)
    if (lastClosing && lastClosing.differenceCount > 0) {
      const title = t.closing(count(lastClosing.differenceCount), day(lastClosing.day))
      add(`/operator/reconciliation/${lastClosing.day}`, title, t.closingText)
    }
    for (const { name, breaker, lastError } of providers)
      if (breaker !== 'closed') add('/operator/providers', t.provider(name), lastError ?? t.providerText)
    if (failingWebhooks > 0) add('/operator/webhooks', t.webhooks(count(failingWebhooks)), t.webhooksText)
    if (disabledWebhooks > 0) add('/operator/webhooks', t.disabled(count(disabledWebhooks)), t.disabledText)
    return items
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
