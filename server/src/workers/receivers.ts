import type { Allowances } from '../domain/deliveries.ts'

/**
 * How many deliveries each receiver may have under way. A receiver that answers earns more places, one that fails loses half, and one that fails over and over
 * is left alone for a while and then tried with a single delivery: so a dead one holds a few places for a few seconds, and never those of others.
 * Pure but for its memory; time is handed in.
 */
export type Receivers = {
  /** How many more of each may be claimed: those under way, those being written down, and as many again to follow without a pause. */
  allowances(nowMs: number): Allowances
  claimed(endpointId: string): void
  /** A claimed one is off our hands: written down, or left to its lease. */
  released(endpointId: string): void
  mayStart(endpointId: string, nowMs: number): boolean
  started(endpointId: string): void
  /** Its place is free; it counts as claimed until it is released. */
  ended(endpointId: string, ok: boolean, nowMs: number): void
  /** True when so few are left that claiming more is worth a question to the database. */
  wantsMore(endpointId: string): boolean
}

type Receiver = { claimed: number; underWay: number; window: number; failures: number; closedUntilMs: number }

// Enough for a steady trickle, few enough that a hundred dead receivers leave most places free.
const FIRST_WINDOW = 8
// As many as the courier opens connections to one receiver; more would only wait there.
const MAX_WINDOW = 64
const CLAIMED_PER_PLACE = 3
// All receivers together: sockets and memory.
const MAX_CLAIMED = 4_096
const FAILURES_UNTIL_CLOSED = 5
const CLOSED_FIRST_MS = 5_000
const CLOSED_MAX_MS = 5 * 60_000
// Only those that are busy or in trouble matter; beyond this many, the one that was quiet for longest starts afresh.
const MAX_REMEMBERED = 10_000

export function makeReceivers(): Receivers {
  const receivers = new Map<string, Receiver>()
  let total = 0

  function of(endpointId: string): Receiver {
    const known = receivers.get(endpointId)
    if (known) return known
    if (receivers.size >= MAX_REMEMBERED) forgetOne()
    const receiver = { claimed: 0, underWay: 0, window: FIRST_WINDOW, failures: 0, closedUntilMs: 0 }
    receivers.set(endpointId, receiver)
    return receiver
  }

  function forgetOne() {
    for (const [id, receiver] of receivers) if (receiver.claimed === 0) return void receivers.delete(id)
  }

  return {
    allowances(nowMs) {
      const named = new Map(
        [...receivers].map(([id, receiver]) => [
          id,
          Math.max(0, CLAIMED_PER_PLACE * placesOf(receiver, nowMs) - receiver.claimed),
        ]),
      )
      return { usual: FIRST_WINDOW, named, total: MAX_CLAIMED - total }
    },
    claimed(endpointId) {
      of(endpointId).claimed++
      total++
    },
    released(endpointId) {
      of(endpointId).claimed--
      total--
    },
    mayStart(endpointId, nowMs) {
      const receiver = of(endpointId)
      return receiver.underWay < placesOf(receiver, nowMs)
    },
    started(endpointId) {
      of(endpointId).underWay++
    },
    ended(endpointId, ok, nowMs) {
      const receiver = of(endpointId)
      receiver.underWay--
      if (ok)
        Object.assign(receiver, { window: Math.min(MAX_WINDOW, receiver.window + 1), failures: 0, closedUntilMs: 0 })
      else fail(receiver, nowMs)
    },
    wantsMore(endpointId) {
      const receiver = of(endpointId)
      return receiver.claimed <= (CLAIMED_PER_PLACE - 1) * receiver.window
    },
  }
}

function fail(receiver: Receiver, nowMs: number): void {
  receiver.failures++
  receiver.window = Math.max(1, Math.floor(receiver.window / 2))
  const rounds = receiver.failures - FAILURES_UNTIL_CLOSED
  if (rounds >= 0) receiver.closedUntilMs = nowMs + Math.min(CLOSED_MAX_MS, CLOSED_FIRST_MS * 2 ** Math.min(rounds, 10))
}

function placesOf(receiver: Receiver, nowMs: number): number {
  if (nowMs < receiver.closedUntilMs) return 0
  return receiver.failures >= FAILURES_UNTIL_CLOSED ? 1 : receiver.window
}
