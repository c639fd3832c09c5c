import { newHexId } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Tx } from '../../db/tx.ts'
import { writeAudit, SYSTEM, type Actor } from '../core/audit-log.ts'

export type ExceptionState = 'open' | 'resolving' | 'resolved'

/**
 * What the operator decides. credit: this account gets what is left of the money, without a fee. refund: the payer gets
 * it back. charge_account: the account that was credited with the payment bears a refund made without us. write_off:
 * the operator keeps the money, or bears the loss. match: the payment completes the charge that it names, less the
 * charge's fee.
 */
export type Resolution =
  | { how: 'credit'; accountId: string; charge?: ChargeAction }
  | { how: 'refund'; charge?: ChargeAction }
  | { how: 'write_off'; charge?: ChargeAction }
  | { how: 'charge_account' }
  | { how: 'match' }

/** For the charge that the payment names. keep, the default: it can still be paid. close: cancel it first. */
export type ChargeAction = 'keep' | 'close'

export const EXCEPTION_STATE = `
  case when x.resolved_at is not null then 'resolved' when x.resolution is not null then 'resolving' else 'open' end`

/** In SQL, the charge that payment p names by its txid, whether or not it completed that charge. */
export const NAMED_CHARGE = `coalesce(p.charge_id, case when p.txid ~* '^[0-9a-f]{32}$' then p.txid::uuid end)`

// The states of an exception, in the order of its life; settle() opens those of payments. Every caller holds the
// exception's lock and has read its state.

/** foreign_refund: made without us. undone_refund: taken back after it was DONE. Undefined when it is open already. */
export async function openRefundException(
  tx: Tx,
  now: Date,
  kind: 'foreign_refund' | 'undone_refund',
  refund: { id: string; paymentId: string; providerRefundId: string; amountCents: Cents },
): Promise<string | undefined> {
  const { id: refundId, paymentId, providerRefundId, amountCents } = refund
  const id = newHexId(now)
  const opened = await tx.run(
    `insert into exceptions (id, payment_id, refund_id, kind, opened_at) values ($1, $2, $3, $4, $5)
     on conflict (refund_id, kind) where refund_id is not null do nothing`,
    [id, paymentId, refundId, kind, now],
  )
  if (opened === 0) return undefined
  await writeAudit(tx, now, SYSTEM, {
    action: 'exception.opened',
    subject: `exception ${id}`,
    accountId: null,
    reason: null,
    details: { kind, refundId, providerRefundId, ...(kind === 'undone_refund' && { amountCents }) },
    rows: [['exception', id]],
  })
  return id
}

/** The provider calls the charge paid and names no Pix. Undefined if it is not PENDING, or a Pix of it is booked. */
export async function openUnnamedPayment(
  tx: Tx,
  now: Date,
  chargeId: string,
): Promise<{ isNew: boolean; state: ExceptionState } | undefined> {
  // Settling holds this lock too, so it sees the exception or completes the charge before.
  await tx.run('select from charges where id = $1 for no key update', [chargeId])
  const opened = await tx.run(
    `insert into exceptions (id, charge_id, kind, opened_at)
     select $1, id, 'unnamed_payment', $3 from charges c
     where id = $2 and status = 'PENDING' and not exists (select from payments p where p.charge_id = c.id and not p.credited)
     on conflict (charge_id) where charge_id is not null do nothing`,
    [newHexId(now), chargeId, now],
  )
  const sql = `select ${EXCEPTION_STATE} as state from exceptions x where x.charge_id = $1`
  const [exception] = await tx.rows<{ state: ExceptionState }>(sql, [chargeId])
  return exception && { isNew: opened === 1, ...exception }
}

/** The provider named a Pix of their charges. The caller holds the locks of the charges. */
export async function resolveUnnamed(tx: Tx, now: Date, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  const unnamed = await tx.rows<{ id: string; amountCents: Cents }>(
    `select ${hexId('x.id')} as id, c.value_cents as "amountCents" from exceptions x join charges c on c.id = x.charge_id
     where x.id = any($1) order by x.id`,
    [ids],
  )
  for (const { id, amountCents } of unnamed) {
    await markDecided(tx, now, {
      exceptionId: id,
      how: 'match',
      accountId: null,
      actor: SYSTEM,
      reason: 'The provider named a Pix that paid this charge',
      resolvedAt: now,
      details: { kind: 'unnamed_payment', how: 'match', amountCents },
    })
  }
}

export type Decided = {
  exceptionId: string
  how: Resolution['how']
  accountId: string | null
  actor: Actor
  reason: string
  /** Null while a refund is PROCESSING. */
  resolvedAt: Date | null
  /** What the balance lacked, of a charge_account. */
  owedCents?: Cents
  details: object
}

export async function markDecided(tx: Tx, now: Date, decided: Decided): Promise<void> {
  const { exceptionId, how, accountId, actor, reason, resolvedAt, owedCents = 0, details } = decided
  const moved = await tx.run(
    `update exceptions set
       resolution = $2,
       account_id = $3,
       resolved_by_kind = $4,
       resolved_by = $5,
       reason = $6,
       resolved_at = $7,
       owed_cents = nullif($8::bigint, 0)
     where id = $1 and resolution is null`,
    [exceptionId, how, accountId, actor.kind, actor.name, reason, resolvedAt, owedCents],
  )
  if (moved !== 1) throw new Error(`Exception ${exceptionId} was decided twice`)
  await writeAudit(tx, now, actor, {
    action: 'exception.resolved',
    subject: `exception ${exceptionId}`,
    accountId,
    reason,
    details,
    rows: [['exception', exceptionId]],
  })
}

export async function markRefunded(tx: Tx, now: Date, exceptionId: string): Promise<void> {
  const moved = await tx.run(
    `update exceptions set resolved_at = $2 where id = $1 and resolution = 'refund' and resolved_at is null`,
    [exceptionId, now],
  )
  if (moved !== 1) throw new Error(`Exception ${exceptionId} was not being refunded`)
}

/** Its refund FAILED: the money is in suspense again, and the operator decides again. The audit log keeps both. */
export async function reopenException(
  tx: Tx,
  now: Date,
  exceptionId: string,
  refund: { id: string; failure: string | null },
): Promise<void> {
  const moved = await tx.run(
    `update exceptions set resolution = null, resolved_by_kind = null, resolved_by = null, reason = null
     where id = $1 and resolution = 'refund' and resolved_at is null`,
    [exceptionId],
  )
  if (moved !== 1) throw new Error(`Exception ${exceptionId} was not being refunded`)
  await writeAudit(tx, now, SYSTEM, {
    action: 'exception.reopened',
    subject: `exception ${exceptionId}`,
    accountId: null,
    reason: refund.failure,
    details: { refundId: refund.id },
    rows: [['exception', exceptionId]],
  })
}
