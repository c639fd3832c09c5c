import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { auth, get } from './api.ts'

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
}

export type Session = { me: Me | null; service: Service }

export const sessionQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => get<Session>('/me', {}, { signal }),
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

/** A new page load, so that nothing of the old session stays in memory. */
export async function signOut(): Promise<void> {
  await auth.post('sign-out').catch(() => undefined)
  location.assign('/sign-in')
}

export function homeOf(me: Me): '/' | '/operator' {
  return me.kind === 'operator' ? '/operator' : '/'
}

/** Where somebody wanted to go before they had to sign in: a path of ours or nothing, never another site. */
export function safeReturnPath(path: string | undefined): string | undefined {
  return path !== undefined && /^\/(?![/\\])/.test(path) ? path : undefined
}
