import { Fault } from '../../base/fault.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import { retryAt } from '../deposits/checks/check-queue.ts'
import {
  ProviderError,
  providerNamed,
  WHOLE_REFUND,
  wholeRefundOf,
  type Provider,
  type ProviderRefund,
} from '../ports/provider.ts'
import { recordExternalRefunds } from './external-refunds.ts'
import { endRefund, readRefund, REFUND_COLUMNS, REFUND_JOINS, type Refund, type RefundEnd } from './refund-states.ts'

// Between the reservation and the end: asks the provider until it says done or failed, however long that takes.

// Longer than two lookups and a refund may take at a provider. After this, others take over the refund of a process
// that died.
const LEASE_MS = 60_000

// A refund with an unknown outcome is given up when the provider has neither shown nor accepted it for this long. A
// bank's lookups may lag behind its own limits: minutes are common, and an outage that a bank repairs within a working
// day takes hours. Money that is released too early may be spent.
export const REFUND_ABSENT_MS = 6 * 3_600_000

const MAX_ATTENTION_LENGTH = 500

export function refundLease(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}

type Progress =
  | { kind: 'processing' }
  /** This attempt sent nothing and learned nothing. */
  | { kind: 'failed attempt'; error: unknown }
  /** Its first request surely never left. */
  | { kind: 'unsent'; error: unknown }
  /** A request was sent. absentSince: since when the provider has always said that it has no such refund. */
  | { kind: 'unknown'; error: unknown; absentSince: Date | null }

type Outcome = { kind: 'ended'; end: RefundEnd; isConcluded?: true } | Progress

/** May be repeated in any process: the provider knows the refund by its id. Unknown outcomes stay PROCESSING. */
export async function runRefund(ctx: Context, claimed: ClaimedRefund): Promise<Refund> {
  const { refund, attempts, leasedUntil } = claimed
  let outcome: Outcome
  try {
    outcome = await askProvider(ctx, claimed)
    if (outcome.kind === 'ended') {
      const { end, isConcluded } = outcome
      const ended = await bookEnd(ctx, refund, end, isConcluded && leasedUntil)
      if (ended) return ended
      const error = new Error('Another process asked for this refund at the same time')
      outcome = { kind: 'unknown', error, absentSince: null }
    }
  } catch (error) {
    outcome = { kind: 'failed attempt', error }
  }
  if (outcome.kind !== 'processing') {
    const { error: err } = outcome
    const isExpected = err instanceof ProviderError || err instanceof Fault
    const inDoubt = outcome.kind === 'unknown' || refund.doubtedAt !== null
    const fields = { err, refundId: refund.id, attempts, inDoubt }
    ctx.log[isExpected ? 'warn' : 'error'](fields, 'outcome of a refund is not known yet')
  }
  return recordProgress(ctx, claimed, outcome)
}

// Repeating a request would be safe, but it is sent again only when the provider says that it has no such refund.
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
    return { kind: 'unknown', error, absentSince: refund.absentSince }
  }
  return listed === 'absent' ? sendAgain(ctx, provider, claimed) : outcomeOf(refund, listed)
}

/** Nothing was sent for it before, so a refusal means that it was not made and will not be. */
async function sendFirst(core: Core, provider: Provider, claimed: ClaimedRefund): Promise<Outcome> {
  const { refund } = claimed
  if (!(await transact(core.pool, (tx) => markSent(tx, core.now(), claimed)))) return leaseEnded()
  try {
    // The caller waits for the first attempt; nobody waits for later ones.
    const onBehalfOf = refund.accountId ?? undefined
    return outcomeOf(refund, await provider.refund({ ...requestOf(refund), onBehalfOf }))
  } catch (error) {
    const failure = failureOf(error)
    if (failure === 'unreachable') return { kind: 'unsent', error }
    if (failure === 'unknown') return { kind: 'unknown', error, absentSince: null }
    // A provider also refuses an id that it has with another amount. If this lookup fails, the refusal still counts.
    const found = await provider.checkRefund(requestOf(refund)).catch(() => 'absent' as const)
    return found === 'absent' ? concluded(error) : outcomeOf(refund, found)
  }
}

/**
 * It was sent before, and the provider does not show it. A refusal now says nothing about the earlier request, which
 * may be its very reason: a bank whose lookups lag refuses what would exceed the payment. It counts as not made only
 * after both have lasted for REFUND_ABSENT_MS.
 */
async function sendAgain(core: Core, provider: Provider, claimed: ClaimedRefund): Promise<Outcome> {
  const { refund } = claimed
  const absentSince = refund.absentSince ?? core.now()
  if (!(await transact(core.pool, (tx) => markSent(tx, core.now(), claimed)))) return leaseEnded()
  try {
    return outcomeOf(refund, await provider.refund(requestOf(refund)))
  } catch (error) {
    const failure = failureOf(error)
    // The absence is counted anew: the provider may still make what was just sent.
    if (failure === 'unknown') return { kind: 'unknown', error, absentSince: null }
    const isOver = core.now().getTime() - absentSince.getTime() >= REFUND_ABSENT_MS
    return failure === 'refused' && isOver ? concluded(error) : { kind: 'unknown', error, absentSince }
  }
}

/** The provider's own word on a refund: by its id, or if it has none of that id, in its record of the payment. */
export async function lookUpRefund(provider: Provider, refund: Refund): Promise<Outcome> {
  const found = await provider.checkRefund(requestOf(refund))
  const listed = found === 'absent' ? await findListed(provider, refund) : found
  if (listed !== 'absent') return outcomeOf(refund, listed)
  const error = new ProviderError('unknown', `${refund.provider} does not have refund ${refund.providerRefundId}`)
  return { kind: 'unknown', error, absentSince: null }
}

/** The refund in the provider's record of the payment. That view and the lookup by id may lag behind each other. */
async function findListed(provider: Provider, refund: Refund): Promise<ProviderRefund | 'absent'> {
  const payment = await provider.findPayment(refund.endToEndId)
  // A provider that does not find a payment it received cannot tell what was refunded of it.
  if (payment === 'absent')
    throw new ProviderError('unknown', `${refund.provider} does not know the payment ${refund.endToEndId}`)
  const { providerRefundId } = refund
  if (providerRefundId === WHOLE_REFUND) return wholeRefundOf(payment) ?? 'absent'
  const listed = payment.refunds?.find(({ refundId }) => refundId === providerRefundId)
  if (!listed && payment.unreadRefunds?.some(({ refundId }) => (refundId ?? providerRefundId) === providerRefundId))
    throw new ProviderError(
      'unknown',
      `${provider.name} lists refund ${providerRefundId} in a form that cannot be read`,
    )
  return listed ?? 'absent'
}

function requestOf({ endToEndId, providerRefundId: refundId, amountCents }: Refund) {
  return { endToEndId, refundId, amountCents }
}

function failureOf(error: unknown): ProviderError['outcome'] {
  return error instanceof ProviderError ? error.outcome : 'unknown'
}

function concluded(refusal: unknown): Outcome {
  return { kind: 'ended', end: { status: 'failed', failure: (refusal as Error).message }, isConcluded: true }
}

// Or a report arrived and made the refund due. The next process that claims it continues.
function leaseEnded(): Outcome {
  const error = new Fault('unavailable', 'The lease of this refund ended before it was sent')
  return { kind: 'failed attempt', error }
}

function outcomeOf(refund: Refund, { amountCents, status, reason }: ProviderRefund): Outcome {
  if (amountCents !== refund.amountCents) {
    const text = `${refund.provider} has refund ${refund.id} with ${amountCents} cents instead of ${refund.amountCents}`
    return { kind: 'unknown', error: new Error(text), absentSince: null }
  }
  if (status === 'processing') return { kind: 'processing' }
  return { kind: 'ended', end: status === 'done' ? { status } : { status, failure: reason } }
}

/** Undefined when it was concluded from a refusal, and the lease under which that was true is over. */
async function bookEnd(core: Core, refund: Refund, end: RefundEnd, heldUntil?: Date): Promise<Refund | undefined> {
  const { refund: after, move } = await transact(core.pool, (tx) =>
    endRefund(tx, core.now(), refund.id, end, { heldUntil }),
  )
  if (move === 'overtaken') return undefined
  if (move === 'moved') core.wakeDeliveries()
  // A conclusion does not count against what the provider or an operator said.
  if (move === 'contradicted' && heldUntil === undefined) {
    core.log.error(
      { refundId: refund.id, provider: refund.provider, end },
      'provider reported a different final state for a finished refund',
    )
    // FAILED, but made: the money is gone, and is booked as a foreign refund. DONE, but not made: another process heard
    // otherwise, and nobody knows which answer is the newer one, so the refund is asked about again.
    const { provider, endToEndId, providerRefundId: refundId, amountCents } = after
    const report = { refundId, amountCents, status: end.status, reason: null }
    await recordExternalRefunds(core, [{ provider, endToEndId, refunds: [report] }])
  }
  return after
}

export type ClaimedRefund = { refund: Refund; leasedUntil: Date; attempts: number }

/** Any number of processes may claim at once: each refund goes to one of them, until its lease ends. */
export async function claimRefunds(core: Core, limit: number): Promise<ClaimedRefund[]> {
  const leasedUntil = refundLease(core.now())
  const rows = await query<Refund & { attempts: number }>(
    core.pool,
    `with r as (
       update refunds set due_at = $2, attempts = attempts + 1
       where id in (select id from refunds where due_at <= $1 order by due_at limit $3 for update skip locked)
       returning *
     )
     select r.attempts, ${REFUND_COLUMNS} from r ${REFUND_JOINS}`,
    [core.now(), leasedUntil, limit],
  )
  return rows.map(({ attempts, ...refund }) => ({ refund, leasedUntil, attempts }))
}

/** Committed before anything is sent: after a crash it may have been sent. False if the lease is lost. */
export async function markSent(
  tx: Tx,
  now: Date,
  { refund, leasedUntil }: Pick<ClaimedRefund, 'refund' | 'leasedUntil'>,
): Promise<boolean> {
  const marked = await tx.run(
    `update refunds set
       sent_at = coalesce(sent_at, $3),
       absent_since = null,
       doubted_at = case when sent_at is not null then coalesce(doubted_at, $3) end
     where id = $1 and due_at = $2 and status = 'PROCESSING'`,
    [refund.id, leasedUntil, now],
  )
  return marked === 1
}

/** Ends a claim on a refund that is still PROCESSING. A report that arrived meanwhile moved due_at, which stays. */
async function recordProgress(core: Core, claimed: ClaimedRefund, progress: Progress): Promise<Refund> {
  const { refund, leasedUntil, attempts } = claimed
  const now = core.now()
  const id = refund.id
  return transact(core.pool, async (tx) => {
    const [recorded] = await tx.rows<Refund>(
      `with r as (
         update refunds set
           due_at = case when due_at = $2 then $3 else due_at end,
           attention = $4,
           sent_at = case $5::text
             when 'unknown' then coalesce(sent_at, $6)
             when 'unsent' then case when due_at <> $2 or doubted_at is not null then sent_at end
             else sent_at end,
           doubted_at = case $5
             when 'unknown' then coalesce(doubted_at, $6)
             when 'processing' then null
             else doubted_at end,
           absent_since = case $5
             when 'unknown' then case when due_at = $2 then $7::timestamptz end
             when 'processing' then null
             else absent_since end
         where id = $1 and status = 'PROCESSING'
         returning *
       )
       select ${REFUND_COLUMNS} from r ${REFUND_JOINS}`,
      [
        id,
        leasedUntil,
        retryAt(now, attempts),
        progress.kind === 'processing' ? null : attentionOf(progress.error),
        progress.kind,
        now,
        progress.kind === 'unknown' ? progress.absentSince : null,
      ],
    )
    return recorded ?? readRefund(tx, id)
  })
}

function attentionOf(error: unknown): string {
  const text = (error instanceof Error ? error.message : String(error)).replaceAll(/\p{Cc}/gu, ' ')
  return Array.from(text).slice(0, MAX_ATTENTION_LENGTH).join('') || 'unknown'
}
