import { uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { insertEvents, type NewEvent } from '../webhooks/events.ts'

/** A refund that is DONE. */
export type DoneRefund = {
  id: string // 32 hexadecimal digits
  chargeId: string | null
  amountCents: Cents
  feeReturnedCents: Cents
  endToEndId: string
}

/** Adds it to its charge and inserts the event. The caller holds the charge's lock, so the event's total is right. */
export async function recordRefunded(tx: Tx, now: Date, refund: DoneRefund): Promise<void> {
  if (refund.chargeId === null) return
  const charge = await tx.one<RefundedCharge>(
    `update charges set refunded_cents = refunded_cents + $2 where id = $1
     returning account_id, payment_link_id, external_id, value_cents, refunded_cents`,
    [uuidFromHex(refund.chargeId), refund.amountCents],
  )
  await insertEvents(tx, now, [refundEvent(now, refund, charge)])
}

type RefundedCharge = {
  account_id: string
  payment_link_id: string
  external_id: string | null
  value_cents: number
  refunded_cents: number
}

export function refundEvent(now: Date, refund: DoneRefund, charge: RefundedCharge): NewEvent {
  return {
    kind: 'DEPOSIT_REFUNDED',
    accountId: charge.account_id,
    subjectId: uuidFromHex(refund.id),
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
