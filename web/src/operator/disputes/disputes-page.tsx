import { translations } from '../../base/language.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { DISPUTE_STATUSES } from '../../contract/codes.ts'
import type { OperatorDispute } from '../../contract/types.ts'
import { useDisputeColumns, useDisputeStatusText } from '../../deposits/disputes.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { Table } from '../../ui/data/table.tsx'
import { CheckIcon, SearchIcon } from '../../ui/icons.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'

const useTexts = translations({
  title: ['Contestações', 'Disputes'],
  text: [
    'Pagadores contestam pagamentos no banco deles. As abertas estão em ordem de prazo.',
    'Payers dispute payments at their bank. Open ones are in the order of their deadlines.',
  ],
  open: ['Em análise', 'Open'],
  all: ['Todas', 'All'],
  empty: {
    title: ['Nenhuma contestação em análise', 'No open disputes'],
    text: ['Para ver as encerradas, use o filtro.', 'Use the filter to see those that ended.'],
  },
  none: {
    title: ['Nenhuma contestação encontrada', 'No disputes found'],
    text: ['Mude o filtro para ver outras.', 'Change the filter to see others.'],
  },
})

/** Without a filter only open ones are listed. */
const ALL = 'all'
/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 20_000

export function OperatorDisputesPage() {
  const t = useTexts()
  const statusText = useDisputeStatusText()
  const filters = useFilters(['status'])
  const { status } = filters.values
  const list = useCursorList<OperatorDispute>({
    path: status ? '/operator/disputes' : '/operator/disputes/open',
    query: { status: status === ALL ? '' : status },
    field: 'disputes',
    refetchIntervalMs: REFRESH_MS,
  })
  const ended = choicesOf(
    DISPUTE_STATUSES.filter((one) => one !== 'OPEN'),
    statusText,
  )
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <FilterBar
          filters={filters}
          selects={[{ name: 'status', label: t.open, choices: [...ended, { value: ALL, label: t.all }] }]}
        />
        <Table<OperatorDispute>
          caption={t.title}
          columns={useDisputeColumns()}
          list={list}
          rowKey={({ id }) => id}
          rowLink={({ id }) => `/operator/disputes/${id}`}
          empty={filters.isFiltered ? <Empty icon={SearchIcon} {...t.none} /> : <Empty icon={CheckIcon} {...t.empty} />}
        />
      </Card>
    </Page>
  )
}
