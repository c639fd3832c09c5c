import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../domain/context.ts'
import { followHistory } from '../domain/notices/follow-history.ts'
import { makeEmails, sendEmails } from '../domain/notices/send-emails.ts'
import { watchStates } from '../domain/notices/watch-states.ts'
import { startLoop, type Loop } from './loop.ts'

// People read what happened some seconds ago as if it were now.
const IDLE_MS = 2_000
// Another process is at it, for the milliseconds of a transaction.
const BUSY_MS = 100

/** Tells people what happened: writes notices, and sends them by e-mail. Any number of processes may run it. */
export function startTellWorker(ctx: Context): Loop {
  return startLoop(ctx, { name: 'tell', idleMs: IDLE_MS, round: () => tell(ctx) })
}

export async function tell(ctx: Context): Promise<'more' | 'idle'> {
  const followed = await followHistory(ctx)
  if (followed === 'busy') await sleep(BUSY_MS)
  await watchStates(ctx)
  if (!ctx.mailer.sendsMail) return followed === 'full' ? 'more' : 'idle'
  const made = await makeEmails(ctx)
  const sent = await sendEmails(ctx)
  return followed === 'full' || made > 0 || sent > 0 ? 'more' : 'idle'
}
