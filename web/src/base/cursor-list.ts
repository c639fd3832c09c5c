import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { get, type Query } from './api.ts'

type Answer = { nextCursor: string | null }

export type CursorList<Row> = {
  /** Undefined while the first page is on its way. */
  rows: Row[] | undefined
  error: Error | null
  retry: () => void
  isFetching: boolean
  /** Older data is shown while newer is on its way. */
  isStale: boolean
  pageNumber: number
  previous: (() => void) | undefined
  next: (() => void) | undefined
}

/**
 * A list of the server's, page by page. The page stands in the address, so that it survives a reload and the way back from a row. Other filters begin at the
 * first page again, because useFilters leaves the page out.
 */
export function useCursorList<Row>(options: {
  path: string
  query?: Query
  /** The rows within an answer. */
  rows: (answer: never) => Row[]
  /** How often the page in sight is read again. */
  refetchIntervalMs?: number
}): CursorList<Row> {
  const { path, query = {}, refetchIntervalMs } = options
  const search: Record<string, unknown> = useSearch({ strict: false })
  const navigate = useNavigate()
  const cursor = typeof search['cursor'] === 'string' ? search['cursor'] : null
  const pageNumber = cursor === null ? 1 : Math.max(2, Number.parseInt(String(search['page']), 10) || 2)
  const answer = useQuery({
    queryKey: ['list', path, query, cursor],
    queryFn: ({ signal }) => get<Answer>(path, { ...query, cursor }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: refetchIntervalMs ?? false,
  })
  const trail = makeTrail(JSON.stringify([path, query]))
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
  const nextCursor = answer.isPlaceholderData ? null : (data?.nextCursor ?? null)
  return {
    rows: data && options.rows(data as never),
    error: data === undefined ? answer.error : null,
    retry: () => void answer.refetch(),
    isFetching: answer.isFetching,
    isStale: answer.isPlaceholderData,
    pageNumber,
    previous: pageNumber > 1 ? () => go(...trail.before(pageNumber)) : undefined,
    next: nextCursor === null ? undefined : () => go(pageNumber + 1, nextCursor),
  }
}

/** The server's pages know the way forward only, so the way back is kept for as long as the tab is open. */
function makeTrail(list: string) {
  const key = `pages ${list}`
  const read = (): Record<string, string | null> => JSON.parse(sessionStorage.getItem(key) ?? '{}')
  return {
    set(page: number, cursor: string | null): void {
      sessionStorage.setItem(key, JSON.stringify({ ...read(), [page]: cursor }))
    },
    /** The page before this one, or the first where an address was opened in a new tab. */
    before(page: number): [page: number, cursor: string | null] {
      const cursor = page === 2 ? null : read()[page - 1]
      return cursor === undefined || cursor === null ? [1, null] : [page - 1, cursor]
    },
  }
}
