import { Link } from '@tanstack/react-router'
import { translations } from '../../base/language.ts'
import { chosenPeriod } from '../../ui/data/periods.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { DEPOSIT_STATUSES } from '../../contract/codes.ts'
import type { OperatorDeposit } from '../../contract/types.ts'
import { depositCard, useDepositColumns } from '../../deposits/deposit-columns.tsx'
import { depositQuery } from '../../deposits/deposit-list.ts'
import { useChargeStatusText } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { Table } from '../../ui/data/table.tsx'
import { DepositIcon, SearchIcon } from '../../ui/icons.tsx'
import { Card, Empty } from '../../ui/page.tsx'

const useTexts = translations({
  title: ['Cobranças', 'Charges'],
  search: ['Referência, descrição, valor, ID, link ou E2E', 'Reference, description, amount, ID, link or E2E ID'],
  status: ['Todas as situações', 'All statuses'],
  account: ['Conta', 'Account'],
  emptyTitle: ['Nenhuma cobrança ainda', 'No charges yet'],
  emptyText: ['Cada cobrança aparece aqui assim que é criada.', 'Each charge appears here once it is created.'],
  noneTitle: ['Nenhuma cobrança encontrada', 'No charges found'],
  noneText: [
    'Busque por parte da referência ou da descrição (3 letras ou mais), pelo valor, pelo ID ou pelo E2E.',
    'Search by part of the reference or description (3 letters or more), amount, ID or E2E ID.',
  ],
  clear: ['Limpar filtros', 'Clear filters'],
})

const PAGE_ROWS = 25
/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 15_000

/** The charges of one account, or of all. */
export function ChargeList({ accountId }: { accountId?: string }) {
  const t = useTexts()
  const statusText = useChargeStatusText()
  const filters = useFilters(['search', 'status', 'period', 'from', 'to'])
  const chosen = { ...filters.values, ...(accountId !== undefined && { accountId }) }
  const list = useCursorList<OperatorDeposit>({
    path: '/operator/deposits',
    query: { ...depositQuery(chosen), limit: PAGE_ROWS },
    field: 'deposits',
    refetchIntervalMs: REFRESH_MS,
  })
  const accountLine = useAccountLine()
  const columns = useDepositColumns(accountId === undefined ? accountLine : undefined)
  return (
    <Card isFlush>
      <FilterBar
        filters={filters}
        search={{ name: 'search', label: t.search }}
        period={chosenPeriod(filters, 'all')}
        selects={[{ name: 'status', label: t.status, choices: choicesOf(DEPOSIT_STATUSES, statusText) }]}
      />
      <Table
        caption={t.title}
        columns={columns}
        list={list}
        rowKey={(row) => row.id}
        rowLink={(row) => `/operator/deposits/${row.paymentLinkId}`}
        rowState={{ depositFilters: chosen }}
        card={(row) => (
          <>
            {depositCard(row)}
            {accountId === undefined && <span className="block truncate text-sm text-soft">{row.account.name}</span>}
          </>
        )}
        skeletonRows={10}
        empty={
          filters.isFiltered ? (
            <Empty
              icon={SearchIcon}
              title={t.noneTitle}
              text={t.noneText}
              action={<Button onClick={filters.clear}>{t.clear}</Button>}
            />
          ) : (
            <Empty icon={DepositIcon} title={t.emptyTitle} text={t.emptyText} />
          )
        }
      />
    </Card>
  )
}

function useAccountLine() {
  const t = useTexts()
  return {
    header: t.account,
    cell: ({ account: { id, name } }: OperatorDeposit) => (
      <Link
        to="/operator/accounts/$accountId"
        params={{ accountId: id }}
        className="link relative z-10 block max-w-48 truncate text-sm"
      >
        {name}
      </Link>
    ),
  }
}
