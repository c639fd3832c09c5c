import type { Context } from '../domain/context.ts'
import { claimRefunds, runRefundNow } from '../domain/refunds/run-refund.ts'
import { startLoop, type Loop } from './loop.ts'

// Claimed at a time, and under way at once: the provider's own rate limit binds long before this does.
const CLAIM_LIMIT = 16
// Banks take seconds to days for a refund; nobody waits for the moment.
const IDLE_MS = 1_000

/** Follows refunds that are under way to their end. Any number of processes may run it. */
export function startRefundWorker(ctx: Context): Loop {
  return startLoop(ctx, { name: 'refund', idleMs: IDLE_MS, round: () => followDue(ctx) })
}

export async function followDue(ctx: Context): Promise<'more' | 'idle'> {
  const claimed = await claimRefunds(ctx, CLAIM_LIMIT)
  if (claimed.length === 0) return 'idle'
  // One that cannot be written down is left to its lease, and keeps nobody else back.
  const outcomes = await Promise.allSettled(claimed.map((one) => runRefundNow(ctx, one)))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  return 'more'
}
