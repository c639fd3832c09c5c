import { Fault } from '../base/fault.ts'
import type { Cents } from '../base/money.ts'
import { read } from '../db/tx.ts'
import type { Context } from './context.ts'
import type { Provider, ReceivedPayment, UnreadEntry } from './provider.ts'
import { noteReportedRefunds } from './reported-refunds.ts'

export type Window = { from: Date; to: Date }

/** A payment as it stands in our books. */
export type Booked = { endToEndId: string; txid: string | null; amountCents: Cents; occurredAt: Date }

export type Taken = {
  page: ReceivedPayment[]
  /** Of the page's payments those that stand in our books now, by endToEndId. */
  booked: Map<string, Booked>
  /** Those that were not there before. */
  settled: ReceivedPayment[]
  /** Given back at the provider without us, and not dealt with yet. */
  foreignRefunds: SeenRefund[]
}

export type SeenRefund = { endToEndId: string; refundId: string; amountCents: Cents }

// One batch of settlements at a time, so that the payment of a deposit that somebody is waiting for stands behind one batch and not behind a page.
const CHUNK = 200

/**
 * Reads what a provider received, page by page, and settles what the books do not have. What they have costs one read a page and no lock. A payment that
 * cannot be booked is logged and does not keep back the others; whoever reads the pages sees that it is missing.
 *
 * Ends at once when the signal says so, also while the provider is being asked.
 */
export async function* takeReceived(
  ctx: Context,
  provider: Provider,
  window: Window,
  { onUnread, signal }: { onUnread: (entry: UnreadEntry) => void; signal?: AbortSignal | undefined },
): AsyncGenerator<Taken> {
  for await (const page of untilAborted(provider.listReceived(window, onUnread), signal)) {
    yield await takePage(ctx, provider.name, page)
  }
}

async function takePage(ctx: Context, provider: string, page: ReceivedPayment[]): Promise<Taken> {
  const known = await readBooked(ctx, provider, page)
  const missing = page.filter((payment) => !known.has(payment.endToEndId))
  // One that was booked without its txid may complete its charge now.
  const named = page.filter(({ endToEndId, txid }) => txid !== null && known.get(endToEndId)?.txid === null)
  await settleAll(ctx, [...missing, ...named])
  const added = missing.length > 0 ? await readBooked(ctx, provider, missing) : new Map<string, Booked>()
  return {
    page,
    booked: new Map([...known, ...added]),
    settled: missing.filter((payment) => added.has(payment.endToEndId)),
    foreignRefunds: await takeRefunds(ctx, provider, page),
  }
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

async function readBooked(ctx: Context, provider: string, page: ReceivedPayment[]): Promise<Map<string, Booked>> {
  const rows = await read<Booked>(
    ctx.pool,
    `select end_to_end_id as "endToEndId", txid, amount_cents as "amountCents", occurred_at as "occurredAt"
     from payments where provider = $1 and end_to_end_id = any($2)`,
    [provider, page.map((payment) => payment.endToEndId)],
  )
  return new Map(rows.map((row) => [row.endToEndId, row]))
}

// One that failed gave nothing back.
function refundsOf({ endToEndId, refunds = [] }: ReceivedPayment): SeenRefund[] {
  return refunds.flatMap(({ refundId, amountCents, status }) =>
    status === 'failed' ? [] : [{ endToEndId, refundId, amountCents }],
  )
}

/** Lets the books know of what was given back, and returns what they cannot answer for. */
async function takeRefunds(ctx: Context, provider: string, page: ReceivedPayment[]): Promise<SeenRefund[]> {
  const telling = page.filter((payment) => payment.refunds !== undefined && payment.refunds.length > 0)
  if (telling.length === 0) return []
  await noteRefunds(ctx, telling)
  const refunds = telling.flatMap(refundsOf)
  const rows = await readRefunds(ctx, provider, refunds)
  return refunds.filter((refund) => rows.get(refundKey(refund))?.isForeign ?? true)
}

/** All of a page at once. If that fails, payment by payment, so that one that cannot be booked keeps back no other. */
async function noteRefunds(ctx: Context, payments: ReceivedPayment[]): Promise<void> {
  try {
    return await noteReportedRefunds(ctx, payments)
  } catch (err) {
    if (isUnavailable(err)) throw err
    if (payments.length === 1) {
      const { provider, endToEndId } = payments[0]!
      ctx.log.error({ err, provider, endToEndId }, 'refunds that the provider told of could not be booked')
      return
    }
  }
  for (const payment of payments) await noteRefunds(ctx, [payment])
}

type RefundRow = { endToEndId: string; refundId: string; isForeign: boolean }

// One that was made without us is dealt with when its exception is.
async function readRefunds(ctx: Context, provider: string, refunds: SeenRefund[]): Promise<Map<string, RefundRow>> {
  const rows = await read<RefundRow>(
    ctx.pool,
    `select p.end_to_end_id as "endToEndId", r.provider_refund_id as "refundId",
       exists (select from exceptions x where x.refund_id = r.id and x.resolved_at is null) as "isForeign"
     from payments p join refunds r on r.payment_id = p.id
     where p.provider = $1 and p.end_to_end_id = any($2) and r.status <> 'FAILED'`,
    [provider, refunds.map((refund) => refund.endToEndId)],
  )
  return new Map(rows.map((row) => [refundKey(row), row]))
}

function refundKey({ endToEndId, refundId }: { endToEndId: string; refundId: string }): string {
  return `${endToEndId} ${refundId}`
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
