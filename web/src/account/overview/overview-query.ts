import { queryOptions } from '@tanstack/react-query'
import { get } from '../../base/api.ts'
import type { Overview } from '../../contract/types.ts'

/** The router asks for it before the page is drawn. */
export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: ({ signal }) => get<Overview>('/overview', {}, { signal }),
})
