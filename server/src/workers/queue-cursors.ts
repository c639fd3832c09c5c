import type { Allowances, Cursor, FoundDelivery, Reading } from '../domain/webhooks/delivery-queue.ts'

/**
 * How far this process has read the queue, in the order of due times. Delivered rows stay in the index while an old
 * snapshot is held open, so a claim begins where the last one ended. A row is due at the time of its transaction or
 * later. So only a late commit, or a lease that ends, leaves something to claim further back. Times are passed in.
 */
export type QueueCursors = {
  /** Something was queued with this time. The next claim reads from there. */
  lookBack(sinceMs: number): void
  /** A webhook has something to claim since this time, and claims have passed it. */
  passed(webhookId: string, sinceMs: number): void
  /** What the next claim reads. A poll looks for what other processes queued, and for retries. */
  next(nowMs: number, isPoll: boolean): Reading
  /** Without this report the claim failed, and the next one reads the same again. */
  claimed(reading: Reading, allowances: Allowances, rows: FoundDelivery[]): void
}

// A poll also finds what was committed this long after its own time.
const LATE_COMMIT_MS = 2_000
// As many as there are windows. What has no place here counts as passed, and is found later.
const MAX_BEHIND = 10_000

export function makeQueueCursors(): QueueCursors {
  /** Webhooks that may have more after this place. */
  const behind = new Map<string, Cursor>()
  let wantedFromMs = Infinity
  let readingFromMs = Infinity
  let polledUntilMs = 0

  function fallBehind(webhookId: string, cursor: Cursor) {
    if (behind.size < MAX_BEHIND || behind.has(webhookId)) behind.set(webhookId, cursor)
  }

  return {
    lookBack(sinceMs) {
      wantedFromMs = Math.min(wantedFromMs, sinceMs - 1)
    },
    passed(webhookId, sinceMs) {
      const cursor = behind.get(webhookId)
      if (!cursor || cursor.dueAtMs >= sinceMs) fallBehind(webhookId, { dueAtMs: sinceMs - 1, eventId: null })
    },
    next(nowMs, isPoll) {
      readingFromMs = Math.min(readingFromMs, wantedFromMs, isPoll ? polledUntilMs : Infinity)
      wantedFromMs = Infinity
      const start = { dueAtMs: readingFromMs, eventId: null }
      for (const [webhookId, { dueAtMs }] of behind) if (dueAtMs > readingFromMs) behind.set(webhookId, start)
      return { nowMs, fromMs: readingFromMs, behind: new Map(behind) }
    },
    claimed({ nowMs, fromMs, behind: read }, { named, default: other, total }, rows) {
      const taken = takenOf(rows)
      // The total bound cut the claim short, so what it has not read is unknown.
      const isCut = rows.length >= total
      for (const webhookId of new Set([...read.keys(), ...named.keys(), ...taken.keys()])) {
        // Something was passed meanwhile, and is read next.
        if (behind.get(webhookId) !== read.get(webhookId)) continue
        const allowed = named.get(webhookId) ?? other
        const { count, last } = taken.get(webhookId) ?? { count: 0, last: { dueAtMs: fromMs, eventId: null } }
        if (count > 0 && (isCut || count >= allowed)) fallBehind(webhookId, last)
        else if (allowed > 0 && !isCut) behind.delete(webhookId)
        else if (fromMs < nowMs && !read.has(webhookId)) fallBehind(webhookId, last)
      }
      if (isCut) return
      if (fromMs <= polledUntilMs) polledUntilMs = nowMs - LATE_COMMIT_MS
      readingFromMs = Infinity
    },
  }
}

/** How many were claimed of each webhook, and the last of them. The rows come in any order. */
function takenOf(rows: FoundDelivery[]): Map<string, { count: number; last: Cursor }> {
  const taken = new Map<string, { count: number; last: Cursor & { eventId: string } }>()
  for (const { webhookId, dueAtMs, eventId } of rows) {
    const one = taken.get(webhookId)
    if (!one) {
      taken.set(webhookId, { count: 1, last: { dueAtMs, eventId } })
      continue
    }
    one.count++
    const { last } = one
    if (dueAtMs > last.dueAtMs || (dueAtMs === last.dueAtMs && eventId > last.eventId)) one.last = { dueAtMs, eventId }
  }
  return taken
}
