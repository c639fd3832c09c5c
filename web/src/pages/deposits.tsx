import { useState } from 'react'
import { useCursorList } from '../base/cursor-list.ts'
import { endOfDayIso, startOfDayIso } from '../base/dates.ts'
import { useFilters } from '../base/filters.ts'
import { words } from '../base/language.ts'
import { useStatusText } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ExportMenu } from '../ui/export-menu.tsx'
import { DateFilter, FilterBar, SearchFilter, SelectFilter } from '../ui/filter-bar.tsx'
import { DepositIcon, PlusIcon, SearchIcon } from '../ui/icons.tsx'
import { Page } from '../ui/page.tsx'
import { Pagination } from '../ui/pagination.tsx'
import { Empty, Table } from '../ui/table.tsx'
import { depositCard, useDepositColumns } from './deposits/columns.tsx'
import { NewDepositDoor } from './deposits/new-deposit-door.tsx'
import { DEPOSIT_STATUSES, type Deposit } from './deposits/shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Depósitos',
    create: 'Novo depósito',
    search: 'Referência, descrição, valor ou ID',
    status: 'Todas as situações',
    from: 'De',
    to: 'Até',
    emptyTitle: 'Nenhum depósito ainda',
    emptyText: 'Crie um aqui ou peça pela API: ele aparece nesta lista em alguns segundos.',
    noneTitle: 'Nada encontrado',
    noneText:
      'Nenhum depósito combina com estes filtros. A busca aceita parte da referência ou da descrição (3 letras ou mais), o valor ou o começo do ID.',
    clear: 'Limpar filtros',
  },
  en: {
    title: 'Deposits',
    create: 'New deposit',
    search: 'Reference, description, amount or ID',
    status: 'Any status',
    from: 'From',
    to: 'To',
    emptyTitle: 'No deposits yet',
    emptyText: 'Create one here or ask for it by API: it appears in this list within seconds.',
    noneTitle: 'Nothing found',
    noneText:
      'No deposit matches these filters. Search by part of the reference or description (3 letters or more), by amount, or by the beginning of the ID.',
    clear: 'Clear filters',
  },
})

/** A page that is read at a glance, also where rows are cards. */
const PAGE_ROWS = 25
/** A new deposit, or a payment, shows up while somebody waits for it. */
const REFRESH_MS = 5_000

export function DepositsPage() {
  const t = useWords()
  const statusText = useStatusText()
  const filters = useFilters(['search', 'status', 'from', 'to'])
  const { search, status, from, to } = filters.values
  const query = { search, status, from: startOfDayIso(from), to: endOfDayIso(to) }
  const list = useCursorList<Deposit>({
    path: '/deposits',
    query: { ...query, limit: PAGE_ROWS },
    rows: (answer: { deposits: Deposit[] }) => answer.deposits,
    refetchIntervalMs: REFRESH_MS,
  })
  const [isMaking, setMaking] = useState(false)
  const create = (
    <Button kind="primary" onClick={() => setMaking(true)}>
      <PlusIcon className="size-4" />
      {t.create}
    </Button>
  )
  return (
    <Page
      title={t.title}
      actions={
        <>
          <ExportMenu path="/deposits.csv" query={query} />
          {create}
        </>
      }
    >
      <Card isFlush>
        <FilterBar filters={filters} hasDates>
          <SearchFilter filters={filters} name="search" label={t.search} />
          <SelectFilter
            filters={filters}
            name="status"
            label={t.status}
            choices={DEPOSIT_STATUSES.map((value) => ({ value, label: statusText(value) }))}
          />
          <DateFilter filters={filters} name="from" label={t.from} />
          <DateFilter filters={filters} name="to" label={t.to} />
        </FilterBar>
        <Table
          caption={t.title}
          columns={useDepositColumns()}
          rows={list.rows}
          rowKey={(deposit) => deposit.id}
          rowLink={(deposit) => `/deposits/${deposit.paymentLinkId}`}
          card={depositCard}
          error={list.error}
          onRetry={list.retry}
          isStale={list.isStale}
          skeletonRows={10}
          empty={
            filters.isFiltered ? (
              <Empty
                icon={<SearchIcon className="size-6" />}
                title={t.noneTitle}
                text={t.noneText}
                action={<Button onClick={filters.clear}>{t.clear}</Button>}
              />
            ) : (
              <Empty
                icon={<DepositIcon className="size-6" />}
                title={t.emptyTitle}
                text={t.emptyText}
                action={create}
              />
            )
          }
        />
        <Pagination list={list} />
      </Card>
      <NewDepositDoor isOpen={isMaking} onClose={() => setMaking(false)} />
    </Page>
  )
}
