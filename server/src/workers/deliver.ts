import { setTimeout as sleep } from 'node:timers/promises'
import { isDelivered, type Claimed } from '../domain/webhooks/record-attempts.ts'
import type { Context } from '../domain/context.ts'
import { claimDeliveries, DEADLINE_MS, findUnclaimed, sendDelivery } from '../domain/webhooks/delivery-queue.ts'
import { nameInBody } from '../domain/webhooks/events.ts'
import { joinLoops, startLoop, type Loop } from './loop.ts'
import { makeDeliveryWindows, type DeliveryWindows } from './delivery-window.ts'
import { makeQueueCursors } from './queue-cursors.ts'

// What this process settles wakes it at once. The interval is for events of other processes, and for retries.
const IDLE_MS = 500
// A little less, so that each round after an idle pause is a poll. Rounds in between read only what woke them.
const POLL_MS = IDLE_MS - 50
// How far back a wake looks that does not say since when something is due. Transactions of this process are shorter.
const WOKEN_FOR_MS = 10_000
// How often to look for what claims have passed: leases of dead processes, and late commits. While an old snapshot is
// held open, that reads all that was delivered since. So no claim waits for it, and it takes a twentieth of the time.
const FIND_PASSED_MS = 5_000
const PAUSE_AFTER_FINDING = 20
// With less left of its lease, a delivery cannot be sent and recorded before another process may claim it.
const LEAST_LEASE_MS = DEADLINE_MS + 5_000
// A request that takes longer does not hold up a stop. It is aborted, and sent again later.
const STOP_PATIENCE_MS = 2_000

export type Sender = {
  /** Something was queued with this time, and the next claim looks for it. */
  queued(since: Date): void
  /**
   * Claims due deliveries, and starts as many as the windows of their webhooks allow. What is neither known from an
   * earlier claim nor announced by `queued` is found by a poll.
   */
  claim(options?: { isPoll: boolean }): Promise<void>
  /** Finds what claims have passed. The next claim goes back to it. */
  findPassed(): Promise<void>
  /** Starts no more, waits for requests in flight, and aborts those that take longer than `patienceMs`. */
  stop(patienceMs: number): Promise<void>
}

/** Sends due deliveries. Any number of processes may run it; a delivery is claimed by one at a time. */
export function startDeliverWorker(ctx: Context): Loop {
  const sender = makeSender(ctx, makeDeliveryWindows(), () => loop.wake())
  let polledAtMs = -Infinity
  const loop = startLoop(ctx, {
    name: 'deliver',
    idleMs: IDLE_MS,
    async round() {
      const nowMs = performance.now()
      const isPoll = nowMs - polledAtMs >= POLL_MS
      if (isPoll) polledAtMs = nowMs
      await sender.claim({ isPoll })
      return 'idle'
    },
  })
  let findAtMs = -Infinity
  const passed = startLoop(ctx, {
    name: 'find passed deliveries',
    idleMs: FIND_PASSED_MS,
    async round() {
      const beganMs = performance.now()
      if (beganMs < findAtMs) return 'idle'
      await sender.findPassed().finally(() => {
        const endedMs = performance.now()
        findAtMs = endedMs + (endedMs - beganMs) * PAUSE_AFTER_FINDING
      })
      return 'idle'
    },
  })
  const wake = (since = new Date(ctx.now().getTime() - WOKEN_FOR_MS)) => {
    sender.queued(since)
    loop.wake()
  }
  const detach = ctx.deliverWorker.attach({ wake })
  return {
    wake: () => wake(),
    async stop() {
      detach()
      await joinLoops([loop, passed]).stop()
      await sender.stop(STOP_PATIENCE_MS)
    },
  }
}

/** Calls `wantsMore` when the claimed deliveries of a webhook run low. */
export function makeSender(ctx: Context, windows: DeliveryWindows, wantsMore: () => void): Sender {
  // Claimed, and waiting for a place in the window of their webhook.
  const queues = new Map<string, Claimed[]>()
  const cursors = makeQueueCursors()
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
    queued: (since) => cursors.lookBack(since.getTime()),
    async claim({ isPoll } = { isPoll: true }) {
      // Deliveries of a webhook whose pause is over move on here, and stale ones are dropped.
      const began = ctx.now()
      for (const webhookId of queues.keys()) startNext(webhookId, began)
      const allowances = windows.allowances(began.getTime())
      const reading = cursors.next(began.getTime(), isPoll)
      const claimed = await claimDeliveries(ctx, allowances, reading)
      cursors.claimed(reading, allowances, claimed)
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
    async findPassed() {
      const unclaimed = await findUnclaimed(ctx)
      for (const { webhookId, since } of unclaimed) cursors.passed(webhookId, since.getTime())
      if (unclaimed.length > 0) wantsMore()
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
