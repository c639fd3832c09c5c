import { keepAttemptPartitions } from '../domain/webhooks/attempt-partitions.ts'
import type { Context } from '../domain/context.ts'
import { purgeProcesses } from '../db/presence.ts'
import { purgeSharedLimits } from '../db/shared-limits.ts'
import { purgeFailedCharges } from '../domain/deposits/failed-charges.ts'
import { purgeIdempotencyKeys } from '../domain/deposits/intents.ts'
import { purgeSessions } from '../domain/accounts/sessions.ts'
import { purgeSignIns } from '../domain/users/security-events.ts'
import { startLoop, type Loop } from './loop.ts'

const IDLE_MS = 10 * 60_000

/**
 * Deletes idempotency keys, dead processes and unused limits after a day, charges that no provider made after 90 days,
 * expired sessions, and by the retention settings webhook attempts and records of sign-ins.
 */
export function startPurgeWorker(ctx: Context): Loop {
  return startLoop(ctx, {
    name: 'purge',
    idleMs: IDLE_MS,
    async round() {
      await keepAttemptPartitions(ctx)
      await purgeSessions(ctx, ctx.now())
      await purgeProcesses(ctx.pool)
      await purgeSharedLimits(ctx.pool, ctx.now())
      // Keys before the charges that they name.
      const rest = [await purgeSignIns(ctx), await purgeIdempotencyKeys(ctx), await purgeFailedCharges(ctx)]
      return rest.includes('more') ? 'more' : 'idle'
    },
  })
}
