import { useEffect, useState, type ReactNode } from 'react'
import { timeZoneText } from '../../base/dates.ts'
import type { Filters } from '../../base/queries.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { Button } from '../button.tsx'
import { BareSelect, type ChoiceProps } from '../form/form.tsx'
import { CloseIcon, FilterIcon, SearchIcon } from '../icons.tsx'
import { lazyComponent } from '../lazy-component.tsx'

const useTexts = translations({
  clear: ['Limpar', 'Clear'],
  filters: ['Filtros', 'Filters'],
  active: (count: number) => [`Filtros (${count})`, `Filters (${count})`],
  show: ['Ver resultados', 'Show results'],
  from: ['De', 'From'],
  to: ['Até', 'To'],
})

// Only phones load it.
const Dialog = lazyComponent(() => import('../form/dialog.tsx'), 'Dialog')

/** The pause after the last key, so that not every letter is a request. */
const SEARCH_DELAY_MS = 350

const CONTROL =
  'min-h-10 rounded-lg border border-edge bg-card text-sm text-ink placeholder:text-soft focus-visible:outline-offset-0'

/**
 * On phones all filters but the search are in a sheet. The filters `from` and `to` are days.
 *
 *     const filters = useFilters(['search', 'status', 'from', 'to'])
 *     <FilterBar
 *       filters={filters}
 *       search={{ name: 'search', label: t.search }}
 *       selects={[{ name: 'status', label: t.status, choices }]}
 *     />
 */
export function FilterBar<K extends string>(props: {
  filters: Filters<K>
  search?: Named<NoInfer<K>>
  selects?: readonly (Named<NoInfer<K>> & Pick<ChoiceProps, 'choices'>)[]
}) {
  const t = useTexts()
  const { filters, search, selects = [] } = props
  // TypeScript does not narrow a type parameter.
  const days = 'from' in filters.values && (filters as unknown as Filters<'from' | 'to'>)
  const others = (
    <>
      {selects.map((select) => (
        <SelectFilter key={select.name} filters={filters} {...select} />
      ))}
      {days && <DateRangeFilter filters={days} />}
    </>
  )
  return (
    <div role="search" aria-label={t.filters} className="flex flex-wrap items-center gap-2 px-5 py-4">
      {search && <SearchFilter filters={filters} {...search} />}
      {(selects.length > 0 || days) && (
        <>
          <div className="contents max-sm:hidden">{others}</div>
          <FilterSheet filters={filters}>{others}</FilterSheet>
        </>
      )}
      <TimeZone />
      {filters.isFiltered && (
        <span className="max-sm:hidden">
          <Clear onClear={filters.clear} />
        </span>
      )}
    </div>
  )
}

function FilterSheet<K extends string>({ filters, children }: { filters: Filters<K>; children: ReactNode }) {
  const t = useTexts()
  const [isOpen, setOpen] = useState(false)
  const count = Object.entries(filters.values).filter(([name, value]) => name !== 'search' && value !== '').length
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
export function TimeZone() {
  return <span className="self-center text-sm text-soft max-sm:text-xs">{timeZoneText(useLanguage())}</span>
}

function setFilter<K extends string>(filters: Filters<K>, name: K, value: string): void {
  // TypeScript widens a computed key to string.
  filters.set({ [name]: value } as Partial<Record<K, string>>)
}

type Named<K extends string> = { name: K; label: string }
type Bound<K extends string> = { filters: Filters<K> } & Named<NoInfer<K>>

function SearchFilter<K extends string>({ filters, name, label }: Bound<K>) {
  const current = filters.values[name]
  const [typed, setTyped] = useState(current)
  const [seen, setSeen] = useState(current)
  // The URL changed in another way, such as by the back button.
  if (seen !== current) {
    setSeen(current)
    if (current !== typed.trim()) setTyped(current)
  }
  useEffect(() => {
    if (typed.trim() === current) return
    const timer = setTimeout(() => setFilter(filters, name, typed.trim()), SEARCH_DELAY_MS)
    return () => clearTimeout(timer)
    // `filters` is a new object on each render, with the same meaning.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [typed, current, name])
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

function SelectFilter<K extends string>(props: Bound<K> & Pick<ChoiceProps, 'choices'>) {
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

export function choicesOf<T extends string>(values: readonly T[], labelOf: (value: T) => string) {
  return values.map((value) => ({ value, label: labelOf(value) }))
}
