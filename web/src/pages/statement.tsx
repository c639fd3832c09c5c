import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../base/api.ts'
import { useCursorList } from '../base/cursor-list.ts'
import { endOfDayIso, startOfDayIso } from '../base/dates.ts'
import { useFilters } from '../base/filters.ts'
import { words } from '../base/language.ts'
import { Card, Figure } from '../ui/card.tsx'
import { DateTime } from '../ui/date-time.tsx'
import { ExportMenu } from '../ui/export-menu.tsx'
import { DateFilter, TimeZone } from '../ui/filter-bar.tsx'
import { StatementIcon } from '../ui/icons.tsx'
import { Money } from '../ui/money.tsx'
import { Page } from '../ui/page.tsx'
import { Pagination } from '../ui/pagination.tsx'
import { Skeleton } from '../ui/skeleton.tsx'
import { CardLines, Empty, Table, type Column } from '../ui/table.tsx'
import { PERIODS, periodDays, type Period } from './statement/periods.ts'

const useWords = words({
  'pt-BR': {
    title: 'Extrato',
    text: 'Tudo o que entrou e saiu do saldo, na ordem em que foi lançado.',
    balance: 'Saldo agora',
    period: 'Período',
    periods: {
      today: 'Hoje',
      week: '7 dias',
      month: 'Este mês',
      'last-month': 'Mês passado',
      own: 'Escolher',
    },
    from: 'De',
    to: 'Até',
    what: 'Lançamento',
    when: 'Data',
    amount: 'Valor',
    after: 'Saldo',
    emptyTitle: 'Nenhum lançamento neste período',
    emptyText: 'Depósitos pagos e devoluções aparecem aqui assim que mudam o saldo.',
    kinds: {
      deposit: 'Depósito, já sem a tarifa',
      refund_reserved: 'Devolução ao pagador',
      refund_released: 'Devolução não aconteceu: valor de volta',
      fee_returned: 'Tarifa devolvida',
      fee_kept: 'Tarifa cobrada de novo: devolução não aconteceu',
      matched_deposit: 'Depósito conciliado depois, já sem a tarifa',
      exception_credited: 'Crédito feito pelo operador',
      refund_charged: 'Devolução feita pela instituição de pagamento',
    },
  },
  en: {
    title: 'Statement',
    text: 'Everything that came into the balance and left it, in the order it was booked.',
    balance: 'Balance now',
    period: 'Period',
    periods: {
      today: 'Today',
      week: '7 days',
      month: 'This month',
      'last-month': 'Last month',
      own: 'Choose',
    },
    from: 'From',
    to: 'To',
    what: 'Entry',
    when: 'Date',
    amount: 'Amount',
    after: 'Balance',
    emptyTitle: 'No entries in this period',
    emptyText: 'Paid deposits and refunds appear here as soon as they change the balance.',
    kinds: {
      deposit: 'Deposit, less the fee',
      refund_reserved: 'Refund to the payer',
      refund_released: 'Refund did not happen: amount returned',
      fee_returned: 'Fee returned',
      fee_kept: 'Fee charged again: refund did not happen',
      matched_deposit: 'Deposit matched later, less the fee',
      exception_credited: 'Credited by the operator',
      refund_charged: 'Refund made at the payment provider',
    },
  },
})

type Line = {
  id: string
  kind: string
  amount: number
  balance: number
  paymentLinkId: string | null
  recordedAt: string
}

/** A page that is read at a glance, also where rows are cards. */
const PAGE_ROWS = 25
/** A payment shows up while somebody waits for it. */
const REFRESH_MS = 5_000

export function StatementPage() {
  const t = useWords()
  const [openedAt] = useState(() => new Date())
  const filters = useFilters(['period', 'from', 'to'])
  const period = PERIODS.find((name) => name === filters.values.period) ?? 'week'
  const { from, to } = period === 'own' ? filters.values : periodDays(period, openedAt)
  const query = { from: startOfDayIso(from), to: endOfDayIso(to) }
  const list = useCursorList<Line>({
    path: '/statement',
    query: { ...query, limit: PAGE_ROWS },
    rows: (answer: { lines: Line[] }) => answer.lines,
    refetchIntervalMs: REFRESH_MS,
  })
  // Whoever chooses days of their own begins with those in sight.
  const choose = (next: Period) =>
    filters.set(next === 'own' ? { period: next, from, to } : { period: next, from: '', to: '' })
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={<ExportMenu path="/statement.csv" query={query} what={t.periods[period]} />}
    >
      <Balance />
      <Card isFlush>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-3 px-5 py-4">
          <PeriodChoice value={period} onChange={choose} />
          <TimeZone />
          {period === 'own' && (
            <div className="flex flex-wrap gap-2 max-sm:w-full max-sm:flex-col">
              <DateFilter filters={filters} name="from" label={t.from} />
              <DateFilter filters={filters} name="to" label={t.to} />
            </div>
          )}
        </div>
        <Table
          caption={t.title}
          columns={useLineColumns()}
          rows={list.rows}
          rowKey={(line) => line.id}
          card={(line) => (
            <CardLines
              name={<Entry line={line} />}
              mark={<Amount line={line} />}
              text={<DateTime at={line.recordedAt} />}
              end={<Money cents={line.balance} />}
            />
          )}
          error={list.error}
          onRetry={list.retry}
          isStale={list.isStale}
          skeletonRows={10}
          empty={<Empty icon={<StatementIcon className="size-6" />} title={t.emptyTitle} text={t.emptyText} />}
        />
        <Pagination list={list} />
      </Card>
    </Page>
  )
}

function Balance() {
  const t = useWords()
  const balance = useQuery({
    queryKey: ['balance'],
    queryFn: ({ signal }) => get<{ balance: number }>('/balance', {}, { signal }),
    refetchInterval: REFRESH_MS,
  })
  // Where it cannot be read nothing is said: the list below tells why.
  const value = balance.data ? (
    <Money cents={balance.data.balance} />
  ) : balance.error ? (
    '—'
  ) : (
    <Skeleton className="h-7 w-40" />
  )
  return (
    <Card>
      <Figure label={t.balance} value={value} />
    </Card>
  )
}

function PeriodChoice({ value, onChange }: { value: Period; onChange: (value: Period) => void }) {
  const t = useWords()
  return (
    <div role="group" aria-label={t.period} className="-mx-3 flex flex-wrap gap-1">
      {PERIODS.map((period) => (
        <button
          key={period}
          type="button"
          aria-pressed={period === value}
          onClick={() => onChange(period)}
          className="min-h-10 shrink-0 rounded-lg px-3 text-sm font-semibold text-soft -outline-offset-2 hover:bg-hover aria-pressed:bg-good-ground aria-pressed:text-good"
        >
          {t.periods[period]}
        </button>
      ))}
    </div>
  )
}

function useLineColumns(): Column<Line>[] {
  const t = useWords()
  return [
    { key: 'when', header: t.when, width: 'w-52', cell: (line) => <DateTime at={line.recordedAt} /> },
    { key: 'what', header: t.what, cell: (line) => <Entry line={line} /> },
    { key: 'amount', header: t.amount, align: 'right', cell: (line) => <Amount line={line} /> },
    { key: 'after', header: t.after, align: 'right', cell: (line) => <Money cents={line.balance} /> },
  ]
}

function Entry({ line: { kind, paymentLinkId } }: { line: Line }) {
  const kinds: Record<string, string> = useWords().kinds
  const text = kinds[kind] ?? kind
  if (paymentLinkId === null) return text
  return (
    <Link
      to="/deposits/$paymentLinkId"
      params={{ paymentLinkId }}
      className="font-medium underline decoration-line decoration-2 underline-offset-4 hover:decoration-current"
    >
      {text}
    </Link>
  )
}

function Amount({ line: { amount } }: { line: Line }) {
  return <Money cents={amount} sign className={`font-medium ${amount > 0 ? 'text-good' : ''}`} />
}
