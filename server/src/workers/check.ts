import { answerCheck, claimChecks, finishChecks, retryAt, type Check } from '../domain/deposits/checks.ts'
import type { Context } from '../domain/context.ts'
import { startLoop, type Loop } from './loop.ts'

// Questions claimed at a time, and under way at once: the provider's own rate limit binds long before these do.
const CLAIM_LIMIT = 64
const IDLE_MS = 500

/**
 * Asks providers what is due: charges whose time is over, charges that a notification hinted at, intents that nobody finished. Any
 * number of processes may run it.
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
    // The outcome is unknown, so the question stays, however long the provider is away.
    ctx.log.warn({ err: error, subject: check.subject, attempts: check.attempts }, 'a question to the provider failed')
    return { check, nextDueAt: retryAt(ctx.now(), check.attempts) }
  }
}
