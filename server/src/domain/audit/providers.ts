import type { Cents } from '../../base/money.ts'
import { transact } from '../../db/tx.ts'
import type { Difference } from './books.ts'
import { cutIntoDays, dayStart, type DayPart } from '../core/business-days.ts'
import { ProviderError, type Provider } from '../ports/provider.ts'
import type { Booked, Window } from '../reconciliation/import-received.ts'
import { addNamed, note, type Named, type ComparisonDifference } from '../reconciliation/differences.ts'
import {
  comparePayment,
  findUnlisted,
  makePace,
  compareWindow,
  unknownAtProvider,
  type Statement,
} from '../reconciliation/compare.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

/** From which moment on to which, and what the provider told of that time. */
export type Compared = Window & { provider: string; payments: number; totalCents: Cents }

/** `what` of a provider could not be held against our books, and `why`. */
export type NotCompared = { provider: string; what: string; why: string }

export type ProviderAudit = {
  compared: Compared
  notCompared: NotCompared[]
  differenceCount: number
  differences: Difference[]
}

type Options = {
  since: string | undefined
  onProgress: (done: number, text: string) => void
}

// The same reach before the first charge as the sweep has.
const OVERLAP_MS = 10 * 60_000
// Clocks differ: what the provider dates a little ahead of ours is in its list.
const AHEAD_MS = 24 * 3_600_000
// A provider that fails on so many days in a row is away, or does not list days so old.
const MAX_FAILED_DAYS = 3
// The table of charges may be searched for the provider's first.
const STATEMENT_TIMEOUT_MS = 10 * 60_000

/**
 * Compares every day since the provider's first charge, as a closing does, and books nothing. The newest first, because some providers list only the last
 * months: what they still tell is compared, and the rest is reported as not compared.
 */
export async function compareProvider(ctx: Context, provider: Provider, options: Options): Promise<ProviderAudit> {
  const window = await auditWindow(ctx, provider.name, options.since)
  const found = { ...emptyNamed(), payments: 0, totalCents: 0, refundsNotCompared: 0 }
  const failures: DayFailure[] = []
  const pace = makePace()
  const days = [...cutIntoDays(window)].toReversed()
  let failedInARow = 0
  for (const [index, day] of days.entries()) {
    const onPage = ({ payments }: { payments: number }) =>
      options.onProgress(index / days.length, `${provider.name}: ${day.day}, ${countText(found.payments + payments)}`)
    try {
      addStatement(found, await compareWindow(ctx, provider, day, { mode: 'read', pace, onPage }))
      failedInARow = 0
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      failures.push({ day, error })
      if (++failedInARow === MAX_FAILED_DAYS) {
        failures.push(...days.slice(index + 1).map((rest) => ({ day: rest, error })))
        break
      }
    }
  }
  const outside = failedInARow === MAX_FAILED_DAYS ? [] : await compareOutside(ctx, provider, window, options, found)
  const { name } = provider
  options.onProgress(1, `${name}: ${countText(found.payments)}`)
  return {
    compared: { provider: name, ...window, payments: found.payments, totalCents: found.totalCents },
    notCompared: [...describeFailures(name, failures), ...outside, ...describeRefunds(name, found.refundsNotCompared)],
    differenceCount: found.differenceCount,
    differences: found.differences.map(present),
  }
}

type Found = Named & { payments: number; totalCents: Cents; refundsNotCompared: number }
type DayFailure = { day: DayPart; error: ProviderError }

async function auditWindow(core: Core, provider: string, since: string | undefined): Promise<Window> {
  const to = wholeSecond(core.now().getTime() + AHEAD_MS)
  if (since !== undefined) return { from: dayStart(since), to }
  const firstAt = await transact(core.pool, async (tx) => {
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    // Ids are in the order of time, and have the index.
    const [row] = await tx.rows<{ first: Date | null }>(
      `select least(
         (select began_at from sweeps where provider = $1),
         (select created_at from charges where provider = $1 order by id limit 1)
       ) as first`,
      [provider],
    )
    return row?.first ?? core.now()
  })
  return { from: wholeSecond(firstAt.getTime() - OVERLAP_MS), to }
}

function wholeSecond(atMs: number): Date {
  return new Date(Math.floor(atMs / 1000) * 1000)
}

function addStatement(found: Found, statement: Statement): void {
  found.payments += statement.providerCount
  found.totalCents += statement.providerTotalCents
  found.refundsNotCompared += statement.refundsNotCompared
  addNamed(found, statement)
}

/**
 * Payments of ours that bear a time which no list was asked for: before the provider's first charge, or in the future. The provider is asked about each.
 */
async function compareOutside(
  core: Core,
  provider: Provider,
  window: Window,
  { since }: Options,
  found: Found,
): Promise<NotCompared[]> {
  const stretches = [{ from: window.to }, ...(since === undefined ? [{ to: window.from }] : [])]
  for (const stretch of stretches) {
    const { count, rows } = await findUnlisted(core, provider.name, stretch, new Set())
    found.differenceCount += count - rows.length
    for (const [index, row] of rows.entries()) {
      try {
        for (const difference of await compareOne(provider, row)) note(found, difference)
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error
        const what = `${rows.length - index} payments of ours that bear a time outside of what was compared`
        return [{ provider: provider.name, what, why: error.message }]
      }
    }
  }
  return []
}

async function compareOne(provider: Provider, row: Booked): Promise<ComparisonDifference[]> {
  const payment = await provider.findPayment(row.endToEndId)
  if (payment === 'absent') return [unknownAtProvider(provider.name, row)]
  const atMs = payment.occurredAt.getTime()
  const around = { from: new Date(atMs - AHEAD_MS), to: new Date(atMs + AHEAD_MS) }
  return comparePayment({ mode: 'read', window: around }, payment, row)
}

function emptyNamed(): Named {
  return { differenceCount: 0, differences: [] }
}

/** One line for each stretch of days that failed for the same reason; the newest day comes first. */
function describeFailures(provider: string, failures: DayFailure[]): NotCompared[] {
  const stretches: { first: DayPart; last: DayPart; why: string }[] = []
  for (const { day, error } of failures) {
    const open = stretches.at(-1)
    const isNext = open?.why === error.message && open.first.from.getTime() === day.to.getTime()
    if (open && isNext) open.first = day
    else stretches.push({ first: day, last: day, why: error.message })
  }
  return stretches.map(({ first, last, why }) => {
    const days = first === last ? first.day : `${first.day} to ${last.day}`
    return { provider, what: `payments and refunds of ${days}`, why }
  })
}

function describeRefunds(provider: string, count: number): NotCompared[] {
  if (count === 0) return []
  return [{ provider, what: 'refunds', why: `it does not tell what was given back of ${countText(count)}` }]
}

function countText(payments: number): string {
  return `${payments} payment${payments === 1 ? '' : 's'}`
}

function present({ endToEndId, text }: ComparisonDifference): Difference {
  return { check: 'provider', subject: `payment ${endToEndId}`, text }
}
