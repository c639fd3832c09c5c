import type { Context } from '../domain/context.ts'
import { signHead } from '../domain/history/heads.ts'
import { makeNumberingMemory, numberPending } from '../domain/history/number-pending.ts'
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

/**
 * A service that stops may be down for long. Its last events are then bound by a head outside the database, so that
 * nobody can take them away meanwhile.
 */
export async function signLastHead(ctx: Context): Promise<void> {
  try {
    const memory = makeNumberingMemory()
    let numbered = await numberPending(ctx, memory)
    while (numbered === 'full') numbered = await numberPending(ctx, memory)
    await signHead(ctx, { leaf: Infinity })
  } catch (err) {
    ctx.log.warn({ err }, 'the last events have no signed head: the next start signs one')
  }
}
