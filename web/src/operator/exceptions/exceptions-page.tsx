import { useState } from 'react'
import { endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { translations } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { EXCEPTION_KINDS, EXCEPTION_STATES } from '../../contract/codes.ts'
import type { Exception } from '../../contract/types.ts'
import { useFormat } from '../../base/format.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { CheckIcon, WarningIcon } from '../../ui/icons.tsx'
import { StateBadge, useLabels } from '../labels.tsx'
import { isHeldPayment } from './resolve.tsx'
import { ResolveMany } from './resolve-many.tsx'

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
  charge: ['Cobrança', 'Charge'],
  noCharge: ['sem cobrança', 'no charge'],
  openedAt: ['Aberta', 'Opened'],
  value: ['Recebido', 'Received'],
  expected: (value: string, difference: string) => [`de ${value} (${difference})`, `of ${value} (${difference})`],
  select: ['Selecionar', 'Select'],
  selectOf: (amount: string, what: string) => [`Selecionar ${amount}, ${what}`, `Select ${amount}, ${what}`],
  selectAll: ['Selecionar as desta página', 'Select those on this page'],
  clear: ['Limpar seleção', 'Clear selection'],
  chosen: (count: string, amount: string) => [
    count === '1' ? `1 selecionada, ${amount}` : `${count} selecionadas, ${amount}`,
    `${count} selected, ${amount}`,
  ],
  resolve: ['Resolver…', 'Resolve…'],
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
/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 20_000
/** The server takes no more at once. A page of the list has as many. */
const MAX_CHOSEN = 50

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
  // Not of the rows: those that are decided leave the list while their outcome is shown.
  const [deciding, setDeciding] = useState<readonly Exception[]>()
  const selection = useSelection(list.rows ?? [])
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
        {selection.open.length > 0 && <SelectionBar {...selection} onResolve={() => setDeciding(selection.chosen)} />}
        <Table
          caption={t.title}
          columns={useColumns()}
          {...(selection.open.length > 0 && { control: selection.control })}
          list={list}
          rowKey={(row) => row.id}
          rowLink={(row) => `/operator/exceptions/${row.id}`}
          card={(row) => (
            <CardLines
              name={
                <>
                  <Money cents={row.value} /> <Expected exception={row} />
                </>
              }
              mark={<StateBadge state={row.state} />}
              text={[row.charge?.externalId, labels.kind[row.kind]].filter(Boolean).join(' · ')}
              end={<DateTime at={row.openedAt} relative />}
            />
          )}
          empty={<Empty icon={isQueue ? CheckIcon : WarningIcon} {...(isQueue ? t.empty : t.none)} />}
        />
      </Card>
      {deciding && <ResolveMany exceptions={deciding} onClose={() => setDeciding(undefined)} />}
    </Page>
  )
}

type Selection = ReturnType<typeof useSelection>

/** Of open exceptions. Those that leave the list are no longer chosen. */
function useSelection(rows: readonly Exception[]) {
  const t = useTexts()
  const labels = useLabels()
  const { money } = useFormat()
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const open = rows.filter(({ state }) => state === 'open').slice(0, MAX_CHOSEN)
  const toggle = (id: string, isChosen: boolean) =>
    setIds(new Set(isChosen ? [...ids, id] : [...ids].filter((other) => other !== id)))
  return {
    open,
    chosen: open.filter(({ id }) => ids.has(id)),
    choose: (chosen: readonly Exception[]) => setIds(new Set(chosen.map(({ id }) => id))),
    control: {
      name: t.select,
      of: (row: Exception) =>
        open.includes(row) && (
          <input
            type="checkbox"
            aria-label={t.selectOf(money(row.value), labels.kind[row.kind])}
            checked={ids.has(row.id)}
            onChange={(event) => toggle(row.id, event.target.checked)}
            className="block size-5 accent-accent"
          />
        ),
    },
  }
}

function SelectionBar({ chosen, open, choose, onResolve }: Selection & { onResolve: () => void }) {
  const t = useTexts()
  const { count, money } = useFormat()
  const sum = chosen.reduce((total, { value }) => total + value, 0)
  return (
    <div className="flex min-h-13 flex-wrap items-center gap-2 border-t border-line px-5 py-2">
      <p aria-live="polite" className={`figures font-medium ${chosen.length > 0 ? 'mr-2' : '-mr-5'}`}>
        {chosen.length > 0 && t.chosen(count(chosen.length), money(sum))}
      </p>
      {chosen.length > 0 && (
        <Button size="small" kind="primary" onClick={onResolve}>
          {t.resolve}
        </Button>
      )}
      {chosen.length < open.length && (
        <Button size="small" kind="quiet" onClick={() => choose(open)}>
          {t.selectAll}
        </Button>
      )}
      {chosen.length > 0 && (
        <Button size="small" kind="quiet" onClick={() => choose([])}>
          {t.clear}
        </Button>
      )}
    </div>
  )
}

/** What the charge wanted, if the payer sent something else. */
function Expected({ exception }: { exception: Exception }) {
  const t = useTexts()
  const { language, money } = useFormat()
  const { charge, value } = exception
  if (!charge || !isHeldPayment(exception) || charge.value === value) return null
  const difference = moneyText(value - charge.value, language, { sign: true })
  return (
    <span className="figures text-sm font-normal text-soft md:block">
      {t.expected(money(charge.value), difference)}
    </span>
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
    {
      header: t.charge,
      cell: ({ charge }) =>
        charge === null ? (
          <span className="text-soft">{t.noCharge}</span>
        ) : (
          <span className="wrap-anywhere">
            {nameOf(charge)}
            <span className="block text-sm text-soft">{charge.email}</span>
          </span>
        ),
    },
    { header: t.openedAt, width: 'w-36', cell: (row) => <DateTime at={row.openedAt} relative /> },
    { header: t.state, width: 'w-40', isWideOnly: true, cell: (row) => <StateBadge state={row.state} /> },
    {
      header: t.value,
      align: 'right',
      width: 'w-44',
      cell: (row) => (
        <>
          <Money cents={row.value} className="font-medium" />
          <Expected exception={row} />
        </>
      ),
    },
  ]
}

/** By what the shop knows the charge. */
function nameOf({ externalId, description, paymentLinkId }: NonNullable<Exception['charge']>): string {
  return [externalId, description].filter(Boolean).join(' · ') || paymentLinkId
}
