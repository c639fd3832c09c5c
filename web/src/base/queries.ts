import { keepPreviousData, QueryClient, useQuery, type QueryKey, type UseQueryOptions } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ApiError, get, type Query } from './api.ts'

/** Reads are retried if the server did not answer or was busy. Writes never are. */
const RETRIES = 2

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Without a network a request fails and says so. The library would wait for the network without a sign.
      networkMode: 'always',
      // What is shown may have changed while nothing could tell of it.
      refetchOnReconnect: 'always',
      retry: (count, error) =>
        count < RETRIES &&
        error instanceof ApiError &&
        (error.status === 0 || error.status === 502 || error.status === 503),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

/** Reloads what is shown of these keys, and of those that start with them. Call it after a change. */
export async function refresh(...keys: readonly QueryKey[]): Promise<void> {
  await Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey })))
}

type GetOptions<T> = Omit<UseQueryOptions<T>, 'queryKey' | 'queryFn'> & { query?: Query }

export function useGet<T>(queryKey: readonly unknown[], path: string, { query, ...options }: GetOptions<T> = {}) {
  return useQuery<T>({ queryKey, queryFn: ({ signal }) => get<T>(path, query, { signal }), ...options })
}

export type List<Row> = {
  /** Undefined while the first page loads. */
  rows: readonly Row[] | undefined
  error?: Error | null
  retry?: () => void
  /** Older rows are shown while newer ones load. */
  isStale?: boolean
}

export type CursorList<Row> = List<Row> & {
  /** The same for all pages of a list with the same filters. */
  name: string
  isFiltered: boolean
  /** The rows of the first page, also while another one is shown. */
  top: readonly Row[] | undefined
  toFirst: () => void
  isFetching: boolean
  pageNumber: number
  previous: (() => void) | undefined
  next: (() => void) | undefined
}

type Answer = { nextCursor: string | null } & Readonly<Record<string, unknown>>

/**
 * A paginated list of the server. The page is in the URL, so it survives a reload and the way back from a row. A
 * changed filter starts at the first page, because useFilters drops the page.
 */
export function useCursorList<Row>(options: {
  path: string
  query?: Query
  /** The field of the answer that holds the rows. */
  field: string
  refetchIntervalMs?: number
}): CursorList<Row> {
  const { path, query = {}, field, refetchIntervalMs } = options
  const search: Record<string, string | undefined> = useSearch({ strict: false })
  const navigate = useNavigate()
  const cursor = search['cursor'] ?? null
  const pageNumber = cursor === null ? 1 : Math.max(2, Number.parseInt(search['page'] ?? '', 10) || 2)
  const answer = useGet<Answer>(['list', path, query, cursor], path, {
    query: { ...query, cursor },
    placeholderData: keepPreviousData,
    refetchInterval: refetchIntervalMs ?? false,
  })
  // Tells on a later page that there are new rows. Only what makes it out of date reads it again.
  const first = useGet<Answer>(['list', path, query, null], path, {
    query,
    enabled: cursor !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const name = JSON.stringify([path, query])
  const trail = makeTrail(name)
  const go = (page: number, to: string | null) => {
    trail.set(page, to)
    const { cursor: _, page: __, ...others } = search
    void navigate({
      to: '.',
      search: to === null ? others : { ...others, cursor: to, page: String(page) },
      resetScroll: false,
    })
  }
  const { data } = answer
  const top = cursor === null ? data : first.data
  const nextCursor = answer.isPlaceholderData ? null : (data?.nextCursor ?? null)
  return {
    // The contract's types cannot name a field by a variable.
    rows: data?.[field] as Row[] | undefined,
    top: top?.[field] as Row[] | undefined,
    name,
    isFiltered: Object.entries(search).some(([key, value]) => value && key !== 'cursor' && key !== 'page'),
    toFirst: () => go(1, null),
    error: data === undefined ? answer.error : null,
    retry: () => void answer.refetch(),
    isFetching: answer.isFetching,
    isStale: answer.isPlaceholderData,
    pageNumber,
    previous: pageNumber > 1 ? () => go(...trail.before(pageNumber)) : undefined,
    next: nextCursor === null ? undefined : () => go(pageNumber + 1, nextCursor),
  }
}

/** The server's cursors only go forward, so the tab remembers the way back. */
function makeTrail(list: string) {
  const key = `pages ${list}`
  const read = (): Record<string, string | null> => JSON.parse(sessionStorage.getItem(key) ?? '{}')
  return {
    set(page: number, cursor: string | null): void {
      sessionStorage.setItem(key, JSON.stringify({ ...read(), [page]: cursor }))
    },
    /** Returns the first page if the URL was opened in a new tab. */
    before(page: number): [page: number, cursor: string | null] {
      const cursor = page === 2 ? null : read()[page - 1]
      return cursor === undefined || cursor === null ? [1, null] : [page - 1, cursor]
    },
  }
}

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
    // Another filter may have changed since this render. The router leaves empty values out of the URL.
    const change = (now: Record<string, string | undefined>) => {
      // A new filter starts at the first page.
      const { cursor: _, page: __, ...others } = now
      return { ...others, ...changes }
    }
    void navigate({ to: '.', search: change, replace: true, resetScroll: false })
  }
  return {
    values,
    set,
    clear: () => set(valuesBy(() => '')),
    isFiltered: names.some((name) => values[name] !== ''),
  }
}
