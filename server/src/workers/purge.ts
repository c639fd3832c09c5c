import { keepAttemptPartitions } from '../domain/webhooks/attempt-partitions.ts'
import type { Context } from '../domain/context.ts'
import { purgeProcesses } from '../db/presence.ts'
import { purgeSharedLimits } from '../db/shared-limits.ts'
import { purgeIdempotencyKeys } from '../domain/deposits/intents.ts'
import { purgeSessions } from '../domain/accounts/sessions.ts'
import { startLoop, type Loop } from './loop.ts'

const IDLE_MS = 10 * 60_000

/**
 * Deletes idempotency keys, dead processes and unused limits after a day, webhook attempts after a month, and expired
 * sessions.
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
      return purgeIdempotencyKeys(ctx)
    },
  })
}
