import { newHexId } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Tx } from '../../db/tx.ts'
import { writeAudit, type Actor, type AuditAction } from '../core/audit-log.ts'
import { postTransfers, requireBalance, type LedgerKey, type Movement } from '../ledger/ledger.ts'
import { dataOf, type EventFields } from '../webhooks/event-fields.ts'
import type { SentKind } from '../webhooks/event-kinds.ts'
import { insertEvents } from '../webhooks/events.ts'
import { PAYOUT_PAID, PAYOUT_REJECTED } from '../webhooks/payout-event-kinds.ts'

export const PAYOUT_STATUSES = ['REQUESTED', 'PAID', 'REJECTED'] as const
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number]

export type Payout = {
  id: string // 32 hexadecimal digits
  accountId: string
  email: string // of the account
  valueCents: Cents
  note: string | null
  status: PayoutStatus
  requestedBy: Actor
  requestedAt: Date
  endedAt: Date | null
  endedBy: Actor | null
  /** By which the bank knows the transfer, and the business day on which it was made. */
  reference: string | null
  paidAt: string | null
  /** Why it was rejected. */
  reason: string | null
}

// The states of a payout, in the order of its life. The money moves, the line of the audit log and the event are
// written in the same transaction. Locks are taken in the order: account, payout, balances by id.

export type NewPayout = {
  accountId: string
  valueCents: Cents
  note: string | null
  idempotency: { key: string; requestHash: Buffer } | null
}

/** Sets the money aside. Refused when less is available. The caller holds the lock of the account. */
export async function reservePayout(tx: Tx, now: Date, actor: Actor, wanted: NewPayout): Promise<Payout> {
  const id = newHexId(now)
  const row = {
    id,
    account_id: wanted.accountId,
    value_cents: wanted.valueCents,
    note: wanted.note,
    status: 'REQUESTED',
    requested_by_kind: actor.kind,
    requested_by: actor.name,
    idempotency_key: wanted.idempotency?.key,
    request_hash: wanted.idempotency?.requestHash,
    requested_at: now,
  }
  const [payout] = await insertRow<Payout>(tx, 'payouts as o', row, `returning ${PAYOUT_COLUMNS}`)
  const { available, reserved } = accountsOf(payout!)
  const movement: Movement = {
    kind: 'payout_reserved',
    debit: available,
    credit: reserved,
    amountCents: wanted.valueCents,
  }
  await requireBalance(tx, available, wanted.valueCents, [movement])
  await post(tx, now, payout!, movement)
  await tell(tx, now, actor, payout!, 'payout.requested')
  return payout!
}

export type PayoutEnd = { status: 'PAID'; reference: string; paidAt: string } | { status: 'REJECTED'; reason: string }

/** The operator paid it, or will not. The caller holds its lock, and has seen that it is REQUESTED. */
export async function endPayout(tx: Tx, now: Date, actor: Actor, payoutId: string, end: PayoutEnd): Promise<Payout> {
  const isPaid = end.status === 'PAID'
  const payout = await tx.one<Payout>(
    `update payouts o set status = $2, ended_at = $3, ended_by_kind = $4, ended_by = $5, reference = $6, paid_at = $7,
       reason = $8
     where o.id = $1 and o.status = 'REQUESTED' returning ${PAYOUT_COLUMNS}`,
    [
      payoutId,
      end.status,
      now,
      actor.kind,
      actor.name,
      isPaid ? end.reference : null,
      isPaid ? end.paidAt : null,
      isPaid ? null : end.reason,
    ],
  )
  const { available, reserved } = accountsOf(payout)
  const { valueCents: amountCents } = payout
  if (isPaid) {
    await sendEvent(tx, now, payout, 'PAYOUT_PAID', PAYOUT_PAID)
    await post(tx, now, payout, { kind: 'payout_paid', debit: reserved, credit: { kind: 'paid_out' }, amountCents })
    await tell(tx, now, actor, payout, 'payout.paid')
  } else {
    await sendEvent(tx, now, payout, 'PAYOUT_REJECTED', PAYOUT_REJECTED)
    await post(tx, now, payout, { kind: 'payout_returned', debit: reserved, credit: available, amountCents })
    await tell(tx, now, actor, payout, 'payout.rejected')
  }
  return payout
}

function accountsOf({ accountId }: Payout): Record<'available' | 'reserved', LedgerKey> {
  return { available: { kind: 'balance', accountId }, reserved: { kind: 'reserved', accountId } }
}

function post(tx: Tx, now: Date, { id: payoutId }: Payout, movement: Movement): Promise<void> {
  return postTransfers(tx, now, [{ ...movement, payoutId, occurredAt: now }])
}

async function sendEvent(tx: Tx, now: Date, payout: Payout, kind: SentKind, fields: EventFields<Payout>) {
  const { id: subjectId, accountId } = payout
  await insertEvents(tx, now, [{ kind, accountId, subjectId, createdAt: now, data: dataOf(fields, payout) }])
}

function tell(tx: Tx, now: Date, actor: Actor, payout: Payout, action: AuditAction): Promise<void> {
  const { id, accountId, valueCents, reference, paidAt, reason } = payout
  const details = { amountCents: valueCents, ...(reference !== null && { reference, paidAt }) }
  const change = { action, subject: `payout ${id}`, accountId, reason, details }
  return writeAudit(tx, now, actor, { ...change, rows: [['payout', id]] })
}

export const PAYOUT_COLUMNS = `
  ${hexId('o.id')} as id,
  o.account_id as "accountId",
  (select a.email from accounts a where a.id = o.account_id) as email,
  o.value_cents as "valueCents",
  o.note,
  o.status,
  json_build_object('kind', o.requested_by_kind, 'name', o.requested_by) as "requestedBy",
  o.requested_at as "requestedAt",
  o.ended_at as "endedAt",
  case when o.ended_by is not null then json_build_object('kind', o.ended_by_kind, 'name', o.ended_by) end as "endedBy",
  o.reference,
  o.paid_at::text as "paidAt",
  o.reason`
