import { Fault } from '../../base/fault.ts'
import { hexId } from '../../db/sql-values.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import type { Terms } from '../core/terms.ts'
import { retryAt } from '../deposits/checks/check-queue.ts'
import { ProviderError, providerNamed } from '../ports/provider.ts'
import { bookForeign } from './external-refunds.ts'
import { REFUND_COLUMNS, REFUND_JOINS, undoRefund, type Refund, type RefundEnd } from './refund-states.ts'
import { lookUpRefund, refundLease, type ClaimedRefund } from './run-refund.ts'

// A list called a DONE refund failed, or an undone one done. Lists lag and may be wrong for a moment, and money that an
// operator has credited on their word may be spent. So the provider is asked about the refund by itself, until it says
// done or failed, and only that answer is booked.

/** Any number of processes may claim at once: each check goes to one of them, until its lease ends. */
export async function claimRefundChecks(core: Core, limit: number): Promise<ClaimedRefund[]> {
  const leasedUntil = refundLease(core.now())
  const rows = await query<Refund & { attempts: number }>(
    core.pool,
    `with k as (
       update refund_checks set due_at = $2, attempts = attempts + 1
       where refund_id in (
         select refund_id from refund_checks where due_at <= $1 order by due_at limit $3 for update skip locked
       )
       returning refund_id, attempts
     )
     select k.attempts, ${REFUND_COLUMNS} from k join refunds r on r.id = k.refund_id ${REFUND_JOINS}`,
    [core.now(), leasedUntil, limit],
  )
  return rows.map(({ attempts, ...refund }) => ({ refund, leasedUntil, attempts }))
}

/** An answer that is neither done nor failed decides nothing, and the check is due again. */
export async function answerRefundCheck(ctx: Context, check: ClaimedRefund): Promise<void> {
  const { id: refundId, provider } = check.refund
  try {
    const outcome = await lookUpRefund(providerNamed(ctx, provider), check.refund)
    if (outcome.kind === 'ended') return await bookAnswer(ctx, check, outcome.end)
    if (outcome.kind !== 'processing') throw outcome.error
  } catch (err) {
    const isExpected = err instanceof ProviderError || err instanceof Fault
    const fields = { err, refundId, provider, attempts: check.attempts }
    ctx.log[isExpected ? 'warn' : 'error'](fields, 'a refund that its provider contradicts could not be checked')
  }
  await putOff(ctx, check)
}

async function bookAnswer(core: Core, check: ClaimedRefund, end: RefundEnd): Promise<void> {
  const { id: refundId, provider } = check.refund
  const booked = await transact(core.pool, (tx) => applyAnswer(tx, core.now(), check, end, core.settings.terms))
  if (booked === 'foreign_refund' || booked === 'undone_refund') core.metrics.exceptionsOpened.inc({ kind: booked })
  if (booked === 'overtaken') return
  if (booked !== 'known') return core.wakeDeliveries()
  const fields = { refundId, provider, status: end.status }
  core.log.warn(fields, 'a provider contradicted itself about a refund; asked about it by itself, it agrees with us')
}

/** 'known': our books say the same. 'refunded': before anybody decided. 'overtaken': the lease is over. */
async function applyAnswer(tx: Tx, now: Date, check: ClaimedRefund, { status }: RefundEnd, terms: Terms) {
  const { paymentId, chargeId, provider, providerRefundId, amountCents, nature, id } = check.refund
  await tx.run('select from charges where id = $1 for no key update', [chargeId])
  const undone = await lockUndone(tx, check.refund)
  if (!(await endCheck(tx, check))) return 'overtaken'
  if ((status === 'failed') === (undone !== undefined)) return 'known'
  if (!undone) return (await undoRefund(tx, now, id)) ? 'undone_refund' : 'known'
  const exceptionId = undone.is_open ? undone.id : null
  const seen = { paymentId, chargeId, provider, providerRefundId, amountCents, nature }
  const isOpened = await bookForeign(tx, now, { ...seen, exceptionId, undoneExceptionId: undone.id }, terms)
  return isOpened ? 'foreign_refund' : 'refunded'
}

async function lockUndone(tx: Tx, { id }: Refund): Promise<{ id: string; is_open: boolean } | undefined> {
  const [undone] = await tx.rows<{ id: string; is_open: boolean }>(
    `select ${hexId('id')} as id, resolution is null as is_open from exceptions
     where refund_id = $1 and kind = 'undone_refund' for no key update`,
    [id],
  )
  return undone
}

/** False if the lease is over, or a report arrived since the provider was asked. */
async function endCheck(tx: Tx, { refund, leasedUntil }: ClaimedRefund): Promise<boolean> {
  const sql = 'delete from refund_checks where refund_id = $1 and due_at = $2'
  return (await tx.run(sql, [refund.id, leasedUntil])) === 1
}

async function putOff(core: Core, { refund, leasedUntil, attempts }: ClaimedRefund): Promise<void> {
  const sql = 'update refund_checks set due_at = $3 where refund_id = $1 and due_at = $2'
  await query(core.pool, sql, [refund.id, leasedUntil, retryAt(core.now(), attempts)])
}
