import { createHash } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isHexId, isUuid, uuidFromHex } from '../../base/ids.ts'
import { isCents, type Cents } from '../../base/money.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { checkReason, writeAudit, type Actor } from '../core/audit-log.ts'
import { CHARGE_COLUMNS, chargeFromRow, isVisible, type Charge, type ChargeRow } from '../deposits/charge-states.ts'
import { providerNamed } from '../ports/provider.ts'
import { cursorUuid } from '../core/cursor.ts'
import { beginRefund, REFUND_ABSENT_MS, refundLease } from './run-refund.ts'
import {
  endRefund,
  REFUND_COLUMNS,
  REFUND_TABLES,
  refundFromRow,
  reserveRefund,
  type Refund,
  type RefundEnd,
  type RefundRow,
  type RefundStatus,
} from './refund-states.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

export type RefundRequest = {
  /** Null: an operator, who may refund any account's. */
  accountId: string | null
  paymentLinkId: string
  /** Null: all that is left. */
  amountCents: Cents | null
  reason: string | null
  idempotencyKey: string | null
}

/**
 * Gives a COMPLETED deposit back to its payer, whole or in part. The money is put aside and the refund stored before the provider is asked, so that at any crash in
 * between the worker goes on with the same id. The answer is how it stands then: often still PROCESSING, since banks take their time.
 */
export async function requestRefund(
  ctx: Context,
  actor: Actor,
  request: RefundRequest,
): Promise<{ refund: Refund; replayed: boolean }> {
  if (actor.kind === 'account' && !ctx.settings.refunds.byAccounts) {
    throw new Fault('not_enabled', 'Refunds by API key are not enabled here: ask the operator of this service for one')
  }
  if (request.amountCents !== null && !isCents(request.amountCents)) {
    throw new Fault('field_invalid', 'value must be a positive integer (cents)', { details: { field: 'value' } })
  }
  const reason = request.reason === null ? null : checkReason(request.reason)
  const charge = await requireCharge(ctx, request.accountId, request.paymentLinkId)
  // A promise that nobody could keep is not made.
  providerNamed(ctx, charge.provider)
  const leasedUntil = refundLease(ctx.now())
  const asked = { ...request, reason, leasedUntil, returnsFee: ctx.settings.refunds.returnFee }
  const reserved = await transact(ctx.pool, (tx) => reserveForCharge(tx, ctx.now(), actor, charge.id, asked))
  if (reserved.replayed) return reserved
  return { refund: await beginRefund(ctx, reserved.refund, leasedUntil), replayed: false }
}

export type RefundFilter = {
  /** Whose deposits; undefined: everybody's, and those of exceptions. */
  accountId?: string
  paymentLinkId?: string
  status?: RefundStatus
  /** Only those whose outcome at the provider nobody knows. */
  inDoubt?: boolean
  from?: Date
  to?: Date
  cursor?: string
  limit: number
}

/** Newest first. */
export async function listRefunds(
  core: Core,
  filter: RefundFilter,
): Promise<{ refunds: Refund[]; nextCursor: string | null }> {
  if (filter.paymentLinkId !== undefined) await requireCharge(core, filter.accountId ?? null, filter.paymentLinkId)
  const rows = await query<RefundRow>(
    core.pool,
    `select ${REFUND_COLUMNS} from ${REFUND_TABLES}
     where r.id < $1
       and ($2::uuid is null or c.account_id = $2)
       and ($3::uuid is null or c.payment_link_id = $3)
       and ($4::text is null or r.status = $4)
       and ($5::timestamptz is null or r.created_at >= $5)
       and ($6::timestamptz is null or r.created_at < $6)
       and ($7::boolean is not true or (r.status = 'PROCESSING' and r.doubted_at is not null))
     order by r.id desc limit $8`,
    [
      cursorUuid(filter.cursor),
      filter.accountId ?? null,
      filter.paymentLinkId ?? null,
      filter.status ?? null,
      filter.from ?? null,
      filter.to ?? null,
      filter.inDoubt ?? null,
      filter.limit + 1,
    ],
  )
  const refunds = rows.slice(0, filter.limit).map(refundFromRow)
  return { refunds, nextCursor: rows.length > filter.limit ? refunds.at(-1)!.id : null }
}

/**
 * Ends a refund in the provider's place: the operator has learned there what became of it. Whatever the provider says later is booked as of any refund: made
 * after all, it is a foreign_refund; not made after all, it is an undone_refund.
 */
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
    requireUndecided(now, await findRefund(tx, refundId), outcome)
    const { refund, move } = await endRefund(tx, now, refundIdOf(refundId), end, { by: { actor, reason } })
    // Somebody else ended it while we waited for the lock.
    if (move !== 'moved') throw endedAlready(refund)
    const { id, accountId, amountCents, doubtedAt, exceptionId } = refund
    await writeAudit(tx, now, actor, {
      action: 'refund.ended',
      subject: `refund ${id}`,
      accountId,
      reason,
      details: { outcome, amountCents, doubtedAt: doubtedAt?.toISOString() ?? null, exceptionId },
    })
    return refund
  })
  core.wakeDeliveries()
  return ended
}

/** One that the provider has, and has had for less than this, is left to it. */
const LEFT_TO_PROVIDER_MS = REFUND_ABSENT_MS

/** Pure. */
function requireUndecided(now: Date, refund: Refund, outcome: 'done' | 'failed'): void {
  const { status, sentAt, doubtedAt } = refund
  if (status !== 'PROCESSING') throw endedAlready(refund)
  if (sentAt === null && outcome === 'done') {
    throw new Fault('refund_not_sent', 'Refund was never sent to the provider: it can only be ended as failed')
  }
  if (sentAt === null || doubtedAt !== null || now.getTime() - sentAt.getTime() >= LEFT_TO_PROVIDER_MS) return
  throw new Fault(
    'refund_in_progress',
    `Refund is in progress at ${refund.provider} and not in doubt: an operator can end it ${LEFT_TO_PROVIDER_MS / 3_600_000} hours after it was sent`,
    { details: { afterHours: LEFT_TO_PROVIDER_MS / 3_600_000 } },
  )
}

function endedAlready({ status, endedAt, endedBy }: Refund): Fault {
  const by = endedBy ? ` by ${endedBy.actor.kind} ${endedBy.actor.name}` : ''
  return new Fault('refund_ended', `Refund has already ended: it is ${status} since ${endedAt!.toISOString()}${by}`, {
    details: { status },
  })
}

async function findRefund(tx: Tx, refundId: string): Promise<Refund> {
  const [row] = await tx.rows<RefundRow>(`select ${REFUND_COLUMNS} from ${REFUND_TABLES} where r.id = $1`, [
    uuidFromHex(refundIdOf(refundId)),
  ])
  if (!row) throw new Fault('not_found', 'Refund not found')
  return refundFromRow(row)
}

/** With dashes or without. */
function refundIdOf(text: string): string {
  const hex = hexFromUuid(text.toLowerCase())
  if (!isHexId(hex)) throw new Fault('not_found', 'Refund not found')
  return hex
}

/** Pure. How much of the fee goes back when `refundedCents` of `valueCents` have gone back in all: the same share, half a cent up. */
export function feeShare(feeCents: Cents, refundedCents: Cents, valueCents: Cents): Cents {
  const [fee, refunded, value] = [BigInt(feeCents), BigInt(refundedCents), BigInt(valueCents)]
  return Number((2n * fee * refunded + value) / (2n * value))
}

type Asked = RefundRequest & { returnsFee: boolean; leasedUntil: Date }

/** Puts the money aside under the charge's lock, so that two refunds cannot both count on what is left. */
export async function reserveForCharge(
  tx: Tx,
  now: Date,
  actor: Actor,
  chargeId: string,
  asked: Asked,
): Promise<{ refund: Refund; replayed: boolean }> {
  const charge = await lockCharge(tx, chargeId)
  const idempotency =
    asked.idempotencyKey === null ? null : { key: asked.idempotencyKey, requestHash: hashRequest(asked) }
  const earlier = idempotency && (await findByKey(tx, charge.accountId, actor, idempotency))
  if (earlier) return { refund: earlier, replayed: true }

  const payment = await requirePayment(tx, charge)
  const { amountCents, feeReturnedCents } = sharesOf(charge, payment, asked)
  const refund = await reserveRefund(tx, now, actor, {
    source: 'balance',
    accountId: charge.accountId,
    paymentId: payment.id,
    chargeId: uuidFromHex(charge.id),
    amountCents,
    feeReturnedCents,
    reason: asked.reason,
    idempotency,
    leasedUntil: asked.leasedUntil,
  })
  // A request for another charge took the key while this one was looking.
  if (!refund) throw mismatch()
  await writeAudit(tx, now, actor, {
    action: 'refund.requested',
    subject: `refund ${refund.id}`,
    accountId: charge.accountId,
    reason: asked.reason,
    details: { paymentLinkId: charge.paymentLinkId, amountCents, feeReturnedCents },
  })
  return { refund, replayed: false }
}

type RefundablePayment = {
  id: string
  amount_cents: number
  /** By refunds that are done or under way, and that the provider has not taken back. */
  refunded_cents: number
  /** Of these, by us: what a bank gave back by itself returns no fee. */
  refunded_by_us_cents: number
  /** Also by refunds that were taken back: what returned of the fee then stays returned. */
  fee_returned_cents: number
}

/** Pure. What this refund sends back and what it returns of the fee; or why it cannot be. */
function sharesOf(charge: Charge, payment: RefundablePayment, { amountCents, returnsFee }: Asked) {
  const leftCents = payment.amount_cents - payment.refunded_cents
  if (leftCents <= 0) throw new Fault('already_refunded', 'Charge is already refunded: 0 cents are left')
  const wantedCents = amountCents ?? leftCents
  if (wantedCents > leftCents) {
    throw new Fault(
      'refund_too_large',
      `value is more than is left to refund: ${leftCents} cents of ${payment.amount_cents}`,
      { details: { leftCents } },
    )
  }
  if (!returnsFee) return { amountCents: wantedCents, feeReturnedCents: 0 }
  // Of the sum, less what went back before: so the shares of many small refunds add up to the fee, to the cent.
  const share = feeShare(charge.feeCents, payment.refunded_by_us_cents + wantedCents, payment.amount_cents)
  const feeReturnedCents = Math.min(wantedCents, Math.max(0, share - payment.fee_returned_cents))
  return { amountCents: wantedCents, feeReturnedCents }
}

async function lockCharge(tx: Tx, chargeId: string): Promise<Charge> {
  const [row] = await tx.rows<ChargeRow>(
    `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id where c.id = $1 for no key update of c`,
    [uuidFromHex(chargeId)],
  )
  return visible(row)
}

async function requirePayment(tx: Tx, charge: Charge): Promise<RefundablePayment> {
  const { status } = charge
  if (status !== 'COMPLETED')
    throw new Fault('not_refundable', `Charge is ${status} and cannot be refunded`, { details: { status } })
  const [row] = await tx.rows<RefundablePayment>(
    `select p.id, p.amount_cents, coalesce(r.refunded, 0)::bigint as refunded_cents, coalesce(r.by_us, 0)::bigint as refunded_by_us_cents,
       coalesce(r.fees, 0)::bigint as fee_returned_cents
     from payments p
     left join lateral (
       select sum(r.amount_cents) filter (where u.id is null) as refunded,
         sum(r.amount_cents) filter (where u.id is null and r.source = 'balance') as by_us, sum(r.fee_returned_cents) as fees
       from refunds r left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
       where r.payment_id = p.id and r.status <> 'FAILED'
     ) r on true
     where p.charge_id = $1 and p.credited`,
    [uuidFromHex(charge.id)],
  )
  if (!row) throw new Error(`charge ${charge.id} is COMPLETED without a payment`)
  return row
}

async function findByKey(
  tx: Tx,
  accountId: string,
  actor: Actor,
  { key, requestHash }: { key: string; requestHash: Buffer },
): Promise<Refund | undefined> {
  const [row] = await tx.rows<RefundRow & { request_hash: Buffer }>(
    `select r.request_hash, ${REFUND_COLUMNS} from ${REFUND_TABLES}
     where r.account_id = $1 and r.requested_by_kind = $2 and r.idempotency_key = $3`,
    [accountId, actor.kind, key],
  )
  if (row && !row.request_hash.equals(requestHash)) throw mismatch()
  return row && refundFromRow(row)
}

/** What a request asks for; whose it is and its key say where the hash is looked up. A new field does not compile until it stands here. */
type Hashed = Omit<RefundRequest, 'accountId' | 'idempotencyKey'>

function hashRequest(request: RefundRequest): Buffer {
  // New ones go to the end, and only when they are given: the hashes of refunds that were made before must stay what they are.
  const hashed = {
    paymentLinkId: request.paymentLinkId.toLowerCase(),
    amountCents: request.amountCents,
    reason: request.reason,
  } satisfies Record<keyof Hashed, unknown>
  return createHash('sha256')
    .update(JSON.stringify(Object.values(hashed)))
    .digest()
}

function mismatch(): Fault {
  return new Fault('idempotency_mismatch', 'Idempotency-Key was already used with a different request')
}

async function requireCharge(core: Core, accountId: string | null, paymentLinkId: string): Promise<Charge> {
  const [row] = isUuid(paymentLinkId)
    ? await query<ChargeRow>(
        core.pool,
        `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id
         where c.payment_link_id = $1 and ($2::uuid is null or c.account_id = $2)`,
        [paymentLinkId, accountId],
      )
    : []
  return visible(row)
}

function visible(row: ChargeRow | undefined): Charge {
  const charge = row && chargeFromRow(row)
  if (!charge || !isVisible(charge)) throw new Fault('not_found', 'Charge not found')
  return charge
}
