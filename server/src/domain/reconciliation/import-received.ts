import { Fault } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import { LIST_MARGIN_MS, type Provider, type ReceivedPayment, type UnreadEntry } from '../ports/provider.ts'
import { recordExternalRefunds, reportOf, type Reporting } from '../refunds/external-refunds.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

export type Window = { from: Date; to: Date }

export type Booked = {
  paymentId: string
  provider: string
  endToEndId: string
  txid: string | null
  amountCents: Cents
  occurredAt: Date
}

export type ImportedPage = {
  page: ReceivedPayment[]
  /** The page's payments that our books have now, by endToEndId. */
  booked: Map<string, Booked>
  settled: ReceivedPayment[]
}

/** 'book' settles what our books lack. 'read' changes nothing. */
export type ImportMode = 'book' | 'read'

type Options = {
  mode: ImportMode
  onUnread: (entry: UnreadEntry) => void
  signal?: AbortSignal | undefined
}

// One batch of settlements at a time, so that a payment that a caller waits for queues behind one batch, not a page.
const CHUNK = 200

/** Settles what our books lack, page by page. What cannot be booked is logged, and missing from `booked`. */
export async function* importReceived(
  ctx: Context,
  provider: Provider,
  window: Window,
  { mode, onUnread, signal }: Options,
): AsyncGenerator<ImportedPage> {
  for await (const page of untilAborted(provider.listReceived(window, onUnread), signal)) {
    yield await importPage(ctx, provider.name, page, mode)
  }
}

export function isInside(window: Window, at: Date): boolean {
  return at >= window.from && at < window.to
}

/** A provider that lists it for this window filters by another clock than it shows, or not at all. */
export function isStray({ from, to }: Window, at: Date): boolean {
  return at.getTime() < from.getTime() - LIST_MARGIN_MS || at.getTime() > to.getTime() + LIST_MARGIN_MS
}

// Enough to find out what the provider does.
const MAX_STRAYS_NAMED = 10

export function reportStrays(core: Core, provider: string, window: Window, ids: string[], count: number): string {
  const endToEndIds = ids.slice(0, MAX_STRAYS_NAMED)
  core.log.warn(
    { provider, ...window, count, endToEndIds },
    'the provider lists payments outside the time that was asked for; they are booked. Ask it about its clock',
  )
  const more = count - endToEndIds.length
  return endToEndIds.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

async function importPage(
  ctx: Context,
  provider: string,
  page: ReceivedPayment[],
  mode: ImportMode,
): Promise<ImportedPage> {
  const rows = await findBooked(ctx, 'provider = $1 and end_to_end_id = any($2)', provider, page)
  const booked = new Map(rows.map((row) => [row.endToEndId, row]))
  const missing = page.filter((payment) => !booked.has(payment.endToEndId))
  // A payment that was booked without its txid may complete its charge now.
  const named = page.filter(({ endToEndId, txid }) => txid !== null && booked.get(endToEndId)?.txid === null)
  const changed = [...missing, ...named]
  if (mode === 'book') await settleAll(ctx, changed)
  // Under any provider, because a Pix is the same whoever tells of it; that of this provider last, so that it wins.
  for (const row of await findBooked(ctx, 'end_to_end_id = any($2) order by provider = $1', provider, changed))
    booked.set(row.endToEndId, row)
  if (mode === 'read') return { page, booked, settled: [] }
  await bookRefunds(ctx, page.map(reportOf))
  const isSettled = ({ endToEndId }: ReceivedPayment) => booked.get(endToEndId)?.provider === provider
  return { page, booked, settled: missing.filter(isSettled) }
}

/** Oldest first, so that of two payments of one charge the first completes it. */
async function settleAll(ctx: Context, payments: ReceivedPayment[]): Promise<void> {
  const inOrder = payments.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime())
  for (let start = 0; start < inOrder.length; start += CHUNK) {
    await settleChunk(ctx, inOrder.slice(start, start + CHUNK))
  }
}

async function settleChunk(ctx: Context, payments: ReceivedPayment[]): Promise<void> {
  const outcomes = await Promise.allSettled(payments.map((payment) => ctx.settlements.add([payment])))
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') continue
    const err: unknown = outcome.reason
    if (isUnavailable(err)) throw err
    const { provider, endToEndId } = payments[index]!
    ctx.log.error({ err, provider, endToEndId }, 'booking a received payment failed')
  }
}

// The database is down or overloaded, which no payment caused: going on would not help.
function isUnavailable(error: unknown): boolean {
  return error instanceof Fault && error.code === 'unavailable'
}

export const SELECT_BOOKED = `select id as "paymentId", provider, end_to_end_id as "endToEndId", txid,
  amount_cents as "amountCents", occurred_at as "occurredAt" from payments`

async function findBooked(core: Core, where: string, provider: string, of: ReceivedPayment[]): Promise<Booked[]> {
  if (of.length === 0) return []
  const ids = of.map((payment) => payment.endToEndId)
  return query<Booked>(core.pool, `${SELECT_BOOKED} where ${where}`, [provider, ids])
}

/** All at once. If that fails, payment by payment, so that one failure does not block the others. */
export async function bookRefunds(core: Core, reports: Reporting[]): Promise<void> {
  const payments = reports.filter(({ refunds }) => refunds.length > 0)
  const [first, ...others] = payments
  if (!first) return
  try {
    return await recordExternalRefunds(core, payments)
  } catch (err) {
    if (isUnavailable(err)) throw err
    const { provider, endToEndId } = first
    if (others.length === 0)
      core.log.error({ err, provider, endToEndId }, 'booking refunds made at the provider failed')
  }
  if (others.length > 0) for (const payment of payments) await bookRefunds(core, [payment])
}

// A bank may take longer for a page than a shutdown may, so the call in flight is abandoned.
async function* untilAborted<Item>(items: AsyncIterable<Item>, signal: AbortSignal | undefined): AsyncGenerator<Item> {
  if (!signal) return yield* items
  const iterator = items[Symbol.asyncIterator]()
  try {
    for (;;) {
      signal.throwIfAborted()
      const result = await orAborted(signal, () => iterator.next())
      if (result.done) return
      yield result.value
    }
  } finally {
    // Not awaited either: it ends after the call in flight.
    iterator.return?.().catch(() => {})
  }
}

/** Not Promise.race() with one promise for the whole list: that promise would keep every page until the list ends. */
function orAborted<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}
