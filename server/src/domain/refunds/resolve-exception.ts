import { Fault } from '../../base/fault.ts'
import { isUuid } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { checkReason, type Actor } from '../core/audit-log.ts'
import type { Context } from '../context.ts'
import type { LockedCharge } from '../deposits/charge-reads.ts'
import { hexId } from '../../db/sql-values.ts'
import {
  EXCEPTION_STATE,
  markDecided,
  NAMED_CHARGE,
  type Decided,
  type ExceptionState,
  type Resolution,
} from '../exceptions/exception-states.ts'
import { dropCheck, enqueueWithdrawal } from '../deposits/checks/check-queue.ts'
import { cancelDeposit } from '../deposits/query-deposit.ts'
import { tellReleased } from '../deposits/held-events.ts'
import { findPaid, lockForPayments, transactOrders } from '../deposits/order-locks.ts'
import { completeFromSuspense } from '../deposits/settle.ts'
import { postTransfers, type LedgerKey, type Movement, type Transfer } from '../ledger/ledger.ts'
import { providerNamed } from '../ports/provider.ts'
import { chargeAccount } from './charge-account.ts'
import { findException, waysOf, type Exception, type ExceptionKind } from './exceptions.ts'
import { IS_REVERSAL, requireRefundWindow, reserveRefund, type Refund } from './refund-states.ts'
import { refundLease, runRefund } from './run-refund.ts'

/** A decision is final. A charge that is to be closed is closed first: if that fails, nothing is resolved. */
export async function resolveException(
  ctx: Context,
  actor: Actor,
  id: string,
  resolution: Resolution,
  reason: string,
): Promise<Exception> {
  const { id: exceptionId, kind, provider, charge } = await findException(ctx, id)
  if (kind === 'unnamed_payment') {
    await transact(ctx.pool, (tx) =>
      giveUpUnnamed(tx, ctx.now(), exceptionId, { resolution, actor, reason: checkReason(reason) }),
    )
    return findException(ctx, exceptionId)
  }
  if (resolution.how === 'refund') providerNamed(ctx, provider)
  const leasedUntil = refundLease(ctx.now())
  const decision = { resolution, actor, reason: checkReason(reason), leasedUntil }
  if ('charge' in resolution && resolution.charge === 'close') {
    // What decide() would refuse is refused before the charge is withdrawn.
    await transact(ctx.pool, (tx) => examine(tx, ctx.now(), exceptionId, resolution))
    await closeCharge(ctx, charge)
  }
  const refund = await transactOrders(ctx, (tx, open) => decide(tx, ctx.now(), exceptionId, { ...decision, open }))
  ctx.wakeDeliveries()
  if (refund) await runRefund(ctx, { refund, leasedUntil, attempts: 1 })
  const after = await findException(ctx, exceptionId)
  if (resolution.how === 'match' && after.charge) announceMatched(ctx, after.charge.id)
  return after
}

/** Nothing is booked. The charge expires with its next check; a Pix that comes later still completes it. */
async function giveUpUnnamed(
  tx: Tx,
  now: Date,
  exceptionId: string,
  decision: Omit<Decision, 'leasedUntil' | 'open'>,
): Promise<void> {
  const { resolution, actor, reason } = decision
  const kind = 'unnamed_payment'
  // Everyone locks the charge first.
  const charge = await tx.one<{ value_cents: Cents }>(
    'select value_cents from charges where id = (select charge_id from exceptions where id = $1) for no key update',
    [exceptionId],
  )
  const sql = `select ${EXCEPTION_STATE} as state from exceptions x where id = $1 for no key update`
  const { state } = await tx.one<{ state: ExceptionState }>(sql, [exceptionId])
  requireOpen({ kind, state, isHeld: false }, resolution.how)
  if ('charge' in resolution && resolution.charge === 'close')
    throw new Fault('resolution_invalid', 'The charge of an unnamed_payment ends by itself: do not close it', {
      details: { kind, allowed: 'write_off' },
    })
  const { how } = resolution
  const details = { kind, how, amountCents: charge.value_cents }
  await markDecided(tx, now, { exceptionId, how, accountId: null, actor, reason, resolvedAt: now, details })
}

/** `open` are charges to lock, as transactOrders() gives them. */
export type Decision = { resolution: Resolution; actor: Actor; reason: string; leasedUntil: Date; open: string[] }

type Examined = {
  exception: LockedException
  refunds: LockedException[]
  accountId: string | null
}

/** Refuses a resolution that does not fit. Under the exception's lock, so that a second decision is refused. */
async function examine(tx: Tx, now: Date, id: string, resolution: Resolution): Promise<Examined> {
  const { exception, refunds } = await lockException(tx, id)
  requireOpen(exception, resolution.how)
  if (resolution.how === 'refund') requireRefundWindow(now, exception.occurredAt)
  if (resolution.how === 'credit') requireRest(exception, refunds)
  return { exception, refunds, accountId: await bearerOf(tx, exception, resolution) }
}

/**
 * Resolves to the refund that is to be asked for.
 *
 * The account that gets money from suspense bears what the provider refunded of it without us. The foreign refunds of a
 * payment are decided with it, in one posting, so that no account ever has more of it than is left.
 */
export async function decide(tx: Tx, now: Date, id: string, decision: Decision): Promise<Refund | undefined> {
  const { how } = decision.resolution
  const charge = how === 'match' ? await lockNamedCharge(tx, id, decision.open) : undefined
  const { exception, refunds, accountId } = await examine(tx, now, id, decision.resolution)
  if (how === 'charge_account') {
    await chargeRefund(tx, now, exception, decision, accountId!)
    return undefined
  }
  await recordDecision(tx, now, exception, { ...decision, how, accountId })
  if (how === 'refund') return reserveSuspended(tx, now, exception, decision)
  if (how === 'match') {
    await matchCharge(tx, now, exception, charge)
    return undefined
  }
  const transfer = transferOf(now, exception, how, accountId)
  const transfers = [transfer]
  let returnedCents = 0
  for (const refund of refunds) {
    const borne = how === 'credit' ? 'charge_account' : 'write_off'
    await recordDecision(tx, now, refund, { ...decision, how: borne, accountId })
    transfers.push(transferOf(now, refund, borne, accountId))
    returnedCents += refund.amountCents
  }
  const creditedCents = how === 'credit' ? exception.amountCents - returnedCents : 0
  await tellReleased(tx, now, id, { creditedCents, returnedCents })
  await postTransfers(tx, now, transfers)
  return undefined
}

function chargeRefund(tx: Tx, now: Date, exception: LockedException, decision: Decision, accountId: string) {
  const { id: exceptionId, refundId, paymentId, amountCents, isReversal } = exception
  const chargeId = accountId === exception.chargeAccountId ? exception.chargeId : null
  const { actor, reason } = decision
  const charged = { accountId, refundId: refundId!, paymentId, chargeId, amountCents, isReversal }
  return chargeAccount(tx, now, { ...charged, exceptionId, actor, reason })
}

type NewDecision = Pick<Decided, 'how' | 'accountId' | 'actor' | 'reason'>

function recordDecision(tx: Tx, now: Date, exception: LockedException, decided: NewDecision): Promise<void> {
  const { how, accountId, actor, reason } = decided
  const { id, kind, amountCents } = exception
  const resolvedAt = how === 'refund' ? null : now
  const details = { kind, how, amountCents }
  return markDecided(tx, now, { exceptionId: id, how, accountId, actor, reason, resolvedAt, details })
}

function transferOf(now: Date, exception: LockedException, how: Resolution['how'], accountId: string | null): Transfer {
  // The statement of one account never shows a charge of another.
  const isForeign = accountId !== null && accountId !== exception.chargeAccountId
  return {
    ...movementOf(exception, how, accountId),
    paymentId: exception.paymentId,
    chargeId: isForeign ? null : exception.chargeId,
    exceptionId: exception.id,
    ...(exception.refundId !== null && { refundId: exception.refundId }),
    occurredAt: now,
  }
}

function movementOf(exception: LockedException, how: Resolution['how'], accountId: string | null): Movement {
  const { kind, amountCents } = exception
  const suspense: LedgerKey = { kind: 'suspense' }
  const missing: LedgerKey = { kind: 'missing' }
  if (accountId !== null) {
    const balance: LedgerKey = { kind: 'balance', accountId }
    return how === 'credit'
      ? { kind: 'exception_credited', debit: suspense, credit: balance, amountCents }
      : { kind: 'refund_charged', debit: balance, credit: missing, amountCents }
  }
  return kind === 'foreign_refund'
    ? { kind: 'refund_written_off', debit: { kind: 'written_off' }, credit: missing, amountCents }
    : { kind: 'exception_written_off', debit: suspense, credit: { kind: 'written_off' }, amountCents }
}

function requireRest({ amountCents }: LockedException, refunds: LockedException[]): void {
  const gone = refunds.reduce((sum, refund) => sum + refund.amountCents, 0)
  if (gone >= amountCents)
    throw new Fault('payment_returned', 'The provider refunded all of this payment: resolve it by write_off')
}

function requireOpen(
  { kind, state, isHeld }: Pick<LockedException, 'kind' | 'state' | 'isHeld'>,
  how: Resolution['how'],
): void {
  if (state === 'resolved') throw new Fault('exception_resolved', 'Exception is already resolved')
  if (state === 'resolving')
    throw new Fault('exception_resolving', 'Exception is being resolved: its refund is PROCESSING')
  const ways = waysOf(kind)
  if (!ways.includes(how))
    throw new Fault('resolution_invalid', `An exception of kind ${kind} can be resolved with: ${ways.join(', ')}`, {
      details: { kind, allowed: ways.join(', ') },
    })
  if (kind === 'foreign_refund' && isHeld) {
    const text = 'The rest of this payment is in suspense: resolve that exception, which resolves this one too'
    throw new Fault('payment_rest_held', text)
  }
}

async function bearerOf(tx: Tx, exception: LockedException, resolution: Resolution): Promise<string | null> {
  if (resolution.how === 'charge_account') {
    if (exception.creditedAccountId !== null) return exception.creditedAccountId
    throw new Fault('payment_not_credited', 'No account was credited with this payment: resolve it by write_off')
  }
  if (resolution.how !== 'credit') return null
  const { accountId } = resolution
  const found = isUuid(accountId) ? await tx.run('select from accounts where id = $1', [accountId]) : 0
  if (found === 0) throw new Fault('not_found', 'Account not found')
  return accountId
}

async function reserveSuspended(tx: Tx, now: Date, exception: LockedException, decision: Decision) {
  const { paymentId, amountCents } = exception
  if (exception.isRefunded) {
    const text = 'This payment was already refunded at the provider: resolve it by credit or write_off'
    throw new Fault('payment_refunded', text)
  }
  const refund = await reserveRefund(tx, now, decision.actor, {
    source: 'suspense',
    exceptionId: exception.id,
    paymentId,
    chargeId: null,
    amountCents,
    feeReturnedCents: 0,
    reason: decision.reason,
    idempotency: null,
    leasedUntil: decision.leasedUntil,
  })
  if (!refund) throw new Error(`Exception ${exception.id} has a refund already`)
  return refund
}

/** Before the exception's own lock: everyone locks the charge first. */
async function lockNamedCharge(tx: Tx, exceptionId: string, open: string[]): Promise<LockedCharge | undefined> {
  const [named] = await tx.rows<{ id: string | null }>(
    `select ${hexId(NAMED_CHARGE)} as id from exceptions x join payments p on p.id = x.payment_id where x.id = $1`,
    [exceptionId],
  )
  return named?.id ? (await lockForPayments(tx, [named.id], open)).get(named.id) : undefined
}

/** Completes the charge from suspense. The caller holds both locks, and resolves the exception. */
async function matchCharge(tx: Tx, now: Date, exception: LockedException, charge: LockedCharge | undefined) {
  const { id: heldBy, paymentId, provider, endToEndId, amountCents, occurredAt } = exception
  if (!charge || charge.provider !== provider) {
    const text = 'This payment names no charge that it could complete: resolve it in another way'
    throw new Fault('charge_not_named', text)
  }
  if (charge.status === 'COMPLETED')
    throw new Fault('charge_completed', 'Charge is COMPLETED by another payment: resolve it in another way')
  if (charge.orderPaid) {
    const paymentLinkId = await findPaid(tx, charge)
    const text = `The deposit ${paymentLinkId} paid the order ${charge.externalId}: credit or refund this money instead`
    throw new Fault('order_paid', text, { details: { paymentLinkId } })
  }
  if (exception.payerAnswer === 'mismatched')
    throw new Fault('payer_mismatched', 'Another person paid than the charge requires: resolve it in another way')
  if (exception.isRefunded) {
    const text = 'Some of this payment was refunded at the provider: resolve it by credit or write_off'
    throw new Fault('payment_refunded', text)
  }
  const { feeCents } = charge
  if (amountCents <= feeCents) {
    const text = `The payment of ${amountCents} cents does not exceed the charge's fee of ${feeCents} cents`
    throw new Fault('payment_below_fee', `${text}: resolve it in another way`, { details: { feeCents } })
  }
  const payment = { provider, endToEndId, txid: charge.id, amountCents, occurredAt }
  const isPayerConfirmed = exception.payerAnswer === 'matched'
  await completeFromSuspense(tx, now, { paymentId, payment, charge, heldBy, isPayerConfirmed })
  if (charge.status !== 'PENDING') return
  if (exception.kind === 'payer_unconfirmed') await dropCheck(tx, charge)
  // After a payment of another amount, some providers let the code be paid again.
  else await enqueueWithdrawal(tx, charge, now)
}

/** Cancels the charge, so that nobody can pay it. Refused if it was paid meanwhile. */
async function closeCharge(ctx: Context, charge: Exception['charge']): Promise<void> {
  if (!charge) throw new Fault('charge_not_named', 'This payment names no charge of ours: there is none to close')
  // Closed earlier, perhaps by an attempt that failed before it resolved the exception.
  if (charge.status === 'EXPIRED' || charge.status === 'CANCELED' || charge.status === 'FAILED') return
  await cancelDeposit(ctx, charge.accountId, charge.paymentLinkId)
}

export function announceMatched(ctx: Context, chargeId: string): void {
  ctx.metrics.deposits.inc({ state: 'completed' })
  ctx.chargeWatch.announce([chargeId], 'COMPLETED')
  ctx.wakeChecks()
}

type LockedException = {
  id: string
  kind: ExceptionKind
  state: ExceptionState
  paymentId: string
  provider: string
  endToEndId: string
  occurredAt: Date
  isRefunded: boolean
  payerAnswer: 'matched' | 'mismatched' | null
  refundId: string | null
  isReversal: boolean
  amountCents: Cents
  chargeId: string | null
  chargeAccountId: string | null
  /** The account that has the payment's money, as a deposit or by an operator's decision. */
  creditedAccountId: string | null
  /** The payment itself is an exception that is not resolved yet. */
  isHeld: boolean
}

/** Locks all exceptions of the payment in the order of ids, so that a decision on one sees the others. */
async function lockException(tx: Tx, id: string): Promise<{ exception: LockedException; refunds: LockedException[] }> {
  const ofPayment = '= (select payment_id from exceptions where id = $1)'
  await tx.run(`select from exceptions where payment_id ${ofPayment} order by id for no key update`, [id])
  // A second statement, so that it sees a refund that was booked while we waited for the lock.
  const rows = await tx.rows<Omit<LockedException, 'isHeld'>>(
    `select
       ${hexId('x.id')} as id,
       x.kind,
       ${EXCEPTION_STATE} as state,
       x.payment_id as "paymentId",
       p.provider,
       p.end_to_end_id as "endToEndId",
       p.occurred_at as "occurredAt",
       exists (select from refunds o where o.payment_id = p.id and o.status <> 'FAILED') as "isRefunded",
       (select w.answer from payer_answers w where w.end_to_end_id = p.end_to_end_id) as "payerAnswer",
       ${hexId('x.refund_id')} as "refundId",
       coalesce((select ${IS_REVERSAL} from refunds r where r.id = x.refund_id), false) as "isReversal",
       coalesce(f.amount_cents, p.amount_cents) as "amountCents",
       ${hexId('p.charge_id')} as "chargeId",
       c.account_id as "chargeAccountId",
       case when p.credited then c.account_id else (
         select o.account_id from exceptions o
         where o.payment_id = p.id and o.refund_id is null and o.resolution = 'credit'
       ) end as "creditedAccountId"
     from exceptions x
     join payments p on p.id = x.payment_id
     left join charges c on c.id = p.charge_id
     left join refunds f on f.id = x.refund_id
     where x.payment_id ${ofPayment} order by x.id`,
    [id],
  )
  const isHeld = rows.some((row) => row.refundId === null && row.state !== 'resolved')
  const locked = rows.map((row) => ({ ...row, isHeld }))
  const exception = locked.find((row) => row.id === id)
  if (!exception) throw new Error(`Exception ${id} is gone`)
  const isOpenRefund = (row: LockedException) => row.kind === 'foreign_refund' && row.state === 'open'
  return { exception, refunds: exception.refundId !== null ? [] : locked.filter(isOpenRefund) }
}
