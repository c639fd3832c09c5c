import type { Cents } from '../../base/money.ts'
import { columnsOf } from '../../db/insert-rows.ts'
import { hexId } from '../../db/sql-values.ts'
import { transact, type Tx } from '../../db/tx.ts'
import { overridesColumn } from '../accounts/terms.ts'
import { SYSTEM } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { termsFor, type Terms, type TermsOverrides } from '../core/terms.ts'
import { markDecided, openRefundException } from '../exceptions/exception-states.ts'
import { tellReleased } from '../deposits/held-events.ts'
import { holdBalances, type LedgerKey } from '../ledger/ledger.ts'
import { WHOLE_REFUND, wholeRefundOf, type ProviderRefund, type ReceivedPayment } from '../ports/provider.ts'
import { chargeAccount, type Borne } from './charge-account.ts'
import { recordRefunded, recordReversed } from './refund-events.ts'
import {
  isReversal,
  recordExternalRefund,
  UNDONE_JOINS,
  type ExternalRefund,
  type Refund,
  type Reversal,
} from './refund-states.ts'

export type Reporting = Pick<ReceivedPayment, 'provider' | 'endToEndId'> & { refunds: ProviderRefund[] }

/** One refund that a provider lists, beside the last of ours of that id that did not FAIL. */
type Report = Omit<ExternalRefund, 'exceptionId' | 'undoneExceptionId'> & {
  status: 'done' | 'failed'
  isWhole: boolean
  refundId: string | null
  refundStatus: 'PROCESSING' | 'DONE' | null
}

/**
 * Providers list the refunds of a payment. One of ours that ended there is checked now and not when it is due. One that
 * was made without us, by the bank or in its own interface, is booked once it is done. Of a credited payment it is a
 * reversal, which the terms of the account may charge to it at once. So is booked one of ours that FAILED and was made
 * after all: its reserved money was released, and cannot be taken again without asking. Reports may be repeated.
 *
 * A list that calls a DONE refund failed, or an undone one done, is not believed: the refund gets a check, and the
 * provider's answer about it alone is booked. See refund-checks.ts.
 *
 * A transaction of its own and not settle()'s: it locks charges, which come before the balances that settle() holds.
 */
export async function recordExternalRefunds(core: Core, payments: Reporting[]): Promise<void> {
  const reporting = payments.filter((payment) => payment.refunds.some((refund) => refund.status !== 'processing'))
  if (reporting.length === 0) return
  const { terms } = core.settings
  const opened = await transact(core.pool, (tx) => recordReports(tx, core.now(), reporting, terms))
  core.wakeDeliveries()
  core.metrics.exceptionsOpened.inc({ kind: 'foreign_refund' }, opened)
}

/** What a payment tells of its refunds. One that is refunded whole, without an id, tells of that refund. */
export function reportOf(payment: ReceivedPayment): Reporting {
  const { provider, endToEndId, givenBack, refunds } = payment
  const whole = givenBack === 'all' ? wholeRefundOf(payment) : undefined
  return { provider, endToEndId, refunds: refunds ?? (whole ? [whole] : []) }
}

/** Resolves to how many exceptions it opened. */
async function recordReports(tx: Tx, now: Date, payments: Reporting[], terms: Terms): Promise<number> {
  const { reports, exceptions } = await lockReports(tx, payments)
  await makeDue(tx, now, reports)
  await enqueueRefundChecks(tx, now, reports)
  const foreign = foreignOf(reports)
  if (foreign.length === 0) return 0
  await holdTouched(tx, foreign)
  let opened = 0
  for (const report of foreign) {
    const exceptionId = report.isWhole ? (exceptions.get(report.paymentId) ?? null) : null
    // An exception holds its payment's money once: a second refund of all of it is missing money.
    if (exceptionId !== null) exceptions.delete(report.paymentId)
    if (await bookForeign(tx, now, { ...report, exceptionId, undoneExceptionId: null }, terms)) opened++
  }
  return opened
}

/**
 * True if an exception was opened for it, also one that is resolved at once because the account is charged. The caller
 * holds the locks of the charge and of the exceptions. `terms` are those of the deployment.
 */
export async function bookForeign(tx: Tx, now: Date, seen: ExternalRefund, terms: Terms): Promise<boolean> {
  await holdTouched(tx, [seen])
  const refund = await recordExternalRefund(tx, now, seen)
  if (!refund) return false
  let borne: Borne | undefined
  if (seen.exceptionId === null) {
    const exceptionId = await openRefundException(tx, now, 'foreign_refund', refund)
    if (exceptionId === undefined) throw new Error(`Refund ${refund.id} is an exception already`)
    if (isReversal(refund)) borne = await chargeByTerms(tx, now, refund, exceptionId, terms)
  } else {
    // Money from suspense that is back with its payer leaves nothing to decide.
    await resolveRefunded(tx, now, seen.exceptionId, refund)
    await tellReleased(tx, now, seen.exceptionId)
    borne = { chargedCents: 0, owedCents: 0 }
  }
  if (isReversal(refund)) await recordReversed(tx, now, refund, borne)
  else await recordRefunded(tx, now, refund)
  return seen.exceptionId === null
}

const CHARGED_BY_TERMS = 'the bank returned the payment, and the terms of the account charge it for that'

/** Undefined if the terms leave it to an operator. */
async function chargeByTerms(
  tx: Tx,
  now: Date,
  refund: Reversal,
  exceptionId: string,
  terms: Terms,
): Promise<Borne | undefined> {
  const { id: refundId, chargeId } = refund
  const { accountId, overrides } = await tx.one<{ accountId: string; overrides: TermsOverrides }>(
    `select a.id as "accountId", ${overridesColumn('a')} as overrides
     from charges c join accounts a on a.id = c.account_id where c.id = $1`,
    [chargeId],
  )
  if (termsFor(terms, overrides).reversalPolicy === 'operator') return undefined
  const decided = { exceptionId, actor: SYSTEM, reason: CHARGED_BY_TERMS }
  return chargeAccount(tx, now, { ...refund, ...decided, accountId, refundId, isReversal: true })
}

/** All balances that these may move, so that they are locked in the one order. */
async function holdTouched(tx: Tx, seen: Pick<ExternalRefund, 'provider' | 'chargeId'>[]): Promise<void> {
  const cash = seen.map(({ provider }): LedgerKey => ({ kind: 'cash', provider }))
  const accounts = await tx.rows<{ accountId: string }>(
    'select distinct account_id as "accountId" from charges where id = any($1)',
    [seen.flatMap(({ chargeId }) => chargeId ?? [])],
  )
  const balances = accounts.map(({ accountId }): LedgerKey => ({ kind: 'balance', accountId }))
  await holdBalances(tx, [...cash, ...balances, { kind: 'missing' }, { kind: 'suspense' }])
}

type Returned = Pick<ExternalRefund, 'paymentId' | 'chargeId' | 'provider' | 'exceptionId'> & { paidCents: Cents }

/** Locks the charge and the open exception of a payment that may be given back, in the order of refund-states.ts. */
export async function lockReturned(
  tx: Tx,
  payment: Pick<ExternalRefund, 'paymentId' | 'chargeId' | 'provider' | 'amountCents'>,
): Promise<Returned> {
  const { paymentId, chargeId, provider, amountCents: paidCents } = payment
  await lockCharges(tx, [payment])
  const exceptionId = (await lockOpenExceptions(tx, [payment])).get(paymentId) ?? null
  return { paymentId, chargeId, provider, exceptionId, paidCents }
}

/**
 * Books that a payer got this much of a payment back by a dispute, less what went back or will by other refunds: a Pix
 * is never given back beyond its amount, and a provider that only says that all of it went back may have said so
 * before. One that returned all has the name by which such a provider tells of it later.
 */
export async function bookReturn(
  tx: Tx,
  now: Date,
  { paidCents, disputeId, exceptionId, ...returned }: Returned & { disputeId: string; amountCents: Cents },
  terms: Terms,
): Promise<void> {
  const { leftCents } = await tx.one<{ leftCents: Cents }>(
    `select $2 - coalesce(sum(r.amount_cents), 0)::bigint as "leftCents"
     from refunds r left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
     where r.payment_id = $1 and r.status <> 'FAILED' and u.id is null`,
    [returned.paymentId, paidCents],
  )
  const amountCents = Math.min(returned.amountCents, leftCents)
  if (amountCents <= 0) return
  const isWhole = amountCents === paidCents
  const providerRefundId = isWhole ? WHOLE_REFUND : `dispute-${disputeId}`
  const seen = { ...returned, amountCents, providerRefundId, nature: 'fraud', undoneExceptionId: null } as const
  await bookForeign(tx, now, { ...seen, exceptionId: isWhole ? exceptionId : null }, terms)
}

/** In the order of locks of refund-states.ts. Exceptions are open ones, by payment. */
async function lockReports(tx: Tx, payments: Reporting[]) {
  const reports = await readReports(tx, payments)
  const foreign = foreignOf(reports)
  await lockCharges(tx, foreign)
  const exceptions = await lockOpenExceptions(tx, foreign)
  if (foreign.every((report) => report.chargeId !== null)) return { reports, exceptions }
  // A payment may have been matched to its charge while we waited for its exception. That is rare, and transact()
  // repeats after a deadlock on the charge's lock.
  const after = await readReports(tx, payments)
  await lockCharges(tx, foreignOf(after))
  return { reports: after, exceptions }
}

function foreignOf(reports: Report[]): Report[] {
  return reports.filter((report) => report.refundId === null && report.status === 'done')
}

async function lockCharges(tx: Tx, reports: Pick<Report, 'chargeId'>[]): Promise<void> {
  const charges = reports.flatMap((report) => report.chargeId ?? [])
  await tx.run('select from charges where id = any($1) order by id for no key update', [charges])
}

function resolveRefunded(tx: Tx, now: Date, exceptionId: string, refund: Refund): Promise<void> {
  const { providerRefundId, amountCents, id: refundId } = refund
  return markDecided(tx, now, {
    exceptionId,
    how: 'refund',
    accountId: null,
    actor: SYSTEM,
    reason: `the provider refunded it without a request from us (refund ${providerRefundId})`,
    resolvedAt: now,
    details: { how: 'refund', amountCents, refundId },
  })
}

async function lockOpenExceptions(tx: Tx, reports: Pick<Report, 'paymentId'>[]): Promise<Map<string, string>> {
  const rows = await tx.rows<{ id: string; payment_id: string }>(
    `select ${hexId('x.id')} as id, payment_id from exceptions x
     where payment_id = any($1) and refund_id is null and resolution is null
     order by x.id for no key update`,
    [reports.map((report) => report.paymentId)],
  )
  return new Map(rows.map((row) => [row.payment_id, row.id]))
}

/** The worker asks about ours that are PROCESSING. */
async function makeDue(tx: Tx, now: Date, reports: Report[]): Promise<void> {
  const processing = reports.filter((report) => report.refundStatus === 'PROCESSING')
  await tx.run(
    `update refunds set due_at = least(due_at, $2) where id in (
       select id from refunds where id = any($1) and status = 'PROCESSING' order by id for no key update
     )`,
    [processing.map((report) => report.refundId), now],
  )
}

/** Due at once, also if the check is just being answered: its answer may be older than this report. */
async function enqueueRefundChecks(tx: Tx, now: Date, reports: Report[]): Promise<void> {
  const contradicted = reports.filter((report) => report.refundStatus === 'DONE')
  if (contradicted.length === 0) return
  await tx.run(
    `insert into refund_checks (refund_id, due_at) select distinct id, $2::timestamptz from unnest($1::uuid[]) as id
     order by id
     on conflict (refund_id) do update set due_at = least(refund_checks.due_at, $2)`,
    [contradicted.map((report) => report.refundId), now],
  )
}

/**
 * Those that we do not have, or have as FAILED; those that are PROCESSING with us; and those that are DONE with us and
 * called failed, or undone with us and called done. A refund without an id may be one of ours. So it is new only to a
 * payment that was never credited and of which our books have no refund; comparisons name the others.
 */
function readReports(tx: Tx, payments: Reporting[]): Promise<Report[]> {
  const reported = payments.flatMap(({ provider, endToEndId, refunds }) =>
    refunds.map((refund) => ({ provider, endToEndId, nature: null, ...refund })),
  )
  return tx.rows(
    `select
       p.id as "paymentId",
       case when p.credited then ${hexId('p.charge_id')} end as "chargeId",
       p.provider,
       n.refund_id as "providerRefundId",
       n.amount_cents as "amountCents",
       n.status,
       n.nature,
       ${hexId('r.id')} as "refundId",
       r.status as "refundStatus",
       n.amount_cents = p.amount_cents as "isWhole"
     from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[])
       as n (provider, end_to_end_id, refund_id, amount_cents, status, nature)
     join payments p on p.provider = n.provider and p.end_to_end_id = n.end_to_end_id
     left join refunds r on r.payment_id = p.id and r.provider_refund_id = n.refund_id and r.status <> 'FAILED'
     ${UNDONE_JOINS}
     where n.status <> 'processing' and again.id is null
       and (r.id is null or r.status = 'PROCESSING' or (n.status = 'failed') = (u.id is null))
       and (n.refund_id <> $7 or r.id is not null or not (p.credited or exists (
         select from refunds o where o.payment_id = p.id and o.status <> 'FAILED'
       )))
     order by p.id, n.refund_id`,
    [...columnsOf(reported, 'provider', 'endToEndId', 'refundId', 'amountCents', 'status', 'nature'), WHOLE_REFUND],
  )
}
