import { Fault } from '../base/fault.ts'
import { uuidFromHex } from '../base/ids.ts'
import { read, transact } from '../db/tx.ts'
import { retryAt } from './checks.ts'
import { providerNamed, type Context } from './context.ts'
import { ProviderError, type ProviderRefund } from './provider.ts'
import {
  endRefund,
  REFUND_COLUMNS,
  REFUND_TABLES,
  refundFromRow,
  type Refund,
  type RefundEnd,
  type RefundRow,
} from './refund-life.ts'
import { noteReportedRefunds } from './reported-refunds.ts'

// Between the promise and its end: asking the provider until it says done or failed, however long that takes.

// Longer than a provider may take for a question and a refund; a process that dies meanwhile leaves its refund to others after this.
const LEASE_MS = 60_000

export function refundLease(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}

/**
 * Asks for a refund that was just promised; resolves to how it stands then. Whatever happens here may happen again, in any process: the provider knows the
 * refund by its id, and the books end it once. What is not known stays PROCESSING, and the worker asks about it when it is due.
 */
export function beginRefund(ctx: Context, refund: Refund, leasedUntil: Date): Promise<Refund> {
  return pursueRefund(ctx, { refund, leasedUntil, attempts: 1 }, 'never sent')
}

/** Asks about one that the worker claimed. */
export async function followRefund(ctx: Context, claimed: ClaimedRefund): Promise<void> {
  await pursueRefund(ctx, claimed, 'maybe sent')
}

async function pursueRefund(ctx: Context, claimed: ClaimedRefund, sent: 'never sent' | 'maybe sent'): Promise<Refund> {
  const { refund, attempts } = claimed
  try {
    const end = await askProvider(ctx, refund, sent)
    if (end !== 'processing') return await bookEnd(ctx, refund, end)
  } catch (error) {
    const isExpected = error instanceof ProviderError || error instanceof Fault
    const note = { err: error, refundId: refund.id, attempts }
    ctx.log[isExpected ? 'warn' : 'error'](note, 'what became of a refund is not known yet')
  }
  await postponeRefund(ctx, claimed)
  return refund
}

// Sent again only when the provider says that it has none by this id, though repeating would be safe: a refund that is known is asked for by a read.
async function askProvider(
  ctx: Context,
  refund: Refund,
  sent: 'never sent' | 'maybe sent',
): Promise<RefundEnd | 'processing'> {
  const provider = providerNamed(ctx, refund.provider)
  const question = { endToEndId: refund.endToEndId, refundId: refund.id }
  const found = sent === 'maybe sent' ? await provider.checkRefund(question) : 'absent'
  if (found !== 'absent') return endOf(refund, found)
  try {
    return endOf(refund, await provider.refund({ ...question, amountCents: refund.amountCents }))
  } catch (error) {
    // Understood and declined: it has not been made and will not be.
    if (error instanceof ProviderError && error.outcome === 'refused')
      return { status: 'failed', failure: error.message }
    throw error
  }
}

function endOf(refund: Refund, { amountCents, status, reason }: ProviderRefund): RefundEnd | 'processing' {
  if (amountCents !== refund.amountCents) {
    throw new Error(
      `${refund.provider} has refund ${refund.id} with ${amountCents} cents instead of ${refund.amountCents}`,
    )
  }
  if (status === 'processing') return 'processing'
  return status === 'done' ? { status } : { status, failure: reason }
}

async function bookEnd(ctx: Context, refund: Refund, end: RefundEnd): Promise<Refund> {
  const { refund: after, move } = await transact(ctx.pool, (tx) => endRefund(tx, ctx.now(), refund.id, end))
  if (move === 'moved') ctx.wakeDeliveries()
  if (move === 'contradicted') {
    ctx.log.error({ refundId: refund.id, provider: refund.provider, end }, 'a refund that had ended ended otherwise')
    // Failed, and made after all: the money is gone, and its return is booked as one that nobody asked for.
    if (end.status === 'done') await noteReportedRefunds(ctx, [asReported(after)])
  }
  return after
}

function asReported({ provider, endToEndId, id, amountCents }: Refund) {
  const refund = { refundId: id, amountCents, status: 'done' as const, reason: null }
  return { provider, endToEndId, refunds: [refund] }
}

// ---- The queue of those that are under way ----

export type ClaimedRefund = { refund: Refund; leasedUntil: Date; attempts: number }

/** Any number of processes may claim at once: each refund goes to one of them, until its lease ends. */
export async function claimRefunds(ctx: Context, limit: number): Promise<ClaimedRefund[]> {
  const leasedUntil = refundLease(ctx.now())
  const rows = await read<RefundRow & { attempts: number }>(
    ctx.pool,
    `with claimed as (
       update refunds set due_at = $2, attempts = attempts + 1
       where id in (select id from refunds where due_at <= $1 order by due_at limit $3 for update skip locked)
       returning id, attempts
     )
     select d.attempts, ${REFUND_COLUMNS} from ${REFUND_TABLES} join claimed d on d.id = r.id`,
    [ctx.now(), leasedUntil, limit],
  )
  return rows.map((row) => ({ refund: refundFromRow(row), leasedUntil, attempts: row.attempts }))
}

/** Ends a claim on one that is still under way. A report that came in meanwhile moved due_at, and stays. */
async function postponeRefund(ctx: Context, { refund, leasedUntil, attempts }: ClaimedRefund): Promise<void> {
  await transact(ctx.pool, (tx) =>
    tx.run(`update refunds set due_at = $3 where id = $1 and due_at = $2 and status = 'PROCESSING'`, [
      uuidFromHex(refund.id),
      leasedUntil,
      retryAt(ctx.now(), attempts),
    ]),
  )
}
