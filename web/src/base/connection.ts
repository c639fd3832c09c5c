import { useSyncExternalStore } from 'react'

// Whether the server can be reached. base/api.ts reports each answer, and each request without one.

const listeners = new Set<() => void>()
let answeredMs = Date.now()
let lostMs: number | undefined

export function noteAnswer(): void {
  answeredMs = Date.now()
  set(undefined)
}

export function noteSilence(): void {
  set(lostMs ?? answeredMs)
}

/** While there is no connection: the time of the last answer, which is how old the page may be. */
export function useLostSince(): number | undefined {
  return useSyncExternalStore(subscribe, () => lostMs)
}

function set(ms: number | undefined): void {
  if (ms === lostMs) return
  lostMs = ms
  for (const listener of listeners) listener()
}

// Queries load again by themselves, and report if the server is still out of reach.
function noteReturn(): void {
  set(undefined)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  addEventListener('offline', noteSilence)
  addEventListener('online', noteReturn)
  return () => listeners.delete(listener)
}
