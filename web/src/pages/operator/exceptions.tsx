import { useCursorList } from '../../base/cursor-list.ts'
import { endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import { useFilters } from '../../base/filters.ts'
import { words } from '../../base/language.ts'
import { Card } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { DateFilter, FilterBar, SelectFilter } from '../../ui/filter-bar.tsx'
import { CheckIcon, WarningIcon } from '../../ui/icons.tsx'
import { Money } from '../../ui/money.tsx'
import { Page } from '../../ui/page.tsx'
import { Pagination } from '../../ui/pagination.tsx'
import { Empty, Table } from '../../ui/table.tsx'
import { StateBadge, useNames } from './names.tsx'
import { EXCEPTION_KINDS, EXCEPTION_STATES, type Exception } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Exceções',
    text: 'Dinheiro que chegou e não quitou uma cobrança, ou que saiu sem pedido nosso. Cada um espera uma decisão.',
    kind: 'Qualquer tipo',
    state: 'Situação',
    all: 'Todas, também as resolvidas',
    undecided: 'A decidir',
    from: 'De',
    to: 'Até',
    what: 'O que houve',
    account: 'Conta',
    openedAt: 'Aberta em',
    value: 'Valor',
    empty: 'Nada a decidir',
    emptyText: 'Nenhuma exceção espera uma decisão. As resolvidas estão no filtro de situação.',
    none: 'Nenhuma exceção assim',
    noneText: 'Mude os filtros para ver outras.',
  },
  en: {
    title: 'Exceptions',
    text: 'Money that arrived and completed no charge, or went without our asking. Each waits for a decision.',
    kind: 'Any kind',
    state: 'State',
    all: 'All, resolved ones too',
    undecided: 'To decide',
    from: 'From',
    to: 'To',
    what: 'What happened',
    account: 'Account',
    openedAt: 'Opened at',
    value: 'Amount',
    empty: 'Nothing to decide',
    emptyText: 'No exception waits for a decision. Resolved ones are behind the filter of states.',
    none: 'No such exception',
    noneText: 'Change the filters to see others.',
  },
})

/** What waits for a decision is what people come for; the others are asked for. */
const ALL = 'all'
const REFRESH_MS = 20_000

export function ExceptionsPage() {
  const t = useWords()
  const names = useNames()
  const filters = useFilters(['state', 'kind', 'from', 'to'])
  const { state, kind, from, to } = filters.values
  const list = useCursorList<Exception>({
    path: '/operator/exceptions',
    query: {
      state: state === ALL ? '' : state || 'open',
      kind,
      from: startOfDayIso(from),
      to: endOfDayIso(to),
    },
    rows: (answer: { exceptions: Exception[] }) => answer.exceptions,
    refetchIntervalMs: REFRESH_MS,
  })
  const isQueue = !filters.isFiltered
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <FilterBar filters={filters} hasDates>
          <SelectFilter
            filters={filters}
            name="state"
            label={t.undecided}
            choices={[
              ...EXCEPTION_STATES.filter((one) => one !== 'open').map((value) => ({
                value,
                label: names.state[value],
              })),
              { value: ALL, label: t.all },
            ]}
          />
          <SelectFilter
            filters={filters}
            name="kind"
            label={t.kind}
            choices={EXCEPTION_KINDS.map((value) => ({ value, label: names.kind[value] }))}
          />
          <DateFilter filters={filters} name="from" label={t.from} />
          <DateFilter filters={filters} name="to" label={t.to} />
        </FilterBar>
        <Table
          caption={t.title}
          columns={[
            {
              key: 'kind',
              header: t.what,
              cell: (row) => (
                <>
                  {names.kind[row.kind]}
                  <span className="block text-sm font-normal text-soft">{row.provider}</span>
                </>
              ),
            },
            {
              key: 'account',
              header: t.account,
              cell: (row) => <span className="wrap-anywhere">{row.charge?.email ?? '–'}</span>,
            },
            {
              key: 'openedAt',
              header: t.openedAt,
              width: 'w-52',
              cell: (row) => <DateTime at={row.openedAt} />,
            },
            { key: 'state', header: t.state, width: 'w-48', cell: (row) => <StateBadge state={row.state} /> },
            {
              key: 'value',
              header: t.value,
              align: 'right',
              width: 'w-36',
              cell: (row) => <Money cents={row.value} className="font-medium" />,
            },
          ]}
          rows={list.rows}
          rowKey={(row) => row.id}
          rowLink={(row) => `/operator/exceptions/${row.id}`}
          error={list.error}
          onRetry={list.retry}
          isStale={list.isStale}
          empty={
            <Empty
              title={isQueue ? t.empty : t.none}
              text={isQueue ? t.emptyText : t.noneText}
              icon={isQueue ? <CheckIcon className="size-6" /> : <WarningIcon className="size-6" />}
            />
          }
        />
        <Pagination list={list} />
      </Card>
    </Page>
  )
}
