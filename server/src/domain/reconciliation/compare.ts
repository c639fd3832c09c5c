import type { Cents } from '../../base/money.ts'
import { transact } from '../../db/tx.ts'
import { ListTooLong, ProviderError, type Provider, type ReceivedPayment, type UnreadEntry } from '../ports/provider.ts'
import {
  importReceived,
  isInside,
  isStray,
  reportStrays,
  SELECT_BOOKED,
  type Booked,
  type ImportedPage,
  type ImportMode,
  type Window,
} from './import-received.ts'
import { compareRefunds, type Allowance } from './compare-refunds.ts'
import { addDifference, addDifferences, type ComparisonDifference, type DifferenceList } from './differences.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

export type Comparison = Window & Tally & { provider: string; settledCount: number; settledTotalCents: Cents }

export type Tally = DifferenceList & {
  providerCount: number
  providerTotalCents: Cents
  /** Payments recorded for that time, whether credited or in suspense. */
  ledgerCount: number
  ledgerTotalCents: Cents
  /** Payments whose refunds the provider does not tell. */
  refundsNotCompared: number
}

export type ComparisonProgress = { provider: string; until: Date; pages: number; payments: number }

/** How much time to ask a provider for at once; it grows and shrinks with what comes back. */
export type WindowSize = { spanMs: number }

type Options = {
  /** 'read' books nothing, and only says what differs. */
  mode?: ImportMode
  windowSize?: WindowSize
  onPage?: ((progress: ComparisonProgress) => Promise<void> | void) | undefined
  signal?: AbortSignal | undefined
}

// Payments that only our books have are asked about one by one, up to this many of a slice.
const MAX_ASKED = 100
// Refunds that the provider does not list are asked about by id. The strictest providers allow ten calls a second, so
// these take under two minutes.
const MAX_REFUNDS_ASKED = 1_000
// Past this many unreadable or stray entries, one that appears in several slices may be counted in each.
const MAX_ENTRIES_KNOWN = 10_000
// Our rows are read in pieces, so that only the provider's ids are held in memory.
const ROWS_AT_ONCE = 5_000
// A comparison reads a day, so the time limit of requests does not fit it.
const STATEMENT_TIMEOUT_MS = 10 * 60_000
const DAY_MS = 24 * 3_600_000

// A window is read in slices, because adapters read at most 500 pages of a list: short ones at first, and longer ones
// while they hold few pages. Twice the time may hold twice as much, and a little more.
const FIRST_SPAN_MS = 15 * 60_000
const MIN_SPAN_MS = 60_000
const MAX_SPAN_MS = DAY_MS
const FEW_PAGES = 200

type Run = Options & {
  mode: ImportMode
  windowSize: WindowSize
  provider: Provider
  comparison: Comparison
  progress: ComparisonProgress
  /** Unreadable entries, each once, although one without a time appears in every slice. */
  unread: Set<string>
  /** The endToEndIds of payments that the provider dates outside the slices that it lists them for. */
  strays: Set<string>
  strayCount: number
  allowance: Allowance
}

/** In mode 'book' it first settles what our books lack. Counts every difference and names the first hundred. */
export async function compareWindow(
  ctx: Context,
  provider: Provider,
  window: Window,
  { mode = 'book', windowSize = makeWindowSize(), onPage, signal }: Options = {},
): Promise<Comparison> {
  const { name } = provider
  const comparison = { provider: name, ...window, ...makeTally(), settledCount: 0, settledTotalCents: 0 }
  const progress = { provider: name, until: window.from, pages: 0, payments: 0 }
  const known = { unread: new Set<string>(), strays: new Set<string>(), strayCount: 0 }
  const shared = { comparison, progress, ...known, allowance: { left: MAX_REFUNDS_ASKED } }
  const run: Run = { mode, windowSize, onPage, signal, provider, ...shared }
  while (progress.until < window.to) {
    const from = progress.until
    const slice = { from, to: new Date(Math.min(window.to.getTime(), from.getTime() + windowSize.spanMs)) }
    const pagesBefore = progress.pages
    const tally = await compareShortEnough(ctx, run, slice)
    if (!tally) continue
    addTally(comparison, tally)
    progress.until = slice.to
    await onPage?.(progress)
    widen(windowSize, progress.pages - pagesBefore)
  }
  const [stray] = run.strays
  if (stray !== undefined) {
    // One difference for all of them: they have one cause, which is not in our books.
    const named = reportStrays(ctx, name, window, [...run.strays], run.strayCount)
    const text = `${name} lists ${run.strayCount} Pix for other times than it dates them: ${named}. Is its clock right?`
    addDifference(comparison, { kind: 'outside_window', endToEndId: stray, text })
  }
  return comparison
}

export function makeWindowSize(): WindowSize {
  return { spanMs: FIRST_SPAN_MS }
}

export function widen(size: WindowSize, pages: number): void {
  if (pages <= FEW_PAGES) size.spanMs = Math.min(MAX_SPAN_MS, size.spanMs * 2)
}

/** After a failure, perhaps of a window too long for the adapter. In whole seconds, as some providers give times. */
export function narrow(size: WindowSize): void {
  size.spanMs = Math.max(MIN_SPAN_MS, Math.floor(size.spanMs / 2_000) * 1_000)
}

/** Undefined when the slice holds more than the adapter reads at once: the next one is shorter. */
async function compareShortEnough(ctx: Context, run: Run, slice: Window): Promise<Tally | undefined> {
  const { pages, payments } = run.progress
  try {
    return await compareSlice(ctx, run, slice)
  } catch (error) {
    const spanMs = slice.to.getTime() - slice.from.getTime()
    if (!(error instanceof ListTooLong) || spanMs <= MIN_SPAN_MS) throw error
    Object.assign(run.progress, { pages, payments })
    run.windowSize.spanMs = spanMs
    narrow(run.windowSize)
    return undefined
  }
}

async function compareSlice(ctx: Context, run: Run, slice: Window): Promise<Tally> {
  const { provider, comparison, progress, mode, onPage, signal } = run
  const tally = makeTally()
  const startedAt = ctx.now()
  const listed = new Set<string>()
  const onUnread = (entry: UnreadEntry) => {
    // The slice beside this one lists it too.
    if (entry.occurredAt && isBeside(slice, entry.occurredAt)) return
    if (entry.endToEndId !== null) listed.add(entry.endToEndId)
    addUnread(tally, run, entry)
  }
  let matched = 0
  for await (const imported of importReceived(ctx, provider, slice, { mode, onUnread, signal })) {
    // Not in the tally, because a slice may be read twice, and the second time finds them booked.
    comparison.settledCount += imported.settled.length
    for (const { amountCents } of imported.settled) comparison.settledTotalCents += amountCents
    const page = imported.page.filter(({ occurredAt }) => isInside(slice, occurredAt))
    const strays = addStrays(tally, run, slice, imported)
    for (const payment of page) {
      const row = imported.booked.get(payment.endToEndId)
      addReceived(tally, run, payment, row)
      const isOurs = row?.provider === provider.name && isInside(slice, row.occurredAt)
      if (isOurs && !listed.has(payment.endToEndId)) matched++
      listed.add(payment.endToEndId)
    }
    const refunded = { page: [...page, ...strays], booked: imported.booked, mode, startedAt }
    const refunds = await compareRefunds(ctx, provider, refunded, run.allowance)
    for (const difference of refunds.differences) addDifference(tally, difference)
    tally.refundsNotCompared += refunds.notCompared
    progress.pages++
    progress.payments += imported.page.length
    await onPage?.(progress)
  }
  const ours = await sumBooks(ctx, provider.name, slice)
  tally.ledgerCount += ours.count
  tally.ledgerTotalCents += ours.totalCents
  // Rows are never removed, so equal counts mean the same rows, which need not be read again.
  if (ours.count === matched) return tally
  for (const row of await findUnlisted(ctx, provider.name, slice, { listed, tally })) {
    await askAbout(tally, run, slice, row)
    await onPage?.(progress)
  }
  return tally
}

export function makeTally(): Tally {
  const none = { providerCount: 0, providerTotalCents: 0, ledgerCount: 0, ledgerTotalCents: 0 }
  return { ...none, refundsNotCompared: 0, differenceCount: 0, differences: [] }
}

export function addTally(to: Tally, more: Tally): void {
  to.providerCount += more.providerCount
  to.providerTotalCents += more.providerTotalCents
  to.ledgerCount += more.ledgerCount
  to.ledgerTotalCents += more.ledgerTotalCents
  to.refundsNotCompared += more.refundsNotCompared
  addDifferences(to, more)
}

function addUnread(tally: Tally, { provider, unread }: Run, { endToEndId, text }: UnreadEntry): void {
  const key = `${endToEndId} ${text}`
  if (unread.has(key)) return
  if (unread.size < MAX_ENTRIES_KNOWN) unread.add(key)
  const told = `may be money of ${provider.name}, and cannot be read (${text})`
  addDifference(tally, { kind: 'unread', endToEndId: endToEndId ?? 'without an endToEndId', text: told })
}

function addReceived(tally: Tally, { mode, comparison }: Run, payment: ReceivedPayment, row: Booked | undefined): void {
  tally.providerCount++
  tally.providerTotalCents += payment.amountCents
  for (const difference of comparePayment(mode, comparison, payment, row)) addDifference(tally, difference)
}

/** Returns the new ones. They are not counted here, but in the slice of the time that they bear. */
function addStrays(tally: Tally, run: Run, slice: Window, { page, booked }: ImportedPage): ReceivedPayment[] {
  const { mode, provider, strays } = run
  const fresh = page.filter((stray) => isStray(slice, stray.occurredAt) && !strays.has(stray.endToEndId))
  for (const stray of fresh) {
    if (strays.size < MAX_ENTRIES_KNOWN) strays.add(stray.endToEndId)
    run.strayCount++
    const row = booked.get(stray.endToEndId)
    if (row?.provider === provider.name) continue
    for (const difference of comparePayment(mode, slice, stray, row)) addDifference(tally, difference)
  }
  return fresh
}

/** In the margin that an adapter asks for around a slice. */
function isBeside(slice: Window, at: Date): boolean {
  return !isInside(slice, at) && !isStray(slice, at)
}

/** Pure. A list that leaves the txid out says nothing about it. */
function comparePayment(
  mode: ImportMode,
  window: Window,
  { provider, endToEndId, txid, amountCents, occurredAt }: ReceivedPayment,
  row: Booked | undefined,
): ComparisonDifference[] {
  const differ = (kind: ComparisonDifference['kind'], text: string) => ({ kind, endToEndId, text })
  const received = `${provider} received ${amountCents} cents (txid ${txid ?? 'none'})`
  if (!row) {
    const why = mode === 'book' ? 'it could not be booked: see the log' : 'it is not in our books'
    return [differ('not_in_books', `${received}, but ${why}`)]
  }
  if (row.provider !== provider)
    return [differ('other_provider', `${received}, which our books have as received by ${row.provider}`)]
  const says = (theirs: string | number, ours: string | number) => `${provider} says ${theirs}, our books ${ours}`
  const differences: ComparisonDifference[] = []
  if (row.amountCents !== amountCents)
    differences.push(differ('other_amount', `${says(amountCents, row.amountCents)} cents`))
  if (txid !== null && row.txid?.toLowerCase() !== txid.toLowerCase())
    differences.push(differ('other_txid', says(`txid ${txid}`, row.txid ?? 'none')))
  if (!isInside(window, row.occurredAt))
    differences.push(differ('other_time', says(timeText(occurredAt), timeText(row.occurredAt))))
  return differences
}

type OpenWindow = Partial<Window>

function sumBooks(core: Core, provider: string, window: OpenWindow): Promise<{ count: number; totalCents: Cents }> {
  return transact(core.pool, async (tx) => {
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    return tx.one(
      `select count(*) as count, coalesce(sum(amount_cents), 0)::bigint as "totalCents" from payments ${IN_WINDOW}`,
      paramsOf(provider, window),
    )
  })
}

const IN_WINDOW = `where provider = $1
  and ($2::timestamptz is null or occurred_at >= $2) and ($3::timestamptz is null or occurred_at < $3)`

function paramsOf(provider: string, { from, to }: OpenWindow): unknown[] {
  return [provider, from ?? null, to ?? null]
}

/** Our payments that the provider did not list, as many as are worth asking about. The tally counts the others. */
async function findUnlisted(
  core: Core,
  provider: string,
  window: OpenWindow,
  { listed, tally }: { listed?: Set<string>; tally: DifferenceList },
): Promise<Booked[]> {
  const { count, asked } = await transact(core.pool, async (tx) => {
    const unlisted = { count: 0, asked: [] as Booked[] }
    const fetch = () => tx.rows<Booked>(`fetch ${ROWS_AT_ONCE} from ours`)
    await tx.setStatementTimeout(STATEMENT_TIMEOUT_MS)
    await tx.run(`declare ours no scroll cursor for ${SELECT_BOOKED} ${IN_WINDOW}`, paramsOf(provider, window))
    for (let rows = await fetch(); rows.length > 0; rows = await fetch()) {
      const missing = rows.filter((row) => !listed?.has(row.endToEndId))
      unlisted.count += missing.length
      unlisted.asked.push(...missing.slice(0, MAX_ASKED - unlisted.asked.length))
    }
    return unlisted
  })
  tally.differenceCount += count - asked.length
  return asked
}

/** A payment that is not in the list may have arrived since, or be listed at another time. The provider decides. */
async function askAbout(tally: Tally, run: Run, slice: Window, row: Booked): Promise<void> {
  const { provider, comparison } = run
  const found = await provider.findPayment(row.endToEndId)
  if (found === 'absent') return addDifference(tally, unknownAtProvider(provider.name, row))
  if (isInside(slice, found.occurredAt)) return addReceived(tally, run, found, row)
  // Another slice of this comparison lists and counts it.
  if (isInside(comparison, found.occurredAt)) return
  const text = `${provider.name} says ${timeText(found.occurredAt)}, our books ${timeText(row.occurredAt)}`
  addDifference(tally, { kind: 'other_time', endToEndId: row.endToEndId, text })
}

/** Asks about each payment, where the provider has no list. If that fails: how many are left, and why. */
export async function compareUnlisted(
  core: Core,
  provider: Provider,
  window: OpenWindow,
  tally: DifferenceList,
): Promise<{ left: number; error: ProviderError } | undefined> {
  const rows = await findUnlisted(core, provider.name, window, { tally })
  for (const [index, row] of rows.entries()) {
    try {
      for (const difference of await compareRow(provider, row)) addDifference(tally, difference)
    } catch (error) {
      if (error instanceof ProviderError) return { left: rows.length - index, error }
      throw error
    }
  }
  return undefined
}

async function compareRow(provider: Provider, row: Booked): Promise<ComparisonDifference[]> {
  const payment = await provider.findPayment(row.endToEndId)
  if (payment === 'absent') return [unknownAtProvider(provider.name, row)]
  const atMs = payment.occurredAt.getTime()
  return comparePayment('read', { from: new Date(atMs - DAY_MS), to: new Date(atMs + DAY_MS) }, payment, row)
}

function unknownAtProvider(provider: string, { endToEndId, amountCents }: Booked): ComparisonDifference {
  const text = `stands in our books with ${amountCents} cents, but ${provider} does not know it`
  return { kind: 'not_at_provider', endToEndId, text }
}

// PostgreSQL has times that JavaScript lacks, such as infinity.
function timeText(at: Date): string {
  return at instanceof Date && !Number.isNaN(at.getTime()) ? at.toISOString() : String(at)
}
