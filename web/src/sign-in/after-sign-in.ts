import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { homeOf, safeReturnPath, sessionQuery } from '../base/session.ts'

/** Once the session is open: to the page that asked for it, or to the home page. */
export function useAfterSignIn(): () => Promise<void> {
  const queryClient = useQueryClient()
  const router = useRouter()
  const { to } = useSearch({ strict: false })
  return async () => {
    queryClient.clear()
    const { me } = await queryClient.fetchQuery(sessionQuery)
    router.history.push(safeReturnPath(to) ?? (me ? homeOf(me) : '/'))
  }
}
