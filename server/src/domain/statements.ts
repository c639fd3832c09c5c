import type { Cents } from '../base/money.ts'
import { transact } from '../db/tx.ts'
import type { Context } from './context.ts'
import type { Provider, ReceivedPayment, UnreadEntry } from './provider.ts'
import { takeReceived, type Booked, type Taken, type Window } from './received.ts'

/** What a provider says it received in a stretch of time, beside what our books say of it. */
export type Statement = Window & {
  provider: string
  providerCount: number
  providerTotalCents: Cents
  /** Payments recorded for that time, whether credited or in suspense. */
  ledgerCount: number
  ledgerTotalCents: Cents
  /** Of these, the ones that were missing and are booked now. */
  settledCount: number
  settledTotalCents: Cents
  /** How many there are; the first hundred are named. */
  differenceCount: number
  differences: StatementDifference[]
}

export type StatementDifference = {
  kind: 'not_in_books' | 'not_at_provider' | 'other_amount' | 'other_txid' | 'other_time' | 'foreign_refund' | 'unread'
  endToEndId: string
  text: string
}

export type StatementProgress = { provider: string; until: Date; pages: number; payments: number }

/** How much time to ask a provider for at once, which grows and shrinks with what comes back. */
export type Pace = { spanMs: number }

type Options = {
  pace?: Pace
  onPage?: ((progress: StatementProgress) => Promise<void> | void) | undefined
  signal?: AbortSignal | undefined
}

// A hundred named differences tell as much as a million.
const MAX_NAMED = 100
// What our books have and the list has not is asked about one by one, up to this many.
const MAX_ASKED = 100
// A day of the books is read in pieces, so that only the provider's ids are held in memory.
const ROWS_AT_ONCE = 5_000
// A statement reads a day, so the bound for requests does not fit it.
const STATEMENT_TIMEOUT_MS = 10 * 60_000

// A window is read in slices, because adapters read 500 pages of a list and no more: short ones at first, and longer ones while they hold few pages. Twice the
// time may hold twice as much, and a little more.
const FIRST_SPAN_MS = 15 * 60_000
const MIN_SPAN_MS = 60_000
const MAX_SPAN_MS = 24 * 3_600_000
const FEW_PAGES = 200

/** Settles what is missing, then compares both sides. Every difference between the counts or totals is named, or counted past a hundred. */
export async function makeStatement(
  ctx: Context,
  provider: Provider,
  window: Window,
  { pace = makePace(), onPage, signal }: Options = {},
): Promise<Statement> {
  const statement: Statement = { provider: provider.name, ...window, ...NOTHING, differences: [] }
  const onUnread = unreadNoter(statement)
  const progress = { provider: provider.name, until: window.from, pages: 0, payments: 0 }
  while (progress.until < window.to) {
    const from = progress.until
    const slice = { from, to: new Date(Math.min(window.to.getTime(), from.getTime() + pace.spanMs)) }
    const pagesBefore = progress.pages
    const listed = new Set<string>()
    for await (const taken of takeReceived(ctx, provider, slice, { onUnread, signal })) {
      addPage(statement, taken)
      for (const payment of taken.page) listed.add(payment.endToEndId)
      progress.pages++
      progress.payments += taken.page.length
      await onPage?.(progress)
    }
    for (const row of await addBooks(ctx, statement, slice, listed)) {
      await askAbout(statement, { provider, slice, row })
      await onPage?.(progress)
    }
    progress.until = slice.to
    await onPage?.(progress)
    quicken(pace, progress.pages - pagesBefore)
  }
  return statement
}

export function makePace(): Pace {
  return { spanMs: FIRST_SPAN_MS }
}

/** After a stretch of few pages the next may be longer. */
export function quicken(pace: Pace, pages: number): void {
  if (pages <= FEW_PAGES) pace.spanMs = Math.min(MAX_SPAN_MS, pace.spanMs * 2)
}

/** Among the things that fail is a stretch that holds more than an adapter reads. */
export function slowDown(pace: Pace): void {
  pace.spanMs = Math.max(MIN_SPAN_MS, pace.spanMs / 2)
}

const NOTHING = {
  providerCount: 0,
  providerTotalCents: 0,
  ledgerCount: 0,
  ledgerTotalCents: 0,
  settledCount: 0,
  settledTotalCents: 0,
  differenceCount: 0,
}

function addPage(statement: Statement, { page, booked, settled, foreignRefunds }: Taken): void {
  statement.settledCount += settled.length
  for (const payment of settled) statement.settledTotalCents += payment.amountCents
  for (const payment of page) addReceived(statement, payment, booked.get(payment.endToEndId))
  for (const { endToEndId, refundId, amountCents } of foreignRefunds) {
    const text = `${statement.provider} gave back ${amountCents} cents of it (refund ${refundId}), which we did not ask for`
    note(statement, { kind: 'foreign_refund', endToEndId, text })
  }
}

/** Each once, although one without a time stands in every slice. */
function unreadNoter(statement: Statement): (entry: UnreadEntry) => void {
  const noted = new Set<string>()
  return ({ endToEndId, text }) => {
    const key = `${endToEndId} ${text}`
    if (noted.has(key)) return
    noted.add(key)
    const told = `may be money of ${statement.provider}, and cannot be read (${text})`
    note(statement, { kind: 'unread', endToEndId: endToEndId ?? 'without an endToEndId', text: told })
  }
}

function addReceived(statement: Statement, payment: ReceivedPayment, row: Booked | undefined): void {
  statement.providerCount++
  statement.providerTotalCents += payment.amountCents
  for (const difference of compare(statement, payment, row)) note(statement, difference)
}

/** Pure. A list that leaves the txid out says nothing about it. */
function compare(statement: Statement, payment: ReceivedPayment, row: Booked | undefined): StatementDifference[] {
  const { provider } = statement
  const { endToEndId, txid, amountCents, occurredAt } = payment
  const differ = (kind: StatementDifference['kind'], text: string) => ({ kind, endToEndId, text })
  if (!row) {
    const text = `${provider} received ${amountCents} cents (txid ${txid ?? 'none'}), but it could not be booked: see the log`
    return [differ('not_in_books', text)]
  }
  const says = (theirs: string | number, ours: string | number) => `${provider} says ${theirs}, our books ${ours}`
  return [
    ...(row.amountCents === amountCents ? [] : [differ('other_amount', `${says(amountCents, row.amountCents)} cents`)]),
    ...(txid === null || row.txid === txid ? [] : [differ('other_txid', says(`txid ${txid}`, row.txid ?? 'none'))]),
    ...(isInside(statement, row.occurredAt)
      ? []
      : [differ('other_time', says(occurredAt.toISOString(), row.occurredAt.toISOString()))]),
  ]
}

/** Adds up our side of a slice. Returns what the provider did not list, as much of it as is worth asking about; the rest is counted as different. */
async function addBooks(ctx: Context, statement: Statement, slice: Window, listed: Set<string>): Promise<Booked[]> {
  const books = await transact(ctx.pool, async (tx) => {
    const sum = { count: 0, totalCents: 0, unlistedCount: 0, unlisted: [] as Booked[] }
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    await tx.run(
      `declare slice no scroll cursor for
       select end_to_end_id as "endToEndId", txid, amount_cents as "amountCents", occurred_at as "occurredAt"
       from payments where provider = $1 and occurred_at >= $2 and occurred_at < $3`,
      [statement.provider, slice.from, slice.to],
    )
    for (let rows = await fetch(); rows.length > 0; rows = await fetch()) {
      sum.count += rows.length
      for (const row of rows) sum.totalCents += row.amountCents
      const unlisted = rows.filter((row) => !listed.has(row.endToEndId))
      sum.unlistedCount += unlisted.length
      sum.unlisted.push(...unlisted.slice(0, MAX_ASKED - sum.unlisted.length))
    }
    return sum

    function fetch(): Promise<Booked[]> {
      return tx.rows<Booked>(`fetch ${ROWS_AT_ONCE} from slice`)
    }
  })
  statement.ledgerCount += books.count
  statement.ledgerTotalCents += books.totalCents
  statement.differenceCount += books.unlistedCount - books.unlisted.length
  return books.unlisted
}

/**
 * Not in the list does not mean unknown: it may have arrived since that page was read, or stand in the list at another time than it told us first. The provider
 * has the last word.
 */
async function askAbout(
  statement: Statement,
  { provider, slice, row }: { provider: Provider; slice: Window; row: Booked },
): Promise<void> {
  const { endToEndId, amountCents, occurredAt } = row
  const found = await provider.findPayment(endToEndId)
  if (found === 'absent') {
    const text = `stands in our books with ${amountCents} cents, but ${provider.name} does not know it`
    return note(statement, { kind: 'not_at_provider', endToEndId, text })
  }
  if (isInside(slice, found.occurredAt)) return addReceived(statement, found, row)
  // Else it is listed in another slice of this statement and counted there.
  if (isInside(statement, found.occurredAt)) return
  const text = `${provider.name} says ${found.occurredAt.toISOString()}, our books ${occurredAt.toISOString()}`
  note(statement, { kind: 'other_time', endToEndId, text })
}

function note(statement: Statement, difference: StatementDifference): void {
  statement.differenceCount++
  if (statement.differences.length === MAX_NAMED) return
  const { kind, endToEndId, text } = difference
  statement.differences.push({ kind, endToEndId: printable(endToEndId), text: printable(text) })
}

// What a provider wrote goes to terminals, and to a column that refuses some characters.
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '\u{fffd}')
}

function isInside(window: Window, at: Date): boolean {
  return at >= window.from && at < window.to
}
