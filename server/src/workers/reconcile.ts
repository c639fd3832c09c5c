import type { Context } from '../domain/context.ts'
import { readNotificationHealth, silenceText } from '../domain/deposits/notifications.ts'
import type { Provider } from '../domain/ports/provider.ts'
import { closeNextDay, advanceSweep } from '../domain/reconciliation/reconcile.ts'
import { makePace, narrow, type WindowSize } from '../domain/reconciliation/compare.ts'
import { claimSweep, releaseSweep, type Sweep } from '../domain/reconciliation/sweeps.ts'
import { startLoop, type Loop } from './loop.ts'

// How often a process looks whether a sweep is due; between sweeps this costs two small statements.
const LOOK_MS = 1_000

/**
 * Reads each provider's list of received Pix and settles what notifications missed; closes each day. Any number of processes may run it: one of them sweeps a
 * provider at a time.
 */
export function startReconcileWorker(ctx: Context): Loop {
  const stopping = new AbortController()
  const loops = ctx.providers.map((provider) => {
    const sweeping = { pace: makePace(), signal: stopping.signal }
    return startLoop(ctx, {
      name: `reconcile ${provider.name}`,
      idleMs: LOOK_MS,
      round: () => reconcileDue(ctx, provider, sweeping),
    })
  })
  return {
    wake: () => loops.forEach((loop) => loop.wake()),
    async stop() {
      stopping.abort()
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

/** What a loop keeps in mind from round to round. */
export type Sweeping = { pace: WindowSize; signal?: AbortSignal; warnedAt?: Date }

export async function reconcileDue(
  ctx: Context,
  provider: Provider,
  sweeping: Sweeping = { pace: makePace() },
): Promise<'more' | 'idle'> {
  const sweep = await claimSweep(ctx, provider.name)
  if (!sweep) return 'idle'
  let next: 'now' | 'later' = 'later'
  try {
    next = await advance(ctx, provider, sweep, sweeping)
  } catch (error) {
    // On the way out: whoever comes next begins where this one did.
    if (sweeping.signal?.aborted) next = 'now'
    else {
      narrow(sweeping.pace)
      ctx.log.warn({ err: error, provider: provider.name }, 'a sweep of received payments failed and is tried again')
    }
  }
  const now = ctx.now().getTime()
  await releaseSweep(ctx, sweep, new Date(next === 'now' ? now : now + ctx.settings.reconcileSeconds * 1000))
  return next === 'now' && !sweeping.signal?.aborted ? 'more' : 'idle'
}

/** One stretch of the sweep, and when that has caught up, one day's closing. */
async function advance(ctx: Context, provider: Provider, sweep: Sweep, sweeping: Sweeping): Promise<'now' | 'later'> {
  const { state, settled } = await advanceSweep(ctx, provider, sweep, sweeping)
  if (settled > 0) {
    ctx.log.info({ provider: provider.name, settled }, 'settled payments that nobody had told us of')
    await warnOfSilence(ctx, provider.name, sweeping)
  }
  if (state === 'behind') return 'now'
  const closed = await closeNextDay(ctx, provider, sweep, sweeping)
  if (!closed) return 'later'
  const { differenceCount } = closed.statement
  if (differenceCount > 0) {
    const fields = { provider: provider.name, day: closed.day, differenceCount }
    ctx.log.warn(fields, 'a day was closed with differences: guiche reconcile --list shows them')
  }
  return 'now'
}

// Whoever reads the log must see it, and not only it.
const WARN_EVERY_MS = 3_600_000

/** The sweep makes up for notifications that never arrive, so that only this tells of them. */
async function warnOfSilence(ctx: Context, provider: string, sweeping: Sweeping): Promise<void> {
  const now = ctx.now()
  if (sweeping.warnedAt && now.getTime() - sweeping.warnedAt.getTime() < WARN_EVERY_MS) return
  const health = (await readNotificationHealth(ctx)).find((one) => one.provider === provider)
  if (!health?.isSilent) return
  sweeping.warnedAt = now
  ctx.log.warn({ ...health }, `notifications do not arrive: ${silenceText(health)}`)
}
