import { expect } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { booksOptions } from '../src/domain/audit/audit.ts'
import { auditBooks, type Difference } from '../src/domain/audit/books.ts'
import type { Actor } from '../src/domain/core/audit-log.ts'
import type { Charge } from '../src/domain/deposits/charge-reads.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import type { Refund } from '../src/domain/refunds/refund-states.ts'
import { requestRefund, type RefundRequest } from '../src/domain/refunds/request-refund.ts'
import { transactOrders } from '../src/domain/deposits/order-locks.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { until, type TestAccount, type World } from './world.ts'

// Steps that the tests of refunds and exceptions share.

export const OPERATOR: Actor = { kind: 'console', name: 'ana' }

/** A deposit that was paid and credited. */
export async function completedCharge(
  w: World,
  options: { valueCents?: number; account?: TestAccount } = {},
): Promise<{ charge: Charge; payment: ReceivedPayment; account: TestAccount }> {
  const paid = await w.paidCharge(options)
  await settleAll(w, [paid.payment])
  return paid
}

export function settleAll(w: World, payments: ReceivedPayment[]) {
  return transactOrders(w.ctx, (tx, open) => settle(tx, w.clock.now(), payments, open))
}

/** A Pix that belongs to no charge, at the bank and in the books. */
export async function strayPayment(w: World, amountCents = 7_00): Promise<ReceivedPayment> {
  const txid = 'f'.repeat(32)
  const { pix } = await w.sandbox.pay({ txid, amountCents })
  const payment = {
    provider: 'sandbox',
    endToEndId: pix[0]!.endToEndId,
    txid,
    amountCents,
    occurredAt: new Date(pix[0]!.horario),
  }
  await settleAll(w, [payment])
  return payment
}

/** Requests a refund as an operator, unless `request` says otherwise. */
export async function refund(w: World, charge: Charge, request: Partial<RefundRequest> = {}): Promise<Refund> {
  const whole = { accountId: null, paymentLinkId: charge.paymentLinkId, amountCents: null, reason: null }
  return (await requestRefund(w.ctx, OPERATOR, { ...whole, idempotencyKey: null, ...request })).refund
}

/** Lets the bank finish a refund, and the worker learn of it. */
export async function followToEnd(w: World, { endToEndId, id }: Pick<Refund, 'endToEndId' | 'id'>): Promise<void> {
  await untilMade(w, { endToEndId, refundId: id })
  w.clock.advance(10 * 60_000 - BANK_TAKES_MS)
  await runDueRefunds(w.ctx)
}

// How long the sandbox takes for a refund, by the clock of the test.
const BANK_TAKES_MS = 200

/** Lets the bank take its time, and checks that it made the refund. */
export async function untilMade(w: World, question: { endToEndId: string; refundId: string }): Promise<void> {
  w.clock.advance(BANK_TAKES_MS)
  expect(await w.ctx.providers[0]!.checkRefund(question)).toMatchObject({ status: 'done' })
}

/** The bank takes back what it refunded of a payment, or makes it again. The service learns of it and asks. */
export async function changeMind(w: World, endToEndId: string, mind: 'take back' | 'make again'): Promise<void> {
  await w.sandbox.faults({ refundsFailed: mind === 'take back' })
  await hearOf(w, endToEndId)
}

/** Learns what the bank says of a payment, as after a notification. */
export async function hearOf(w: World, endToEndId: string): Promise<void> {
  const payment = await w.ctx.providers[0]!.findPayment(endToEndId)
  if (payment !== 'absent') await w.ctx.settlements.add([payment])
  await runDueRefunds(w.ctx)
}

/** Changes how the provider answers from now on. */
export function changeProvider(w: World, changes: Partial<Provider>): void {
  w.ctx.providers[0] = { ...w.ctx.providers[0]!, ...changes }
}

/** A refund that the bank made by itself, without a request of ours. */
export async function refundAtBank(w: World, endToEndId: string, amountCents: number): Promise<string> {
  const refundId = `bank${Math.random().toString(36).slice(2)}`
  await w.ctx.providers[0]!.refund({ endToEndId, refundId, amountCents })
  await untilMade(w, { endToEndId, refundId })
  return refundId
}

/** Waits until exactly this many sessions wait for a lock. */
export function untilWaiting(w: World, count: number): Promise<boolean> {
  const waiting = `datname = current_database() and wait_event_type = 'Lock'`
  return until(`${count} wait`, async () => (await w.count('pg_stat_activity', waiting)) === count)
}

/** What the ledger accounts of each kind hold, in cents. Cash is as the provider sees it. */
export async function holdings(w: Pick<World, 'pool'>): Promise<Record<string, number>> {
  const { rows } = await w.pool.query<{ kind: string; cents: number }>(
    `select l.kind, (case l.kind when 'cash' then -1 else 1 end * sum(b.credits_cents - b.debits_cents))::bigint as cents
     from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id group by 1`,
  )
  return Object.fromEntries(rows.filter((row) => row.cents !== 0).map((row) => [row.kind, row.cents]))
}

/** What the audit finds in the books alone, whatever the bank says. */
export async function bookDifferences(w: World): Promise<Difference[]> {
  const options = await booksOptions(w.ctx)
  return (await transact(w.pool, (tx) => auditBooks(tx, options), { isolation: 'repeatable read' })).differences
}

/** A request for a refund of the whole deposit. */
export function wholeOf(charge: { paymentLinkId: string }) {
  return { accountId: null, paymentLinkId: charge.paymentLinkId, amountCents: null, reason: null, idempotencyKey: null }
}

export async function stateOf(w: World, chargeId: string) {
  const { rows } = await w.pool.query('select status, refunded_cents from charges where id = $1', [chargeId])
  return rows[0]
}

/** The bank's own list of the hours around now. */
export async function listed(w: World): Promise<ReceivedPayment[]> {
  const window = {
    from: new Date(w.clock.now().getTime() - 3_600_000),
    to: new Date(w.clock.now().getTime() + 3_600_000),
  }
  const payments: ReceivedPayment[] = []
  for await (const page of w.ctx.providers[0]!.listReceived(window)) payments.push(...page)
  return payments
}
