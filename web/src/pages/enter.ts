import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { homeOf, safeReturnPath, sessionQuery } from '../base/session.ts'

/** After the server has opened a session: to where the reader wanted to go before, or to their first page. */
export function useEnter(): () => Promise<void> {
  const queryClient = useQueryClient()
  const router = useRouter()
  const { to } = useSearch({ strict: false })
  return async () => {
    queryClient.clear()
    const { me } = await queryClient.fetchQuery(sessionQuery)
    router.history.push(safeReturnPath(to) ?? (me ? homeOf(me) : '/'))
  }
}
