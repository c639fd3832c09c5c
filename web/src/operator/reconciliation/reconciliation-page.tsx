import { keepPreviousData } from '@tanstack/react-query'
import { useFilters, useGet } from '../../base/queries.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { Closing, ProviderHealth } from '../../contract/types.ts'
import { DialogButton } from '../../ui/button.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { Table, type Column } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { RefreshIcon, ScalesIcon } from '../../ui/icons.tsx'
import { ReconcileDialog } from './reconcile-dialog.tsx'

const useTexts = translations({
  title: ['Conciliação', 'Reconciliation'],
  text: [
    'O que cada provedor recebeu, dia a dia, comparado com o livro-razão.',
    'What each provider received, day by day, compared with the ledger.',
  ],
  run: ['Conciliar um dia', 'Reconcile a day'],
  provider: ['Todos os provedores', 'All providers'],
  day: ['Dia', 'Day'],
  providerName: ['Provedor', 'Provider'],
  atProvider: ['No provedor', 'At the provider'],
  inLedger: ['No livro-razão', 'In the ledger'],
  pix: (count: string) => [`${count} Pix`, `${count} Pix`],
  differences: ['Diferenças', 'Differences'],
  differenceCount: (count: string) => [
    count === '1' ? '1 diferença' : `${count} diferenças`,
    count === '1' ? '1 difference' : `${count} differences`,
  ],
  agree: ['Confere', 'Matches'],
  closedAt: ['Fechado em', 'Closed'],
  empty: {
    title: ['Nenhum dia fechado ainda', 'No closed days yet'],
    text: [
      'Cada dia é fechado duas horas depois de terminar. Você também pode conciliar um dia agora.',
      'Each day is closed two hours after it ends. You can also reconcile a day now.',
    ],
  },
  none: {
    title: ['Nenhum fechamento neste período', 'No closings in this period'],
    text: ['Mude os filtros para ver outros dias.', 'Change the filters to see other days.'],
  },
  cut: [
    'Mostrando os 100 mais recentes. Para ver dias anteriores, escolha uma data final.',
    'Showing the latest 100. For earlier days, choose an end date.',
  ],
})

/** The server allows no more. */
const LIMIT = 100

export function ReconciliationPage() {
  const t = useTexts()
  const filters = useFilters(['provider', 'from', 'to'])
  const providers = useProviders()
  const closings = useGet<{ closings: Closing[] }>(['closings', filters.values], '/operator/closings', {
    query: { ...filters.values, limit: LIMIT },
    placeholderData: keepPreviousData,
  })
  const rows = closings.data?.closings
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={
        <DialogButton dialog={(onClose) => <ReconcileDialog providers={providers} onClose={onClose} />}>
          <RefreshIcon className="size-5" />
          {t.run}
        </DialogButton>
      }
    >
      <Card isFlush>
        <FilterBar
          filters={filters}
          selects={[{ name: 'provider', label: t.provider, choices: choicesOf(providers, (name) => name) }]}
        />
        <Table
          caption={t.title}
          columns={useColumns()}
          list={{
            rows,
            error: closings.error,
            retry: () => void closings.refetch(),
            isStale: closings.isPlaceholderData,
          }}
          rowKey={(row) => `${row.day} ${row.provider}`}
          rowLink={(row) => `/operator/reconciliation/${row.day}`}
          empty={<Empty icon={ScalesIcon} {...(filters.isFiltered ? t.none : t.empty)} />}
        />
        {rows?.length === LIMIT && <p className="border-t border-line px-5 py-3 text-sm text-soft">{t.cut}</p>}
      </Card>
    </Page>
  )
}

export function useProviders(): string[] {
  const { data } = useGet<{ providers: ProviderHealth[] }>(['providers'], '/operator/providers')
  return data?.providers.map(({ name }) => name) ?? []
}

function useColumns(): Column<Closing>[] {
  const t = useTexts()
  const { day, count } = useFormat()
  const amount = (cents: number, pixCount: number) => (
    <>
      <Money cents={cents} />
      <span className="block text-sm text-soft">{t.pix(count(pixCount))}</span>
    </>
  )
  return [
    { header: t.day, cell: (row) => <span className="figures">{day(row.day)}</span> },
    { header: t.providerName, cell: (row) => row.provider },
    { header: t.atProvider, align: 'right', cell: (row) => amount(row.providerTotal, row.providerCount) },
    { header: t.inLedger, align: 'right', cell: (row) => amount(row.ledgerTotal, row.ledgerCount) },
    {
      header: t.differences,
      cell: ({ differenceCount }) =>
        differenceCount === 0 ? (
          <Badge tone="good">{t.agree}</Badge>
        ) : (
          <Badge tone="bad">{t.differenceCount(count(differenceCount))}</Badge>
        ),
    },
    { header: t.closedAt, isWideOnly: true, cell: (row) => <DateTime at={row.closedAt} /> },
  ]
}
