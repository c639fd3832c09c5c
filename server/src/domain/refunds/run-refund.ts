import { Fault } from '../../base/fault.ts'
import { uuidFromHex } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { retryAt } from '../deposits/checks.ts'
import { providerNamed, ProviderError, type Provider, type ProviderRefund } from '../ports/provider.ts'
import {
  endRefund,
  readRefund,
  REFUND_COLUMNS,
  REFUND_TABLES,
  refundFromRow,
  type Refund,
  type RefundEnd,
  type RefundRow,
} from './refund-states.ts'
import { recordExternalRefunds } from './external-refunds.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

// Between the promise and its end: asking the provider until it says done or failed, however long that takes.

// Longer than a provider may take for two questions and a refund; a process that dies meanwhile leaves its refund to others after this.
const LEASE_MS = 60_000

// A refund in doubt is given up when the provider has neither shown it nor taken it for this long. Lookups of a bank may lag behind its own limits and
// permissions: minutes are common, and an outage that a bank repairs within its working day takes hours. Money given back too early may be spent.
export const REFUND_ABSENT_MS = 6 * 3_600_000

const MAX_ATTENTION_LENGTH = 500

export function refundLease(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}

/**
 * Asks for a refund that was just promised; resolves to how it stands then. Whatever happens here may happen again, in any process: the provider knows the
 * refund by its id, and the books end it once. What is not known stays PROCESSING, and the worker asks about it when it is due.
 */
export function beginRefund(ctx: Context, refund: Refund, leasedUntil: Date): Promise<Refund> {
  return runRefund(ctx, { refund, leasedUntil, attempts: 1 })
}

/** Asks about one that the worker claimed. */
export async function runRefundNow(ctx: Context, claimed: ClaimedRefund): Promise<void> {
  await runRefund(ctx, claimed)
}

/** How a refund stands that has not ended. */
type Standing =
  /** The provider has it, and is not done. */
  | { kind: 'under way' }
  /** This attempt sent nothing and learned nothing. */
  | { kind: 'unheard'; error: unknown }
  /** Its first request surely never left. */
  | { kind: 'unsent'; error: unknown }
  /** A request went out, and nobody knows what became of it. absentSince: the provider has said ever since that it has none. */
  | { kind: 'in doubt'; error: unknown; absentSince: Date | null }

type Outcome = { kind: 'ended'; end: RefundEnd; isConcluded?: true } | Standing

async function runRefund(ctx: Context, claimed: ClaimedRefund): Promise<Refund> {
  const { refund, attempts, leasedUntil } = claimed
  let outcome: Outcome
  try {
    outcome = await askProvider(ctx, claimed)
    if (outcome.kind === 'ended') {
      const { end, isConcluded } = outcome
      const after = await bookEnd(ctx, refund, end, isConcluded && leasedUntil)
      if (after) return after
      const error = new Error('another process asked for this refund at the same time')
      outcome = { kind: 'in doubt', error, absentSince: null }
    }
  } catch (error) {
    outcome = { kind: 'unheard', error }
  }
  if (outcome.kind !== 'under way') {
    const { error: err } = outcome
    const isExpected = err instanceof ProviderError || err instanceof Fault
    const note = {
      err,
      refundId: refund.id,
      attempts,
      inDoubt: outcome.kind === 'in doubt' || refund.doubtedAt !== null,
    }
    ctx.log[isExpected ? 'warn' : 'error'](note, 'what became of a refund is not known yet')
  }
  return recordGauges(ctx, claimed, outcome)
}

// Sent again only when the provider says that it has none by this id, though repeating would be safe: a refund that is known is asked for by a read.
async function askProvider(ctx: Context, claimed: ClaimedRefund): Promise<Outcome> {
  const { refund } = claimed
  const provider = providerNamed(ctx, refund.provider)
  if (refund.sentAt === null) return sendFirst(ctx, provider, claimed)
  const found = await provider.checkRefund(requestOf(refund))
  if (found !== 'absent') return outcomeOf(refund, found)
  let listed: ProviderRefund | 'absent'
  try {
    listed = await findListed(provider, refund)
  } catch (error) {
    return { kind: 'in doubt', error, absentSince: refund.absentSince }
  }
  return listed === 'absent' ? sendAgain(ctx, provider, claimed) : outcomeOf(refund, listed)
}

/** Nothing else was ever sent for it, so a refusal tells that it was not made and will not be. */
async function sendFirst(core: Core, provider: Provider, claimed: ClaimedRefund): Promise<Outcome> {
  const { refund } = claimed
  if (!(await transact(core.pool, (tx) => markSent(tx, core.now(), claimed)))) return overtaken()
  try {
    // Whoever asked for it waits for the first attempt, and nobody for the later ones.
    const onBehalfOf = refund.accountId ?? undefined
    return outcomeOf(refund, await provider.refund({ ...requestOf(refund), onBehalfOf }))
  } catch (error) {
    const fate = fateOf(error)
    if (fate === 'unreachable') return { kind: 'unsent', error }
    if (fate === 'unknown') return { kind: 'in doubt', error, absentSince: null }
    // An id that is taken by another amount is refused too, and that is no refund that was not made. A refusal is clear without this look, if it fails.
    const found = await provider.checkRefund(requestOf(refund)).catch(() => 'absent' as const)
    return found === 'absent' ? concluded(error) : outcomeOf(refund, found)
  }
}

/**
 * One that was sent before and that the provider does not show. A refusal now says nothing about the earlier request, which may be why this one is refused: a bank
 * whose lookups lag refuses what would exceed the payment. Only when both have gone on for long is it taken for not made.
 */
async function sendAgain(core: Core, provider: Provider, claimed: ClaimedRefund): Promise<Outcome> {
  const { refund } = claimed
  const absentSince = refund.absentSince ?? core.now()
  if (!(await transact(core.pool, (tx) => markSent(tx, core.now(), claimed)))) return overtaken()
  try {
    return outcomeOf(refund, await provider.refund(requestOf(refund)))
  } catch (error) {
    const fate = fateOf(error)
    // The run of absences begins anew: what was sent just now may come to be, too.
    if (fate === 'unknown') return { kind: 'in doubt', error, absentSince: null }
    const isOver = core.now().getTime() - absentSince.getTime() >= REFUND_ABSENT_MS
    return fate === 'refused' && isOver ? concluded(error) : { kind: 'in doubt', error, absentSince }
  }
}

/** In what the provider tells of the payment: another view than that by the refund's id, and one may lag behind the other. */
async function findListed(provider: Provider, refund: Refund): Promise<ProviderRefund | 'absent'> {
  const payment = await provider.findPayment(refund.endToEndId)
  // A provider that does not know a payment that it received is no witness for what became of it.
  if (payment === 'absent')
    throw new ProviderError('unknown', `${refund.provider} does not know the payment ${refund.endToEndId}`)
  return payment.refunds?.find(({ refundId }) => refundId === refund.providerRefundId) ?? 'absent'
}

function requestOf({ endToEndId, providerRefundId: refundId, amountCents }: Refund) {
  return { endToEndId, refundId, amountCents }
}

function fateOf(error: unknown): ProviderError['outcome'] {
  return error instanceof ProviderError ? error.outcome : 'unknown'
}

function concluded(refusal: unknown): Outcome {
  return { kind: 'ended', end: { status: 'failed', failure: (refusal as Error).message }, isConcluded: true }
}

// Its lease ended before it was sent, or news of it came in: whoever claims it next goes on.
function overtaken(): Outcome {
  return { kind: 'unheard', error: new Fault('unavailable', 'the lease of this refund ended before it was sent') }
}

function outcomeOf(refund: Refund, { amountCents, status, reason }: ProviderRefund): Outcome {
  if (amountCents !== refund.amountCents) {
    const text = `${refund.provider} has refund ${refund.id} with ${amountCents} cents instead of ${refund.amountCents}`
    return { kind: 'in doubt', error: new Error(text), absentSince: null }
  }
  if (status === 'processing') return { kind: 'under way' }
  return { kind: 'ended', end: status === 'done' ? { status } : { status, failure: reason } }
}

/** Undefined when it was concluded from a refusal, and the lease under which that was true is over. */
async function bookEnd(core: Core, refund: Refund, end: RefundEnd, heldUntil?: Date): Promise<Refund | undefined> {
  const { refund: after, move } = await transact(core.pool, (tx) =>
    endRefund(tx, core.now(), refund.id, end, { heldUntil }),
  )
  if (move === 'overtaken') return undefined
  if (move === 'moved') core.wakeDeliveries()
  // What was only concluded does not stand against what the provider or an operator said.
  if (move === 'contradicted' && heldUntil === undefined) {
    core.log.error({ refundId: refund.id, provider: refund.provider, end }, 'a refund that had ended ended otherwise')
    // Failed, and made after all: the money is gone, and is booked as a refund that nobody asked for. Done, and not made after all: it is back.
    await recordExternalRefunds(core, [asReported(after, end)])
  }
  return after
}

function asReported({ provider, endToEndId, providerRefundId, amountCents }: Refund, end: RefundEnd) {
  const refund = { refundId: providerRefundId, amountCents, status: end.status, reason: null }
  return { provider, endToEndId, refunds: [refund] }
}

// ---- The queue of those that are under way ----

export type ClaimedRefund = { refund: Refund; leasedUntil: Date; attempts: number }

/** Any number of processes may claim at once: each refund goes to one of them, until its lease ends. */
export async function claimRefunds(core: Core, limit: number): Promise<ClaimedRefund[]> {
  const leasedUntil = refundLease(core.now())
  const rows = await query<RefundRow & { attempts: number }>(
    core.pool,
    `with claimed as (
       update refunds set due_at = $2, attempts = attempts + 1
       where id in (select id from refunds where due_at <= $1 order by due_at limit $3 for update skip locked)
       returning id, attempts
     )
     select d.attempts, ${REFUND_COLUMNS} from ${REFUND_TABLES} join claimed d on d.id = r.id`,
    [core.now(), leasedUntil, limit],
  )
  return rows.map((row) => ({ refund: refundFromRow(row), leasedUntil, attempts: row.attempts }))
}

/**
 * Committed before anything is sent, so that a process that dies right after leaves a refund that may have been sent. While the request is out, the run of
 * absences is broken; recordGauges() mends it when the provider clearly did nothing. False when the lease is no longer ours.
 */
export async function markSent(
  tx: Tx,
  now: Date,
  { refund, leasedUntil }: Pick<ClaimedRefund, 'refund' | 'leasedUntil'>,
): Promise<boolean> {
  const marked = await tx.run(
    `update refunds set sent_at = coalesce(sent_at, $3), absent_since = null,
       doubted_at = case when sent_at is not null then coalesce(doubted_at, $3) end
     where id = $1 and due_at = $2 and status = 'PROCESSING'`,
    [uuidFromHex(refund.id), leasedUntil, now],
  )
  return marked === 1
}

/** Ends a claim on one that is still under way. A report that came in meanwhile moved due_at, and stays. */
async function recordGauges(core: Core, claimed: ClaimedRefund, standing: Standing): Promise<Refund> {
  const { refund, leasedUntil, attempts } = claimed
  const now = core.now()
  const id = uuidFromHex(refund.id)
  return transact(core.pool, async (tx) => {
    await tx.run(
      `update refunds set
         due_at = case when due_at = $2 then $3 else due_at end,
         attention = $4,
         sent_at = case $5::text when 'in doubt' then coalesce(sent_at, $6)
           when 'unsent' then case when due_at <> $2 or doubted_at is not null then sent_at end else sent_at end,
         doubted_at = case $5 when 'in doubt' then coalesce(doubted_at, $6) when 'under way' then null else doubted_at end,
         absent_since = case $5 when 'in doubt' then case when due_at = $2 then $7::timestamptz end
           when 'under way' then null else absent_since end
       where id = $1 and status = 'PROCESSING'`,
      [
        id,
        leasedUntil,
        retryAt(now, attempts),
        standing.kind === 'under way' ? null : attentionOf(standing.error),
        standing.kind,
        now,
        standing.kind === 'in doubt' ? standing.absentSince : null,
      ],
    )
    return readRefund(tx, id)
  })
}

/** On one line, as it is stored. */
function attentionOf(error: unknown): string {
  const text = (error instanceof Error ? error.message : String(error)).replaceAll(/\p{Cc}/gu, ' ')
  return Array.from(text).slice(0, MAX_ATTENTION_LENGTH).join('') || 'unknown'
}
