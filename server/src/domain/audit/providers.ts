import type { Cents } from '../../base/money.ts'
import { transact } from '../../db/tx.ts'
import type { Difference } from './books.ts'
import { cutIntoDays, dayStart, wholeSecond, type DayPart } from '../core/business-days.ts'
import { ProviderError, type Provider } from '../ports/provider.ts'
import { addTally, compareUnlisted, compareWindow, makeTally, makeWindowSize } from '../reconciliation/compare.ts'
import type { Window } from '../reconciliation/import-received.ts'
import { OVERLAP_MS } from '../reconciliation/reconcile.ts'
import { firstChargeAt, readCursor } from '../reconciliation/sweeps.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

export type Compared = Window & { provider: string; payments: number; totalCents: Cents }

export type NotCompared = { provider: string; what: string; why: string }

export type ProviderAudit = {
  compared: Compared
  notCompared: NotCompared[]
  differences: Difference[]
  isCut: boolean
}

type Options = {
  since: string | undefined
  onProgress: (done: number, text: string) => void
}

type DayFailure = { day: DayPart; error: ProviderError }

// Clocks differ: the provider's list may have payments dated a little ahead of ours.
const AHEAD_MS = 24 * 3_600_000
// A provider that fails this many days in a row is down, or does not list days so old.
const MAX_FAILED_DAYS = 3

/** Compares every day since the provider's first charge, newest first, because some list only the last months. */
export async function compareProvider(
  ctx: Context,
  provider: Provider,
  { since, onProgress }: Options,
): Promise<ProviderAudit> {
  const { name } = provider
  const window = await auditWindow(ctx, name, since)
  const tally = makeTally()
  const failures: DayFailure[] = []
  const windowSize = makeWindowSize()
  const days = [...cutIntoDays(window)].toReversed()
  let failedInARow = 0
  for (const [index, day] of days.entries()) {
    const onPage = ({ payments }: { payments: number }) =>
      onProgress(index / days.length, `${name}: ${day.day}, ${countText(tally.providerCount + payments)}`)
    try {
      addTally(tally, await compareWindow(ctx, provider, day, { mode: 'read', windowSize, onPage }))
      failedInARow = 0
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      failures.push({ day, error })
      if (++failedInARow < MAX_FAILED_DAYS) continue
      failures.push(...days.slice(index + 1).map((rest) => ({ day: rest, error })))
      break
    }
  }
  const notCompared = describeFailures(name, failures)
  // No list covers our payments dated before the provider's first charge, or in the future.
  const outside = [{ from: window.to }, ...(since === undefined ? [{ to: window.from }] : [])]
  for (const part of failedInARow === MAX_FAILED_DAYS ? [] : outside) {
    const failed = await compareUnlisted(ctx, provider, part, tally)
    if (!failed) continue
    const what = `${failed.left} payments of ours that bear a time outside of what was compared`
    notCompared.push({ provider: name, what, why: failed.error.message })
    break
  }
  if (tally.refundsNotCompared > 0) {
    const why = `it does not tell what was given back of ${countText(tally.refundsNotCompared)}`
    notCompared.push({ provider: name, what: 'refunds', why })
  }
  onProgress(1, `${name}: ${countText(tally.providerCount)}`)
  return {
    compared: { provider: name, ...window, payments: tally.providerCount, totalCents: tally.providerTotalCents },
    notCompared,
    differences: tally.differences.map(({ endToEndId, text }) => ({
      check: 'provider',
      subject: `payment ${endToEndId}`,
      text,
    })),
    isCut: tally.differenceCount > tally.differences.length,
  }
}

async function auditWindow(core: Core, provider: string, since: string | undefined): Promise<Window> {
  const now = core.now()
  const to = wholeSecond(new Date(now.getTime() + AHEAD_MS))
  if (since !== undefined) return { from: dayStart(since), to }
  const firstMs = await transact(core.pool, async (tx) => {
    const cursor = await readCursor(tx, provider)
    const chargeMs = (await firstChargeAt(tx, now, provider)).getTime()
    return Math.min(cursor?.beganAt.getTime() ?? chargeMs, chargeMs)
  })
  return { from: wholeSecond(new Date(firstMs - OVERLAP_MS)), to }
}

function describeFailures(provider: string, failures: DayFailure[]): NotCompared[] {
  const runs: { first: DayPart; last: DayPart; why: string }[] = []
  for (const { day, error } of failures) {
    const run = runs.at(-1)
    if (run?.why === error.message && run.first.from.getTime() === day.to.getTime()) run.first = day
    else runs.push({ first: day, last: day, why: error.message })
  }
  return runs.map(({ first, last, why }) => {
    const days = first === last ? first.day : `${first.day} to ${last.day}`
    return { provider, what: `payments and refunds of ${days}`, why }
  })
}

export function countText(payments: number): string {
  return `${payments} payment${payments === 1 ? '' : 's'}`
}
