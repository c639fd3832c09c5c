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
// An e-mail that takes longer does not hold up a stop. Its lease ends, and it is sent again with the same id.
const STOP_PATIENCE_MS = 2_000

/**
 * Tells people what happened: writes notices, and sends them by e-mail. Any number of processes may run it. A slow mail
 * server does not delay the bell, so each has a loop.
 */
export function startTellWorker(ctx: Context): Loop {
  const telling = startLoop(ctx, { name: 'tell', idleMs: IDLE_MS, round: () => tell(ctx) })
  if (!ctx.mailer.sendsMail) return telling
  const mailing = startLoop(ctx, { name: 'mail', idleMs: IDLE_MS, round: () => mail(ctx) })
  return {
    wake() {
      telling.wake()
      mailing.wake()
    },
    async stop() {
      const patience = sleep(STOP_PATIENCE_MS, undefined, { ref: false })
      await Promise.all([telling.stop(), Promise.race([mailing.stop(), patience])])
    },
  }
}

export async function tell(ctx: Context): Promise<'more' | 'idle'> {
  const followed = await followHistory(ctx)
  if (followed === 'busy') await sleep(BUSY_MS)
  await watchStates(ctx)
  return followed === 'full' ? 'more' : 'idle'
}

export async function mail(ctx: Context): Promise<'more' | 'idle'> {
  const made = await makeEmails(ctx)
  const sent = await sendEmails(ctx)
  return made > 0 || sent > 0 ? 'more' : 'idle'
}
