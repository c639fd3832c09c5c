import { setTimeout as sleep } from 'node:timers/promises'
import { isDelivered, type Claimed } from '../domain/webhooks/record-attempts.ts'
import type { Context } from '../domain/context.ts'
import { claimDeliveries, DEADLINE_MS, sendDelivery } from '../domain/webhooks/delivery-queue.ts'
import { startLoop, type Loop } from './loop.ts'
import { makeReceivers, type Receivers } from './delivery-window.ts'

// What this process settles wakes it at once; the look is for what others settled, and for retries.
const IDLE_MS = 500
// A claim with less than this left cannot be sent and written down before another process may take it.
const LEAST_LEASE_MS = DEADLINE_MS + 5_000
// The service promises to stop within 5 s; a receiver that takes longer is broken off, and gets its delivery again later.
const STOP_PATIENCE_MS = 2_000

export type Sender = {
  /** Claims what is due and starts as much of it as its receivers have places for. */
  claim(): Promise<void>
  /** Starts no more, waits for what is under way, and breaks off what takes longer than `patienceMs`. */
  stop(patienceMs: number): Promise<void>
}

/** Sends what is due. Any number of processes may run it; each delivery is claimed by one of them at a time. */
export function startDeliverWorker(ctx: Context): Loop {
  const sender = makeSender(ctx, makeReceivers(), () => loop.wake())
  const loop = startLoop(ctx, {
    name: 'deliver',
    idleMs: IDLE_MS,
    async round() {
      await sender.claim()
      return 'idle'
    },
  })
  ctx.wakeDeliveries = loop.wake
  return {
    wake: loop.wake,
    async stop() {
      await loop.stop()
      await sender.stop(STOP_PATIENCE_MS)
    },
  }
}

/** `wantsMore` is called when a receiver's claimed deliveries run low. */
export function makeSender(ctx: Context, receivers: Receivers, wantsMore: () => void): Sender {
  // Claimed, and waiting for a place at their receiver.
  const lanes = new Map<string, Claimed[]>()
  let underWay = 0
  let whenEmptied = () => {}
  let isBrokenOff = false
  let isClaiming = false

  function startNext(endpointId: string, now: Date) {
    const lane = lanes.get(endpointId)
    if (!lane) return
    while (lane.length > 0) {
      const isStale = lane[0]!.leasedUntil.getTime() - now.getTime() < LEAST_LEASE_MS
      if (!isStale && !receivers.mayStart(endpointId, now.getTime())) return
      const delivery = lane.shift()!
      // Left to its lease: whoever claims it then sends it, perhaps we.
      if (isStale) receivers.abandoned(endpointId)
      else void sendOne(delivery, now)
    }
    lanes.delete(endpointId)
  }

  /** Rejects never. */
  async function sendOne(delivery: Claimed, at: Date): Promise<void> {
    const { endpointId } = delivery
    underWay++
    receivers.started(endpointId)
    const answer = delivery.receiver.isDisabled ? undefined : await sendDelivery(ctx, delivery, at)
    const attempt = { delivery, at, answer }
    const ok = isDelivered(attempt)
    const now = ctx.now()
    receivers.ended(endpointId, ok, now.getTime())
    // The receiver is free for the next one while this one is being written down.
    startNext(endpointId, now)
    if (!isClaiming && receivers.wantsMore(endpointId)) wantsMore()
    try {
      // What we broke off ourselves is no failure of the receiver's; its lease runs out and it is sent again.
      if (ok || !isBrokenOff) await ctx.attempts.add(attempt)
    } catch (error) {
      // As above: at least once, as promised.
      ctx.log.error({ err: error, eventId: delivery.eventId }, 'an attempt to deliver could not be written down')
    }
    receivers.recorded(endpointId)
    startNext(endpointId, ctx.now())
    if (--underWay === 0) whenEmptied()
  }

  return {
    async claim() {
      // What waits behind a receiver that was left alone for a while, or has grown stale, moves on here.
      const began = ctx.now()
      for (const endpointId of lanes.keys()) startNext(endpointId, began)
      const allowances = receivers.allowances(began.getTime())
      isClaiming = true
      const claimed = await claimDeliveries(ctx, allowances).finally(() => (isClaiming = false))
      const counts = new Map<string, number>()
      for (const delivery of claimed) {
        counts.set(delivery.endpointId, (counts.get(delivery.endpointId) ?? 0) + 1)
        const lane = lanes.get(delivery.endpointId)
        if (lane) lane.push(delivery)
        else lanes.set(delivery.endpointId, [delivery])
      }
      receivers.claimed(allowances, counts)
      for (const endpointId of counts.keys()) startNext(endpointId, ctx.now())
    },
    async stop(patienceMs) {
      lanes.clear()
      const emptied = new Promise<void>((resolve) => (whenEmptied = resolve))
      if (underWay > 0) await Promise.race([emptied, sleep(patienceMs, undefined, { ref: false })])
      isBrokenOff = underWay > 0
      if (!isBrokenOff) return
      await ctx.webhookSender.close()
      await emptied
    },
  }
}
