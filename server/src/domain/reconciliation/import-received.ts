import { Fault } from '../../base/fault.ts'
import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import type { Provider, ReceivedPayment, UnreadEntry } from '../ports/provider.ts'
import { recordExternalRefunds } from '../refunds/external-refunds.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

export type Window = { from: Date; to: Date }

/** A payment as it stands in our books, under whichever provider. */
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
  /** Of the page's payments those that stand in our books now, by endToEndId. */
  booked: Map<string, Booked>
  /** Those that were not there before. */
  settled: ReceivedPayment[]
}

export type Taking = {
  /** 'book' settles what the books do not have. 'read' changes nothing. */
  mode: 'book' | 'read'
  onUnread: (entry: UnreadEntry) => void
  signal?: AbortSignal | undefined
}

// One batch of settlements at a time, so that the payment of a deposit that somebody is waiting for stands behind one batch and not behind a page.
const CHUNK = 200

/**
 * Reads what a provider received, page by page, and settles what the books do not have. What they have costs one read a page and no lock. A payment that
 * cannot be booked is logged and does not keep back the others; whoever reads the pages sees that it is missing.
 *
 * Ends at once when the signal says so, also while the provider is being asked.
 */
export async function* importReceived(
  ctx: Context,
  provider: Provider,
  window: Window,
  { mode, onUnread, signal }: Taking,
): AsyncGenerator<ImportedPage> {
  for await (const page of untilAborted(provider.listReceived(window, onUnread), signal)) {
    yield await takePage(ctx, provider.name, page, mode)
  }
}

async function takePage(
  ctx: Context,
  provider: string,
  page: ReceivedPayment[],
  mode: Taking['mode'],
): Promise<ImportedPage> {
  const booked = await readBooked(ctx, provider, page)
  const missing = page.filter((payment) => !booked.has(payment.endToEndId))
  // One that was booked without its txid may complete its charge now.
  const named = page.filter(({ endToEndId, txid }) => txid !== null && booked.get(endToEndId)?.txid === null)
  if (mode === 'book') await settleAll(ctx, [...missing, ...named])
  for (const row of await findBooked(ctx, provider, [...missing, ...named])) booked.set(row.endToEndId, row)
  if (mode === 'read') return { page, booked, settled: [] }
  await takeRefunds(ctx, page)
  const isSettled = ({ endToEndId }: ReceivedPayment) => booked.get(endToEndId)?.provider === provider
  return { page, booked, settled: missing.filter(isSettled) }
}

/** In the order in which they were made, so that of two payments of one charge the first completes it. */
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
    ctx.log.error({ err, provider, endToEndId }, 'a payment that the provider received could not be booked')
  }
}

// The database is away or overloaded: no payment's fault, and no use to go on.
function isUnavailable(error: unknown): boolean {
  return error instanceof Fault && error.code === 'unavailable'
}

const BOOKED = `select id as "paymentId", provider, end_to_end_id as "endToEndId", txid, amount_cents as "amountCents", occurred_at as "occurredAt"
  from payments`

async function readBooked(core: Core, provider: string, page: ReceivedPayment[]): Promise<Map<string, Booked>> {
  const ids = page.map((payment) => payment.endToEndId)
  const rows = await query<Booked>(core.pool, `${BOOKED} where provider = $1 and end_to_end_id = any($2)`, [
    provider,
    ids,
  ])
  return new Map(rows.map((row) => [row.endToEndId, row]))
}

/** Under whichever provider, because a Pix is one and the same however many tell of it; that of this provider last. */
async function findBooked(core: Core, provider: string, payments: ReceivedPayment[]): Promise<Booked[]> {
  if (payments.length === 0) return []
  const ids = payments.map((payment) => payment.endToEndId)
  return query<Booked>(core.pool, `${BOOKED} where end_to_end_id = any($2) order by provider = $1`, [provider, ids])
}

/** Lets the books know of what was given back. */
async function takeRefunds(core: Core, page: ReceivedPayment[]): Promise<void> {
  const telling = page.filter((payment) => payment.refunds !== undefined && payment.refunds.length > 0)
  if (telling.length > 0) await noteRefunds(core, telling)
}

/** All of a page at once. If that fails, payment by payment, so that one that cannot be booked keeps back no other. */
async function noteRefunds(core: Core, payments: ReceivedPayment[]): Promise<void> {
  try {
    return await recordExternalRefunds(core, payments)
  } catch (err) {
    if (isUnavailable(err)) throw err
    if (payments.length === 1) {
      const { provider, endToEndId } = payments[0]!
      core.log.error({ err, provider, endToEndId }, 'refunds that the provider told of could not be booked')
      return
    }
  }
  for (const payment of payments) await noteRefunds(core, [payment])
}

// A page may take a bank longer than a shutdown may take us, so the question under way is left alone and not waited for.
async function* untilAborted<Item>(items: AsyncIterable<Item>, signal: AbortSignal | undefined): AsyncGenerator<Item> {
  if (!signal) return yield* items
  const iterator = items[Symbol.asyncIterator]()
  const { promise: aborted, reject } = withRejection()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    for (;;) {
      signal.throwIfAborted()
      const next = iterator.next()
      next.catch(() => {}) // it may fail when nobody waits any more
      const result = await Promise.race([next, aborted])
      if (result.done) return
      yield result.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    // Not waited for either: it ends after the question under way.
    iterator.return?.().catch(() => {})
  }
}

function withRejection(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {}
  const promise = new Promise<never>((_, rejectPromise) => (reject = rejectPromise))
  promise.catch(() => {})
  return { promise, reject }
}
