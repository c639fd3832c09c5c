import { createHash } from 'node:crypto'
import { uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { insertEvents, type NewEvent } from '../webhooks/events.ts'

/** A refund that is DONE. */
export type DoneRefund = {
  id: string // 32 hexadecimal digits
  providerRefundId: string
  madeBefore: number
  chargeId: string | null
  amountCents: Cents
  feeReturnedCents: Cents
  endToEndId: string
}

/** Adds it to its charge and inserts the event. The caller holds the charge's lock, so the event's total is right. */
export async function recordRefunded(tx: Tx, now: Date, refund: DoneRefund): Promise<void> {
  const { chargeId } = refund
  if (chargeId === null) return
  const charge = await tx.one<RefundedCharge>(
    `update charges set refunded_cents = refunded_cents + $2 where id = $1
     returning account_id, payment_link_id, external_id, value_cents, refunded_cents`,
    [uuidFromHex(chargeId), refund.amountCents],
  )
  await insertEvents(tx, now, [refundEvent(now, { ...refund, chargeId }, charge)])
}

type RefundedCharge = {
  account_id: string
  payment_link_id: string
  external_id: string | null
  value_cents: number
  refunded_cents: number
}

/**
 * The subject of its event: the refund as its provider knows it, and how often the provider had made it and taken it
 * back. A refund that is not in a restored backup is booked again from the provider's list, in another row.
 * REFUND_SUBJECT of audit/events.ts must give the same.
 */
export function refundSubject(refund: Pick<DoneRefund, 'providerRefundId' | 'madeBefore'> & { chargeId: string }) {
  const { chargeId, providerRefundId, madeBefore } = refund
  const digest = createHash('sha256').update(`${chargeId} ${providerRefundId} ${madeBefore}`).digest('hex')
  return uuidFromHex(digest.slice(0, 32))
}

export function refundEvent(now: Date, refund: DoneRefund & { chargeId: string }, charge: RefundedCharge): NewEvent {
  return {
    kind: 'DEPOSIT_REFUNDED',
    accountId: charge.account_id,
    subjectId: refundSubject(refund),
    createdAt: now,
    data: {
      transactionId: refund.chargeId,
      paymentLinkId: charge.payment_link_id,
      externalId: charge.external_id,
      refundId: refund.id,
      refundedValue: refund.amountCents,
      totalRefundedValue: charge.refunded_cents,
      value: charge.value_cents,
      returnedFee: refund.feeReturnedCents,
      status: 'COMPLETED',
      endToEndId: refund.endToEndId,
      refundedAt: now.toISOString(),
    },
  }
}
