import { setTimeout as sleep } from 'node:timers/promises'
import { answerCheck } from '../domain/deposits/checks/check-charge.ts'
import { answerPayer } from '../domain/refunds/answer-payer.ts'
import { claimChecks, type Check } from '../domain/deposits/checks/check-queue.ts'
import type { Context } from '../domain/context.ts'
import { startLoop, type Loop } from './loop.ts'

// Claimed from the queue and not answered yet. More could hardly be asked before their lease ends.
const MAX_CLAIMED = 256
// Notifications in memory, some hundred bytes each. Those past this wait in the queue.
const MAX_FOLLOWED = 20_000
const IDLE_MS = 500
// What takes longer does not hold up a stop. It is left to the next process, when its lease ends.
const STOP_PATIENCE_MS = 2_000

/**
 * Checks with the provider what notifications named, as soon as they are stored, and what is due in the queue: charges
 * past their expiry, intents that no process finished, and what other processes left. Any number of processes may run
 * it.
 */
export function startCheckWorker(ctx: Context): Loop {
  let mayHaveMore = false
  const followed = makeHeld((check) => answerOrLeave(ctx, check))
  const claimed = makeHeld(async (check) => {
    await answerOrLeave(ctx, check)
    if (mayHaveMore && claimed.size() <= MAX_CLAIMED / 2) loop.wake()
  })
  const loop = startLoop(ctx, {
    name: 'check',
    idleMs: IDLE_MS,
    async round() {
      const room = MAX_CLAIMED - claimed.size()
      // Half of them at least, so that each claim brings many.
      if (room < MAX_CLAIMED / 2) return 'idle'
      // Claimed without a provider to ask, checks would only be put off, for longer each time.
      if (!ctx.providers.some((provider) => provider.isCallable())) return 'idle'
      const checks = await claimChecks(ctx, room)
      mayHaveMore = checks.length === room
      claimed.hold(checks)
      return 'idle'
    },
  })
  ctx.receivedLists.start()
  const detach = ctx.checkWorker.attach(loop)
  const unfollow = ctx.hintFollower.attach({
    room: () => (ctx.clock.agrees() ? MAX_FOLLOWED - followed.size() : 0),
    follow: followed.hold,
  })
  return {
    wake: loop.wake,
    async stop() {
      unfollow()
      detach()
      await loop.stop()
      ctx.receivedLists.stop()
      const emptied = Promise.all([claimed.emptied(), followed.emptied()])
      await Promise.race([emptied, sleep(STOP_PATIENCE_MS, undefined, { ref: false })])
    },
  }
}

/** One claim of the queue, answered whole. */
export async function checkDue(ctx: Context): Promise<'more' | 'idle'> {
  const checks = await claimChecks(ctx, MAX_CLAIMED)
  await Promise.all(checks.map((check) => answer(ctx, check)))
  return checks.length > 0 ? 'more' : 'idle'
}

function answer(ctx: Context, check: Check): Promise<void> {
  const { kind } = check
  return kind === 'payer' ? answerPayer(ctx, check) : answerCheck(ctx, check, kind)
}

async function answerOrLeave(ctx: Context, check: Check): Promise<void> {
  try {
    await answer(ctx, check)
  } catch (error) {
    ctx.log.error(
      { err: error, subject: check.subject },
      'ending a check failed; it is asked again when its lease ends',
    )
  }
}

/** Checks that this process has claimed and not answered yet. `answer` never rejects. */
function makeHeld(answer: (check: Check) => Promise<void>) {
  let size = 0
  let whenEmptied = () => {}
  const hold = async (check: Check) => {
    size++
    await answer(check)
    if (--size === 0) whenEmptied()
  }
  return {
    size: () => size,
    hold: (checks: Check[]) => checks.forEach((check) => void hold(check)),
    emptied: () => (size === 0 ? Promise.resolve() : new Promise<void>((resolve) => (whenEmptied = resolve))),
  }
}
