import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isUuid, uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { checkReason, writeAudit, type Actor } from '../core/audit-log.ts'
import { providerNamed } from '../ports/provider.ts'
import { announceMatched, closeCharge, lockNamedCharge, matchCharge } from './exception-charge.ts'
import { EXCEPTION_STATE, markDecided, type ExceptionState, type Resolution } from '../deposits/exception-states.ts'
import { requireFunds, transferOf } from './exception-transfers.ts'
import { postTransfers } from '../ledger/ledger.ts'
import { reserveRefund, type Refund } from './refund-states.ts'
import { beginRefund, refundLease } from './run-refund.ts'
import type { Context } from '../context.ts'

import { findException, notFound, type Exception, type ExceptionKind } from './exceptions.ts'

/**
 * Says what becomes of the money. Each way is a transfer, or for a refund the way to its end; what is decided cannot be decided again. A charge that is to be
 * closed is closed first: if that fails, nothing is resolved.
 */
export async function resolveException(
  ctx: Context,
  actor: Actor,
  id: string,
  resolution: Resolution,
  reason: string,
): Promise<Exception> {
  const { id: known, provider, charge } = await findException(ctx, id)
  if (resolution.how === 'refund') providerNamed(ctx, provider)
  const decision = { resolution, actor, reason: checkReason(reason), leasedUntil: refundLease(ctx.now()) }
  if ('charge' in resolution && resolution.charge === 'close') {
    // What would be refused afterwards is refused before the charge is withdrawn.
    await transact(ctx.pool, (tx) => examine(tx, known, resolution))
    await closeCharge(ctx, charge)
  }
  const refund = await transact(ctx.pool, (tx) => decide(tx, ctx.now(), known, decision))
  if (refund) await beginRefund(ctx, refund, decision.leasedUntil)
  const after = await findException(ctx, known)
  if (resolution.how === 'match') announceMatched(ctx, after.charge!.id)
  return after
}

type Decision = { resolution: Resolution; actor: Actor; reason: string; leasedUntil: Date }

type Examined = {
  exception: LockedException
  /** Made without us, and decided with it. */
  refunds: LockedException[]
  /** The account that gains or bears, if one does. */
  accountId: string | null
}

/** Whether this exception can be resolved in this way. Under its lock, so that of two who decide at once the second one learns of the first. */
async function examine(tx: Tx, id: string, resolution: Resolution): Promise<Examined> {
  const { exception, refunds } = await lockException(tx, id)
  requireOpen(exception, resolution.how)
  if (resolution.how === 'credit') requireRest(exception, refunds)
  return { exception, refunds, accountId: await bearerOf(tx, exception, resolution) }
}

/**
 * Resolves to the refund that is to be asked for.
 *
 * Whoever gets money out of suspense bears what the provider gave back of it without us: the refunds of a payment are decided with it, in one posting, so that
 * no account ever has more of it than is left.
 */
async function decide(tx: Tx, now: Date, id: string, decision: Decision): Promise<Refund | undefined> {
  const { how } = decision.resolution
  const charge = how === 'match' ? await lockNamedCharge(tx, id) : undefined
  const { exception, refunds, accountId } = await examine(tx, id, decision.resolution)
  await noteDecided(tx, now, exception, { ...decision, how, accountId })
  if (how === 'refund') return giveBack(tx, now, exception, decision)
  if (how === 'match') {
    await matchCharge(tx, now, exception, charge)
    return undefined
  }
  const transfer = transferOf(now, exception, how, accountId)
  if (transfer.debit.kind === 'balance') await requireFunds(tx, transfer)
  const transfers = [transfer]
  for (const refund of refunds) {
    const borne = how === 'credit' ? 'charge_account' : 'write_off'
    await noteDecided(tx, now, refund, { ...decision, how: borne, accountId })
    transfers.push(transferOf(now, refund, borne, accountId))
  }
  await postTransfers(tx, now, transfers)
  return undefined
}

type Outcome = { how: Resolution['how']; accountId: string | null; actor: Actor; reason: string }

async function noteDecided(tx: Tx, now: Date, exception: LockedException, outcome: Outcome): Promise<void> {
  const { how, accountId, actor, reason } = outcome
  const { kind, amountCents } = exception
  const exceptionId = hexFromUuid(exception.id)
  await markDecided(tx, { exceptionId, how, accountId, actor, reason, resolvedAt: how === 'refund' ? null : now })
  await writeAudit(tx, now, actor, {
    action: 'exception.resolved',
    subject: `exception ${exceptionId}`,
    accountId,
    reason,
    details: { kind, how, amountCents },
  })
}

function requireRest({ amountCents }: LockedException, refunds: LockedException[]): void {
  const gone = refunds.reduce((sum, refund) => sum + refund.amountCents, 0)
  if (gone >= amountCents)
    throw new Fault('payment_returned', 'The provider refunded all of this payment: resolve it with write_off')
}

// The constraint exceptions_resolution says the same.
const WAYS: Partial<Record<ExceptionKind, Resolution['how'][]>> = {
  unknown_charge: ['credit', 'refund', 'write_off', 'match'],
  wrong_amount: ['credit', 'refund', 'write_off', 'match'],
  foreign_refund: ['charge_account', 'write_off'],
  undone_refund: ['credit', 'write_off'],
}

function requireOpen({ kind, state, isHeld }: LockedException, how: Resolution['how']): void {
  if (state === 'resolved') throw new Fault('exception_resolved', 'Exception is already resolved')
  if (state === 'resolving')
    throw new Fault('exception_resolving', 'Exception is being resolved: its refund is in progress')
  const ways = WAYS[kind] ?? ['credit', 'refund', 'write_off']
  if (!ways.includes(how))
    throw new Fault('resolution_invalid', `A ${kind} exception can be resolved with: ${ways.join(', ')}`, {
      details: { kind, allowed: ways.join(', ') },
    })
  if (kind === 'foreign_refund' && isHeld)
    throw new Fault(
      'payment_rest_held',
      'The rest of this payment is in suspense: resolve that exception, which resolves this one too',
    )
}

async function bearerOf(tx: Tx, exception: LockedException, resolution: Resolution): Promise<string | null> {
  if (resolution.how === 'charge_account') {
    if (exception.creditedAccountId !== null) return exception.creditedAccountId
    throw new Fault('payment_not_credited', 'No account was credited with this payment: resolve it with write_off')
  }
  if (resolution.how !== 'credit') return null
  const { accountId } = resolution
  const found = isUuid(accountId) ? await tx.run('select from accounts where id = $1', [accountId]) : 0
  if (found === 0) throw new Fault('not_found', 'Account not found')
  return accountId
}

async function giveBack(tx: Tx, now: Date, exception: LockedException, decision: Decision): Promise<Refund> {
  const { paymentId, amountCents } = exception
  const earlier = await tx.run(`select from refunds where payment_id = $1 and status <> 'FAILED'`, [paymentId])
  if (earlier > 0)
    throw new Fault(
      'payment_refunded',
      'This payment was already refunded at the provider: resolve it with credit or write_off',
    )
  const refund = await reserveRefund(tx, now, decision.actor, {
    source: 'suspense',
    exceptionId: hexFromUuid(exception.id),
    paymentId,
    chargeId: null,
    amountCents,
    feeReturnedCents: 0,
    reason: decision.reason,
    idempotency: null,
    leasedUntil: decision.leasedUntil,
  })
  return refund!
}

// ---- Reading ----

type LockedException = {
  id: string // a UUID, like all ids of this type
  kind: ExceptionKind
  state: ExceptionState
  paymentId: string
  refundId: string | null
  amountCents: Cents
  chargeId: string | null
  chargeAccountId: string | null
  /** Which has the payment's money, as a deposit or because an operator said so. */
  creditedAccountId: string | null
  /** Its payment is an exception of its own, and not decided yet. */
  isHeld: boolean
}

/**
 * With the refunds made without us that are decided with it. All exceptions of a payment are locked, in the order of ids: who decides on one has seen the others.
 */
async function lockException(tx: Tx, id: string): Promise<{ exception: LockedException; refunds: LockedException[] }> {
  const ofPayment = '= (select payment_id from exceptions where id = $1)'
  await tx.run(`select from exceptions where payment_id ${ofPayment} order by id for no key update`, [uuidFromHex(id)])
  // Apart from the locking: a refund that was booked while we waited for the lock is seen.
  const rows = await tx.rows<Omit<LockedException, 'isHeld'>>(
    `select x.id, x.kind, ${EXCEPTION_STATE} as state, x.payment_id as "paymentId", x.refund_id as "refundId",
       coalesce(f.amount_cents, p.amount_cents) as "amountCents", p.charge_id as "chargeId", c.account_id as "chargeAccountId",
       case when p.credited then c.account_id
         else (select o.account_id from exceptions o where o.payment_id = p.id and o.refund_id is null and o.resolution = 'credit') end as "creditedAccountId"
     from exceptions x
     join payments p on p.id = x.payment_id
     left join charges c on c.id = p.charge_id
     left join refunds f on f.id = x.refund_id
     where x.payment_id ${ofPayment} order by x.id`,
    [uuidFromHex(id)],
  )
  const isHeld = rows.some((row) => row.refundId === null && row.state !== 'resolved')
  const locked = rows.map((row) => ({ ...row, isHeld }))
  const exception = locked.find((row) => row.id === uuidFromHex(id))
  if (!exception) throw notFound()
  const isRefund = (row: LockedException) => row.kind === 'foreign_refund' && row.state === 'open'
  return { exception, refunds: exception.refundId !== null ? [] : locked.filter(isRefund) }
}
