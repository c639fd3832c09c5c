import type { Cents } from '../../base/money.ts'
import { transact } from '../../db/tx.ts'
import { ListTooLong, type Provider, type ReceivedPayment, type UnreadEntry } from '../ports/provider.ts'
import { importReceived, type Booked, type ImportedPage, type Taking, type Window } from './import-received.ts'
import { compareRefunds, type Allowance } from './compare-refunds.ts'
import { addNamed, note, type Named, type ComparisonDifference } from './differences.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

/** What a provider says it received in a stretch of time, beside what our books say of it. */
export type Statement = Window & Tally & { provider: string; settledCount: number; settledTotalCents: Cents }

type Tally = Named & {
  providerCount: number
  providerTotalCents: Cents
  /** Payments recorded for that time, whether credited or in suspense. */
  ledgerCount: number
  ledgerTotalCents: Cents
  /** Payments of which the provider does not tell what was given back. */
  refundsNotCompared: number
}

export type StatementProgress = { provider: string; until: Date; pages: number; payments: number }

/** How much time to ask a provider for at once, which grows and shrinks with what comes back. */
export type WindowSize = { spanMs: number }

type Options = {
  /** 'read' books nothing, and only says what differs. */
  mode?: Taking['mode']
  pace?: WindowSize
  onPage?: ((progress: StatementProgress) => Promise<void> | void) | undefined
  signal?: AbortSignal | undefined
}

// What our books have and the list has not is asked about one by one, up to this many of a slice.
const MAX_ASKED = 100
// A refund that the provider does not list is asked about by its id. At ten calls a second, which is what the strictest allow, these take under two minutes.
const MAX_REFUNDS_ASKED = 1_000
// Past this many that cannot be read, one that stands in several slices may be counted in each.
const MAX_UNREAD_KNOWN = 10_000
// Ours are read in pieces, so that only the provider's ids are held in memory.
const ROWS_AT_ONCE = 5_000
// A statement reads a day, so the bound for requests does not fit it.
const STATEMENT_TIMEOUT_MS = 10 * 60_000

// A window is read in slices, because adapters read 500 pages of a list and no more: short ones at first, and longer ones while they hold few pages. Twice the
// time may hold twice as much, and a little more.
const FIRST_SPAN_MS = 15 * 60_000
const MIN_SPAN_MS = 60_000
const MAX_SPAN_MS = 24 * 3_600_000
const FEW_PAGES = 200

/** What the comparisons of one statement share. */
type Comparison = Required<Pick<Options, 'mode' | 'pace'>> &
  Pick<Options, 'onPage' | 'signal'> & {
    provider: Provider
    statement: Statement
    progress: StatementProgress
    /** Entries that cannot be read, each once, although one without a time stands in every slice. */
    unread: Set<string>
    allowance: Allowance
  }

/**
 * Settles what is missing, unless it is only to read, and compares both sides: payments, and what was given back of them. Every difference between the
 * counts or totals is named, or counted past a hundred.
 */
export async function compareWindow(
  ctx: Context,
  provider: Provider,
  window: Window,
  { mode = 'book', pace = makePace(), onPage, signal }: Options = {},
): Promise<Statement> {
  const statement: Statement = {
    provider: provider.name,
    ...window,
    ...emptyTally(),
    settledCount: 0,
    settledTotalCents: 0,
  }
  const comparison: Comparison = {
    mode,
    pace,
    onPage,
    signal,
    provider,
    statement,
    progress: { provider: provider.name, until: window.from, pages: 0, payments: 0 },
    unread: new Set(),
    allowance: { left: MAX_REFUNDS_ASKED },
  }
  const { progress } = comparison
  while (progress.until < window.to) {
    const from = progress.until
    const slice = { from, to: new Date(Math.min(window.to.getTime(), from.getTime() + pace.spanMs)) }
    const pagesBefore = progress.pages
    const tally = await compareShortEnough(ctx, comparison, slice)
    if (!tally) continue
    addTally(statement, tally)
    progress.until = slice.to
    await onPage?.(progress)
    widen(pace, progress.pages - pagesBefore)
  }
  return statement
}

export function makePace(): WindowSize {
  return { spanMs: FIRST_SPAN_MS }
}

/** After a stretch of few pages the next may be longer. */
export function widen(pace: WindowSize, pages: number): void {
  if (pages <= FEW_PAGES) pace.spanMs = Math.min(MAX_SPAN_MS, pace.spanMs * 2)
}

/** Among the things that fail is a stretch that holds more than an adapter reads. In whole seconds, because some providers tell times so. */
export function narrow(pace: WindowSize): void {
  pace.spanMs = Math.max(MIN_SPAN_MS, Math.floor(pace.spanMs / 2_000) * 1_000)
}

/** Undefined when the slice holds more than the adapter reads at once: the next one is shorter. */
async function compareShortEnough(ctx: Context, comparison: Comparison, slice: Window): Promise<Tally | undefined> {
  const { pages, payments } = comparison.progress
  try {
    return await compareSlice(ctx, comparison, slice)
  } catch (error) {
    const spanMs = slice.to.getTime() - slice.from.getTime()
    if (!(error instanceof ListTooLong) || spanMs <= MIN_SPAN_MS) throw error
    Object.assign(comparison.progress, { pages, payments })
    comparison.pace.spanMs = spanMs
    narrow(comparison.pace)
    return undefined
  }
}

async function compareSlice(ctx: Context, comparison: Comparison, slice: Window): Promise<Tally> {
  const { provider, statement, progress, mode, onPage, signal } = comparison
  const tally = emptyTally()
  const startedAt = ctx.now()
  const listed = new Set<string>()
  const onUnread = (entry: UnreadEntry) => {
    if (entry.endToEndId !== null) listed.add(entry.endToEndId)
    noteUnread(tally, comparison, entry)
  }
  // Of ours that bear a time of this slice, those that the provider listed.
  let matched = 0
  for await (const taken of importReceived(ctx, provider, slice, { mode, onUnread, signal })) {
    addSettled(statement, taken)
    for (const payment of taken.page) {
      const row = taken.booked.get(payment.endToEndId)
      addReceived(tally, comparison, payment, row)
      if (row?.provider === provider.name && isInside(slice, row.occurredAt) && !listed.has(payment.endToEndId))
        matched++
      listed.add(payment.endToEndId)
    }
    const { differences, notCompared } = await compareRefunds(
      ctx,
      provider,
      { ...taken, mode, startedAt },
      comparison.allowance,
    )
    for (const difference of differences) note(tally, difference)
    tally.refundsNotCompared += notCompared
    progress.pages++
    progress.payments += taken.page.length
    await onPage?.(progress)
  }
  const ours = await sumBooks(ctx, provider.name, slice)
  tally.ledgerCount += ours.count
  tally.ledgerTotalCents += ours.totalCents
  // Rows are never removed, so as many as were matched are the same ones, and need not be read again.
  if (ours.count === matched) return tally
  const unlisted = await findUnlisted(ctx, provider.name, slice, listed)
  tally.differenceCount += unlisted.count - unlisted.rows.length
  for (const row of unlisted.rows) {
    await askAbout(tally, comparison, { slice, row })
    await onPage?.(progress)
  }
  return tally
}

function emptyTally(): Tally {
  return {
    providerCount: 0,
    providerTotalCents: 0,
    ledgerCount: 0,
    ledgerTotalCents: 0,
    refundsNotCompared: 0,
    differenceCount: 0,
    differences: [],
  }
}

function addTally(to: Tally, more: Tally): void {
  to.providerCount += more.providerCount
  to.providerTotalCents += more.providerTotalCents
  to.ledgerCount += more.ledgerCount
  to.ledgerTotalCents += more.ledgerTotalCents
  to.refundsNotCompared += more.refundsNotCompared
  addNamed(to, more)
}

// Not with the slice, which may be read twice: what was booked the first time is known the second.
function addSettled(statement: Statement, { settled }: ImportedPage): void {
  statement.settledCount += settled.length
  for (const payment of settled) statement.settledTotalCents += payment.amountCents
}

function noteUnread(tally: Tally, { provider, unread }: Comparison, { endToEndId, text }: UnreadEntry): void {
  const key = `${endToEndId} ${text}`
  if (unread.has(key)) return
  if (unread.size < MAX_UNREAD_KNOWN) unread.add(key)
  const told = `may be money of ${provider.name}, and cannot be read (${text})`
  note(tally, { kind: 'unread', endToEndId: endToEndId ?? 'without an endToEndId', text: told })
}

function addReceived(tally: Tally, comparison: Comparison, payment: ReceivedPayment, row: Booked | undefined): void {
  tally.providerCount++
  tally.providerTotalCents += payment.amountCents
  const { mode, statement } = comparison
  for (const difference of comparePayment({ mode, window: statement }, payment, row)) note(tally, difference)
}

/** Pure. A list that leaves the txid out says nothing about it. */
export function comparePayment(
  { mode, window }: { mode: Taking['mode']; window: Window },
  payment: ReceivedPayment,
  row: Booked | undefined,
): ComparisonDifference[] {
  const { provider, endToEndId, txid, amountCents, occurredAt } = payment
  if (row?.provider === provider && row.amountCents === amountCents && (txid === null || row.txid === txid)) {
    if (isInside(window, row.occurredAt)) return []
  }
  const differ = (kind: ComparisonDifference['kind'], text: string) => ({ kind, endToEndId, text })
  const received = `${provider} received ${amountCents} cents (txid ${txid ?? 'none'})`
  if (!row) {
    const why = mode === 'book' ? 'it could not be booked: see the log' : 'it is not in our books'
    return [differ('not_in_books', `${received}, but ${why}`)]
  }
  if (row.provider !== provider) {
    return [differ('other_provider', `${received}, which our books have as received by ${row.provider}`)]
  }
  const says = (theirs: string | number, ours: string | number) => `${provider} says ${theirs}, our books ${ours}`
  return [
    ...(row.amountCents === amountCents ? [] : [differ('other_amount', `${says(amountCents, row.amountCents)} cents`)]),
    ...(txid === null || row.txid === txid ? [] : [differ('other_txid', says(`txid ${txid}`, row.txid ?? 'none'))]),
    ...(isInside(window, row.occurredAt)
      ? []
      : [differ('other_time', says(timeText(occurredAt), timeText(row.occurredAt)))]),
  ]
}

/** Our side of a stretch of time; one without an end is open there. */
type Stretch = { from?: Date; to?: Date }

function sumBooks(core: Core, provider: string, stretch: Stretch): Promise<{ count: number; totalCents: Cents }> {
  return transact(core.pool, async (tx) => {
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    const [sum] = await tx.rows<{ count: number; totalCents: Cents }>(
      `select count(*) as count, coalesce(sum(amount_cents), 0)::bigint as "totalCents" from payments ${OF_STRETCH}`,
      paramsOf(provider, stretch),
    )
    return sum!
  })
}

const OF_STRETCH = `where provider = $1
  and ($2::timestamptz is null or occurred_at >= $2) and ($3::timestamptz is null or occurred_at < $3)`

function paramsOf(provider: string, { from, to }: Stretch): unknown[] {
  return [provider, from ?? null, to ?? null]
}

/** What the provider did not list: how much there is, and as many as are worth asking about. */
export async function findUnlisted(
  core: Core,
  provider: string,
  stretch: Stretch,
  listed: Set<string>,
): Promise<{ count: number; rows: Booked[] }> {
  return transact(core.pool, async (tx) => {
    const unlisted = { count: 0, rows: [] as Booked[] }
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    await tx.run(
      `declare stretch no scroll cursor for
       select id as "paymentId", provider, end_to_end_id as "endToEndId", txid, amount_cents as "amountCents", occurred_at as "occurredAt"
       from payments ${OF_STRETCH}`,
      paramsOf(provider, stretch),
    )
    for (let rows = await fetch(); rows.length > 0; rows = await fetch()) {
      const missing = rows.filter((row) => !listed.has(row.endToEndId))
      unlisted.count += missing.length
      unlisted.rows.push(...missing.slice(0, MAX_ASKED - unlisted.rows.length))
    }
    return unlisted

    function fetch(): Promise<Booked[]> {
      return tx.rows<Booked>(`fetch ${ROWS_AT_ONCE} from stretch`)
    }
  })
}

/**
 * Not in the list does not mean unknown: it may have arrived since that page was read, or stand in the list at another time than it told us first. The provider
 * has the last word.
 */
async function askAbout(
  tally: Tally,
  comparison: Comparison,
  { slice, row }: { slice: Window; row: Booked },
): Promise<void> {
  const { provider, statement } = comparison
  const found = await provider.findPayment(row.endToEndId)
  if (found === 'absent') return note(tally, unknownAtProvider(provider.name, row))
  if (isInside(slice, found.occurredAt)) return addReceived(tally, comparison, found, row)
  // Else it is listed in another slice of this statement and counted there.
  if (isInside(statement, found.occurredAt)) return
  const text = `${provider.name} says ${timeText(found.occurredAt)}, our books ${timeText(row.occurredAt)}`
  note(tally, { kind: 'other_time', endToEndId: row.endToEndId, text })
}

export function unknownAtProvider(provider: string, { endToEndId, amountCents }: Booked): ComparisonDifference {
  const text = `stands in our books with ${amountCents} cents, but ${provider} does not know it`
  return { kind: 'not_at_provider', endToEndId, text }
}

function isInside(window: Window, at: Date): boolean {
  return at >= window.from && at < window.to
}

// PostgreSQL has times that JavaScript has not, such as infinity.
function timeText(at: Date): string {
  return at instanceof Date && !Number.isNaN(at.getTime()) ? at.toISOString() : String(at)
}
