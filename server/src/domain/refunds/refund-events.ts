import { createHash } from 'node:crypto'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { CHARGE_COLUMNS, type StoredCharge } from '../deposits/charge-reads.ts'
import { dataOf, DEPOSIT_REFUNDED } from '../webhooks/event-kinds.ts'
import { insertEvents, type NewEvent } from '../webhooks/events.ts'

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
  const charge = await tx.one<StoredCharge>(
    `update charges c set refunded_cents = refunded_cents + $2 where c.id = $1
     returning ${CHARGE_COLUMNS}`,
    [chargeId, refund.amountCents],
  )
  await insertEvents(tx, now, [refundEvent(now, { ...refund, chargeId }, charge)])
}

/** As its provider knows it, so a refund that a restored backup lacks keeps its name. REFUND_SUBJECT does the same. */
export function refundSubject(refund: Pick<DoneRefund, 'providerRefundId' | 'madeBefore'> & { chargeId: string }) {
  const { chargeId, providerRefundId, madeBefore } = refund
  return createHash('sha256').update(`${chargeId} ${providerRefundId} ${madeBefore}`).digest('hex').slice(0, 32)
}

function refundEvent(now: Date, refund: DoneRefund & { chargeId: string }, charge: StoredCharge): NewEvent {
  return {
    kind: 'DEPOSIT_REFUNDED',
    accountId: charge.accountId,
    subjectId: refundSubject(refund),
    createdAt: now,
    data: dataOf(DEPOSIT_REFUNDED, { charge, refund, at: now }),
  }
}
