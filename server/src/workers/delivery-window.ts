import type { Allowances } from '../domain/webhooks/delivery-queue.ts'

/**
 * How many deliveries each receiver may have under way. A receiver that answers earns more places, one that fails loses half, and one that fails over and over
 * is left alone for a while and then tried with a single delivery: so a dead one holds a few places for a few seconds, and never those of others.
 * Pure but for its memory; time is handed in.
 */
export type Receivers = {
  /** How many more of each may be claimed, so that those which can be under way are followed by others without a pause. */
  allowances(nowMs: number): Allowances
  /** What was claimed by these allowances, by endpoint. */
  claimed(allowances: Allowances, counts: Map<string, number>): void
  /** A claimed one is not sent, but left to its lease. */
  abandoned(endpointId: string): void
  mayStart(endpointId: string, nowMs: number): boolean
  started(endpointId: string): void
  ended(endpointId: string, ok: boolean, nowMs: number): void
  /** What became of one that ended is in the database. */
  recorded(endpointId: string): void
  /** True when so few are left that claiming more is worth a question to the database, and the last one did not bring all that there was. */
  wantsMore(endpointId: string): boolean
}

/** `claimed` are those that wait for a place or are under way; `unrecorded` have ended, and the database does not know. */
type Receiver = {
  claimed: number
  underWay: number
  unrecorded: number
  /** The queue had no more when we last asked. */
  isEmptied: boolean
  /** What it will answer within AHEAD_MS, if it goes on as it has since we last asked for more. */
  ahead: number
  answered: number
  sinceMs: number
  window: number
  failures: number
  failedAtMs: number
  closedUntilMs: number
}

// What a crash would make us send again. A database that is behind holds up the sending.
const MAX_UNRECORDED = 512
// Enough for a steady trickle, few enough that a hundred dead receivers leave most places free.
const FIRST_WINDOW = 8
// As many as the webhookSender opens connections to one receiver; more would only wait there.
const MAX_WINDOW = 64
// Claimed ahead of their turn, so that a question to the database brings hundreds to a receiver that is quick, and those of a slow one do not grow stale here.
const AHEAD_MS = 100
const MAX_AHEAD = 1_024
// All receivers together, with those that are being written down: sockets and memory.
const MAX_CLAIMED = 4_096
// From here on each gets a few at most, so that receivers that hung all at once leave room for the others.
const CROWDED = (MAX_CLAIMED * 3) / 4
const FAILURES_UNTIL_CLOSED = 5
const CLOSED_FIRST_MS = 5_000
const CLOSED_MAX_MS = 5 * 60_000
// Some are disabled and never tried again.
const TROUBLE_REMEMBERED_MS = 3_600_000
// Only those that are busy or in trouble are remembered; beyond this many, the one that has been for longest starts afresh.
const MAX_REMEMBERED = 10_000

export function makeReceivers(): Receivers {
  const receivers = new Map<string, Receiver>()
  let total = 0

  function of(endpointId: string): Receiver {
    const known = receivers.get(endpointId)
    if (known) return known
    if (receivers.size >= MAX_REMEMBERED) forgetOne()
    const receiver = {
      claimed: 0,
      underWay: 0,
      unrecorded: 0,
      isEmptied: false,
      ahead: 0,
      answered: 0,
      sinceMs: 0,
      window: FIRST_WINDOW,
      failures: 0,
      failedAtMs: 0,
      closedUntilMs: 0,
    }
    receivers.set(endpointId, receiver)
    return receiver
  }

  function forgetOne() {
    for (const [id, receiver] of receivers)
      if (receiver.claimed + receiver.unrecorded === 0) return void receivers.delete(id)
  }

  return {
    allowances(nowMs) {
      const mostEach = total < CROWDED ? MAX_CLAIMED : FIRST_WINDOW
      for (const [id, receiver] of receivers) {
        // Each costs the question to the database a line.
        if (isQuiet(receiver, nowMs)) receivers.delete(id)
        else if (isLow(receiver)) lookAhead(receiver, nowMs)
      }
      const named = new Map([...receivers].map(([id, receiver]) => [id, allowanceOf(receiver, mostEach, nowMs)]))
      return { usual: FIRST_WINDOW, named, total: MAX_CLAIMED - total }
    },
    claimed(allowances, counts) {
      const sum = [...counts.values()].reduce((all, count) => all + count, 0)
      total += sum
      for (const [endpointId, count] of counts) of(endpointId).claimed += count
      // Cut short by what all may have together: nobody knows whose queue has more.
      if (sum >= allowances.total) return
      for (const [endpointId, receiver] of receivers) {
        const allowed = allowances.named.get(endpointId) ?? allowances.usual
        if (allowed > 0) receiver.isEmptied = (counts.get(endpointId) ?? 0) < allowed
      }
    },
    abandoned(endpointId) {
      of(endpointId).claimed--
      total--
    },
    mayStart(endpointId, nowMs) {
      const receiver = of(endpointId)
      return receiver.underWay < placesOf(receiver, nowMs) && receiver.unrecorded < MAX_UNRECORDED
    },
    started(endpointId) {
      of(endpointId).underWay++
    },
    ended(endpointId, ok, nowMs) {
      const receiver = of(endpointId)
      receiver.underWay--
      receiver.claimed--
      receiver.unrecorded++
      if (ok) succeed(receiver)
      else fail(receiver, nowMs)
    },
    recorded(endpointId) {
      of(endpointId).unrecorded--
      total--
    },
    wantsMore(endpointId) {
      const receiver = of(endpointId)
      return !receiver.isEmptied && isLow(receiver)
    },
  }
}

function succeed(receiver: Receiver): void {
  receiver.failures = 0
  receiver.closedUntilMs = 0
  receiver.window = Math.min(MAX_WINDOW, receiver.window + 1)
  receiver.answered++
}

function fail(receiver: Receiver, nowMs: number): void {
  receiver.failures++
  receiver.failedAtMs = nowMs
  receiver.ahead = receiver.answered = 0
  receiver.window = Math.max(1, Math.floor(receiver.window / 2))
  const rounds = receiver.failures - FAILURES_UNTIL_CLOSED
  if (rounds >= 0) receiver.closedUntilMs = nowMs + Math.min(CLOSED_MAX_MS, CLOSED_FIRST_MS * 2 ** Math.min(rounds, 10))
}

/** Nothing of it is in hand, nothing was answered since we last asked, and that it failed is long ago. */
function isQuiet({ claimed, unrecorded, answered, failures, failedAtMs }: Receiver, nowMs: number): boolean {
  return claimed + unrecorded + answered === 0 && (failures === 0 || nowMs - failedAtMs > TROUBLE_REMEMBERED_MS)
}

function lookAhead(receiver: Receiver, nowMs: number): void {
  const ahead = Math.ceil((receiver.answered * AHEAD_MS) / Math.max(1, nowMs - receiver.sinceMs))
  Object.assign(receiver, { ahead: Math.min(MAX_AHEAD, ahead), answered: 0, sinceMs: nowMs })
}

function wantedOf(receiver: Receiver, places: number): number {
  return places === 0 ? 0 : Math.max(places, receiver.ahead)
}

// Half-way down, so that each question to the database brings many, and one that hangs with enough in hand costs no question anything.
function isLow(receiver: Receiver): boolean {
  return receiver.claimed <= wantedOf(receiver, receiver.window) / 2
}

function allowanceOf(receiver: Receiver, most: number, nowMs: number): number {
  if (!isLow(receiver)) return 0
  return Math.max(0, Math.min(most, wantedOf(receiver, placesOf(receiver, nowMs))) - receiver.claimed)
}

function placesOf(receiver: Receiver, nowMs: number): number {
  if (nowMs < receiver.closedUntilMs) return 0
  return receiver.failures >= FAILURES_UNTIL_CLOSED ? 1 : receiver.window
}
