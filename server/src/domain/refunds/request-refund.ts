import { Fault, invalidField } from '../../base/fault.ts'
import { newHexId, parseHexId } from '../../base/ids.ts'
import { isCents, type Cents } from '../../base/money.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import { checkReason, writeAudit, type Actor } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { lockCharges, requireCharge, visible, type Charge } from '../deposits/charge-reads.ts'
import { hashRequest, type Idempotency } from '../deposits/intents.ts'
import { providerNamed } from '../ports/provider.ts'
import {
  endRefund,
  REFUND_COLUMNS,
  REFUND_JOINS,
  requireRefundWindow,
  reserveRefund,
  SELECT_REFUNDS,
  type Refund,
  type RefundEnd,
  type RefundStatus,
} from './refund-states.ts'
import { REFUND_ABSENT_MS, refundLease, runRefund } from './run-refund.ts'

export type RefundRequest = {
  /** Null: an operator asks, who may refund the deposit of any account. */
  accountId: string | null
  paymentLinkId: string
  /** Null: everything that is left. */
  amountCents: Cents | null
  reason: string | null
  idempotencyKey: string | null
}

export type RequestedRefund = { refund: Refund; replayed: boolean }

/** The refund is stored before the provider is asked: after a crash the worker continues with the same id. */
export async function requestRefund(ctx: Context, actor: Actor, request: RefundRequest): Promise<RequestedRefund> {
  if (actor.kind === 'account' && !ctx.settings.refunds.byAccounts) {
    throw new Fault('not_enabled', 'Refunds by API key are not enabled here: ask the operator of this service for one')
  }
  if (request.amountCents !== null && !isCents(request.amountCents)) {
    throw invalidField('value', 'value must be a positive integer (cents)')
  }
  const reason = request.reason === null ? null : checkReason(request.reason)
  const charge = await requireCharge(ctx, request.accountId, request.paymentLinkId)
  // Refuses a refund whose provider is no longer configured.
  providerNamed(ctx, charge.provider)
  const leasedUntil = refundLease(ctx.now())
  const asked = { ...request, reason, leasedUntil, returnsFee: ctx.settings.refunds.returnFee }
  const reserved = await transact(ctx.pool, (tx) => reserveForCharge(tx, ctx.now(), actor, charge.id, asked))
  if (reserved.replayed) return reserved
  return { refund: await runRefund(ctx, { refund: reserved.refund, leasedUntil, attempts: 1 }), replayed: false }
}

export type RefundFilter = ListFilter & {
  /** Undefined: refunds of all accounts, and those of exceptions. */
  accountId?: string
  paymentLinkId?: string
  status?: RefundStatus
  /** Only those whose outcome at the provider is unknown. */
  inDoubt?: boolean
}

export async function listRefunds(
  core: Core,
  { accountId, paymentLinkId, status, inDoubt, from, to, cursor, limit }: RefundFilter,
): Promise<{ refunds: Refund[]; nextCursor: string | null }> {
  if (paymentLinkId !== undefined) await requireCharge(core, accountId ?? null, paymentLinkId)
  const rows = await query<Refund>(
    core.pool,
    `${SELECT_REFUNDS}
     where r.id < $1
       and ($2::uuid is null or c.account_id = $2)
       and ($3::uuid is null or c.payment_link_id = $3)
       and ($4::text is null or r.status = $4)
       and ($5::timestamptz is null or r.created_at >= $5)
       and ($6::timestamptz is null or r.created_at < $6)
       and ($7::boolean is not true or (r.status = 'PROCESSING' and r.doubted_at is not null))
     order by r.id desc limit $8`,
    [cursorUuid(cursor), accountId, paymentLinkId, status, from, to, inDoubt, limit + 1],
  )
  const { items: refunds, nextCursor } = page(rows, limit, ({ id }) => id)
  return { refunds, nextCursor }
}

/** Ends a refund in the provider's place. If the provider contradicts it later, that is booked too. */
export async function endUndecided(
  core: Core,
  actor: Actor,
  refundId: string,
  decision: { outcome: 'done' | 'failed'; reason: string },
): Promise<Refund> {
  const { outcome } = decision
  const reason = checkReason(decision.reason)
  const end: RefundEnd = outcome === 'done' ? { status: outcome } : { status: outcome, failure: null }
  const ended = await transact(core.pool, async (tx) => {
    const now = core.now()
    const before = await findRefund(tx, refundId)
    requireUndecided(now, before, outcome)
    const { refund, move } = await endRefund(tx, now, before.id, end, { by: { actor, reason } })
    // It ended while we waited for the lock.
    if (move !== 'moved') throw endedAlready(refund)
    const { id, accountId, amountCents, doubtedAt, exceptionId } = refund
    await writeAudit(tx, now, actor, {
      action: 'refund.ended',
      subject: `refund ${id}`,
      accountId,
      reason,
      details: { outcome, amountCents, doubtedAt: doubtedAt?.toISOString() ?? null, exceptionId },
      rows: [['refund', id]],
    })
    return refund
  })
  core.wakeDeliveries()
  return ended
}

// A refund that was sent less than this ago, and is not in doubt, is left to the provider.
const LEFT_TO_PROVIDER_MS = REFUND_ABSENT_MS

function requireUndecided(now: Date, refund: Refund, outcome: 'done' | 'failed'): void {
  const { status, sentAt, doubtedAt } = refund
  if (status !== 'PROCESSING') throw endedAlready(refund)
  if (sentAt === null && outcome === 'done') {
    throw new Fault('refund_not_sent', 'Refund was never sent to the provider: it can only be ended as failed')
  }
  if (sentAt === null || doubtedAt !== null || now.getTime() - sentAt.getTime() >= LEFT_TO_PROVIDER_MS) return
  const hours = LEFT_TO_PROVIDER_MS / 3_600_000
  const text = `Refund is in progress at ${refund.provider}: an operator can end it ${hours} hours after it was sent`
  throw new Fault('refund_in_progress', text, { details: { afterHours: hours } })
}

function endedAlready({ status, endedAt, endedBy }: Refund): Fault {
  const by = endedBy ? ` by ${endedBy.actor.kind} ${endedBy.actor.name}` : ''
  const text = `Refund has already ended: it is ${status} since ${endedAt?.toISOString()}${by}`
  return new Fault('refund_ended', text, { details: { status } })
}

async function findRefund(tx: Tx, text: string): Promise<Refund> {
  const id = parseHexId(text)
  const [refund] = id ? await tx.rows<Refund>(`${SELECT_REFUNDS} where r.id = $1`, [id]) : []
  if (!refund) throw new Fault('not_found', 'Refund not found')
  return refund
}

/** Pure. The same share of the fee as `refundedCents` is of `valueCents`; half a cent rounds up. */
export function feeShare(feeCents: Cents, refundedCents: Cents, valueCents: Cents): Cents {
  const [fee, refunded, value] = [BigInt(feeCents), BigInt(refundedCents), BigInt(valueCents)]
  return Number((2n * fee * refunded + value) / (2n * value))
}

type Asked = RefundRequest & { returnsFee: boolean; leasedUntil: Date }

/** Under the charge's lock, so that no other refund changes what is left. */
export async function reserveForCharge(
  tx: Tx,
  now: Date,
  actor: Actor,
  chargeId: string,
  asked: Asked,
): Promise<RequestedRefund> {
  const [locked] = await lockCharges(tx, [chargeId])
  const charge = visible(locked)
  const idempotency =
    asked.idempotencyKey === null ? null : { key: asked.idempotencyKey, requestHash: hashRefundRequest(asked) }
  const earlier = idempotency && (await findByKey(tx, charge.accountId, actor, idempotency))
  if (earlier) return { refund: earlier, replayed: true }

  const payment = await requirePayment(tx, charge)
  const { amountCents, feeReturnedCents } = sharesOf(now, charge, payment, asked)
  const id = newHexId(now)
  const refund = await reserveRefund(tx, now, actor, {
    id,
    source: 'balance',
    accountId: charge.accountId,
    paymentId: payment.id,
    chargeId: charge.id,
    amountCents,
    feeReturnedCents,
    reason: asked.reason,
    idempotency,
    leasedUntil: asked.leasedUntil,
    line: {
      action: 'refund.requested',
      subject: `refund ${id}`,
      accountId: charge.accountId,
      reason: asked.reason,
      details: { paymentLinkId: charge.paymentLinkId, amountCents, feeReturnedCents },
    },
  })
  // A request for another charge took the key since we read.
  if (!refund) throw mismatch()
  return { refund, replayed: false }
}

type RefundablePayment = {
  id: string
  amount_cents: number
  occurred_at: Date
  /** By refunds that are DONE or PROCESSING, and not undone. */
  refunded_cents: number
  /** The part that we made: a refund made at the provider returns no fee. */
  refunded_by_us_cents: number
  /** Also by undone refunds: their fee stays returned. */
  fee_returned_cents: number
}

/** Pure. What this refund sends back, and how much of the fee it returns. */
function sharesOf(now: Date, charge: Charge, payment: RefundablePayment, { amountCents, returnsFee }: Asked) {
  const leftCents = payment.amount_cents - payment.refunded_cents
  if (leftCents <= 0) throw new Fault('already_refunded', 'Charge is already refunded: 0 cents are left')
  requireRefundWindow(now, payment.occurred_at)
  const wantedCents = amountCents ?? leftCents
  if (wantedCents > leftCents) {
    const text = `value is more than is left to refund: ${leftCents} cents of ${payment.amount_cents}`
    throw new Fault('refund_too_large', text, { details: { leftCents } })
  }
  if (!returnsFee) return { amountCents: wantedCents, feeReturnedCents: 0 }
  // The share of the total, less what was returned before: the shares of many small refunds add up to the exact fee.
  const share = feeShare(charge.feeCents, payment.refunded_by_us_cents + wantedCents, payment.amount_cents)
  const feeReturnedCents = Math.min(wantedCents, Math.max(0, share - payment.fee_returned_cents))
  return { amountCents: wantedCents, feeReturnedCents }
}

async function requirePayment(tx: Tx, charge: Charge): Promise<RefundablePayment> {
  const { status } = charge
  if (status !== 'COMPLETED')
    throw new Fault('not_refundable', `Charge is ${status} and cannot be refunded`, { details: { status } })
  return tx.one<RefundablePayment>(
    `select
       p.id,
       p.amount_cents,
       p.occurred_at,
       coalesce(r.refunded, 0)::bigint as refunded_cents,
       coalesce(r.by_us, 0)::bigint as refunded_by_us_cents,
       coalesce(r.fees, 0)::bigint as fee_returned_cents
     from payments p
     left join lateral (
       select
         sum(r.amount_cents) filter (where u.id is null) as refunded,
         sum(r.amount_cents) filter (where u.id is null and r.source = 'balance') as by_us,
         sum(r.fee_returned_cents) as fees
       from refunds r left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
       where r.payment_id = p.id and r.status <> 'FAILED'
     ) r on true
     where p.charge_id = $1 and p.credited`,
    [charge.id],
  )
}

async function findByKey(
  tx: Tx,
  accountId: string,
  actor: Actor,
  { key, requestHash }: Idempotency,
): Promise<Refund | undefined> {
  const [row] = await tx.rows<Refund & { request_hash: Buffer }>(
    `select r.request_hash, ${REFUND_COLUMNS} from refunds r ${REFUND_JOINS}
     where r.account_id = $1 and r.requested_by_kind = $2 and r.idempotency_key = $3`,
    [accountId, actor.kind, key],
  )
  if (!row) return undefined
  const { request_hash: earlierHash, ...refund } = row
  if (!earlierHash.equals(requestHash)) throw mismatch()
  return refund
}

/** Account and key tell where the hash is looked up, and all other fields are hashed: a new one must be added here. */
type HashedFields = Omit<RefundRequest, 'accountId' | 'idempotencyKey'>

function hashRefundRequest({ paymentLinkId, amountCents, reason }: RefundRequest): Buffer {
  const link = paymentLinkId.toLowerCase()
  return hashRequest({ paymentLinkId: link, amountCents, reason } satisfies Record<keyof HashedFields, unknown>)
}

function mismatch(): Fault {
  return new Fault('idempotency_mismatch', 'Idempotency-Key was already used with a different request')
}
