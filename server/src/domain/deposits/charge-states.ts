import type { Cents } from '../../base/money.ts'
import { hexFromUuid, uuidFromHex } from '../../base/ids.ts'
import { transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

export type ChargeStatus = 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'

/** OPENING and FAILED never leave the house: an intent stored before the provider is asked, and one that came to nothing. */
export type StoredStatus = ChargeStatus | 'OPENING' | 'FAILED'

export type StoredCharge = {
  id: string // 32 hexadecimal digits, also the provider's txid
  paymentLinkId: string
  accountId: string
  accountName: string
  provider: string
  status: StoredStatus
  emv: string
  valueCents: Cents
  originalValueCents: Cents
  feeCents: Cents
  externalId: string | null
  description: string | null
  createdAt: Date
  expiresAt: Date
  openingInstance: number | null
  endToEndId: string | null
  paidAt: Date | null
  paidLate: boolean
  /** What the payer paid, if an operator accepted another amount than the value; else null. */
  receivedCents: Cents | null
  /** By refunds that are done. */
  refundedCents: Cents
}

export type Charge = Omit<StoredCharge, 'status' | 'openingInstance'> & { status: ChargeStatus }

// How long after its expiry a charge is still waited for: a Pix that the payer confirmed in the last second, and the clocks of two houses.
export const EXPIRY_GRACE_MS = 60_000

export function creditedCents(charge: Charge): Cents | null {
  return charge.status === 'COMPLETED' ? paidCents(charge) - charge.feeCents : null
}

/** What a COMPLETED charge was paid with. */
export function paidCents(charge: Pick<Charge, 'receivedCents' | 'valueCents'>): Cents {
  return charge.receivedCents ?? charge.valueCents
}

export function isVisible(charge: StoredCharge): charge is StoredCharge & { status: ChargeStatus } {
  return charge.status !== 'OPENING' && charge.status !== 'FAILED'
}

// ---- The life of a charge, in its order. Each move says where from, so a charge that moved meanwhile stays where it is. ----

/**
 * The provider accepted it: it can be paid. Only what this process is still opening: one that stood still for a minute may have lost an opening to another,
 * which withdraws it. Resolves to how many were.
 */
export async function markPending(
  tx: Tx,
  instance: number,
  accepted: { chargeId: string; emv: string }[],
): Promise<number> {
  const moved = await tx.rows<{ id: string }>(
    `update charges c set status = 'PENDING', emv = a.emv, opening_instance = null
     from unnest($1::uuid[], $2::text[]) as a (id, emv)
     where c.id = a.id and c.status = 'OPENING' and c.opening_instance = $3
     returning c.id`,
    [accepted.map((one) => uuidFromHex(one.chargeId)), accepted.map((one) => one.emv), instance],
  )
  await tx.run(
    `update checks k set due_at = c.expires_at + $2::bigint * interval '1 millisecond', attempts = 0
     from charges c
     where c.id = any($1) and k.provider = c.provider and k.subject = replace(c.id::text, '-', '')`,
    [moved.map((row) => row.id), EXPIRY_GRACE_MS],
  )
  return moved.length
}

/** The provider made no charge, or withdrew one that nobody was ever shown. Says nothing of an opening that another process took over. */
export function markFailed(core: Core & { instance: number }, chargeId: string): Promise<boolean> {
  return close(core, chargeId, { from: 'OPENING', to: 'FAILED', openedBy: core.instance })
}

export type Completion = {
  chargeId: string
  endToEndId: string
  paidAt: Date
  paidLate: boolean
  /** Null: its value. */
  receivedCents: Cents | null
}

/** Its payment was recorded. Only settle.ts calls this, in the transaction that books the payment and holds the charge's lock. */
export async function markCompleted(tx: Tx, now: Date, completions: Completion[]): Promise<void> {
  if (completions.length === 0) return
  const ids = completions.map((one) => uuidFromHex(one.chargeId))
  const moved = await tx.run(
    `update charges c
     set status = 'COMPLETED', end_to_end_id = p.end_to_end_id, paid_at = p.paid_at, paid_late = p.paid_late,
       received_cents = p.received_cents, closed_at = $6
     from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::boolean[], $5::bigint[])
       as p (id, end_to_end_id, paid_at, paid_late, received_cents)
     where c.id = p.id and c.status <> 'COMPLETED'`,
    [
      ids,
      completions.map((one) => one.endToEndId),
      completions.map((one) => one.paidAt),
      completions.map((one) => one.paidLate),
      completions.map((one) => one.receivedCents),
      now,
    ],
  )
  if (moved !== completions.length) throw new Error('a charge was completed twice')
  // A charge that was paid late claims its external id again, unless another charge has it by now.
  const late = ids.filter((_, index) => completions[index]!.paidLate)
  if (late.length === 0) return
  await tx.run(
    `insert into external_ids (account_id, external_id, charge_id)
     select account_id, external_id, id from charges where id = any($1) and external_id is not null
     order by account_id, external_id
     on conflict do nothing`,
    [late],
  )
}

/** Past its expiry and grace, and the provider, asked once more, said unpaid. */
export function markExpired(core: Core, chargeId: string): Promise<boolean> {
  return close(core, chargeId, { from: 'PENDING', to: 'EXPIRED' })
}

/** The provider withdrew it. */
export function markCanceled(core: Core, chargeId: string): Promise<boolean> {
  return close(core, chargeId, { from: 'PENDING', to: 'CANCELED' })
}

type Ending = { from: StoredStatus; to: StoredStatus; openedBy?: number }

async function close(core: Core, chargeId: string, ending: Ending): Promise<boolean> {
  const isMoved = await transact(core.pool, (tx) => endCharge(tx, core.now(), chargeId, ending))
  if (isMoved) core.metrics.deposits.inc({ state: ending.to.toLowerCase() })
  return isMoved
}

/** The same in a transaction of the caller's. */
export async function endCharge(tx: Tx, now: Date, chargeId: string, { from, to, openedBy }: Ending): Promise<boolean> {
  const id = uuidFromHex(chargeId)
  const moved = await tx.run(
    `update charges set status = $3, closed_at = $4, opening_instance = null
     where id = $1 and status = $2 and ($5::int is null or opening_instance = $5)`,
    [id, from, to, now, openedBy ?? null],
  )
  if (moved === 0) return false
  await tx.run(
    `delete from external_ids e using charges c
     where c.id = $1 and e.account_id = c.account_id and e.external_id = c.external_id and e.charge_id = c.id`,
    [id],
  )
  return true
}

// ---- Reading ----

export const CHARGE_COLUMNS = `
  c.id, c.payment_link_id, c.account_id, a.name as account_name, c.provider, c.status, c.emv, c.value_cents,
  c.original_value_cents, c.fee_cents, c.external_id, c.description, c.created_at, c.expires_at, c.opening_instance,
  c.end_to_end_id, c.paid_at, c.paid_late, c.received_cents, c.refunded_cents`

export type ChargeRow = {
  id: string
  payment_link_id: string
  account_id: string
  account_name: string
  provider: string
  status: StoredStatus
  emv: string | null
  value_cents: number
  original_value_cents: number
  fee_cents: number
  external_id: string | null
  description: string | null
  created_at: Date
  expires_at: Date
  opening_instance: number | null
  end_to_end_id: string | null
  paid_at: Date | null
  paid_late: boolean
  received_cents: number | null
  refunded_cents: number
}

export function chargeFromRow(row: ChargeRow): StoredCharge {
  return {
    id: hexFromUuid(row.id),
    paymentLinkId: row.payment_link_id,
    accountId: row.account_id,
    accountName: row.account_name,
    provider: row.provider,
    status: row.status,
    // Null only on a charge that was paid although we never learned its code; there is nothing to show for it.
    emv: row.emv ?? '',
    valueCents: row.value_cents,
    originalValueCents: row.original_value_cents,
    feeCents: row.fee_cents,
    externalId: row.external_id,
    description: row.description,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    openingInstance: row.opening_instance,
    endToEndId: row.end_to_end_id,
    paidAt: row.paid_at,
    paidLate: row.paid_late,
    receivedCents: row.received_cents,
    refundedCents: row.refunded_cents,
  }
}
