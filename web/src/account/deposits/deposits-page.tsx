import { chosenPeriod } from '../../ui/data/periods.ts'
import { useCursorList, useFilters, type Filters } from '../../base/queries.ts'
import { translations } from '../../base/language.ts'
import { useMay } from '../../base/session.ts'
import { DEPOSIT_STATUSES } from '../../contract/codes.ts'
import type { Deposit } from '../../contract/types.ts'
import { useStatusText } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { ExportMenu } from '../../ui/data/export-menu.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { Table } from '../../ui/data/table.tsx'
import { DepositIcon, SearchIcon } from '../../ui/icons.tsx'
import { depositCard, useDepositColumns } from '../../deposits/deposit-columns.tsx'
import { depositQuery } from '../../deposits/deposit-list.ts'
import { NewDepositButton } from './new-deposit-button.tsx'

const useTexts = translations({
  title: ['Depósitos', 'Deposits'],
  today: ['Depósitos de hoje', 'Deposits of today'],
  todayText: ['Seu papel mostra os depósitos criados hoje.', 'Your role shows the deposits created today.'],
  search: ['Referência, descrição, valor ou ID', 'Reference, description, amount or ID'],
  status: ['Todas as situações', 'All statuses'],
  emptyTitle: ['Nenhum depósito ainda', 'No deposits yet'],
  emptyText: [
    'Crie um aqui ou pela API: ele aparece nesta lista na hora.',
    'Create one here or through the API. It appears in this list at once.',
  ],
  noneTitle: ['Nenhum depósito encontrado', 'No deposits found'],
  noneText: [
    'Busque por parte da referência ou da descrição (3 letras ou mais), pelo valor ou pelo começo do ID.',
    'Search by part of the reference or description (3 letters or more), amount, or start of the ID.',
  ],
  clear: ['Limpar filtros', 'Clear filters'],
})

const PAGE_ROWS = 25

export function DepositsPage() {
  const t = useTexts()
  const statusText = useStatusText()
  const may = useMay()
  const isToday = !may('deposits:read')
  const filters = useFilters(['search', 'status', 'period', 'from', 'to'])
  const period = chosenPeriod(filters, 'all')
  const query = depositQuery(filters.values)
  const list = useCursorList<Deposit>({
    path: '/deposits',
    query: { ...query, limit: PAGE_ROWS },
    field: 'deposits',
  })
  return (
    <Page
      title={isToday ? t.today : t.title}
      {...(isToday && { text: t.todayText })}
      actions={
        <>
          {may('deposits:read') && <ExportMenu path="/deposits.csv" query={query} />}
          <NewDepositButton opensBy="new" />
        </>
      }
    >
      <Card isFlush>
        <FilterBar
          filters={filters}
          search={{ name: 'search', label: t.search }}
          period={period}
          selects={[{ name: 'status', label: t.status, choices: choicesOf(DEPOSIT_STATUSES, statusText) }]}
        />
        <Table
          caption={t.title}
          columns={useDepositColumns()}
          list={list}
          rowKey={(deposit) => deposit.id}
          rowLink={(deposit) => `/deposits/${deposit.paymentLinkId}`}
          rowState={{ depositFilters: filters.values }}
          card={depositCard}
          skeletonRows={10}
          empty={<NoDeposits filters={filters} />}
        />
      </Card>
    </Page>
  )
}

function NoDeposits({ filters }: { filters: Pick<Filters<string>, 'isFiltered' | 'clear'> }) {
  const t = useTexts()
  if (!filters.isFiltered)
    return <Empty icon={DepositIcon} title={t.emptyTitle} text={t.emptyText} action={<NewDepositButton />} />
  return (
    <Empty
      icon={SearchIcon}
      title={t.noneTitle}
      text={t.noneText}
      action={<Button onClick={filters.clear}>{t.clear}</Button>}
    />
  )
}
