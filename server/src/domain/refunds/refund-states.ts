import { Fault } from '../../base/fault.ts'
import { newHexId } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { insertRow } from '../../db/insert-rows.ts'
import type { Tx } from '../../db/tx.ts'
import { SYSTEM, writeAudit, type Actor, type Change } from '../core/audit-log.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Idempotency } from '../deposits/intents.ts'
import { markRefunded, openRefundException, reopenException } from '../exceptions/exception-states.ts'
import { tellReleased } from '../deposits/held-events.ts'
import { postTransfers, requireBalance, type LedgerKey, type Movement } from '../ledger/ledger.ts'
import type { Nature } from '../ports/provider.ts'
import { recordRefunded, recordRefundFailed } from './refund-events.ts'

export type RefundStatus = 'PROCESSING' | 'DONE' | 'FAILED'

export type Refund = {
  id: string // 32 hexadecimal digits
  /** 'balance': an account bears it. 'suspense': it returns an exception's money. 'provider': made there without us. */
  source: 'balance' | 'suspense' | 'provider'
  provider: string
  /** The provider's id of it, which is ours unless it was made without us. */
  providerRefundId: string
  /** How often the provider made it before, under the same id, and took it back. */
  madeBefore: number
  endToEndId: string
  paymentId: string // a UUID, as stored
  chargeId: string | null
  paymentLinkId: string | null
  accountId: string | null
  exceptionId: string | null
  amountCents: Cents
  feeReturnedCents: Cents
  status: RefundStatus
  reason: string | null
  /** Of one that the account did not ask for: why the provider made it. */
  nature: Nature | null
  /** Why it failed, in the provider's words: for the operator. */
  failure: string | null
  requestedBy: Actor
  createdAt: Date
  /** When it was first sent to the provider; null: surely never. */
  sentAt: Date | null
  /** While PROCESSING: since when the outcome of a request that we sent is unknown. */
  doubtedAt: Date | null
  /** Since when the provider has answered every time that it has no such refund. */
  absentSince: Date | null
  /** Why the last attempt could not decide it: for the operator. */
  attention: string | null
  endedAt: Date | null
  endedBy: EndedBy | null
  /** When the provider took back that it was done, which booked its money to suspense. */
  undoneAt: Date | null
}

/** The outcome of a request that we sent is unknown. */
export function isInDoubt({ status, doubtedAt }: Pick<Refund, 'status' | 'doubtedAt'>): boolean {
  return status === 'PROCESSING' && doubtedAt !== null
}

/** The bank returned a credited payment, and the account did not ask for it. */
export type Reversal = Refund & { nature: Nature; chargeId: string }

export function isReversal(refund: Refund): refund is Reversal {
  return refund.nature !== null && refund.chargeId !== null
}

/** In SQL, of refund r. */
export const IS_REVERSAL = '(r.nature is not null and r.charge_id is not null)'

export type EndedBy = { actor: Actor; reason: string }

// The states of a refund, in the order of its life. Its money moves in the same transaction. Everyone takes locks in
// the same order: charges by id, exceptions by id, refunds, checks of refunds, balances by id. Reserving and ending
// move the money last: all refunds share the balance `refunding`, and whoever moves it next waits until the commit.

export type NewRefund = {
  /** A new one, if it is left out. */
  id?: string
  paymentId: string
  chargeId: string | null
  amountCents: Cents
  feeReturnedCents: Cents
  reason: string | null
  idempotency: Idempotency | null
  /** Until then the requesting process asks the provider; after that the worker does. */
  leasedUntil: Date
  /** The line of the audit log about it, if it has one of its own. */
  line?: Omit<Change, 'rows'>
} & ({ source: 'balance'; accountId: string } | { source: 'suspense'; exceptionId: string })

// The central bank's rule; providers refuse what comes later.
const REFUND_WINDOW_DAYS = 90

/** Refuses before any money is set aside. A refund that was reserved in time is still asked for. */
export function requireRefundWindow(now: Date, settledAt: Date): void {
  const days = REFUND_WINDOW_DAYS
  if (now.getTime() - settledAt.getTime() <= days * 86_400_000) return
  const text = `Payment settled at ${settledAt.toISOString()}: a Pix can be refunded for ${days} days`
  throw new Fault('refund_too_old', text, { details: { days } })
}

/** Sets the money aside. Undefined when another refund has the key. Refused when the balance is too small. */
export async function reserveRefund(tx: Tx, now: Date, actor: Actor, wanted: NewRefund): Promise<Refund | undefined> {
  const refund = await insertRefund(tx, now, { ...wanted, requestedBy: actor })
  if (!refund) return undefined
  if (wanted.line) await writeAudit(tx, now, actor, { ...wanted.line, rows: [['refund', refund.id]] })
  const source = sourceOf(refund)
  const { amountCents, feeReturnedCents } = refund
  // The returned fee comes first, so that it helps to pay for the refund. Otherwise an account's only deposit could
  // never be refunded in full.
  const fees = { kind: 'fees' } as const
  const fee = { kind: 'fee_returned', debit: fees, credit: source, amountCents: feeReturnedCents } as const
  const reserved = { kind: 'refund_reserved', debit: source, credit: { kind: 'refunding' }, amountCents } as const
  const movements = feeReturnedCents > 0 ? [fee, reserved] : [reserved]

  await requireBalance(tx, source, amountCents - feeReturnedCents, movements)
  await post(tx, now, refund, movements)
  return refund
}

export type RefundEnd = { status: 'done' } | { status: 'failed'; failure: string | null }

/**
 * The provider made it, or surely did not; or an operator (`by`) says so. A repeated report is 'known' and changes
 * nothing. 'contradicted': the refund had ended the other way.
 *
 * With `heldUntil` it ends only while that lease is held, and is 'overtaken' otherwise: a conclusion from a refusal is
 * only right if no other process has sent the refund.
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
  const [refund] = await tx.rows<Refund>(
    `with r as (
       update refunds set
         status = $2,
         failure = $3,
         ended_at = $4,
         ended_by_kind = $5,
         ended_by = $6,
         ended_reason = $7,
         due_at = null,
         attention = null
       where id = $1 and status = 'PROCESSING' and ($8::timestamptz is null or due_at = $8)
       returning *
     )
     select ${REFUND_COLUMNS} from r ${REFUND_JOINS}`,
    [
      refundId,
      status,
      end.status === 'failed' ? end.failure : null,
      now,
      by?.actor.kind ?? null,
      by?.actor.name ?? null,
      by?.reason ?? null,
      heldUntil ?? null,
    ],
  )
  if (!refund && heldUntil) return { refund: before, move: 'overtaken' }
  if (!refund) throw new Error(`Refund ${refundId} ended twice`)
  if (status === 'DONE') await finish(tx, now, refund)
  else await release(tx, now, refund)
  return { refund, move: 'moved' }
}

async function finish(tx: Tx, now: Date, refund: Refund): Promise<void> {
  const { provider, amountCents } = refund
  await recordRefunded(tx, now, refund)
  if (refund.exceptionId !== null) {
    await markRefunded(tx, now, refund.exceptionId)
    await tellReleased(tx, now, refund.exceptionId)
  }
  await post(tx, now, refund, [
    { kind: 'refund_paid', debit: { kind: 'refunding' }, credit: { kind: 'cash', provider }, amountCents },
  ])
}

async function release(tx: Tx, now: Date, refund: Refund): Promise<void> {
  await recordRefundFailed(tx, now, refund, 'not_made')
  if (refund.exceptionId !== null) {
    const failure = refund.endedBy?.reason ?? refund.failure
    await reopenException(tx, now, refund.exceptionId, { id: refund.id, failure })
  }
  const source = sourceOf(refund)
  const { amountCents, feeReturnedCents } = refund
  const back = { kind: 'refund_released', debit: { kind: 'refunding' }, credit: source, amountCents } as const
  const fees = { kind: 'fees' } as const
  const fee = { kind: 'fee_kept', debit: source, credit: fees, amountCents: feeReturnedCents } as const
  await post(tx, now, refund, feeReturnedCents > 0 ? [back, fee] : [back])
}

/**
 * The provider says that it did not make a DONE refund after all: it has the money again. The money waits in suspense,
 * because the account was charged and told that the payer has it. False when that is booked already. The caller holds
 * the lock of the charge.
 */
export async function undoRefund(tx: Tx, now: Date, refundId: string): Promise<boolean> {
  const refund = await readRefund(tx, refundId)
  const { provider, amountCents } = refund
  if (!(await openRefundException(tx, now, 'undone_refund', refund))) return false
  await recordRefundFailed(tx, now, refund, 'undone')
  await post(tx, now, refund, [
    { kind: 'refund_undone', debit: { kind: 'cash', provider }, credit: { kind: 'suspense' }, amountCents },
  ])
  return true
}

/** Made at the provider without us. */
export type ExternalRefund = {
  paymentId: string
  chargeId: string | null
  /** An open exception that holds exactly this money. */
  exceptionId: string | null
  /** The provider made it before, and took that back: the exception of kind undone_refund. */
  undoneExceptionId: string | null
  provider: string
  providerRefundId: string
  amountCents: Cents
  /** As the provider tells; null if it does not. What it tells first is kept. */
  nature: Nature | null
}

/**
 * The money has left the bank, so it leaves `cash` at once: from suspense if an exception held it, otherwise from
 * `missing` until it is decided who pays for it. Undefined if the refund is already recorded. The caller holds the
 * locks of the charge and the exception, and tells of it.
 */
export async function recordExternalRefund(tx: Tx, now: Date, seen: ExternalRefund): Promise<Refund | undefined> {
  const id = await lostId(tx, seen.providerRefundId)
  const row = { ...seen, nature: natureOf(seen), ...(id && { id }), source: 'provider', requestedBy: SYSTEM } as const
  const refund = await insertRefund(tx, now, row)
  if (!refund) return undefined
  const { provider, amountCents, exceptionId } = refund
  const debit = { kind: exceptionId === null ? 'missing' : 'suspense' } as const
  await post(tx, now, refund, [{ kind: 'refund_seen', debit, credit: { kind: 'cash', provider }, amountCents }])
  return refund
}

type RefundInsert = {
  source: Refund['source']
  requestedBy: Actor
  paymentId: string
  chargeId: string | null
  amountCents: Cents
  /** Ours, if it is left out. */
  providerRefundId?: string
} & Partial<
  Omit<NewRefund, 'source'> & {
    accountId: string | null
    exceptionId: string | null
    undoneExceptionId: string | null
    nature: Nature | null
  }
>

/** One made at the provider is DONE. Undefined when its idempotency key or its provider's id is taken. */
async function insertRefund(tx: Tx, now: Date, row: RefundInsert): Promise<Refund | undefined> {
  const { id = newHexId(now) } = row
  const isDone = row.source === 'provider'
  const columns = {
    id,
    payment_id: row.paymentId,
    charge_id: row.chargeId,
    source: row.source,
    account_id: row.accountId,
    exception_id: row.exceptionId,
    undone_exception_id: row.undoneExceptionId,
    provider_refund_id: row.providerRefundId ?? id,
    amount_cents: row.amountCents,
    fee_returned_cents: row.feeReturnedCents ?? 0,
    status: isDone ? 'DONE' : 'PROCESSING',
    reason: row.reason,
    nature: row.nature,
    requested_by_kind: row.requestedBy.kind,
    requested_by: row.requestedBy.name,
    idempotency_key: row.idempotency?.key,
    request_hash: row.idempotency?.requestHash,
    created_at: now,
    due_at: row.leasedUntil,
    attempts: isDone ? 0 : 1,
    ended_at: isDone ? now : null,
  }
  const inserted = await insertRow(tx, 'refunds', columns, 'on conflict do nothing returning id')
  return inserted.length === 0 ? undefined : readRefund(tx, id)
}

// As newUuid7() makes them.
const OUR_REFUND_ID = /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/

/** One of ours has our id and no nature, also if it FAILED, is not in a restored backup, or is made again. */
function natureOf({ nature, providerRefundId }: ExternalRefund): Nature | null {
  const isAskedFor = OUR_REFUND_ID.test(providerRefundId) && (nature === null || nature === 'other')
  return isAskedFor ? null : (nature ?? 'other')
}

/** A refund that we asked for, and that is not in a restored backup, keeps the id that we gave it. */
async function lostId(tx: Tx, providerRefundId: string): Promise<string | undefined> {
  if (!OUR_REFUND_ID.test(providerRefundId)) return undefined
  // Ours that FAILED, and that the provider made all the same, has its id already.
  const known = await tx.rows('select from refunds where id = $1', [providerRefundId])
  return known.length === 0 ? providerRefundId : undefined
}

// A PROCESSING refund belongs to a charge or to an exception, whose lock protects it too.
async function lockRefund(tx: Tx, refundId: string): Promise<Refund> {
  const owner = await tx.one<{ charge_id: string | null; exception_id: string | null }>(
    'select charge_id, exception_id from refunds where id = $1',
    [refundId],
  )
  await tx.run('select from charges where id = $1 for no key update', [owner.charge_id])
  await tx.run('select from exceptions where id = $1 for no key update', [owner.exception_id])
  return readRefund(tx, refundId)
}

function post(tx: Tx, now: Date, refund: Refund, movements: Movement[]): Promise<void> {
  const { paymentId, chargeId, id: refundId } = refund
  const about = { paymentId, chargeId, refundId, occurredAt: now }
  const transfers = movements.map((movement) => ({ ...about, ...movement }))
  return postTransfers(tx, now, transfers)
}

function sourceOf({ accountId }: Refund): LedgerKey {
  return accountId === null ? { kind: 'suspense' } : { kind: 'balance', accountId }
}

export const MADE_BEFORE = `
  case when r.undone_exception_id is null then 0 else (
    select count(*) from refunds b
    where b.payment_id = r.payment_id and b.provider_refund_id = r.provider_refund_id and b.status = 'DONE'
      and (b.created_at, b.id) < (r.created_at, r.id)
  ) end`

export const REFUND_COLUMNS = `
  ${hexId('r.id')} as id,
  r.source,
  p.provider,
  r.provider_refund_id as "providerRefundId",
  ${MADE_BEFORE} as "madeBefore",
  p.end_to_end_id as "endToEndId",
  r.payment_id as "paymentId",
  ${hexId('r.charge_id')} as "chargeId",
  c.payment_link_id as "paymentLinkId",
  r.account_id as "accountId",
  ${hexId('r.exception_id')} as "exceptionId",
  r.amount_cents as "amountCents",
  r.fee_returned_cents as "feeReturnedCents",
  r.status,
  r.reason,
  r.nature,
  r.failure,
  json_build_object('kind', r.requested_by_kind, 'name', r.requested_by) as "requestedBy",
  r.created_at as "createdAt",
  r.sent_at as "sentAt",
  r.doubted_at as "doubtedAt",
  r.absent_since as "absentSince",
  r.attention,
  r.ended_at as "endedAt",
  case when r.ended_by_kind is not null then json_build_object(
    'actor', json_build_object('kind', r.ended_by_kind, 'name', r.ended_by), 'reason', r.ended_reason
  ) end as "endedBy",
  (select u.opened_at from exceptions u where u.refund_id = r.id and u.kind = 'undone_refund') as "undoneAt"`

export const REFUND_JOINS = 'join payments p on p.id = r.payment_id left join charges c on c.id = r.charge_id'

/** In SQL: u is the exception of an undone one, `again` the refund that the provider made after that. */
export const UNDONE_JOINS = `
  left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
  left join refunds again on again.payment_id = r.payment_id and again.provider_refund_id = r.provider_refund_id
    and again.undone_exception_id = u.id and again.status <> 'FAILED'`

export const SELECT_REFUNDS = `select ${REFUND_COLUMNS} from refunds r ${REFUND_JOINS}`

export function readRefund(tx: Tx, id: string): Promise<Refund> {
  return tx.one(`${SELECT_REFUNDS} where r.id = $1`, [id])
}
