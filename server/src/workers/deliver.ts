import { setTimeout as sleep } from 'node:timers/promises'
import type { Claimed } from '../domain/webhooks/attempts.ts'
import type { Context } from '../domain/context.ts'
import {
  claimDeliveries,
  DEADLINE_MS,
  isDelivered,
  sendDelivery,
  type Allowances,
} from '../domain/webhooks/delivery-queue.ts'
import { nameInBody } from '../domain/webhooks/events.ts'
import { startLoop, type Loop } from './loop.ts'

// What this process settles wakes it at once. The interval is for events of other processes, and for retries.
const IDLE_MS = 500
// With less left of its lease, a delivery cannot be sent and recorded before another process may claim it.
const LEAST_LEASE_MS = DEADLINE_MS + 5_000
// A request that takes longer does not hold up a stop. It is aborted, and sent again later.
const STOP_PATIENCE_MS = 2_000

export type Sender = {
  /** Claims due deliveries, and starts as many as the windows of their webhooks allow. */
  claim(): Promise<void>
  /** Starts no more, waits for requests in flight, and aborts those that take longer than `patienceMs`. */
  stop(patienceMs: number): Promise<void>
}

/** Sends due deliveries. Any number of processes may run it; a delivery is claimed by one at a time. */
export function startDeliverWorker(ctx: Context): Loop {
  const sender = makeSender(ctx, makeDeliveryWindows(), () => loop.wake())
  const loop = startLoop(ctx, {
    name: 'deliver',
    idleMs: IDLE_MS,
    async round() {
      await sender.claim()
      return 'idle'
    },
  })
  const detach = ctx.deliverWorker.attach(loop)
  return {
    wake: loop.wake,
    async stop() {
      detach()
      await loop.stop()
      await sender.stop(STOP_PATIENCE_MS)
    },
  }
}

/** Calls `wantsMore` when the claimed deliveries of a webhook run low. */
export function makeSender(ctx: Context, windows: DeliveryWindows, wantsMore: () => void): Sender {
  // Claimed, and waiting for a place in the window of their webhook.
  const queues = new Map<string, Claimed[]>()
  let inFlight = 0
  let whenEmptied = () => {}
  let isAborted = false

  function startNext(webhookId: string, now: Date) {
    const queue = queues.get(webhookId)
    if (!queue) return
    while (queue.length > 0) {
      const isStale = queue[0]!.leasedUntil.getTime() - now.getTime() < LEAST_LEASE_MS
      if (!isStale && !windows.mayStart(webhookId, now.getTime())) return
      const delivery = queue.shift()!
      // Its lease ends soon; whichever process claims it then sends it.
      if (isStale) windows.abandoned(webhookId)
      else void sendOne(delivery, now)
    }
    queues.delete(webhookId)
  }

  /** Never rejects. */
  async function sendOne(delivery: Claimed, at: Date): Promise<void> {
    const { webhookId } = delivery
    inFlight++
    windows.started(webhookId)
    const answer = delivery.target.isDisabled ? undefined : await sendDelivery(ctx, delivery, at)
    const attempt = { delivery, at, answer }
    const ok = isDelivered(answer)
    const now = ctx.now()
    windows.ended(webhookId, ok, now.getTime())
    // The next request starts while the outcome of this one is recorded.
    startNext(webhookId, now)
    if (windows.wantsMore(webhookId)) wantsMore()
    try {
      // A request that we aborted is not a failure of the webhook. Its lease ends, and it is sent again.
      if (ok || !isAborted) await ctx.attempts.add(attempt)
    } catch (error) {
      // Its lease ends, and it is sent again: at least once, as promised.
      ctx.log.error(
        { err: error, eventId: nameInBody(delivery.body) },
        'recording a webhook attempt failed; the delivery will be sent again',
      )
    }
    windows.recorded(webhookId)
    if (queues.has(webhookId)) startNext(webhookId, ctx.now())
    if (--inFlight === 0) whenEmptied()
  }

  return {
    async claim() {
      // Deliveries of a webhook whose pause is over move on here, and stale ones are dropped.
      const began = ctx.now()
      for (const webhookId of queues.keys()) startNext(webhookId, began)
      const allowances = windows.allowances(began.getTime())
      const claimed = await claimDeliveries(ctx, allowances)
      const counts = new Map<string, number>()
      for (const delivery of claimed) {
        counts.set(delivery.webhookId, (counts.get(delivery.webhookId) ?? 0) + 1)
        const queue = queues.get(delivery.webhookId)
        if (queue) queue.push(delivery)
        else queues.set(delivery.webhookId, [delivery])
      }
      windows.claimed(allowances, counts)
      for (const webhookId of counts.keys()) startNext(webhookId, ctx.now())
    },
    async stop(patienceMs) {
      queues.clear()
      const emptied = new Promise<void>((resolve) => (whenEmptied = resolve))
      if (inFlight > 0) await Promise.race([emptied, sleep(patienceMs, undefined, { ref: false })])
      isAborted = inFlight > 0
      if (!isAborted) return
      await ctx.webhookSender.close()
      await emptied
    },
  }
}

/**
 * Congestion control of deliveries, as TCP does it: each webhook has a window of requests in flight that grows by one
 * with each success and halves with each failure (AIMD). A webhook that fails again and again is paused, then probed
 * with a single request. So a dead webhook holds a few places for a few seconds, and never those of others.
 * The caller passes the time.
 */
export type DeliveryWindows = {
  /** How many more deliveries of each webhook may be claimed, so that its window never runs dry. */
  allowances(nowMs: number): Allowances
  /** How many were claimed by these allowances, by webhook. */
  claimed(allowances: Allowances, counts: Map<string, number>): void
  /** A claimed delivery is not sent: its lease would end first. */
  abandoned(webhookId: string): void
  mayStart(webhookId: string, nowMs: number): boolean
  started(webhookId: string): void
  ended(webhookId: string, ok: boolean, nowMs: number): void
  /** The outcome of an ended request is in the database. */
  recorded(webhookId: string): void
  /** True when few claimed deliveries are left and the queue may have more. */
  wantsMore(webhookId: string): boolean
}

/** `claimed` wait for a place or are in flight. `unrecorded` have ended, and the database does not know yet. */
type Window = {
  claimed: number
  inFlight: number
  unrecorded: number
  /** The last claim took all that the queue had. */
  isEmptied: boolean
  /** How many it will answer within AHEAD_MS, at its rate since the last claim. */
  ahead: number
  answered: number
  sinceMs: number
  size: number
  failures: number
  failedAtMs: number
  pausedUntilMs: number
}

// These would be sent again after a crash. A database that falls behind slows down the sending.
const MAX_UNRECORDED = 512
// Enough for a steady trickle; few enough that a hundred dead webhooks leave most places free.
const FIRST_SIZE = 8
// As many connections as the webhook sender opens to one host; more would only queue there.
const MAX_SIZE = 64
// More would make a claim slow, and the first of them wait.
const MAX_IN_A_CLAIM = 500
// Claimed ahead of their turn: one statement brings hundreds for a fast webhook, and none goes stale for a slow one.
const AHEAD_MS = 100
const MAX_AHEAD = MAX_IN_A_CLAIM
// Of all webhooks together, unrecorded ones included: a bound on sockets and memory.
const MAX_CLAIMED = 4_096
// From here on each webhook gets a few at most, so that many that hang at once leave room for others.
const CROWDED = (MAX_CLAIMED * 3) / 4
const FAILURES_UNTIL_PAUSE = 5
const FIRST_PAUSE_MS = 5_000
const MAX_PAUSE_MS = 5 * 60_000
// Without an end, webhooks that were disabled would be remembered for ever.
const FAILURES_REMEMBERED_MS = 3_600_000
// Only busy or failing webhooks are remembered. Past this many, the oldest idle one is forgotten.
const MAX_WINDOWS = 10_000

export function makeDeliveryWindows(): DeliveryWindows {
  const windows = new Map<string, Window>()
  let total = 0

  function of(webhookId: string): Window {
    const known = windows.get(webhookId)
    if (known) return known
    if (windows.size >= MAX_WINDOWS) forgetOldest()
    const window = {
      claimed: 0,
      inFlight: 0,
      unrecorded: 0,
      isEmptied: false,
      ahead: 0,
      answered: 0,
      sinceMs: 0,
      size: FIRST_SIZE,
      failures: 0,
      failedAtMs: 0,
      pausedUntilMs: 0,
    }
    windows.set(webhookId, window)
    return window
  }

  function forgetOldest() {
    for (const [id, window] of windows) if (window.claimed + window.unrecorded === 0) return void windows.delete(id)
  }

  return {
    allowances(nowMs) {
      const mostEach = total < CROWDED ? MAX_CLAIMED : FIRST_SIZE
      for (const [id, window] of windows) {
        // Each remembered webhook makes the claiming statement longer.
        if (isQuiet(window, nowMs)) windows.delete(id)
        else if (isLow(window)) lookAhead(window, nowMs)
      }
      const named = new Map([...windows].map(([id, window]) => [id, allowanceOf(window, mostEach, nowMs)]))
      return { default: FIRST_SIZE, named, total: Math.min(MAX_IN_A_CLAIM, MAX_CLAIMED - total) }
    },
    claimed(allowances, counts) {
      const sum = [...counts.values()].reduce((all, count) => all + count, 0)
      total += sum
      for (const [webhookId, count] of counts) of(webhookId).claimed += count
      // The total bound cut the claim short, so whose queue has more is unknown.
      if (sum >= allowances.total) return
      for (const [webhookId, window] of windows) {
        const allowed = allowances.named.get(webhookId) ?? allowances.default
        window.isEmptied = (counts.get(webhookId) ?? 0) < allowed
      }
    },
    abandoned(webhookId) {
      of(webhookId).claimed--
      total--
    },
    mayStart(webhookId, nowMs) {
      const window = of(webhookId)
      return window.inFlight < placesOf(window, nowMs) && window.unrecorded < MAX_UNRECORDED
    },
    started(webhookId) {
      of(webhookId).inFlight++
    },
    ended(webhookId, ok, nowMs) {
      const window = of(webhookId)
      window.inFlight--
      window.claimed--
      window.unrecorded++
      if (ok) succeed(window)
      else fail(window, nowMs)
    },
    recorded(webhookId) {
      of(webhookId).unrecorded--
      total--
    },
    wantsMore(webhookId) {
      const window = of(webhookId)
      return !window.isEmptied && isLow(window)
    },
  }
}

function succeed(window: Window): void {
  window.failures = 0
  window.pausedUntilMs = 0
  window.size = Math.min(MAX_SIZE, window.size + 1)
  window.answered++
}

function fail(window: Window, nowMs: number): void {
  window.failures++
  window.failedAtMs = nowMs
  window.ahead = window.answered = 0
  window.size = Math.max(1, Math.floor(window.size / 2))
  const rounds = window.failures - FAILURES_UNTIL_PAUSE
  if (rounds >= 0) window.pausedUntilMs = nowMs + Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(rounds, 10))
}

/** Nothing claimed or unrecorded, no answer since the last claim, and no recent failure. */
function isQuiet({ claimed, unrecorded, answered, failures, failedAtMs }: Window, nowMs: number): boolean {
  return claimed + unrecorded + answered === 0 && (failures === 0 || nowMs - failedAtMs > FAILURES_REMEMBERED_MS)
}

function lookAhead(window: Window, nowMs: number): void {
  const ahead = Math.ceil((window.answered * AHEAD_MS) / Math.max(1, nowMs - window.sinceMs))
  Object.assign(window, { ahead: Math.min(MAX_AHEAD, ahead), answered: 0, sinceMs: nowMs })
}

function wantedOf(window: Window, places: number): number {
  return places === 0 ? 0 : Math.max(places, window.ahead)
}

// Half empty: so each claim brings many, and a webhook that hangs with enough claimed costs nothing.
function isLow(window: Window): boolean {
  return window.claimed <= wantedOf(window, window.size) / 2
}

function allowanceOf(window: Window, most: number, nowMs: number): number {
  if (!isLow(window)) return 0
  return Math.max(0, Math.min(most, wantedOf(window, placesOf(window, nowMs))) - window.claimed)
}

function placesOf(window: Window, nowMs: number): number {
  if (nowMs < window.pausedUntilMs) return 0
  return window.failures >= FAILURES_UNTIL_PAUSE ? 1 : window.size
}
