import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { auth, get } from './api.ts'
import { setTimeZone } from './dates.ts'

export type Me = {
  kind: 'account' | 'operator'
  email: string
  name: string
  accountId: string | null
  suspendedReason: string | null
  isTwoFactor: boolean
  isFresh: boolean
}

export type Service = {
  mode: 'test' | 'live'
  publicUrl: string
  signup: 'open' | 'invite' | 'closed'
  sendsMail: boolean
  accountsMayRefund: boolean
  /** Whether a refund gives the share of the fee back too. */
  refundsReturnFee: boolean
  /** Of days, on every page and in every export. */
  timeZone: string
}

export type Session = { me: Me | null; service: Service }

export const sessionQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    const session = await get<Session>('/me', {}, { signal })
    setTimeZone(session.service.timeZone)
    return session
  },
  staleTime: 60_000,
})

/** Who is signed in, on pages that nobody else sees. */
export function useMe(): Me {
  const { me } = useSuspenseQuery(sessionQuery).data
  if (!me) throw new Error('This page is for those who are signed in')
  return me
}

export function useService(): Service {
  return useSuspenseQuery(sessionQuery).data.service
}

let isLeaving = false

/** The session is over. Once: each of a page's questions is refused then, and a second leaving would cut the first one off. */
export function leaveToSignIn(to: string): void {
  if (!isLeaving) leave(`/sign-in?${new URLSearchParams({ to })}`)
}

export async function signOut(): Promise<void> {
  isLeaving = true
  await auth.post('sign-out').catch(() => undefined)
  leave('/sign-in')
}

/** By a new page load, so that nothing of the old session stays in memory. */
function leave(path: string): void {
  isLeaving = true
  // Back may show this page again as it was left.
  addEventListener('pagehide', () => (isLeaving = false), { once: true })
  location.assign(path)
}

export function homeOf(me: Me): '/' | '/operator' {
  return me.kind === 'operator' ? '/operator' : '/'
}

/** Where somebody wanted to go before they had to sign in: a path of ours or nothing, never another site. */
export function safeReturnPath(path: string | undefined): string | undefined {
  return path !== undefined && /^\/(?![/\\])/.test(path) ? path : undefined
}
