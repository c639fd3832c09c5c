import { useNavigate, useSearch } from '@tanstack/react-router'

export type Filters<K extends string> = {
  /** From the URL; '' if absent. */
  values: Record<K, string>
  set: (changes: Partial<Record<K, string>>) => void
  clear: () => void
  isFiltered: boolean
}

/** Filters live in the URL, so they survive a reload and the back button, and can be shared. */
export function useFilters<const K extends string>(names: readonly K[]): Filters<K> {
  const search: Record<string, string | undefined> = useSearch({ strict: false })
  const navigate = useNavigate()
  // fromEntries widens the keys to string.
  const valuesBy = (read: (name: K) => string) =>
    Object.fromEntries(names.map((name) => [name, read(name)])) as Record<K, string>
  const values = valuesBy((name) => search[name] ?? '')
  const set = (changes: Partial<Record<K, string>>) => {
    // A new filter starts at the first page.
    const { cursor: _, page: __, ...others } = search
    // The router leaves empty values out of the URL.
    void navigate({ to: '.', search: { ...others, ...changes }, replace: true, resetScroll: false })
  }
  return {
    values,
    set,
    clear: () => set(valuesBy(() => '')),
    isFiltered: names.some((name) => values[name] !== ''),
  }
}
