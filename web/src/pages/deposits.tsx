import { useState } from 'react'
import { fileUrl } from '../base/api.ts'
import { useCursorList } from '../base/cursor-list.ts'
import { endOfDayIso, startOfDayIso } from '../base/dates.ts'
import { useFilters } from '../base/filters.ts'
import { words } from '../base/language.ts'
import { useStatusText } from '../ui/badge.tsx'
import { Button, buttonLook } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { DateFilter, FilterBar, SearchFilter, SelectFilter } from '../ui/filter-bar.tsx'
import { DepositIcon, DownloadIcon, PlusIcon, SearchIcon } from '../ui/icons.tsx'
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
    csv: 'Exportar CSV',
    search: 'ID, sua referência ou EndToEndId',
    status: 'Todas as situações',
    from: 'De',
    to: 'Até',
    emptyTitle: 'Nenhum depósito ainda',
    emptyText: 'Crie um aqui ou peça pela API: ele aparece nesta lista na hora.',
    noneTitle: 'Nada encontrado',
    noneText: 'Nenhum depósito combina com estes filtros. A busca procura o código inteiro.',
    clear: 'Limpar filtros',
  },
  en: {
    title: 'Deposits',
    create: 'New deposit',
    csv: 'Export CSV',
    search: 'ID, your reference or EndToEndId',
    status: 'Any status',
    from: 'From',
    to: 'To',
    emptyTitle: 'No deposits yet',
    emptyText: 'Create one here or ask for it by API: it appears in this list at once.',
    noneTitle: 'Nothing found',
    noneText: 'No deposit matches these filters. The search looks for the whole code.',
    clear: 'Clear filters',
  },
})

/** A page that is read at a glance, also where rows are cards. */
const PAGE_ROWS = 25

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
          <a href={fileUrl('/deposits.csv', query)} download className={buttonLook({})}>
            <DownloadIcon className="size-4" />
            {t.csv}
          </a>
          {create}
        </>
      }
    >
      <Card isFlush>
        <FilterBar filters={filters}>
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
