import { Fault } from '../../base/fault.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import { insertClosing } from './closings.ts'
import { signHead } from '../history/heads.ts'
import { cutIntoDays, dayAfter, dayStart, wholeSecond, type DayPart } from '../core/business-days.ts'
import type { Hint, Provider, UnreadEntry } from '../ports/provider.ts'
import { importReceived, isStray, reportStrays, type Window } from './import-received.ts'
import {
  compareWindow,
  makeWindowSize,
  widen,
  type Comparison,
  type ComparisonProgress,
  type WindowSize,
} from './compare.ts'
import { moveClosing, moveSweep, renewClaim, type Sweep } from './sweeps.ts'
import type { Context } from '../context.ts'

// ---- By the worker ----

// Each sweep begins this much before the end of the last: clocks differ, and a Pix may appear in a provider's list some
// minutes after its time. The closing of the day finds those that come later still.
export const OVERLAP_MS = 10 * 60_000
// A day is closed this long after its end, when providers have booked all of it.
const CLOSING_LAG_MS = 2 * 3_600_000

// If more payments than this cannot be booked, the fault is not theirs.
const MAX_UNBOOKED = 100
// This many unreadable entries of a window are asked about; the closing of the day names the others. If there are more,
// and most of the list is unreadable, the bank has changed its format: the cursor waits for a newer adapter.
const MAX_UNREAD = 100

type SweepOptions = { windowSize: WindowSize; signal?: AbortSignal | undefined }

/** Settles what was received since the last step, and moves the cursor. Reading a page again books nothing twice. */
export async function advanceSweep(
  ctx: Context,
  provider: Provider,
  sweep: Sweep,
  { windowSize, signal }: SweepOptions,
): Promise<{ state: 'behind' | 'caught_up'; settled: number }> {
  const now = ctx.now()
  const from = new Date(sweep.sweptUntil.getTime() - OVERLAP_MS)
  const to = new Date(Math.min(now.getTime(), sweep.sweptUntil.getTime() + windowSize.spanMs))
  // Empty only if the clock was set back.
  if (to <= from) return { state: 'caught_up', settled: 0 }
  const seen = { pages: 0, payments: 0, settled: 0 }
  let unreadCount = 0
  const [unbooked, unread]: [Hint[], Hint[]] = [[], []]
  const strays: string[] = []
  // Entries that claim to be money are asked about until they can be read. The closing of the day names the others.
  const onUnread = ({ isMoney, endToEndId }: UnreadEntry) => {
    unreadCount++
    if (isMoney && endToEndId !== null && unreadCount <= MAX_UNREAD) unread.push({ txid: null, endToEndId })
  }
  const pages = importReceived(ctx, provider, { from, to }, { mode: 'book', onUnread, signal })
  for await (const { page, booked, settled } of pages) {
    seen.pages++
    seen.payments += page.length
    seen.settled += settled.length
    for (const { endToEndId, occurredAt } of settled) if (isStray({ from, to }, occurredAt)) strays.push(endToEndId)
    unbooked.push(...page.filter((payment) => !booked.has(payment.endToEndId)))
    if (unbooked.length > MAX_UNBOOKED) throw new Error(`More than ${MAX_UNBOOKED} payments could not be booked`)
    await renewClaim(ctx, sweep)
  }
  if (unreadCount > MAX_UNREAD && unreadCount > seen.payments)
    throw new Error(`${unreadCount} entries of the list cannot be read, and ${seen.payments} can`)
  if (strays.length > 0) reportStrays(ctx, provider.name, { from, to }, strays, strays.length)
  // A payment that cannot be booked must not block the sweep. The check queue retries it until it is booked.
  const left = [...unbooked, ...unread]
  if (left.length > 0) await ctx.hints.add({ provider: provider.name, hints: left })
  await moveSweep(ctx, sweep, to)
  if (to >= now) return { state: 'caught_up', settled: seen.settled }
  widen(windowSize, seen.pages)
  return { state: 'behind', settled: seen.settled }
}

export async function closeNextDay(
  ctx: Context,
  provider: Provider,
  sweep: Sweep,
  { windowSize, signal }: SweepOptions,
): Promise<{ day: string; comparison: Comparison } | undefined> {
  const day = sweep.nextClosing
  const next = dayAfter(day)
  const to = dayStart(next)
  if (ctx.now().getTime() < to.getTime() + CLOSING_LAG_MS) return undefined
  const firstMs = wholeSecond(sweep.beganAt).getTime() - OVERLAP_MS
  const from = new Date(Math.max(dayStart(day).getTime(), firstMs))
  const onPage = () => renewClaim(ctx, sweep)
  const comparison = await compareWindow(ctx, provider, { from, to }, { windowSize, onPage, signal })
  await close(ctx, { day, comparison }, (tx) => moveClosing(tx, sweep, next))
  return { day, comparison }
}

/** Stores the comparison of a day with the head of the history. */
async function close(
  ctx: Context,
  closed: { day: string; comparison: Comparison },
  alsoIn: (tx: Tx) => Promise<unknown> = async () => {},
): Promise<number> {
  const { note: head } = await signHead(ctx)
  return transact(ctx.pool, async (tx) => {
    const revision = await insertClosing(tx, ctx.now(), { ...closed, head })
    await alsoIn(tx)
    return revision
  })
}

// ---- By an operator ----

export type ReconcileRequest = Window & { provider?: string | undefined }

export type ReconcileReport = Window & {
  /** One for each provider and day, or part of a day at either end. */
  comparisons: DayComparison[]
  differenceCount: number
}

/** `revision` is that of the closing, which only a whole day that is over gets. */
export type DayComparison = Comparison & { day: string; revision: number | null }

// More than a year is almost certainly a typo.
const MAX_DAYS = 366

/** Settles what our books lack in [from, to), compares day by day, and closes the days that are whole and over. */
export async function reconcileWindow(
  ctx: Context,
  actor: Actor,
  request: ReconcileRequest,
  onProgress: (progress: ComparisonProgress) => void = () => {},
  signal?: AbortSignal,
): Promise<ReconcileReport> {
  const providers = findProviders(ctx, request.provider)
  // A Pix must not be in two windows that meet within a second.
  const window = { from: wholeSecond(request.from), to: wholeSecond(request.to) }
  const days = daysOf(window)
  if (window.from > ctx.now()) throw new Fault('window_invalid', 'The beginning is in the future')
  // Audited before the first call, because a run that fails keeps what it booked and closed.
  await transact(ctx.pool, (tx) => auditRun(tx, ctx.now(), actor, { ...window, providers }))
  const comparisons: DayComparison[] = []
  for (const provider of providers) {
    const windowSize = makeWindowSize()
    const before = { pages: 0, payments: 0 }
    for (const { day, isWhole, ...part } of days) {
      const sum = { ...before }
      const onPage = (progress: ComparisonProgress) => {
        before.pages = sum.pages + progress.pages
        before.payments = sum.payments + progress.payments
        onProgress({ ...progress, ...before })
      }
      const comparison = await compareWindow(ctx, provider, part, { windowSize, onPage, signal })
      const isOver = isWhole && part.to <= ctx.now()
      const revision = isOver ? await close(ctx, { day, comparison }) : null
      comparisons.push({ ...comparison, day, revision })
    }
  }
  const differenceCount = comparisons.reduce((sum, comparison) => sum + comparison.differenceCount, 0)
  return { ...window, comparisons, differenceCount }
}

function auditRun(tx: Tx, now: Date, actor: Actor, { from, to, providers }: Window & { providers: Provider[] }) {
  const subject = `provider ${providers.map((provider) => provider.name).join(', ')}`
  const details = { from: from.toISOString(), to: to.toISOString() }
  return writeAudit(tx, now, actor, { action: 'reconcile.started', subject, details })
}

function findProviders(ctx: Context, name: string | undefined): Provider[] {
  if (name === undefined) return ctx.providers
  const found = ctx.providers.filter((provider) => provider.name === name)
  if (found.length > 0) return found
  const names = ctx.providers.map((provider) => provider.name).join(', ')
  throw new Fault('provider_unknown', `Unknown provider ${name}: PROVIDERS names ${names}`, {
    details: { provider: name },
  })
}

function daysOf(window: Window): DayPart[] {
  if (window.to <= window.from) throw new Fault('window_invalid', 'The end must be after the beginning')
  const days: DayPart[] = []
  for (const day of cutIntoDays(window)) {
    if (days.length === MAX_DAYS)
      throw new Fault('window_invalid', `At most ${MAX_DAYS} days can be reconciled at once`, {
        details: { maxDays: MAX_DAYS },
      })
    days.push(day)
  }
  return days
}
