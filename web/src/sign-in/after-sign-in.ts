import { useRouter, useSearch } from '@tanstack/react-router'
import { queryClient } from '../base/queries.ts'
import { homeOf, safeReturnPath, sessionQuery } from '../base/session.ts'

/** Once the session is open: to the page that asked for it, or to the home page. */
export function useAfterSignIn(): () => Promise<void> {
  const router = useRouter()
  const { to } = useSearch({ strict: false })
  return async () => {
    queryClient.clear()
    const { me } = await queryClient.fetchQuery(sessionQuery)
    router.history.push(safeReturnPath(to) ?? (me ? homeOf(me) : '/'))
  }
}
