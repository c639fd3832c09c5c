import { translations } from '../../base/language.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { DISPUTE_STATUSES } from '../../contract/codes.ts'
import type { Dispute } from '../../contract/types.ts'
import { useDisputeColumns, useDisputeStatusText } from '../../deposits/disputes.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { Table } from '../../ui/data/table.tsx'
import { CheckIcon, SearchIcon } from '../../ui/icons.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'

const useTexts = translations({
  title: ['Contestações', 'Disputes'],
  text: [
    'Um pagador pode contestar um Pix no banco dele. O valor fica bloqueado até o banco decidir; até lá, envie provas.',
    'A payer can dispute a Pix at their bank. The value is set aside until the bank decides; until then, give evidence.',
  ],
  status: ['Todas as situações', 'All statuses'],
  empty: {
    title: ['Nenhuma contestação', 'No disputes'],
    text: ['Se um pagador contestar um pagamento, avisamos você.', 'If a payer disputes a payment, we tell you.'],
  },
  none: {
    title: ['Nenhuma contestação encontrada', 'No disputes found'],
    text: ['Mude o filtro para ver outras.', 'Change the filter to see others.'],
  },
})

export function DisputesPage() {
  const t = useTexts()
  const statusText = useDisputeStatusText()
  const filters = useFilters(['status'])
  const list = useCursorList<Dispute>({ path: '/disputes', query: filters.values, field: 'disputes' })
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <FilterBar
          filters={filters}
          selects={[{ name: 'status', label: t.status, choices: choicesOf(DISPUTE_STATUSES, statusText) }]}
        />
        <Table<Dispute>
          caption={t.title}
          columns={useDisputeColumns()}
          list={list}
          rowKey={({ id }) => id}
          rowLink={({ id }) => `/disputes/${id}`}
          empty={filters.isFiltered ? <Empty icon={SearchIcon} {...t.none} /> : <Empty icon={CheckIcon} {...t.empty} />}
        />
      </Card>
    </Page>
  )
}
