import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { CHARGE_COLUMNS, type StoredCharge } from '../deposits/charge-reads.ts'
import { dataOf } from '../webhooks/event-fields.ts'
import { derivedSubject, insertEvents } from '../webhooks/events.ts'
import type { Nature } from '../ports/provider.ts'
import {
  DEPOSIT_REFUNDED,
  DEPOSIT_REVERSED,
  REFUND_FAILED,
  type RefundFailure,
} from '../webhooks/refund-event-kinds.ts'

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
  const charge = await addRefunded(tx, chargeId, refund.amountCents)
  const data = dataOf(DEPOSIT_REFUNDED, { charge, refund, at: now })
  const subjectId = refundSubject({ ...refund, chargeId })
  await insertEvents(tx, now, [
    { kind: 'DEPOSIT_REFUNDED', accountId: charge.accountId, subjectId, createdAt: now, data },
  ])
}

/** As recordRefunded(), of a reversal. `borne` is undefined until an operator decides. */
export async function recordReversed(
  tx: Tx,
  now: Date,
  refund: DoneRefund & { chargeId: string; nature: Nature },
  borne: { chargedCents: Cents; owedCents: Cents } | undefined,
): Promise<void> {
  const charge = await addRefunded(tx, refund.chargeId, refund.amountCents)
  const data = dataOf(DEPOSIT_REVERSED, { charge, refund, borne, at: now })
  const subjectId = refundSubject(refund)
  await insertEvents(tx, now, [
    { kind: 'DEPOSIT_REVERSED', accountId: charge.accountId, subjectId, createdAt: now, data },
  ])
}

/** Takes an undone one from its charge, and inserts the event. The caller holds the charge's lock. */
export async function recordRefundFailed(tx: Tx, now: Date, refund: DoneRefund, reason: RefundFailure): Promise<void> {
  const { chargeId } = refund
  if (chargeId === null) return
  const charge = await addRefunded(tx, chargeId, reason === 'undone' ? -refund.amountCents : 0)
  const data = dataOf(REFUND_FAILED, { charge, refund, reason })
  // The provider may make it after all and then undo it, and undo it again each time that it makes it again.
  const subjectId = derivedSubject(`${refundText({ ...refund, chargeId })} ${reason}`)
  await insertEvents(tx, now, [{ kind: 'REFUND_FAILED', accountId: charge.accountId, subjectId, createdAt: now, data }])
}

function addRefunded(tx: Tx, chargeId: string, cents: Cents): Promise<StoredCharge> {
  return tx.one<StoredCharge>(
    `update charges c set refunded_cents = refunded_cents + $2 where c.id = $1
     returning ${CHARGE_COLUMNS}`,
    [chargeId, cents],
  )
}

type Named = Pick<DoneRefund, 'providerRefundId' | 'madeBefore'> & { chargeId: string }

/** As its provider knows it, so a refund that a restored backup lacks keeps its name. REFUND_SUBJECT does the same. */
export function refundSubject(refund: Named): string {
  return derivedSubject(refundText(refund))
}

/** Of all events that can be about it. */
export function refundSubjects(refund: Named): string[] {
  const failures: RefundFailure[] = ['not_made', 'undone']
  return [refundSubject(refund), ...failures.map((reason) => derivedSubject(`${refundText(refund)} ${reason}`))]
}

function refundText({ chargeId, providerRefundId, madeBefore }: Named): string {
  return `${chargeId} ${providerRefundId} ${madeBefore}`
}
