import { answerCheck } from '../domain/deposits/check-charge.ts'
import { claimChecks, finishChecks, retryAt, type Check } from '../domain/deposits/check-queue.ts'
import type { Context } from '../domain/context.ts'
import { startLoop, type Loop } from './loop.ts'

// Checks claimed and in flight at a time. The provider's own rate limit binds long before this does.
const CLAIM_LIMIT = 64
const IDLE_MS = 500

/**
 * Checks with the provider what is due: charges past their expiry, charges that a notification named, and intents that
 * no process finished. Any number of processes may run it.
 */
export function startCheckWorker(ctx: Context): Loop {
  const loop = startLoop(ctx, { name: 'check', idleMs: IDLE_MS, round: () => checkDue(ctx) })
  ctx.wakeChecks = loop.wake
  return loop
}

export async function checkDue(ctx: Context): Promise<'more' | 'idle'> {
  const checks = await claimChecks(ctx, CLAIM_LIMIT)
  if (checks.length === 0) return 'idle'
  const finished = await Promise.all(checks.map((check) => answerOne(ctx, check)))
  await finishChecks(ctx, finished)
  return 'more'
}

async function answerOne(ctx: Context, check: Check): Promise<{ check: Check; nextDueAt: Date | null }> {
  try {
    return { check, nextDueAt: await answerCheck(ctx, check) }
  } catch (error) {
    // The outcome is unknown, so the check stays in the queue, however long the provider is down.
    ctx.log.warn({ err: error, subject: check.subject, attempts: check.attempts }, 'provider status check failed')
    return { check, nextDueAt: retryAt(ctx.now(), check.attempts) }
  }
}
