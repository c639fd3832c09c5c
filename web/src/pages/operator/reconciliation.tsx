import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../../base/api.ts'
import { dayText } from '../../base/dates.ts'
import { useFilters } from '../../base/filters.ts'
import { useLanguage, words } from '../../base/language.ts'
import { countText } from '../../base/money.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { DateFilter, FilterBar, SelectFilter } from '../../ui/filter-bar.tsx'
import { RefreshIcon, ScalesIcon } from '../../ui/icons.tsx'
import { Money } from '../../ui/money.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Table } from '../../ui/table.tsx'
import { ReconcileDialog } from './reconcile-dialog.tsx'
import type { Closing, Provider } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Conciliação',
    text: 'O que cada instituição diz que recebeu, dia a dia, ao lado do que está no razão. Os dias são os de Brasília.',
    run: 'Conciliar um dia',
    provider: 'Todas as instituições',
    from: 'De',
    to: 'Até',
    day: 'Dia',
    providerName: 'Instituição',
    atProvider: 'Na instituição',
    inLedger: 'No razão',
    pix: (count: string) => `${count} Pix`,
    differences: 'Diferenças',
    differenceCount: (count: string) => (count === '1' ? '1 diferença' : `${count} diferenças`),
    agree: 'Confere',
    closedAt: 'Fechado em',
    empty: 'Nenhum dia fechado ainda',
    emptyText: 'Cada dia é fechado duas horas depois de terminar. Um dia também pode ser conciliado agora.',
    none: 'Nenhum fechamento nesse período',
    noneText: 'Mude os filtros para ver outros dias.',
    cut: 'São mostrados os 100 mais recentes. Para ver dias anteriores, escolha uma data final.',
  },
  en: {
    title: 'Reconciliation',
    text: 'What each provider says it received, day by day, beside what the ledger says. Days are those of Brasília.',
    run: 'Reconcile a day',
    provider: 'All providers',
    from: 'From',
    to: 'To',
    day: 'Day',
    providerName: 'Provider',
    atProvider: 'At the provider',
    inLedger: 'In the ledger',
    pix: (count: string) => `${count} Pix`,
    differences: 'Differences',
    differenceCount: (count: string) => (count === '1' ? '1 difference' : `${count} differences`),
    agree: 'Agrees',
    closedAt: 'Closed at',
    empty: 'No day is closed yet',
    emptyText: 'Each day is closed two hours after its end. A day can also be reconciled now.',
    none: 'No closing in this period',
    noneText: 'Change the filters to see other days.',
    cut: 'The newest 100 are shown. For earlier days, choose a last day.',
  },
})

/** As many as the server answers at once. */
const LIMIT = 100

export function ReconciliationPage() {
  const t = useWords()
  const filters = useFilters(['provider', 'from', 'to'])
  const [isRunning, setRunning] = useState(false)
  const providers = useProviders()
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ['closings', filters.values],
    queryFn: ({ signal }) =>
      get<{ closings: Closing[] }>('/operator/closings', { ...filters.values, limit: LIMIT }, { signal }),
    placeholderData: (before) => before,
  })
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={
        <Button onClick={() => setRunning(true)}>
          <RefreshIcon className="size-5" />
          {t.run}
        </Button>
      }
    >
      <Card isFlush>
        <FilterBar filters={filters}>
          <SelectFilter
            filters={filters}
            name="provider"
            label={t.provider}
            choices={providers.map((name) => ({ value: name, label: name }))}
          />
          <DateFilter filters={filters} name="from" label={t.from} />
          <DateFilter filters={filters} name="to" label={t.to} />
        </FilterBar>
        <ClosingTable
          closings={data?.closings}
          error={error}
          onRetry={() => void refetch()}
          isStale={isPlaceholderData}
          isFiltered={filters.isFiltered}
        />
        {data?.closings.length === LIMIT && <p className="border-t border-line px-5 py-3 text-sm text-soft">{t.cut}</p>}
      </Card>
      {isRunning && <ReconcileDialog providers={providers} onClose={() => setRunning(false)} />}
    </Page>
  )
}

export function useProviders(): string[] {
  const { data } = useQuery({
    queryKey: ['providers'],
    queryFn: ({ signal }) => get<{ providers: Provider[] }>('/operator/providers', {}, { signal }),
  })
  return data?.providers.map(({ name }) => name) ?? []
}

function ClosingTable(props: {
  closings: Closing[] | undefined
  error: Error | null
  onRetry: () => void
  isStale: boolean
  isFiltered: boolean
}) {
  const t = useWords()
  const language = useLanguage()
  const amount = (cents: number, count: number) => (
    <>
      <Money cents={cents} />
      <span className="block text-sm text-soft">{t.pix(countText(count, language))}</span>
    </>
  )
  return (
    <Table
      caption={t.title}
      columns={[
        { key: 'day', header: t.day, cell: (row) => <span className="figures">{dayText(row.day, language)}</span> },
        { key: 'provider', header: t.providerName, cell: (row) => row.provider },
        {
          key: 'atProvider',
          header: t.atProvider,
          align: 'right',
          cell: (row) => amount(row.providerTotal, row.providerCount),
        },
        {
          key: 'inLedger',
          header: t.inLedger,
          align: 'right',
          cell: (row) => amount(row.ledgerTotal, row.ledgerCount),
        },
        {
          key: 'differences',
          header: t.differences,
          cell: ({ differenceCount }) =>
            differenceCount === 0 ? (
              <Badge tone="good">{t.agree}</Badge>
            ) : (
              <Badge tone="bad">{t.differenceCount(countText(differenceCount, language))}</Badge>
            ),
        },
        { key: 'closedAt', header: t.closedAt, isWideOnly: true, cell: (row) => <DateTime at={row.closedAt} /> },
      ]}
      rows={props.closings}
      rowKey={(row) => `${row.day} ${row.provider}`}
      rowLink={(row) => `/operator/reconciliation/${row.day}`}
      error={props.error}
      onRetry={props.onRetry}
      isStale={props.isStale}
      empty={
        <Empty
          title={props.isFiltered ? t.none : t.empty}
          text={props.isFiltered ? t.noneText : t.emptyText}
          icon={<ScalesIcon className="size-6" />}
        />
      }
    />
  )
}
