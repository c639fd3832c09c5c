import { keepAttemptParts } from '../domain/attempt-parts.ts'
import type { Context } from '../domain/context.ts'
import { purgeIdempotencyKeys } from '../domain/openings.ts'
import { purgeSessions } from '../domain/sessions.ts'
import { startLoop, type Loop } from './loop.ts'

const IDLE_MS = 10 * 60_000

/** Lets go of what has had its time: idempotency keys after a day, attempts of webhooks after a month, sessions and links that have expired. */
export function startPurgeWorker(ctx: Context): Loop {
  return startLoop(ctx, {
    name: 'purge',
    idleMs: IDLE_MS,
    async round() {
      await keepAttemptParts(ctx.pool, ctx.now())
      await purgeSessions(ctx.pool, ctx.now())
      return purgeIdempotencyKeys(ctx.pool, ctx.now())
    },
  })
}
