import { endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { translations } from '../../base/language.ts'
import { EXCEPTION_KINDS, EXCEPTION_STATES } from '../../contract/codes.ts'
import type { Exception } from '../../contract/types.ts'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { CheckIcon, WarningIcon } from '../../ui/icons.tsx'
import { StateBadge, useLabels } from '../labels.tsx'

const useTexts = translations({
  title: ['Exceções', 'Exceptions'],
  text: [
    'Pagamentos que não quitaram uma cobrança (na loja, “depósito”) e devoluções feitas fora do guiche. Cada exceção precisa de uma decisão; até lá, loja e pagador leem “em análise”.',
    'Payments that did not complete a charge (for the shop, a “deposit”), and refunds made outside guiche. Each needs a decision; until then shop and payer read “under review”.',
  ],
  kind: ['Todos os tipos', 'All types'],
  state: ['Situação', 'Status'],
  all: ['Todas', 'All'],
  open: ['Pendentes', 'Open'],
  what: ['O que houve', 'What happened'],
  account: ['Conta', 'Account'],
  openedAt: ['Aberta em', 'Opened'],
  value: ['Valor', 'Amount'],
  empty: {
    title: ['Nenhuma exceção pendente', 'No open exceptions'],
    text: ['Para ver as resolvidas, use o filtro de situação.', 'Use the status filter to see resolved ones.'],
  },
  none: {
    title: ['Nenhuma exceção encontrada', 'No exceptions found'],
    text: ['Mude os filtros para ver outras.', 'Change the filters to see others.'],
  },
})

/** Without a filter only open ones are listed. */
const ALL = 'all'
const REFRESH_MS = 20_000

export function ExceptionsPage() {
  const t = useTexts()
  const labels = useLabels()
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
    field: 'exceptions',
    refetchIntervalMs: REFRESH_MS,
  })
  const isQueue = !filters.isFiltered
  const closed = EXCEPTION_STATES.filter((state) => state !== 'open')
  const states = choicesOf(closed, (state) => labels.state[state])
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <FilterBar
          filters={filters}
          selects={[
            { name: 'state', label: t.open, choices: [...states, { value: ALL, label: t.all }] },
            { name: 'kind', label: t.kind, choices: choicesOf(EXCEPTION_KINDS, (kind) => labels.kind[kind]) },
          ]}
        />
        <Table
          caption={t.title}
          columns={useColumns()}
          list={list}
          rowKey={(row) => row.id}
          rowLink={(row) => `/operator/exceptions/${row.id}`}
          card={(row) => (
            <CardLines
              name={<Money cents={row.value} />}
              mark={<StateBadge state={row.state} />}
              text={labels.kind[row.kind]}
              end={<DateTime at={row.openedAt} isShort />}
            />
          )}
          empty={<Empty icon={isQueue ? CheckIcon : WarningIcon} {...(isQueue ? t.empty : t.none)} />}
        />
      </Card>
    </Page>
  )
}

function useColumns(): Column<Exception>[] {
  const t = useTexts()
  const labels = useLabels()
  return [
    {
      header: t.what,
      cell: (row) => (
        <>
          {labels.kind[row.kind]}
          <span className="block text-sm font-normal text-soft">{row.provider}</span>
        </>
      ),
    },
    { header: t.account, cell: (row) => <span className="wrap-anywhere">{row.charge?.email ?? '–'}</span> },
    { header: t.openedAt, width: 'w-52', cell: (row) => <DateTime at={row.openedAt} /> },
    { header: t.state, width: 'w-48', cell: (row) => <StateBadge state={row.state} /> },
    {
      header: t.value,
      align: 'right',
      width: 'w-36',
      cell: (row) => <Money cents={row.value} className="font-medium" />,
    },
  ]
}
