import { setTimeout as wait } from 'node:timers/promises'

/**
 * How long an operation may still take, over all its calls and pauses, and for whom it is done. Counted on the monotonic clock and not on the injected one:
 * it bounds real sockets, which neither a test's standing clock nor a stepping system clock can hold up.
 */
export type Deadline = {
  remainingMs(): number
  /** The account whose caller waits; undefined for work in the background. Provider capacity is shared out by it. */
  readonly onBehalfOf?: string | undefined
}

export function startDeadline(ms: number, onBehalfOf?: string): Deadline {
  const endsAtMs = performance.now() + ms
  return { remainingMs: () => Math.max(0, endsAtMs - performance.now()), onBehalfOf }
}

/** Waits. False, at once, when the deadline would pass meanwhile; false also when the signal ends the wait. */
export async function pause(ms: number, deadline: Deadline, signal: AbortSignal): Promise<boolean> {
  if (ms >= deadline.remainingMs()) return false
  return wait(ms, true, { signal }).catch(() => false)
}
