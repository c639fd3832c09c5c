import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../domain/context.ts'
import { makeNumberingMemory, numberPending } from '../domain/history/number-pending.ts'
import { startLoop, type Loop } from './loop.ts'

// What this process commits wakes it at once. The interval is for the audit log, and for events of other processes.
const IDLE_MS = 250
// Batches of this many milliseconds cost little, and no reader notices that an event comes so much later.
const BATCH_MS = 20
// Another process is giving positions, for the few milliseconds of a transaction.
const BUSY_MS = 10

/** Gives positions to events and lines of the audit log. Any number of processes may run it. */
export function startNumberWorker(ctx: Context): Loop {
  const memory = makeNumberingMemory()
  const loop = startLoop(ctx, {
    name: 'number',
    idleMs: IDLE_MS,
    async round() {
      const numbered = await numberPending(ctx, memory)
      if (numbered === 'idle') return 'idle'
      if (numbered === 'busy') await sleep(BUSY_MS)
      else ctx.historyFeed.wake()
      if (numbered === 'done') await sleep(BATCH_MS)
      return 'more'
    },
  })
  const detach = ctx.numberWorker.attach(loop)
  return {
    wake: loop.wake,
    async stop() {
      detach()
      await loop.stop()
    },
  }
}
