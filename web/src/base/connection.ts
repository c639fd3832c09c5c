import { makeStore } from './store.ts'

// Tells whether the server can be reached. base/api.ts reports each answer, and each request without one.

let answeredMs = Date.now()
const lostMs = makeStore<number | undefined>(undefined)

export function noteAnswer(): void {
  answeredMs = Date.now()
  lostMs.set(undefined)
}

export function noteSilence(): void {
  lostMs.set(lostMs.get() ?? answeredMs)
}

/** Call once at start. */
export function trackNetwork(): void {
  addEventListener('offline', noteSilence)
  // Queries load again by themselves, and report if the server is still out of reach.
  addEventListener('online', () => lostMs.set(undefined))
}

/**
 * For whoever got no answer: calls it each time that the server can be reached again, also if it is back already.
 * Returns what ends it.
 */
export function whenBack(act: () => void): () => void {
  let wasLost = lostMs.get() !== undefined
  if (!wasLost) act()
  return lostMs.subscribe(() => {
    const isLost = lostMs.get() !== undefined
    const isBack = wasLost && !isLost
    wasLost = isLost
    if (isBack) act()
  })
}

/** Without a connection, returns the time of the last answer, which is how old the page may be. */
export function useLostSince(): number | undefined {
  return lostMs.use()
}
