import { Fault } from '../../base/fault.ts'
import { hexFromUuid, newUuid7, uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import type { Tx } from '../../db/tx.ts'
import { SYSTEM, type Actor } from '../core/audit-log.ts'
import { markRefunded, openUndoneRefund, reopenException } from '../deposits/exception-states.ts'
import { holdBalances, postTransfers, type LedgerKey, type Transfer } from '../ledger/ledger.ts'
import { noteRefunded } from './refund-events.ts'

export type RefundStatus = 'PROCESSING' | 'DONE' | 'FAILED'

export type Refund = {
  id: string // 32 hexadecimal digits
  /** 'balance': an account bears it. 'suspense': it gives an exception's money back. 'provider': made there without us. */
  source: 'balance' | 'suspense' | 'provider'
  provider: string
  /** The provider's id of it, which is ours unless it was made without us. */
  providerRefundId: string
  endToEndId: string
  paymentId: string // a UUID, as stored
  /** Of the charge that the refunded payment completed. */
  chargeId: string | null
  paymentLinkId: string | null
  /** Of the account that bears it. */
  accountId: string | null
  exceptionId: string | null
  amountCents: Cents
  feeReturnedCents: Cents
  status: RefundStatus
  reason: string | null
  /** Why it failed, in the provider's words: for the operator. */
  failure: string | null
  requestedBy: Actor
  createdAt: Date
  /** When it was first sent to the provider; null: surely never. */
  sentAt: Date | null
  /** While it is PROCESSING: since when nobody knows what became of a request for it. */
  doubtedAt: Date | null
  /** Since when the provider has said, again and again, that it has no such refund. */
  absentSince: Date | null
  /** Why the last attempt could not decide it: for the operator. */
  attention: string | null
  endedAt: Date | null
  /** The operator who ended it in the provider's place. */
  endedBy: EndedBy | null
  /** When the provider took back that it was done. Its money came to suspense then. */
  undoneAt: Date | null
}

/** Nobody knows what became of a request for it. */
export function isInDoubt({ status, doubtedAt }: Pick<Refund, 'status' | 'doubtedAt'>): boolean {
  return status === 'PROCESSING' && doubtedAt !== null
}

export type EndedBy = { actor: Actor; reason: string }

// Locks are taken in one order by everyone: charges by id, exceptions by id, refunds, balances by id.

// ---- The life of a refund, in its order. Money moves in the transaction in which the refund does. ----

export type NewRefund = {
  paymentId: string
  chargeId: string | null
  amountCents: Cents
  feeReturnedCents: Cents
  reason: string | null
  idempotency: { key: string; requestHash: Buffer } | null
  /** Until when whoever asks for the refund also asks the provider; after that the worker does. */
  leasedUntil: Date
} & ({ source: 'balance'; accountId: string } | { source: 'suspense'; exceptionId: string })

/**
 * Takes the money from where it is and puts it aside: from here on it is promised, and cannot be promised again. Undefined when another refund has the
 * idempotency key. Refused when the balance does not hold as much.
 */
export async function reserveRefund(tx: Tx, now: Date, actor: Actor, wanted: NewRefund): Promise<Refund | undefined> {
  const id = newUuid7(now)
  const inserted = await insertRefund(tx, now, actor, { ...wanted, id })
  if (!inserted) return undefined
  const refund = await readRefund(tx, id)
  const source = sourceOf(refund)
  const { amountCents, feeReturnedCents } = refund
  // The fee's share comes first, so that it helps to pay for the refund: otherwise an account's only deposit could never be given back whole.
  const fee = { kind: 'fee_returned', debit: { kind: 'fees' }, credit: source, amountCents: feeReturnedCents } as const
  const aside = { kind: 'refund_reserved', debit: source, credit: { kind: 'refunding' }, amountCents } as const
  const moves = feeReturnedCents > 0 ? [fee, aside] : [aside]

  const held = await holdBalances(
    tx,
    moves.flatMap((move) => [move.debit, move.credit]),
  )
  const takenCents = amountCents - feeReturnedCents
  if (held(source) < takenCents) {
    throw new Fault(
      'balance_too_small',
      `Balance is too small: it is ${held(source)} cents, and this refund needs ${takenCents}`,
      { details: { balanceCents: held(source), neededCents: takenCents } },
    )
  }
  await post(tx, now, refund, moves)
  return refund
}

/** What a provider said of a refund in the end. */
export type RefundEnd = { status: 'done' } | { status: 'failed'; failure: string | null }

/**
 * The provider made it, or surely did not; or an operator (`by`) says so. Told again it changes nothing, since a provider may answer late and twice;
 * 'contradicted' says that the refund had ended otherwise before.
 *
 * With `heldUntil` it ends only while that lease is held, and is 'overtaken' otherwise: who concludes from a refusal must know that nobody else has sent it.
 */
export async function endRefund(
  tx: Tx,
  now: Date,
  refundId: string,
  end: RefundEnd,
  { by, heldUntil }: { by?: EndedBy | undefined; heldUntil?: Date | undefined } = {},
): Promise<{ refund: Refund; move: 'moved' | 'known' | 'contradicted' | 'overtaken' }> {
  const before = await lockRefund(tx, refundId)
  const status = end.status === 'done' ? 'DONE' : 'FAILED'
  if (before.status !== 'PROCESSING') {
    return { refund: before, move: before.status === status ? 'known' : 'contradicted' }
  }
  const moved = await tx.run(
    `update refunds set status = $2, failure = $3, ended_at = $4, ended_by_kind = $5, ended_by = $6, ended_reason = $7,
       due_at = null, attention = null
     where id = $1 and status = 'PROCESSING' and ($8::timestamptz is null or due_at = $8)`,
    [
      uuidFromHex(refundId),
      status,
      end.status === 'failed' ? end.failure : null,
      now,
      by?.actor.kind ?? null,
      by?.actor.name ?? null,
      by?.reason ?? null,
      heldUntil ?? null,
    ],
  )
  if (moved !== 1 && heldUntil) return { refund: before, move: 'overtaken' }
  if (moved !== 1) throw new Error(`refund ${refundId} ended twice`)
  const refund = await readRefund(tx, uuidFromHex(refundId))
  if (status === 'DONE') await finish(tx, now, refund)
  else await release(tx, now, refund)
  return { refund, move: 'moved' }
}

async function finish(tx: Tx, now: Date, refund: Refund): Promise<void> {
  const { provider, amountCents } = refund
  await post(tx, now, refund, [
    { kind: 'refund_paid', debit: { kind: 'refunding' }, credit: { kind: 'cash', provider }, amountCents },
  ])
  await noteRefunded(tx, now, refund)
  if (refund.exceptionId !== null) await markRefunded(tx, now, refund.exceptionId)
}

async function release(tx: Tx, now: Date, refund: Refund): Promise<void> {
  const source = sourceOf(refund)
  const { amountCents, feeReturnedCents } = refund
  const back = { kind: 'refund_released', debit: { kind: 'refunding' }, credit: source, amountCents } as const
  const fee = { kind: 'fee_kept', debit: source, credit: { kind: 'fees' }, amountCents: feeReturnedCents } as const
  await post(tx, now, refund, feeReturnedCents > 0 ? [back, fee] : [back])
  if (refund.exceptionId !== null) {
    const why = refund.endedBy?.reason ?? refund.failure
    await reopenException(tx, now, refund.exceptionId, { id: refund.id, failure: why })
  }
}

/**
 * The provider says of a refund that was done that it was not made after all: the money is at the provider again. It waits in suspense, because the books
 * have gone on since: the account was charged, and told that its payer has the money. False when that is booked. The caller holds the lock of its charge.
 */
export async function undoRefund(tx: Tx, now: Date, refundId: string): Promise<boolean> {
  const refund = await readRefund(tx, uuidFromHex(refundId))
  const { provider, chargeId, amountCents } = refund
  if (!(await openUndoneRefund(tx, now, refund))) return false
  await post(tx, now, refund, [
    { kind: 'refund_undone', debit: { kind: 'cash', provider }, credit: { kind: 'suspense' }, amountCents },
  ])
  if (chargeId !== null) {
    const fewer = 'update charges set refunded_cents = refunded_cents - $2 where id = $1'
    await tx.run(fewer, [uuidFromHex(chargeId), amountCents])
  }
  return true
}

/** All ids are UUIDs, as stored, but the provider's own. */
export type SeenRefund = {
  paymentId: string
  chargeId: string | null
  /** Of an open exception that has exactly this money. */
  exceptionId: string | null
  provider: string
  providerRefundId: string
  amountCents: Cents
}

/**
 * The provider made one that we did not ask for. The money is gone, so it leaves the cash at once: out of suspense if it lay there for this very payment, and
 * else out of `missing`, until it is decided who bears it. Undefined when it is known. The caller holds the locks of its charge and its exception.
 */
export async function recordSeenRefund(tx: Tx, now: Date, seen: SeenRefund): Promise<Refund | undefined> {
  const id = newUuid7(now)
  const inserted = await tx.run(
    `insert into refunds (id, payment_id, charge_id, source, exception_id, provider_refund_id, amount_cents, status, requested_by_kind,
       requested_by, created_at, ended_at)
     values ($1, $2, $3, 'provider', $4, $5, $6, 'DONE', $7, $8, $9, $9)
     on conflict (payment_id, provider_refund_id) where status <> 'FAILED' do nothing`,
    [
      id,
      seen.paymentId,
      seen.chargeId,
      seen.exceptionId,
      seen.providerRefundId,
      seen.amountCents,
      SYSTEM.kind,
      SYSTEM.name,
      now,
    ],
  )
  if (inserted === 0) return undefined
  const refund = await readRefund(tx, id)
  const { provider, amountCents, exceptionId } = refund
  const debit = { kind: exceptionId === null ? 'missing' : 'suspense' } as const
  await post(tx, now, refund, [{ kind: 'refund_seen', debit, credit: { kind: 'cash', provider }, amountCents }])
  await noteRefunded(tx, now, refund)
  return refund
}

// ---- Steps ----

async function insertRefund(tx: Tx, now: Date, actor: Actor, wanted: NewRefund & { id: string }): Promise<boolean> {
  const inserted = await tx.run(
    `insert into refunds (id, payment_id, charge_id, source, account_id, exception_id, provider_refund_id, amount_cents,
       fee_returned_cents, status, reason, requested_by_kind, requested_by, idempotency_key, request_hash, created_at, due_at, attempts)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'PROCESSING', $10, $11, $12, $13, $14, $15, $16, 1)
     on conflict (account_id, requested_by_kind, idempotency_key) where idempotency_key is not null do nothing`,
    [
      wanted.id,
      wanted.paymentId,
      wanted.chargeId,
      wanted.source,
      wanted.source === 'balance' ? wanted.accountId : null,
      wanted.source === 'suspense' ? uuidFromHex(wanted.exceptionId) : null,
      hexFromUuid(wanted.id),
      wanted.amountCents,
      wanted.feeReturnedCents,
      wanted.reason,
      actor.kind,
      actor.name,
      wanted.idempotency?.key ?? null,
      wanted.idempotency?.requestHash ?? null,
      now,
      wanted.leasedUntil,
    ],
  )
  return inserted === 1
}

// One that is under way belongs to a charge or to an exception, whose lock serves for it too.
async function lockRefund(tx: Tx, refundId: string): Promise<Refund> {
  const id = uuidFromHex(refundId)
  const [row] = await tx.rows<{ charge_id: string | null; exception_id: string | null }>(
    'select charge_id, exception_id from refunds where id = $1',
    [id],
  )
  if (!row) throw new Error(`refund ${refundId} is gone`)
  await tx.run('select from charges where id = $1 for no key update', [row.charge_id])
  await tx.run('select from exceptions where id = $1 for no key update', [row.exception_id])
  return readRefund(tx, id)
}

type Move = Pick<Transfer, 'kind' | 'debit' | 'credit' | 'amountCents'>

function post(tx: Tx, now: Date, refund: Refund, moves: Move[]): Promise<void> {
  const common = {
    paymentId: refund.paymentId,
    chargeId: refund.chargeId && uuidFromHex(refund.chargeId),
    refundId: uuidFromHex(refund.id),
    occurredAt: now,
  }
  return postTransfers(
    tx,
    now,
    moves.map((move) => ({ ...common, ...move })),
  )
}

function sourceOf({ accountId }: Refund): LedgerKey {
  return accountId === null ? { kind: 'suspense' } : { kind: 'balance', accountId }
}

// ---- Reading ----

/** Of refunds r, payments p and charges c, see REFUND_TABLES. */
export const REFUND_COLUMNS = `
  r.id, r.source, p.provider, r.provider_refund_id, p.end_to_end_id, r.payment_id, r.charge_id, c.payment_link_id, r.account_id,
  r.exception_id, r.amount_cents, r.fee_returned_cents, r.status, r.reason, r.failure, r.requested_by_kind, r.requested_by,
  r.created_at, r.sent_at, r.doubted_at, r.absent_since, r.attention, r.ended_at, r.ended_by_kind, r.ended_by, r.ended_reason,
  (select u.opened_at from exceptions u where u.refund_id = r.id and u.kind = 'undone_refund') as undone_at`

export const REFUND_TABLES =
  'refunds r join payments p on p.id = r.payment_id left join charges c on c.id = r.charge_id'

export type RefundRow = {
  id: string
  source: Refund['source']
  provider: string
  provider_refund_id: string
  end_to_end_id: string
  payment_id: string
  charge_id: string | null
  payment_link_id: string | null
  account_id: string | null
  exception_id: string | null
  amount_cents: number
  fee_returned_cents: number
  status: RefundStatus
  reason: string | null
  failure: string | null
  requested_by_kind: Actor['kind']
  requested_by: string
  created_at: Date
  sent_at: Date | null
  doubted_at: Date | null
  absent_since: Date | null
  attention: string | null
  ended_at: Date | null
  ended_by_kind: Actor['kind'] | null
  ended_by: string
  ended_reason: string
  undone_at: Date | null
}

export function refundFromRow(row: RefundRow): Refund {
  return {
    id: hexFromUuid(row.id),
    source: row.source,
    provider: row.provider,
    providerRefundId: row.provider_refund_id,
    endToEndId: row.end_to_end_id,
    paymentId: row.payment_id,
    chargeId: row.charge_id && hexFromUuid(row.charge_id),
    paymentLinkId: row.payment_link_id,
    accountId: row.account_id,
    exceptionId: row.exception_id && hexFromUuid(row.exception_id),
    amountCents: row.amount_cents,
    feeReturnedCents: row.fee_returned_cents,
    status: row.status,
    reason: row.reason,
    failure: row.failure,
    requestedBy: { kind: row.requested_by_kind, name: row.requested_by },
    createdAt: row.created_at,
    sentAt: row.sent_at,
    doubtedAt: row.doubted_at,
    absentSince: row.absent_since,
    attention: row.attention,
    endedAt: row.ended_at,
    endedBy: row.ended_by_kind && {
      actor: { kind: row.ended_by_kind, name: row.ended_by },
      reason: row.ended_reason,
    },
    undoneAt: row.undone_at,
  }
}

export async function readRefund(tx: Tx, id: string): Promise<Refund> {
  const [row] = await tx.rows<RefundRow>(`select ${REFUND_COLUMNS} from ${REFUND_TABLES} where r.id = $1`, [id])
  if (!row) throw new Error(`refund ${hexFromUuid(id)} is gone`)
  return refundFromRow(row)
}
