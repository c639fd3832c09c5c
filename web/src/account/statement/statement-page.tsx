import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useCursorList, useFilters, useGet } from '../../base/queries.ts'
import type { StatementLine } from '../../contract/types.ts'
import { useStatusText } from '../../ui/badge.tsx'
import { ExportMenu } from '../../ui/data/export-menu.tsx'
import { DateRangeFilter, TimeZone } from '../../ui/data/filter-bar.tsx'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { StatementIcon } from '../../ui/icons.tsx'
import { Card, Empty, Figure, Page, Skeleton } from '../../ui/page.tsx'
import { periodDays, PERIODS, type Period } from './periods.ts'

const useTexts = translations({
  title: ['Extrato', 'Statement'],
  text: [
    'Tudo o que entrou ou saiu do seu saldo disponível, na ordem de lançamento.',
    'Everything that entered or left your available balance, in booking order.',
  ],
  available: ['Disponível agora', 'Available now'],
  reserved: (money: string) => [`${money} reservados para repasses`, `${money} reserved for payouts`],
  payouts: ['Ver repasses', 'View payouts'],
  period: ['Período', 'Period'],
  periods: {
    today: ['Hoje', 'Today'],
    week: ['7 dias', '7 days'],
    month: ['Este mês', 'This month'],
    'last-month': ['Mês passado', 'Last month'],
    own: ['Personalizado', 'Custom'],
  },
  what: ['Lançamento', 'Entry'],
  when: ['Data', 'Date'],
  amount: ['Valor', 'Amount'],
  after: ['Saldo', 'Balance'],
  emptyTitle: ['Nenhum lançamento neste período', 'No entries in this period'],
  emptyText: [
    'Depósitos pagos e devoluções aparecem aqui assim que mudam o saldo.',
    'Paid deposits and refunds appear here as soon as they change the balance.',
  ],
  kinds: {
    deposit: ['Depósito (líquido)', 'Deposit, net of fee'],
    refund_reserved: ['Devolução ao pagador', 'Refund to the payer'],
    refund_released: ['Devolução falhou: valor de volta', 'Refund failed: amount returned'],
    fee_returned: ['Tarifa devolvida', 'Fee returned'],
    fee_kept: ['Tarifa cobrada de novo: devolução falhou', 'Fee charged again: refund failed'],
    matched_deposit: ['Depósito liberado pela equipe do guiche', 'Deposit released by the guiche team'],
    exception_credited: ['Crédito feito pela equipe do guiche', 'Credited by the guiche team'],
    payout_reserved: ['Repasse', 'Payout'],
    payout_returned: ['Repasse recusado: valor de volta', 'Payout rejected: amount returned'],
    refund_charged: ['Devolução feita pelo provedor de pagamento', 'Refund made at the payment provider'],
  },
})

const PAGE_ROWS = 25
/** The history tells of all but the amount that a new refund reserves: it tells how the refund ends. */
const REFRESH_MS = 60_000

export function StatementPage() {
  const t = useTexts()
  const [openedAt] = useState(() => new Date())
  const filters = useFilters(['period', 'from', 'to'])
  const period = PERIODS.find((name) => name === filters.values.period) ?? 'week'
  const { from, to } = period === 'own' ? filters.values : periodDays(period, openedAt)
  const query = { from: startOfDayIso(from), to: endOfDayIso(to) }
  const list = useCursorList<StatementLine>({
    path: '/statement',
    query: { ...query, limit: PAGE_ROWS },
    field: 'lines',
    refetchIntervalMs: REFRESH_MS,
  })
  // A custom period starts with the days that are shown.
  const choose = (next: Period) =>
    filters.set(next === 'own' ? { period: next, from, to } : { period: next, from: '', to: '' })
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={<ExportMenu path="/statement.csv" query={query} period={t.periods[period]} />}
    >
      <Balance />
      <Card isFlush>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-3 px-5 py-4">
          <PeriodChoice value={period} onChange={choose} />
          {period === 'own' && (
            <div className="flex flex-wrap gap-2 max-sm:w-full max-sm:flex-col">
              <DateRangeFilter filters={filters} />
            </div>
          )}
          <TimeZone />
        </div>
        <Table
          caption={t.title}
          columns={useLineColumns()}
          list={list}
          rowKey={(line) => line.id}
          card={(line) => (
            <CardLines
              name={<Entry line={line} />}
              mark={<Amount line={line} />}
              text={<DateTime at={line.recordedAt} isShort />}
              end={<Money cents={line.balance} />}
            />
          )}
          skeletonRows={10}
          empty={<Empty icon={StatementIcon} title={t.emptyTitle} text={t.emptyText} />}
        />
      </Card>
    </Page>
  )
}

function Balance() {
  const t = useTexts()
  const { money } = useFormat()
  const balance = useGet<{ available: number; reserved: number }>(['balance'], '/balance', {
    refetchInterval: REFRESH_MS,
  })
  // Shows no error text, because the list below has it.
  const value = balance.data ? (
    <Money cents={balance.data.available} />
  ) : balance.error ? (
    '—'
  ) : (
    <Skeleton className="h-7 w-40" />
  )
  return (
    <Card>
      <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-2">
        <Figure
          label={t.available}
          value={value}
          note={balance.data && balance.data.reserved > 0 ? t.reserved(money(balance.data.reserved)) : ''}
        />
        <Link to="/payouts" className="link inline-flex min-h-9 items-center font-medium">
          {t.payouts}
        </Link>
      </div>
    </Card>
  )
}

function PeriodChoice({ value, onChange }: { value: Period; onChange: (value: Period) => void }) {
  const t = useTexts()
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

function useLineColumns(): Column<StatementLine>[] {
  const t = useTexts()
  return [
    { header: t.when, width: 'w-52', cell: (line) => <DateTime at={line.recordedAt} /> },
    { header: t.what, cell: (line) => <Entry line={line} /> },
    { header: t.amount, align: 'right', cell: (line) => <Amount line={line} /> },
    { header: t.after, align: 'right', cell: (line) => <Money cents={line.balance} /> },
  ]
}

function Entry({ line: { kind, paymentLinkId, payout } }: { line: StatementLine }) {
  const kinds: Record<string, string> = useTexts().kinds
  const { day } = useFormat()
  const statusText = useStatusText()
  const text = kinds[kind] ?? kind
  if (payout !== null) {
    const state = [statusText(payout.status), payout.paidAt && day(payout.paidAt), payout.reference]
    return (
      <span className="block">
        <Link to="/payouts" className={ENTRY}>
          {text}
        </Link>
        <span className="block truncate text-sm text-soft">{state.filter(Boolean).join(' · ')}</span>
      </span>
    )
  }
  if (paymentLinkId === null) return text
  return (
    <Link to="/deposits/$paymentLinkId" params={{ paymentLinkId }} className={ENTRY}>
      {text}
    </Link>
  )
}

const ENTRY = 'font-medium underline decoration-line decoration-2 underline-offset-4 hover:decoration-current'

function Amount({ line: { amount } }: { line: StatementLine }) {
  return <Money cents={amount} sign className={`font-medium ${amount > 0 ? 'text-good' : ''}`} />
}
