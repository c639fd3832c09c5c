import { Link } from '@tanstack/react-router'
import { keepPreviousData } from '@tanstack/react-query'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { chosenPeriod } from '../../ui/data/periods.ts'
import { useCursorList, useFilters, useGet } from '../../base/queries.ts'
import type { Statement, StatementLine } from '../../contract/types.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { FilterBar } from '../../ui/data/filter-bar.tsx'
import { amountsOf } from '../../ui/data/filter-controls.tsx'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { PrintIcon, StatementIcon } from '../../ui/icons.tsx'
import { Card, Empty, Figure, Page, Skeleton } from '../../ui/page.tsx'
import { ExportStatement } from './export-statement.tsx'
import { LineTitle, Net, useNote } from './line.tsx'
import { Summary, useColumnTexts } from './summary.tsx'

const useTexts = translations({
  title: ['Extrato', 'Statement'],
  text: [
    'Tudo o que entrou ou saiu do seu saldo disponível, na ordem de lançamento.',
    'Everything that entered or left your available balance, in booking order.',
  ],
  available: ['Disponível agora', 'Available now'],
  reserved: (money: string) => [`${money} reservados para repasses`, `${money} reserved for payouts`],
  held: (money: string) => [`${money} bloqueados por contestações`, `${money} set aside for disputes`],
  owed: (money: string) => [
    `${money} devidos, que os próximos valores pagam`,
    `${money} owed, which the next money pays`,
  ],
  payouts: ['Ver repasses', 'View payouts'],
  print: ['Imprimir', 'Print'],
  emptyTitle: ['Nenhum lançamento neste período', 'No entries in this period'],
  emptyText: [
    'Depósitos pagos e devoluções aparecem aqui assim que mudam o saldo.',
    'Paid deposits and refunds appear here as soon as they change the balance.',
  ],
})

const PAGE_ROWS = 25
const PATH = '/statement'

export function StatementPage() {
  const t = useTexts()
  const filters = useFilters(['period', 'from', 'to', 'minValue', 'maxValue'])
  const { minValue, maxValue } = amountsOf(filters.values)
  const chosen = chosenPeriod(filters, 'month')
  const { period, from, to } = chosen
  const query = { from, to, minValue, maxValue, limit: PAGE_ROWS }
  const list = useCursorList<StatementLine>({ path: PATH, query, field: 'lines' })
  // The first page of the list, which alone has balances and totals.
  const summary = useGet<Statement>(['list', PATH, query, null], PATH, {
    query,
    placeholderData: keepPreviousData,
  })
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={
        <>
          <ButtonLink to="/statement/print" search={{ period, from, to }}>
            <PrintIcon />
            {t.print}
          </ButtonLink>
          <ExportStatement from={from} to={to} />
        </>
      }
    >
      <CurrentBalance />
      <Card isFlush>
        <FilterBar filters={filters} period={chosen} />
        {summary.data?.openingBalance !== undefined && (
          <Summary statement={summary.data} isPart={minValue !== '' || maxValue !== ''} />
        )}
      </Card>
      <Card isFlush>
        <Table
          caption={t.title}
          columns={useLineColumns()}
          list={list}
          rowKey={(line) => line.id}
          card={(line) => <LineCard line={line} />}
          skeletonRows={10}
          empty={<Empty icon={StatementIcon} title={t.emptyTitle} text={t.emptyText} />}
        />
      </Card>
    </Page>
  )
}

function LineCard({ line }: { line: StatementLine }) {
  const noteOf = useNote()
  return (
    <CardLines
      name={<LineTitle line={line} />}
      mark={<Net line={line} />}
      text={
        <>
          <DateTime at={line.recordedAt} isShort /> {noteOf(line)}
        </>
      }
      end={<Money cents={line.balance} />}
    />
  )
}

function CurrentBalance() {
  const t = useTexts()
  const { money } = useFormat()
  type Balances = { available: number; reserved: number; held: number; owed: number }
  const balance = useGet<Balances>(['balance'], '/balance')
  const notesOf = ({ reserved, held, owed }: Balances) => [
    ...(reserved > 0 ? [t.reserved(money(reserved))] : []),
    ...(held > 0 ? [t.held(money(held))] : []),
    ...(owed > 0 ? [t.owed(money(owed))] : []),
  ]
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
        <Figure label={t.available} value={value} note={balance.data ? notesOf(balance.data).join(' · ') : ''} />
        <Link to="/payouts" className="link inline-flex min-h-9 items-center font-medium">
          {t.payouts}
        </Link>
      </div>
    </Card>
  )
}

function useLineColumns(): Column<StatementLine>[] {
  const t = useColumnTexts()
  const noteOf = useNote()
  return [
    { header: t.when, width: 'w-44', cell: (line) => <DateTime at={line.recordedAt} isShort /> },
    {
      header: t.what,
      cell: (line) => (
        <>
          <LineTitle line={line} />
          <span className="block truncate text-sm text-soft">{noteOf(line)}</span>
        </>
      ),
    },
    { header: t.gross, align: 'right', isWideOnly: true, cell: (line) => <Money cents={line.gross} /> },
    { header: t.fee, align: 'right', isWideOnly: true, cell: (line) => <Money cents={line.fee} /> },
    { header: t.net, align: 'right', cell: (line) => <Net line={line} /> },
    { header: t.after, align: 'right', cell: (line) => <Money cents={line.balance} /> },
  ]
}
