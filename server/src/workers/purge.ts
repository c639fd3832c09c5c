import { keepAttemptPartitions } from '../domain/webhooks/attempt-partitions.ts'
import type { Context } from '../domain/context.ts'
import { purgeProcesses } from '../db/presence.ts'
import { purgeSharedLimits } from '../db/shared-limits.ts'
import { purgeFailedCharges } from '../domain/deposits/failed-charges.ts'
import { purgeIdempotencyKeys } from '../domain/deposits/intents.ts'
import { purgePayerNumbers } from '../domain/deposits/payer-numbers.ts'
import { keepRequestPartitions } from '../domain/accounts/request-log.ts'
import { purgeSessions } from '../domain/accounts/sessions.ts'
import { purgeSignIns } from '../domain/users/security-events.ts'
import { purgeNotices } from '../domain/notices/list-notices.ts'
import { beginSeals } from '../domain/core/seal-as-found.ts'
import { startLoop, type Loop } from './loop.ts'

const IDLE_MS = 10 * 60_000

type Step = { name: string; run: (ctx: Context) => Promise<unknown> }

/**
 * Deletes idempotency keys, numbers of payers, dead processes and unused limits after a day, charges that no provider
 * made after 90 days, notices after half a year, expired sessions, and by the retention settings webhook attempts,
 * requests and records of sign-ins.
 * It also seals what the release before wrote.
 */
const STEPS: Step[] = [
  { name: 'attempts', run: keepAttemptPartitions },
  { name: 'requests', run: keepRequestPartitions },
  { name: 'sessions', run: (ctx) => purgeSessions(ctx, ctx.now()) },
  { name: 'processes', run: (ctx) => purgeProcesses(ctx.pool) },
  { name: 'seals', run: beginSeals },
  { name: 'notices', run: purgeNotices },
  { name: 'limits', run: (ctx) => purgeSharedLimits(ctx.pool, ctx.now()) },
  { name: 'sign_ins', run: purgeSignIns },
  // Keys before the charges that they name.
  { name: 'idempotency_keys', run: purgeIdempotencyKeys },
  { name: 'payer_numbers', run: purgePayerNumbers },
  { name: 'failed_charges', run: purgeFailedCharges },
]

export function startPurgeWorker(ctx: Context): Loop {
  const failedAtMs = new Map<string, number>()
  return startLoop(ctx, { name: 'purge', idleMs: IDLE_MS, round: () => purge(ctx, failedAtMs) })
}

/** A step that fails is tried again after a pause, and does not keep the others from their work. */
export async function purge(ctx: Context, failedAtMs = new Map<string, number>()): Promise<'more' | 'idle'> {
  let next: 'more' | 'idle' = 'idle'
  for (const { name, run } of STEPS) {
    // Rounds follow each other at once while another step has more to do.
    if (ctx.now().getTime() - (failedAtMs.get(name) ?? -Infinity) < IDLE_MS) continue
    try {
      if ((await run(ctx)) === 'more') next = 'more'
      failedAtMs.delete(name)
      ctx.metrics.purgeFailing.set({ step: name }, 0)
    } catch (err) {
      failedAtMs.set(name, ctx.now().getTime())
      ctx.metrics.purgeFailing.set({ step: name }, 1)
      ctx.log.error({ err, step: name }, 'deleting old rows failed; it is tried again in ten minutes')
    }
  }
  return next
}
