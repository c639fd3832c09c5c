import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import type { Me, Service, Session } from '../contract/types.ts'
import { auth, get } from './api.ts'
import { setTimeZone } from './dates.ts'

export const sessionQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    const session = await get<Session>('/me', {}, { signal })
    if (session.me) setTimeZone(session.me.timeZone)
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

/** Returns the language and the theme, which stay: they belong to the browser, and not to the person. */
function clearStorage(): [name: string, value: string][] {
  try {
    sessionStorage.clear()
    return Object.entries(localStorage) as [string, string][]
  } catch {
    // Storage is blocked: nothing is kept.
    return []
  }
}

/** A full page load, so that nothing of the old session stays in memory. */
function leave(path: string): void {
  isLeaving = true
  // The back button may restore this page from memory.
  addEventListener('pagehide', () => (isLeaving = false), { once: true })
  location.assign(path)
}

export function homeOf(me: Me): '/' | '/operator' {
  return me.kind === 'operator' ? '/operator' : '/'
}

/** The page to return to after signing in: a path of this site, never another one. */
export function safeReturnPath(path: string | undefined): string | undefined {
  return path !== undefined && /^\/(?![/\\])/.test(path) ? path : undefined
}
