import type { Context } from '../domain/context.ts'
import { answerRefundCheck, claimRefundChecks } from '../domain/refunds/refund-checks.ts'
import { claimRefunds, runRefund } from '../domain/refunds/run-refund.ts'
import { startLoop, type Loop } from './loop.ts'

// Refunds and checks of refunds claimed and in flight at a time, of each. The provider's own rate limit binds long
// before this does.
const CLAIM_LIMIT = 16
// Banks take seconds to days for a refund, so polling faster gains nothing.
const IDLE_MS = 1_000

/** Runs started refunds to their end, and checks ended ones that a provider contradicts. Any process may run it. */
export function startRefundWorker(ctx: Context): Loop {
  return startLoop(ctx, { name: 'refund', idleMs: IDLE_MS, round: () => runDueRefunds(ctx) })
}

export async function runDueRefunds(ctx: Context): Promise<'more' | 'idle'> {
  const claimed = await claimRefunds(ctx, CLAIM_LIMIT)
  const checks = await claimRefundChecks(ctx, CLAIM_LIMIT)
  if (claimed.length + checks.length === 0) return 'idle'
  // A refund whose outcome cannot be recorded is claimed again when its lease ends. It does not block the others.
  const outcomes = await Promise.allSettled<unknown>([
    ...claimed.map((refund) => runRefund(ctx, refund)),
    ...checks.map((check) => answerRefundCheck(ctx, check)),
  ])
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
  return 'more'
}
