import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../domain/context.ts'
import { backfillAccounts } from '../domain/deposits/backfill.ts'
import { startLoop, type Loop } from './loop.ts'

// Another process may stop in the middle of it.
const IDLE_MS = 10 * 60_000
// Leaves the database to deposits for most of the time: some thousand rows a second are filled in.
const PAUSE_MS = 200

/** Fills in columns that a migration added to large tables. It ends with the last row, and then only looks. */
export function startBackfillWorker(ctx: Context): Loop {
  return startLoop(ctx, {
    name: 'backfill',
    idleMs: IDLE_MS,
    async round() {
      const result = await backfillAccounts(ctx)
      if (result === 'more') await sleep(PAUSE_MS)
      return result
    },
  })
}
