import { uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { insertEvents, type NewEvent } from '../webhooks/events.ts'

/** Of a refund that is done. */
export type RefundFacts = {
  id: string // 32 hexadecimal digits
  chargeId: string | null
  amountCents: Cents
  feeReturnedCents: Cents
  endToEndId: string
}

/** Adds it to its charge, whose lock the caller holds, so that the event counts the refunds before it; and tells the account holder. */
export async function noteRefunded(tx: Tx, now: Date, refund: RefundFacts): Promise<void> {
  if (refund.chargeId === null) return
  const [charge] = await tx.rows<RefundedCharge>(
    `update charges set refunded_cents = refunded_cents + $2 where id = $1
     returning account_id, payment_link_id, external_id, value_cents, refunded_cents`,
    [uuidFromHex(refund.chargeId), refund.amountCents],
  )
  await insertEvents(tx, now, [refundEvent(now, refund, charge!)])
}

type RefundedCharge = {
  account_id: string
  payment_link_id: string
  external_id: string | null
  value_cents: number
  refunded_cents: number
}

export function refundEvent(now: Date, refund: RefundFacts, charge: RefundedCharge): NewEvent {
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
