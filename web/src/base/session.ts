import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import type { Me, Service, Session } from '../contract/types.ts'
import { auth, get, nameAccount } from './api.ts'
import { setTimeZone } from './dates.ts'

export const sessionQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    const session = await get<Session>('/me', {}, { signal })
    if (session.me) setTimeZone(session.me.timeZone)
    nameAccount(session.me?.accountId)
    return session
  },
  staleTime: 60_000,
})

/** Only pages behind the sign-in may use it. */
export function useMe(): Me {
  const { me } = useSuspenseQuery(sessionQuery).data
  if (!me) throw new Error('useMe() on a page without a session')
  return me
}

/** Whether the person's role allows it. The server checks it too. */
export function useMay(): (scope: Me['scopes'][number]) => boolean {
  const { scopes } = useMe()
  return (scope) => scopes.includes(scope)
}

export function useService(): Service {
  return useSuspenseQuery(sessionQuery).data.service
}

let isLeaving = false

/**
 * Redirects after the session has ended. Every request of the page then fails, but a second redirect would cut the
 * first one off.
 */
export function leaveToSignIn(to: string): void {
  if (!isLeaving) leave(`/sign-in?${new URLSearchParams({ to, done: 'session' })}`)
}

export async function signOut(): Promise<void> {
  isLeaving = true
  const preferences = clearStorage()
  // The server's answer clears what the browser keeps of this site, in other tabs too.
  await auth.post('sign-out').catch(() => undefined)
  for (const [name, value] of preferences) localStorage.setItem(name, value)
  leave('/sign-in')
}

/** Returns what stays: language, theme and till belong to the browser, and not to the person. */
function clearStorage(): [name: string, value: string][] {
  try {
    sessionStorage.clear()
    return Object.entries(localStorage) as [string, string][]
  } catch {
    // Storage is blocked: nothing is kept.
    return []
  }
}

/** From the next page on the person acts for this account. */
export async function switchAccount(accountId: string): Promise<void> {
  await auth.post('membership/switch', { accountId })
  leave('/')
}

/** The session goes on in another account of the person, if there is one. */
export async function leaveAccount(): Promise<void> {
  await auth.post('membership/leave')
  leave('/')
}

/** A full page load, so that nothing of the old session stays in memory. */
function leave(path: string): void {
  isLeaving = true
  // The back button may restore this page from memory.
  addEventListener('pagehide', () => (isLeaving = false), { once: true })
  location.assign(path)
}

/** Who only takes deposits has the counter and nothing else. */
export function homeOf(me: Me): '/' | '/operator' | '/counter' {
  if (me.kind === 'operator') return '/operator'
  return me.scopes.includes('balance:read') ? '/' : '/counter'
}

/** Besides their home, those of the counter open the settings of their own sign-in. */
export function mayOpen(me: Me, path: string): boolean {
  return homeOf(me) !== '/counter' || path === '/counter' || path === '/settings'
}

/** Of no scopes, everybody has one. */
export function hasAny(me: Me, scopes: readonly Me['scopes'][number][]): boolean {
  return scopes.length === 0 || scopes.some((scope) => me.scopes.includes(scope))
}

/** The page to return to after signing in: a path of this site, never another one. */
export function safeReturnPath(path: string | undefined): string | undefined {
  return path !== undefined && /^\/(?![/\\])/.test(path) ? path : undefined
}
