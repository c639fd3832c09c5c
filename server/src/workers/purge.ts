import { keepAttemptPartitions } from '../domain/webhooks/attempt-partitions.ts'
import type { Context } from '../domain/context.ts'
import { purgeIdempotencyKeys } from '../domain/deposits/intents.ts'
import { purgeSessions } from '../domain/accounts/sessions.ts'
import { startLoop, type Loop } from './loop.ts'

const IDLE_MS = 10 * 60_000

/** Lets go of what has had its time: idempotency keys after a day, attempts of webhooks after a month, sessions and links that have expired. */
export function startPurgeWorker(ctx: Context): Loop {
  return startLoop(ctx, {
    name: 'purge',
    idleMs: IDLE_MS,
    async round() {
      await keepAttemptPartitions(ctx, ctx.now())
      await purgeSessions(ctx, ctx.now())
      return purgeIdempotencyKeys(ctx, ctx.now())
    },
  })
}
