import { hexFromUuid, newUuid7, uuidFromHex } from '../../base/ids.ts'
import type { Tx } from '../../db/tx.ts'
import { writeAudit, SYSTEM, type Actor } from '../core/audit-log.ts'

export type ExceptionState = 'open' | 'resolving' | 'resolved'

/**
 * What the operator decides. credit: to this account, what is left of it, without a fee. refund: back to the payer. charge_account: the account that was
 * credited with the payment bears a refund that was made without us. write_off: the house keeps the money, or bears the loss. match: the payment completes
 * the charge that it names, less the charge's fee.
 */
export type Resolution =
  | { how: 'credit'; accountId: string; charge?: ChargeFate }
  | { how: 'refund'; charge?: ChargeFate }
  | { how: 'write_off'; charge?: ChargeFate }
  | { how: 'charge_account' }
  | { how: 'match' }

/** Of the charge that the payment names: it can still be paid (unless said otherwise), or it is withdrawn at the provider and CANCELED first. */
export type ChargeFate = 'keep' | 'close'

/** In SQL, of the row called x. */
export const EXCEPTION_STATE = `case when x.resolved_at is not null then 'resolved' when x.resolution is not null then 'resolving' else 'open' end`

/** In SQL, of the payment called p: the id of the charge that the payer meant. One that completed nothing may still have our txid. */
export const NAMED_CHARGE = `coalesce(p.charge_id, case when p.txid ~ '^[0-9a-f]{32}$' then p.txid::uuid end)`

// ---- The life of an exception, in its order; those about payments are opened by settle(). Who moves one holds its lock and has seen where it stands. ----

/** A refund that was made without us, and whose money is nobody's yet to bear. */
export async function openForeignRefund(
  tx: Tx,
  now: Date,
  refund: { id: string; paymentId: string; providerRefundId: string },
): Promise<void> {
  const id = newUuid7(now)
  await tx.run(
    `insert into exceptions (id, payment_id, refund_id, kind, opened_at) values ($1, $2, $3, 'foreign_refund', $4)`,
    [id, refund.paymentId, uuidFromHex(refund.id), now],
  )
  await writeAudit(tx, now, SYSTEM, {
    action: 'exception.opened',
    subject: `exception ${hexFromUuid(id)}`,
    accountId: null,
    reason: null,
    details: { kind: 'foreign_refund', refundId: refund.id, providerRefundId: refund.providerRefundId },
  })
}

/** A refund that was done and that the provider took back: its money is in suspense. False when that is an exception already. */
export async function openUndoneRefund(
  tx: Tx,
  now: Date,
  refund: { id: string; paymentId: string; providerRefundId: string; amountCents: number },
): Promise<boolean> {
  const id = newUuid7(now)
  const opened = await tx.run(
    `insert into exceptions (id, payment_id, refund_id, kind, opened_at) values ($1, $2, $3, 'undone_refund', $4)
     on conflict (refund_id, kind) where refund_id is not null do nothing`,
    [id, refund.paymentId, uuidFromHex(refund.id), now],
  )
  if (opened === 0) return false
  const { id: refundId, providerRefundId, amountCents } = refund
  await writeAudit(tx, now, SYSTEM, {
    action: 'exception.opened',
    subject: `exception ${hexFromUuid(id)}`,
    accountId: null,
    reason: null,
    details: { kind: 'undone_refund', refundId, providerRefundId, amountCents },
  })
  return true
}

export type Decided = {
  exceptionId: string
  how: Resolution['how']
  /** Which is credited or charged. */
  accountId: string | null
  actor: Actor
  reason: string
  /** Null while a refund is on its way. */
  resolvedAt: Date | null
}

export async function markDecided(tx: Tx, decided: Decided): Promise<void> {
  const { actor } = decided
  const moved = await tx.run(
    `update exceptions set resolution = $2, account_id = $3, resolved_by_kind = $4, resolved_by = $5, reason = $6, resolved_at = $7
     where id = $1 and resolution is null`,
    [
      uuidFromHex(decided.exceptionId),
      decided.how,
      decided.accountId,
      actor.kind,
      actor.name,
      decided.reason,
      decided.resolvedAt,
    ],
  )
  if (moved !== 1) throw new Error(`exception ${decided.exceptionId} was decided twice`)
}

/** Its refund is done. */
export async function markRefunded(tx: Tx, now: Date, exceptionId: string): Promise<void> {
  const moved = await tx.run(
    `update exceptions set resolved_at = $2 where id = $1 and resolution = 'refund' and resolved_at is null`,
    [uuidFromHex(exceptionId), now],
  )
  if (moved !== 1) throw new Error(`exception ${exceptionId} was not being refunded`)
}

/** Its refund failed, so that the money is in suspense again and the decision is the operator's again. The log keeps the one that came to nothing. */
export async function reopenException(
  tx: Tx,
  now: Date,
  exceptionId: string,
  refund: { id: string; failure: string | null },
): Promise<void> {
  const moved = await tx.run(
    `update exceptions set resolution = null, resolved_by_kind = null, resolved_by = null, reason = null
     where id = $1 and resolution = 'refund' and resolved_at is null`,
    [uuidFromHex(exceptionId)],
  )
  if (moved !== 1) throw new Error(`exception ${exceptionId} was not being refunded`)
  await writeAudit(tx, now, SYSTEM, {
    action: 'exception.reopened',
    subject: `exception ${exceptionId}`,
    accountId: null,
    reason: refund.failure,
    details: { refundId: refund.id },
  })
}
