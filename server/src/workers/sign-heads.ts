import type { Context } from '../domain/context.ts'
import { signHead } from '../domain/history/heads.ts'
import { submitHead } from '../domain/history/witness.ts'
import { startLoop, type Loop } from './loop.ts'

// What was told is bound by a signed head within a minute, also outside the database.
const EVERY_MS = 60_000

/** Signs the head of the history when it grew, and has it countersigned. Processes may do so at once. */
export function startHeadWorker(ctx: Context): Loop {
  return startLoop(ctx, {
    name: 'sign heads',
    idleMs: EVERY_MS,
    async round() {
      await signHead(ctx)
      if (ctx.witness && ctx.settings.witness) await submitHead(ctx, ctx.witness, ctx.settings.witness.key)
      return 'idle'
    },
  })
}
