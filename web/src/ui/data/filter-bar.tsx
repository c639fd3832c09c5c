import { useState, type ReactNode } from 'react'
import { dayText, timeZoneText } from '../../base/dates.ts'
import { moneyText } from '../../base/money.ts'
import type { ChosenPeriod } from './periods.ts'
import type { Filters } from '../../base/queries.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { Button } from '../button.tsx'
import type { ChoiceProps } from '../form/form.tsx'
import { CloseIcon, FilterIcon } from '../icons.tsx'
import { lazyComponent } from '../lazy-component.tsx'
import {
  AmountFilter,
  amountsOf,
  DateRangeFilter,
  PeriodFilter,
  SearchFilter,
  SelectFilter,
  usePeriodTexts,
  type Named,
} from './filter-controls.tsx'

const useTexts = translations({
  clear: ['Limpar', 'Clear'],
  filters: ['Filtros', 'Filters'],
  active: (count: number) => [`Filtros (${count})`, `Filters (${count})`],
  show: ['Ver resultados', 'Show results'],
  chips: ['Filtros ativos', 'Active filters'],
  remove: (name: string) => [`Remover o filtro: ${name}`, `Remove the filter: ${name}`],
  range: (from: string, to: string) => [`De ${from} a ${to}`, `From ${from} to ${to}`],
  atLeast: (from: string) => [`A partir de ${from}`, `From ${from}`],
  atMost: (to: string) => [`Até ${to}`, `Up to ${to}`],
})

// Only phones load it.
const Dialog = lazyComponent(() => import('../form/dialog.tsx'), 'Dialog')

/** What is filtered by, in words. What cannot be removed has no `clear`. */
type Chip = { name: string; label: string; clear?: () => void }

type BarProps<K extends string> = {
  filters: Filters<K>
  search?: Named<NoInfer<K>>
  selects?: readonly (Named<NoInfer<K>> & Pick<ChoiceProps, 'choices'>)[]
  /** Instead of the plain days `from` and `to`. */
  period?: ChosenPeriod
}

/**
 * On phones all filters but the search are in a sheet, and a row says which are active. The filters `from` and `to` are
 * days, `minValue` and `maxValue` cents.
 *
 *     const filters = useFilters(['search', 'status', 'from', 'to'])
 *     <FilterBar
 *       filters={filters}
 *       search={{ name: 'search', label: t.search }}
 *       selects={[{ name: 'status', label: t.status, choices }]}
 *     />
 */
export function FilterBar<K extends string>(props: BarProps<K>) {
  const t = useTexts()
  const { filters, search, selects = [], period } = props
  const { days, amounts } = partsOf(filters)
  const chips = useChips(props)
  const others = (
    <>
      {selects.map((select) => (
        <SelectFilter key={select.name} filters={filters} {...select} />
      ))}
      {period ? <PeriodFilter chosen={period} /> : days && <DateRangeFilter filters={days} />}
      {amounts && <AmountFilter filters={amounts} />}
    </>
  )
  return (
    <div role="search" aria-label={t.filters} className="flex flex-wrap items-center gap-2 px-5 py-4">
      {search && <SearchFilter filters={filters} {...search} />}
      {(selects.length > 0 || days || amounts) && (
        <>
          <div className="contents max-sm:hidden">{others}</div>
          <FilterSheet filters={filters} count={chips.filter(({ clear }) => clear).length}>
            {others}
          </FilterSheet>
        </>
      )}
      <TimeZone />
      {filters.isFiltered && (
        <span className="max-sm:hidden">
          <Clear onClear={filters.clear} />
        </span>
      )}
      <Chips chips={chips} />
    </div>
  )
}

function partsOf<K extends string>(filters: Filters<K>) {
  const { values } = filters
  // TypeScript does not narrow a type parameter.
  return {
    days: 'from' in values ? (filters as unknown as Filters<'from' | 'to'>) : undefined,
    amounts: 'minValue' in values ? (filters as unknown as Filters<'minValue' | 'maxValue'>) : undefined,
  }
}

function useChips<K extends string>({ filters, selects = [], period }: BarProps<K>): Chip[] {
  const t = useTexts()
  const names = usePeriodTexts()
  const language = useLanguage()
  const { days, amounts } = partsOf(filters)
  const between = (from: string, to: string) =>
    from !== '' && to !== '' ? (from === to ? from : t.range(from, to)) : from === '' ? t.atMost(to) : t.atLeast(from)
  const chips: Chip[] = selects
    .filter(({ name }) => filters.values[name] !== '')
    .map(({ name, choices }) => ({
      name,
      label: choices.find(({ value }) => value === filters.values[name])?.label ?? filters.values[name],
      // TypeScript widens a computed key to string.
      clear: () => filters.set({ [name]: '' } as Partial<Record<K, string>>),
    }))
  if (period && period.period !== 'own') {
    const clear = () => period.filters.set({ period: '', from: '', to: '' })
    if (period.period !== period.usual) chips.push({ name: 'period', label: names[period.period], clear })
    else if (period.usual !== 'all') chips.push({ name: 'period', label: names[period.period] })
  } else if (days && (days.values.from !== '' || days.values.to !== '')) {
    const [from, to] = [days.values.from, days.values.to].map((day) => day && dayText(day, language, { short: true }))
    const clear = () => (period ? period.filters.set({ period: '', from: '', to: '' }) : days.set({ from: '', to: '' }))
    chips.push({ name: 'days', label: between(from ?? '', to ?? ''), clear })
  }
  const { minValue = '', maxValue = '' } = amounts ? amountsOf(amounts.values) : {}
  if (amounts && (minValue !== '' || maxValue !== '')) {
    const [from, to] = [minValue, maxValue].map((cents) => cents && moneyText(Number(cents), language))
    chips.push({
      name: 'amount',
      label: between(from ?? '', to ?? ''),
      clear: () => amounts.set({ minValue: '', maxValue: '' }),
    })
  }
  return chips
}

const CHIP = 'inline-flex min-h-8 items-center gap-1.5 rounded-full bg-still-ground px-3 text-sm font-medium text-still'

function Chips({ chips }: { chips: readonly Chip[] }) {
  const t = useTexts()
  if (chips.length === 0) return null
  return (
    <ul aria-label={t.chips} className="flex w-full flex-wrap gap-2 sm:hidden">
      {chips.map(({ name, label, clear }) => (
        <li key={name}>
          {clear ? (
            <button type="button" aria-label={t.remove(label)} onClick={clear} className={CHIP}>
              {label}
              <CloseIcon className="size-3.5" />
            </button>
          ) : (
            <span className={CHIP}>{label}</span>
          )}
        </li>
      ))}
    </ul>
  )
}

type SheetProps<K extends string> = { filters: Filters<K>; count: number; children: ReactNode }

function FilterSheet<K extends string>({ filters, count, children }: SheetProps<K>) {
  const t = useTexts()
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="sm:hidden">
      <Button icon={FilterIcon} size="small" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {count === 0 ? t.filters : t.active(count)}
      </Button>
      {isOpen && (
        <Dialog
          onClose={() => setOpen(false)}
          title={t.filters}
          footer={
            <>
              {filters.isFiltered && <Clear onClear={filters.clear} />}
              <Button kind="primary" onClick={() => setOpen(false)}>
                {t.show}
              </Button>
            </>
          }
        >
          <div className="flex flex-col gap-3">{children}</div>
        </Dialog>
      )}
    </div>
  )
}

function Clear({ onClear }: { onClear: () => void }) {
  return (
    <Button icon={CloseIcon} kind="quiet" size="small" onClick={onClear}>
      {useTexts().clear}
    </Button>
  )
}

/** Shown once per list, because all of its times are in this zone. */
function TimeZone() {
  return <span className="self-center text-sm text-soft max-sm:text-xs">{timeZoneText(useLanguage())}</span>
}

export function choicesOf<T extends string>(values: readonly T[], labelOf: (value: T) => string) {
  return values.map((value) => ({ value, label: labelOf(value) }))
}
