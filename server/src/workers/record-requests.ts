import type { Context } from '../domain/context.ts'
import { startLoop, type Loop } from './loop.ts'

const FLUSH_EVERY_MS = 1_000

/** Writes the log of requests of this process. */
export function startRequestLog(ctx: Context): Loop {
  const loop = startLoop(ctx, {
    name: 'record requests',
    idleMs: FLUSH_EVERY_MS,
    async round() {
      await ctx.requestLog.flush()
      return 'idle'
    },
  })
  return {
    wake: loop.wake,
    // Requests have ended by now, and what they left is written with this round.
    async stop() {
      await loop.stop()
      await ctx.requestLog.flush().catch((err: unknown) => ctx.log.warn({ err }, 'the last requests are not recorded'))
    },
  }
}
