import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
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

/** A list of the server's, page by page. Other filters begin at the first page again. */
export function useCursorList<Row>(options: {
  path: string
  query?: Query
  /** The rows within an answer. */
  rows: (answer: never) => Row[]
  refetchIntervalMs?: number
}): CursorList<Row> {
  const { path, query = {}, refetchIntervalMs } = options
  const key = JSON.stringify([path, query])
  const [place, setPlace] = useState({ key, index: 0 })
  const index = place.key === key ? place.index : 0
  const pages = useInfiniteQuery({
    queryKey: ['list', path, query],
    queryFn: ({ pageParam, signal }) => get<Answer>(path, { ...query, cursor: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    placeholderData: keepPreviousData,
    // Following pages are read again one by one, so only whoever looks at the first gets it fresh by itself.
    refetchInterval: index === 0 && refetchIntervalMs !== undefined ? refetchIntervalMs : false,
  })
  const page = pages.data?.pages[Math.min(index, pages.data.pages.length - 1)]
  const hasNext = page?.nextCursor !== null && page !== undefined
  const next = async () => {
    if (pages.data && index + 1 >= pages.data.pages.length) await pages.fetchNextPage()
    setPlace({ key, index: index + 1 })
  }
  return {
    rows: page && options.rows(page as never),
    error: pages.data === undefined ? pages.error : null,
    retry: () => void pages.refetch(),
    isFetching: pages.isFetching,
    isStale: pages.isPlaceholderData,
    pageNumber: index + 1,
    previous: index > 0 ? () => setPlace({ key, index: index - 1 }) : undefined,
    next: hasNext && !pages.isFetchingNextPage ? () => void next() : undefined,
  }
}
