import { useNavigate, useSearch } from '@tanstack/react-router'

export type Filters<K extends string> = {
  /** What the address says; '' for what it does not. */
  values: Record<K, string>
  set: (changes: Partial<Record<K, string>>) => void
  clear: () => void
  isFiltered: boolean
}

/** Filters live in the address, so that they survive a reload, the back button and being sent to a colleague. */
export function useFilters<const K extends string>(names: readonly K[]): Filters<K> {
  const search: Record<string, unknown> = useSearch({ strict: false })
  const navigate = useNavigate()
  const values = Object.fromEntries(
    names.map((name) => [name, typeof search[name] === 'string' ? search[name] : '']),
  ) as Record<K, string>
  const set = (changes: Partial<Record<K, string>>) => {
    // Another list begins at its first page.
    const { cursor: _, page: __, ...others } = search
    const merged: Record<string, unknown> = { ...others, ...changes }
    const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== '' && value !== undefined))
    void navigate({ to: '.', search: kept, replace: true, resetScroll: false })
  }
  return {
    values,
    set,
    clear: () => set(Object.fromEntries(names.map((name) => [name, ''])) as Record<K, string>),
    isFiltered: names.some((name) => values[name] !== ''),
  }
}
