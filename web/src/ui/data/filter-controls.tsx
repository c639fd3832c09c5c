import { useEffect, useState } from 'react'
import { translations, useLanguage } from '../../base/language.ts'
import { moneyInputText, parseMoney } from '../../base/money.ts'
import { choosePeriod, PERIODS, type ChosenPeriod } from './periods.ts'
import type { Filters } from '../../base/queries.ts'
import { BareSelect, type ChoiceProps } from '../form/form.tsx'
import { SearchIcon } from '../icons.tsx'

const useTexts = translations({
  from: ['De', 'From'],
  to: ['Até', 'To'],
  period: ['Período', 'Period'],
  minValue: ['Valor de', 'Amount from'],
  maxValue: ['Valor até', 'Amount to'],
})

export const usePeriodTexts = translations({
  today: ['Hoje', 'Today'],
  yesterday: ['Ontem', 'Yesterday'],
  week: ['7 dias', '7 days'],
  days30: ['30 dias', '30 days'],
  month: ['Este mês', 'This month'],
  'last-month': ['Mês passado', 'Last month'],
  all: ['Todo o período', 'All time'],
  own: ['Escolher dias', 'Choose days'],
})

/** The pause after the last key, so that not every letter is a request. */
const TYPING_DELAY_MS = 350

const CONTROL =
  'min-h-10 rounded-lg border border-edge bg-card text-sm text-ink placeholder:text-soft focus-visible:outline-offset-0 aria-invalid:border-bad'

export type Named<K extends string> = { name: K; label: string }
type Bound<K extends string> = { filters: Filters<K> } & Named<NoInfer<K>>

function setFilter<K extends string>(filters: Filters<K>, name: K, value: string): void {
  // TypeScript widens a computed key to string.
  filters.set({ [name]: value } as Partial<Record<K, string>>)
}

/** A filter that is typed. `read` gives what belongs in the URL, or undefined while that is not clear yet. */
function useTyped<K extends string>(
  filters: Filters<K>,
  name: K,
  { read, show }: { read: (typed: string) => string | undefined; show: (value: string) => string },
) {
  const current = filters.values[name]
  const [typed, setTyped] = useState(() => show(current))
  const [seen, setSeen] = useState(current)
  // The URL changed in another way, such as by the back button.
  if (seen !== current) {
    setSeen(current)
    if (current !== read(typed)) setTyped(show(current))
  }
  const value = read(typed)
  useEffect(() => {
    if (value === undefined || value === current) return
    const timer = setTimeout(() => setFilter(filters, name, value), TYPING_DELAY_MS)
    return () => clearTimeout(timer)
    // `filters` is a new object on each render, with the same meaning.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [value, current, name])
  return { typed, setTyped, isUnclear: value === undefined }
}

export function SearchFilter<K extends string>({ filters, name, label }: Bound<K>) {
  const { typed, setTyped } = useTyped(filters, name, { read: (typed) => typed.trim(), show: (value) => value })
  return (
    <div className="relative min-w-60 grow max-sm:w-full">
      <SearchIcon className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-soft" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        className={`${CONTROL} w-full pr-3 pl-9`}
      />
    </div>
  )
}

export function SelectFilter<K extends string>(props: Bound<K> & Pick<ChoiceProps, 'choices'>) {
  const { filters, name, label, choices } = props
  return (
    <BareSelect
      aria-label={label}
      value={filters.values[name]}
      onChange={(value) => setFilter(filters, name, value)}
      choices={[{ value: '', label }, ...choices]}
      className={`${CONTROL} w-full pr-9 pl-3`}
    />
  )
}

/** Names of periods, and days for those who want others. */
export function PeriodFilter({ chosen }: { chosen: ChosenPeriod }) {
  const t = useTexts()
  const names = usePeriodTexts()
  return (
    <>
      <BareSelect
        aria-label={t.period}
        value={chosen.period}
        onChange={(next) => choosePeriod(chosen, PERIODS.find((period) => period === next) ?? chosen.usual)}
        choices={PERIODS.map((period) => ({ value: period, label: names[period] }))}
        className={`${CONTROL} w-full pr-9 pl-3`}
      />
      {chosen.period === 'own' && <DateRangeFilter filters={chosen.filters} />}
    </>
  )
}

/** Days such as "2026-11-15"; startOfDayIso and endOfDayIso turn them into times. */
export function DateRangeFilter({ filters }: { filters: Filters<'from' | 'to'> }) {
  const t = useTexts()
  return (
    <>
      {(['from', 'to'] as const).map((name) => (
        <label key={name} className="flex items-center gap-2 text-sm text-soft max-sm:justify-between">
          {t[name]}
          <input
            type="date"
            value={filters.values[name]}
            onChange={(event) => filters.set({ [name]: event.target.value })}
            className={`${CONTROL} px-3`}
          />
        </label>
      ))}
    </>
  )
}

type Amounts = Record<'minValue' | 'maxValue', string>

/** What the fields of amounts mean: the smaller one first, whichever was typed first. */
export function amountsOf(values: Amounts): Amounts {
  const [minValue, maxValue] = [values.minValue, values.maxValue].map((cents) => (/^\d+$/.test(cents) ? cents : ''))
  const isTurned = minValue && maxValue && Number(minValue) > Number(maxValue)
  return isTurned ? { minValue: maxValue, maxValue: minValue } : { minValue: minValue ?? '', maxValue: maxValue ?? '' }
}

/** An amount, or all between two. The URL has cents. */
export function AmountFilter({ filters }: { filters: Filters<'minValue' | 'maxValue'> }) {
  return (
    <span className="flex gap-2">
      <AmountField filters={filters} name="minValue" />
      <AmountField filters={filters} name="maxValue" />
    </span>
  )
}

function AmountField(props: { filters: Filters<'minValue' | 'maxValue'>; name: 'minValue' | 'maxValue' }) {
  const t = useTexts()
  const language = useLanguage()
  const { typed, setTyped, isUnclear } = useTyped(props.filters, props.name, {
    read: (typed) => (typed.trim() === '' ? '' : parseMoney(typed)?.toString()),
    show: (cents) => (/^\d+$/.test(cents) ? moneyInputText(Number(cents), language) : ''),
  })
  return (
    <input
      inputMode="decimal"
      aria-label={t[props.name]}
      aria-invalid={isUnclear || undefined}
      placeholder={t[props.name]}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      className={`${CONTROL} figures w-full min-w-0 px-3 sm:w-32`}
    />
  )
}
