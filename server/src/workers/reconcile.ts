import type { Context } from '../domain/context.ts'
import { readNotificationHealth, silenceText } from '../domain/deposits/notifications.ts'
import type { Provider } from '../domain/ports/provider.ts'
import { closeNextDay, advanceSweep } from '../domain/reconciliation/reconcile.ts'
import { makeWindowSize, narrow, type WindowSize } from '../domain/reconciliation/compare.ts'
import { claimSweep, releaseSweep, type Sweep } from '../domain/reconciliation/sweeps.ts'
import { joinLoops, startLoop, type Loop } from './loop.ts'

// How often a process checks whether a sweep is due. Between sweeps this costs two small statements.
const LOOK_MS = 1_000

/**
 * Reads each provider's list of received Pix, settles what notifications missed, and closes each day. Any number of
 * processes may run it: only one at a time sweeps a provider.
 */
export function startReconcileWorker(ctx: Context): Loop {
  const stopping = new AbortController()
  const loops = ctx.providers.map((provider) => {
    const sweeping = { windowSize: makeWindowSize(), signal: stopping.signal }
    return startLoop(ctx, {
      name: `reconcile ${provider.name}`,
      idleMs: LOOK_MS,
      round: () => reconcileDue(ctx, provider, sweeping),
    })
  })
  const { wake, stop } = joinLoops(loops)
  return {
    wake,
    stop() {
      stopping.abort()
      return stop()
    },
  }
}

/** What a loop remembers from round to round. */
export type Sweeping = { windowSize: WindowSize; signal?: AbortSignal; warnedAt?: Date }

export async function reconcileDue(
  ctx: Context,
  provider: Provider,
  sweeping: Sweeping = { windowSize: makeWindowSize() },
): Promise<'more' | 'idle'> {
  const sweep = await claimSweep(ctx, provider.name)
  if (!sweep) return 'idle'
  let next: 'now' | 'later' = 'later'
  try {
    next = await advance(ctx, provider, sweep, sweeping)
  } catch (error) {
    // Stopping: the next process resumes where this round began.
    if (sweeping.signal?.aborted) next = 'now'
    else {
      narrow(sweeping.windowSize)
      ctx.log.warn({ err: error, provider: provider.name }, 'reconciliation sweep failed; it will be retried')
    }
  }
  const now = ctx.now().getTime()
  await releaseSweep(ctx, sweep, new Date(next === 'now' ? now : now + ctx.settings.reconcileSeconds * 1000))
  return next === 'now' && !sweeping.signal?.aborted ? 'more' : 'idle'
}

/** One window of the sweep. Once the sweep has caught up, the closing of one day. */
async function advance(ctx: Context, provider: Provider, sweep: Sweep, sweeping: Sweeping): Promise<'now' | 'later'> {
  const { state, settled } = await advanceSweep(ctx, provider, sweep, sweeping)
  if (settled > 0) {
    ctx.log.info({ provider: provider.name, settled }, 'reconciliation settled payments without a notification')
    await warnOfSilence(ctx, provider.name, sweeping)
  }
  if (state === 'behind') return 'now'
  const closed = await closeNextDay(ctx, provider, sweep, sweeping)
  if (!closed) return 'later'
  const { differenceCount } = closed.comparison
  if (differenceCount > 0) {
    const fields = { provider: provider.name, day: closed.day, differenceCount }
    ctx.log.warn(fields, 'a day was closed with differences; list them with: guiche reconcile --list')
  }
  return 'now'
}

// Often enough to be seen in the log, seldom enough not to fill it.
const WARN_EVERY_MS = 3_600_000

/** The sweep hides that notifications never arrive, so this warning is the only sign of it. */
async function warnOfSilence(ctx: Context, provider: string, sweeping: Sweeping): Promise<void> {
  const now = ctx.now()
  if (sweeping.warnedAt && now.getTime() - sweeping.warnedAt.getTime() < WARN_EVERY_MS) return
  const health = (await readNotificationHealth(ctx)).find((candidate) => candidate.provider === provider)
  if (!health?.isSilent) return
  sweeping.warnedAt = now
  ctx.log.warn({ ...health }, `no notifications arrive: ${silenceText(health)}`)
}
