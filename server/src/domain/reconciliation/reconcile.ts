import { Fault } from '../../base/fault.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import { enqueueChecks } from '../deposits/check-queue.ts'
import { insertClosing } from './closings.ts'
import { cutIntoDays, dayAfter, dayStart, type DayPart } from '../core/business-days.ts'
import type { Hint, Provider, UnreadEntry } from '../ports/provider.ts'
import { importReceived, type Window } from './import-received.ts'
import { makePace, compareWindow, widen, type WindowSize, type Statement, type StatementProgress } from './compare.ts'
import { moveClosing, moveSweep, renewClaim, type Sweep } from './sweeps.ts'
import type { Context } from '../context.ts'

// ---- By itself ----

// Each sweep begins this much before the end of the last: clocks of two houses differ, and a Pix may stand in a provider's list some minutes after the time
// that it bears there. What comes later still is found when its day is closed.
export const OVERLAP_MS = 10 * 60_000
// A day is closed this long after its end, by when providers have booked all that happened on it.
const CLOSING_LAG_MS = 2 * 3_600_000

// More than this many that cannot be booked are no fault of theirs.
const MAX_UNBOOKED = 100
// So many of one stretch are asked about by name; the others are named when their day is closed. Where more than this cannot be read, and they are the
// most part of the list, the bank has changed its form: the cursor waits for an adapter that knows it.
const MAX_UNREAD = 100

/**
 * One step of a sweep that this process has claimed: settles what the provider received since the last one, as far as the pace allows, and then moves the
 * cursor. Killed on the way, the next one reads the same pages again and books nothing twice. 'behind' while there is more to catch up with.
 */
export async function advanceSweep(
  ctx: Context,
  provider: Provider,
  sweep: Sweep,
  { pace, signal }: { pace: WindowSize; signal?: AbortSignal | undefined },
): Promise<{ state: 'behind' | 'caught_up'; settled: number }> {
  const now = ctx.now()
  const from = new Date(sweep.sweptUntil.getTime() - OVERLAP_MS)
  const to = new Date(Math.min(now.getTime(), sweep.sweptUntil.getTime() + pace.spanMs))
  // Only a clock that was set back can make it empty.
  if (to <= from) return { state: 'caught_up', settled: 0 }
  const seen = { pages: 0, payments: 0, settled: 0 }
  let unreadCount = 0
  const [unbooked, unread]: [Hint[], Hint[]] = [[], []]
  const leave = (hints: Hint[]) => {
    unbooked.push(...hints)
    if (unbooked.length > MAX_UNBOOKED) throw new Error(`more than ${MAX_UNBOOKED} payments could not be booked`)
  }
  // What says that it is money is asked about until it can be read. The rest, and what has no id to ask for, is named when its day is closed.
  const onUnread = ({ isMoney, endToEndId }: UnreadEntry) => {
    unreadCount++
    if (isMoney && endToEndId !== null && unreadCount <= MAX_UNREAD) unread.push({ txid: null, endToEndId })
  }
  for await (const taken of importReceived(ctx, provider, { from, to }, { mode: 'book', onUnread, signal })) {
    const { page, booked, settled } = taken
    seen.pages++
    seen.payments += page.length
    seen.settled += settled.length
    leave(page.filter((payment) => !booked.has(payment.endToEndId)))
    await renewClaim(ctx, sweep)
  }
  if (unreadCount > MAX_UNREAD && unreadCount > seen.payments) {
    throw new Error(`${unreadCount} entries of the list cannot be read, and ${seen.payments} can`)
  }
  // One mad payment must not hold up all that come after it, so it is left to the queue of questions, which asks until it is booked.
  const left = [...unbooked, ...unread]
  if (left.length > 0) await enqueueChecks(ctx, provider.name, left)
  await moveSweep(ctx, sweep, to)
  if (to >= now) return { state: 'caught_up', settled: seen.settled }
  widen(pace, seen.pages)
  return { state: 'behind', settled: seen.settled }
}

/** Closes the next day of the sweep if it is over; undefined if it is not. */
export async function closeNextDay(
  ctx: Context,
  provider: Provider,
  sweep: Sweep,
  { pace, signal }: { pace: WindowSize; signal?: AbortSignal | undefined },
): Promise<{ day: string; statement: Statement } | undefined> {
  const day = sweep.nextClosing
  const next = dayAfter(day)
  const to = dayStart(next)
  if (ctx.now().getTime() < to.getTime() + CLOSING_LAG_MS) return undefined
  const firstMs = wholeSecond(sweep.beganAt).getTime() - OVERLAP_MS
  const from = new Date(Math.max(dayStart(day).getTime(), firstMs))
  const onPage = () => renewClaim(ctx, sweep)
  const statement = await compareWindow(ctx, provider, { from, to }, { pace, onPage, signal })
  await transact(ctx.pool, async (tx) => {
    await insertClosing(tx, ctx.now(), day, statement)
    await moveClosing(tx, sweep, next)
  })
  return { day, statement }
}

// ---- By hand ----

export type ReconcileRequest = Window & { provider?: string | undefined }

export type ReconcileReport = Window & {
  /** A statement for each provider and day, or part of a day at either end. */
  statements: DayStatement[]
  differenceCount: number
}

/** The revision is that of the closing, which a whole day that is over gets. */
export type DayStatement = Statement & { day: string; revision: number | null }

// A year by hand is a slip of the hand.
const MAX_DAYS = 366

/** Settles what is missing in [from, to), compares both sides day by day, and closes the days that are whole and over. */
export async function reconcileWindow(
  ctx: Context,
  actor: Actor,
  request: ReconcileRequest,
  progress: (progress: StatementProgress) => void = () => {},
  signal?: AbortSignal,
): Promise<ReconcileReport> {
  const providers = findProviders(ctx, request.provider)
  // In whole seconds, because some providers tell times so: a Pix must not stand in two windows that meet within one.
  const window = { from: wholeSecond(request.from), to: wholeSecond(request.to) }
  const days = daysOf(window)
  // Before the first question: what is booked and closed on the way stays so if it does not come to its end.
  await transact(ctx.pool, (tx) => noteRun(tx, ctx.now(), actor, { ...window, providers }))
  const statements: DayStatement[] = []
  for (const provider of providers) {
    const pace = makePace()
    const before = { pages: 0, payments: 0 }
    for (const { day, isWhole, ...part } of days) {
      const sum = { ...before }
      const onPage = (day: StatementProgress) => {
        before.pages = sum.pages + day.pages
        before.payments = sum.payments + day.payments
        progress({ ...day, ...before })
      }
      const statement = await compareWindow(ctx, provider, part, { pace, onPage, signal })
      const isOver = isWhole && part.to <= ctx.now()
      const revision = isOver ? await transact(ctx.pool, (tx) => insertClosing(tx, ctx.now(), day, statement)) : null
      statements.push({ ...statement, day, revision })
    }
  }
  const differenceCount = statements.reduce((sum, statement) => sum + statement.differenceCount, 0)
  return { ...window, statements, differenceCount }
}

function noteRun(tx: Tx, now: Date, actor: Actor, { from, to, providers }: Window & { providers: Provider[] }) {
  const subject = `provider ${providers.map((provider) => provider.name).join(', ')}`
  const change = { action: 'reconcile.started', subject, accountId: null, reason: null } as const
  return writeAudit(tx, now, actor, { ...change, details: { from: from.toISOString(), to: to.toISOString() } })
}

function findProviders(ctx: Context, name: string | undefined): Provider[] {
  if (name === undefined) return ctx.providers
  const found = ctx.providers.filter((provider) => provider.name === name)
  if (found.length > 0) return found
  const names = ctx.providers.map((provider) => provider.name).join(', ')
  throw new Fault('provider_unknown', `unknown provider ${name}: PROVIDERS names ${names}`, {
    details: { provider: name },
  })
}

/** Pure. */
function daysOf(window: Window): DayPart[] {
  if (window.to <= window.from) throw new Fault('window_invalid', 'the end must be after the beginning')
  const days: DayPart[] = []
  for (const day of cutIntoDays(window)) {
    if (days.length === MAX_DAYS)
      throw new Fault('window_invalid', `at most ${MAX_DAYS} days can be reconciled at once`, {
        details: { maxDays: MAX_DAYS },
      })
    days.push(day)
  }
  return days
}

function wholeSecond(at: Date): Date {
  return new Date(Math.floor(at.getTime() / 1000) * 1000)
}
