import { hexFromUuid } from '../../base/ids.ts'
import { transact, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { writeAudit, SYSTEM } from '../core/audit-log.ts'
import { markDecided, openForeignRefund } from '../deposits/exception-states.ts'
import { holdBalances, type LedgerKey } from '../ledger/ledger.ts'
import type { ReceivedPayment } from '../ports/provider.ts'
import { recordSeenRefund, undoRefund, type Refund, type SeenRefund } from './refund-states.ts'

/** A payment as the provider tells of it, as far as it matters here. */
export type Reporting = Pick<ReceivedPayment, 'provider' | 'endToEndId' | 'refunds'>

type Report = Omit<SeenRefund, 'exceptionId'> & {
  status: 'done' | 'failed'
  /** Of one that is in the books and did not fail. */
  refundId: string | null
  refundStatus: 'PROCESSING' | 'DONE' | null
  isWhole: boolean
}

/**
 * Providers list with a payment what was given back of it. One of ours that ended there is asked about now instead of when it is due. One that we did not ask
 * for (made at the bank's own window, or taken back by a bank for fraud) is booked once it is done. So is one of ours that had failed and was made after all:
 * its money is back where it came from, and cannot be taken again without asking. One that was done and that the provider now calls failed is undone: its
 * money is at the provider again. Whoever learns of such payments hands them in, as often as they like.
 *
 * A transaction of its own and not settle()'s: it locks charges, which come before the balances that settle() holds in the end.
 */
export async function recordExternalRefunds({ pool, now, metrics }: Core, payments: Reporting[]): Promise<void> {
  const reporting = payments.filter((payment) => payment.refunds?.some((refund) => refund.status !== 'processing'))
  if (reporting.length === 0) return
  const opened = await transact(pool, (tx) => recordReports(tx, now(), reporting))
  metrics.exceptionsOpened.inc({ kind: 'foreign_refund' }, opened.foreign)
  metrics.exceptionsOpened.inc({ kind: 'undone_refund' }, opened.undone)
}

/** How many exceptions it opened. */
async function recordReports(tx: Tx, now: Date, payments: Reporting[]): Promise<{ foreign: number; undone: number }> {
  const { reports, open } = await lockReports(tx, payments)
  const { foreign, undone, moving } = sorted(reports)
  const underWay = reports.filter((report) => report.refundStatus === 'PROCESSING')
  await hastenRefunds(
    tx,
    now,
    underWay.map((report) => report.refundId!),
  )
  const opened = { foreign: 0, undone: 0 }
  if (moving.length === 0) return opened
  const cash = moving.map(({ provider }): LedgerKey => ({ kind: 'cash', provider }))
  await holdBalances(tx, [...cash, { kind: 'missing' }, { kind: 'suspense' }])
  // Rare, so one after another.
  for (const report of foreign) {
    const exceptionId = report.isWhole ? (open.get(report.paymentId) ?? null) : null
    // An exception holds its payment's money once: a second refund of the whole of it is money that is missing.
    if (exceptionId !== null) open.delete(report.paymentId)
    const refund = await recordSeenRefund(tx, now, { ...report, exceptionId })
    if (refund) await noteSeen(tx, now, refund)
    if (refund && exceptionId === null) opened.foreign++
  }
  for (const { refundId } of undone) if (await undoRefund(tx, now, hexFromUuid(refundId!))) opened.undone++
  return opened
}

/** In the order in which refunds lock, see refund-life.ts. */
async function lockReports(tx: Tx, payments: Reporting[]): Promise<{ reports: Report[]; open: Map<string, string> }> {
  const reports = await readReports(tx, payments)
  await lockCharges(tx, sorted(reports).moving)
  const { foreign } = sorted(reports)
  const open = await lockOpenExceptions(tx, foreign)
  if (foreign.every((report) => report.chargeId !== null)) return { reports, open }
  // A payment may have been matched to its charge while we waited for its exception. That is rare, and a deadlock that its charge's lock would bring is
  // tried again.
  const after = await readReports(tx, payments)
  await lockCharges(tx, sorted(after).moving)
  return { reports: after, open }
}

function sorted(reports: Report[]): { foreign: Report[]; undone: Report[]; moving: Report[] } {
  const foreign = reports.filter((report) => report.refundId === null && report.status === 'done')
  const undone = reports.filter((report) => report.refundStatus === 'DONE')
  return { foreign, undone, moving: [...foreign, ...undone] }
}

async function lockCharges(tx: Tx, reports: Report[]): Promise<void> {
  const charges = reports.flatMap((report) => report.chargeId ?? [])
  await tx.run('select from charges where id = any($1) order by id for no key update', [charges])
}

/** Money that was nobody's and went back to its payer leaves nothing to decide. Anything else does. */
async function noteSeen(tx: Tx, now: Date, refund: Refund): Promise<void> {
  if (refund.exceptionId === null) return openForeignRefund(tx, now, refund)
  const decided = { exceptionId: refund.exceptionId, how: 'refund', accountId: null, actor: SYSTEM } as const
  const reason = `the provider gave it back by itself (refund ${refund.providerRefundId})`
  await markDecided(tx, { ...decided, reason, resolvedAt: now })
  await writeAudit(tx, now, SYSTEM, {
    action: 'exception.resolved',
    subject: `exception ${refund.exceptionId}`,
    accountId: null,
    reason,
    details: { how: 'refund', amountCents: refund.amountCents, refundId: refund.id },
  })
}

/** By payment. */
async function lockOpenExceptions(tx: Tx, reports: Report[]): Promise<Map<string, string>> {
  const rows = await tx.rows<{ id: string; payment_id: string }>(
    `select id, payment_id from exceptions
     where payment_id = any($1) and refund_id is null and resolution is null order by id for no key update`,
    [reports.map((report) => report.paymentId)],
  )
  return new Map(rows.map((row) => [row.payment_id, row.id]))
}

/** The worker that follows it looks again. */
async function hastenRefunds(tx: Tx, now: Date, refundIds: string[]): Promise<void> {
  await tx.run(
    `update refunds set due_at = least(due_at, $2) where id in (
       select id from refunds where id = any($1) and status = 'PROCESSING' order by id for no key update
     )`,
    [refundIds, now],
  )
}

/** Those that we do not have, or have as FAILED; those that are PROCESSING with us; and those that are DONE with us, called failed, and not undone yet. */
async function readReports(tx: Tx, payments: Reporting[]): Promise<Report[]> {
  const reported = payments.flatMap(({ provider, endToEndId, refunds = [] }) =>
    refunds.map((refund) => ({ provider, endToEndId, ...refund })),
  )
  return tx.rows(
    `select p.id as "paymentId", case when p.credited then p.charge_id end as "chargeId", p.provider,
       n.refund_id as "providerRefundId", n.amount_cents as "amountCents", n.status, r.id as "refundId",
       r.status as "refundStatus", n.amount_cents = p.amount_cents as "isWhole"
     from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])
       as n (provider, end_to_end_id, refund_id, amount_cents, status)
     join payments p on p.provider = n.provider and p.end_to_end_id = n.end_to_end_id
     left join refunds r on r.payment_id = p.id and r.provider_refund_id = n.refund_id and r.status <> 'FAILED'
     left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
     where n.status <> 'processing' and (r.id is null or r.status = 'PROCESSING' or (n.status = 'failed' and u.id is null))
     order by p.id, n.refund_id`,
    [
      reported.map((one) => one.provider),
      reported.map((one) => one.endToEndId),
      reported.map((one) => one.refundId),
      reported.map((one) => one.amountCents),
      reported.map((one) => one.status),
    ],
  )
}
