import { query, transact } from '../src/db/tx.ts'
import { setAccountTerms } from '../src/domain/accounts/terms.ts'
import { suspendAccount } from '../src/domain/accounts/accounts.ts'
import { recordFailed, type Attempt } from '../src/domain/webhooks/attempts.ts'
import { claimDeliveries, recordDelivered } from '../src/domain/webhooks/delivery-queue.ts'
import { refreshDailyTotals } from '../src/domain/reports/daily-totals.ts'
import type { PayerPolicy } from '../src/domain/core/payers.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { closeCode, ensureCode, type Code, type CodeLimits } from '../src/domain/deposits/codes.ts'
import { actorOf } from '../src/domain/accounts/callers.ts'
import { openDeposit } from '../src/domain/deposits/open-deposit.ts'
import { listExceptions, type ExceptionKind } from '../src/domain/refunds/exceptions.ts'
import { noteException } from '../src/domain/refunds/exception-notes.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import type { Resolution } from '../src/domain/exceptions/exception-states.ts'
import { beginSeals } from '../src/domain/core/seal-as-found.ts'
import { endRefund } from '../src/domain/refunds/refund-states.ts'
import { REFUND_ABSENT_MS } from '../src/domain/refunds/run-refund.ts'
import { payPayout, rejectPayout, requestPayout } from '../src/domain/payouts/payouts.ts'
import { endDispute } from '../src/domain/disputes/dispute-states.ts'
import { recordDisputeHints } from '../src/domain/disputes/dispute-checks.ts'
import { giveEvidence } from '../src/domain/disputes/evidence.ts'
import { endUndecided } from '../src/domain/refunds/request-refund.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { checkDue } from '../src/workers/check.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { signHead } from '../src/domain/history/heads.ts'
import { makeNumberingMemory, numberPending } from '../src/domain/history/number-pending.ts'
import { contest } from './dispute-steps.ts'
import { makeOperator } from './operators-client.ts'
import { sweepAll } from './reconcile-bank.ts'
import {
  changeMind,
  completedCharge,
  followToEnd,
  OPERATOR,
  refund,
  refundAtBank,
  strayPayment,
} from './refund-steps.ts'
import { world, type TestAccount, type World } from './world.ts'

const HOUR_MS = 3_600_000
const TERMS = { feeBps: 150, feeFixedCents: 7 }

/**
 * Books with one of everything. Deposits are paid, paid late, paid wrong, paid twice, canceled, expired and open.
 * Refunds are done, failed, under way and made at the bank. Payouts are open, paid and rejected, disputes open and
 * rejected. There are exceptions of each kind, open and resolved in each way, webhooks that were reached and not,
 * closed days, terms, and a debt.
 */
export async function makeHistory(): Promise<{ w: World; victim: string; eve: string; debtor: string }> {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const [victim, eve, idle, debtor] = [await w.account(), await w.account(), await w.account(), await w.account()]
  await makeOperator(w)
  await beginSeals(w.ctx)
  await setAccountTerms(w.ctx, OPERATOR, victim.accountId, { ...TERMS, reversalPolicy: 'operator' }, 'as agreed')
  await suspendAccount(w.ctx, OPERATOR, idle.accountId, 'has left')
  for (const account of [victim, eve]) await addWebhook(w, account)
  w.clock.advance(60_000)
  await makeDeposits(w, victim, eve)
  await makeRefunds(w, victim)
  await makePayouts(w, victim)
  await makeDebt(w, debtor)
  await makeDisputes(w, victim)
  await makeExceptions(w, victim)
  await makeCodes(w, victim, eve)
  await makePayers(w, victim)
  const [noted] = (await listExceptions(w.ctx, { limit: 1 })).exceptions
  for (const text of ['the payer called', 'and called again']) await noteException(w.ctx, OPERATOR, noted!.id, text)
  await deliver(w, eve)
  await sweepAll(w)
  w.clock.advance(50 * HOUR_MS)
  await sweepAll(w)
  await refreshDailyTotals(w.ctx, null)
  // These charges stay open.
  for (const [account, externalId] of [[victim, 'open-1'] as const, [eve, 'open-2'] as const]) {
    const asked = { valueCents: 50_00, externalId, description: 'order', expiresInSeconds: null }
    await openDeposit(w.ctx, account.caller, asked, `key ${externalId}`)
  }
  const memory = makeNumberingMemory()
  while ((await numberPending(w.ctx, memory)) !== 'idle');
  await signHead(w.ctx)
  return { w, victim: victim.accountId, eve: eve.accountId, debtor: debtor.accountId }
}

/** A deposit was paid out, and the bank returned it. Another one paid a part of the debt. */
async function makeDebt(w: World, account: TestAccount): Promise<void> {
  const { payment } = await completedCharge(w, { account })
  const wanted = { accountId: account.accountId, valueCents: 30_00, note: null, idempotencyKey: null }
  const { payout } = await requestPayout(w.ctx, OPERATOR, wanted)
  await payPayout(w.ctx, OPERATOR, payout.id, { reference: 'E3' })
  await w.sandbox.reverse({ endToEndId: payment.endToEndId })
  w.clock.advance(60_000)
  await settleListed(w)
  await completedCharge(w, { account, valueCents: 10_00 })
}

/** A code whose limits changed, with a held payment that was credited, and a closed one that holds a payment. */
async function makeCodes(w: World, victim: TestAccount, eve: TestAccount): Promise<void> {
  const limits = { description: null, minValueCents: null, maxValueCents: null }
  const ensure = async ({ caller }: TestAccount, externalId: string, given: Partial<CodeLimits> = {}) => {
    const wanted = { ...limits, ...given, accountId: caller.accountId, externalId }
    return (await ensureCode(w.ctx, actorOf(caller), wanted)).code
  }
  const payCode = async ({ emv }: Code, amountCents: number) => {
    await w.sandbox.pay({ emv, amountCents })
    w.clock.advance(2 * 60_000)
    await settleListed(w)
  }
  const code = await ensure(victim, 'customer-1', { maxValueCents: 500_00 })
  await payCode(code, 43_00)
  await ensure(victim, 'customer-1', { maxValueCents: 400_00 })
  for (const cents of [44_00, 450_00]) await payCode(code, cents)
  await resolve(w, 'code_limits', { how: 'credit', accountId: victim.accountId })
  await payCode(await ensure(eve, 'customer-1'), 45_00)
  const closed = await ensure(victim, 'customer-2')
  await closeCode(w.ctx, OPERATOR, victim.accountId, 'customer-2')
  await payCode(closed, 46_00)
}

/** The bank says after a minute that another person paid. Of the last one it says nothing. */
async function makePayers(w: World, victim: TestAccount): Promise<void> {
  const payNamed = async (valueCents: number, policy: PayerPolicy, payer: string) => {
    const named = { kind: 'CPF', number: '12345678909', policy } as const
    const charge = await w.deposit(victim, { valueCents, payer: named, expiresInSeconds: 30 * 86_400 })
    await w.sandbox.pay({ emv: charge.emv, payer })
    await queryDeposit(w.ctx, victim.accountId, charge.paymentLinkId)
  }
  await payNamed(56_00, 'require', '12345678909')
  await payNamed(57_00, 'verify', '98765432100')
  await payNamed(58_00, 'require', '98765432100')
  for (let turn = 0; turn < 10; turn++) {
    await checkDue(w.ctx)
    w.clock.advance(64_000)
  }
  await runDueRefunds(w.ctx)
  await w.sandbox.faults({ payerErrorRate: 1 })
  await payNamed(59_00, 'require', '12345678909')
}

async function addWebhook(w: World, { accountId }: TestAccount): Promise<void> {
  const fields = { name: 'shop', url: 'https://shop.example.com/events', authorization: null }
  await createWebhook(w.ctx, accountId, { ...fields, eventKinds: ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED'] })
}

async function makeDeposits(w: World, victim: TestAccount, eve: TestAccount): Promise<void> {
  for (const [account, shop] of [[victim, 'order'] as const, [eve, 'sale'] as const]) {
    for (const externalId of [`${shop}-1`, `${shop}-2`]) {
      const charge = await w.deposit(account, { externalId, description: 'order', valueCents: 50_00 })
      await pay(w, { txid: charge.id, amountCents: 50_00 })
    }
  }
  await settleListed(w)
  const late = await w.deposit(victim, { externalId: 'order-3', valueCents: 70_00 })
  await w.deposit(victim, { externalId: 'order-4', valueCents: 71_00 })
  const canceled = await w.deposit(victim, { externalId: 'order-5', valueCents: 72_00 })
  await cancelDeposit(w.ctx, victim.accountId, canceled.paymentLinkId)
  w.clock.advance(2 * HOUR_MS)
  await checkDue(w.ctx)
  // The late payment takes the order from this one, which is withdrawn.
  await w.deposit(victim, { externalId: 'order-3', valueCents: 74_00 })
  await pay(w, { txid: late.id, amountCents: 70_00 })
  await settleListed(w)
  await checkDue(w.ctx)
}

async function makeRefunds(w: World, account: TestAccount): Promise<void> {
  const { charge } = await completedCharge(w, { valueCents: 90_00, account })
  const failed = await refund(w, charge, { amountCents: 4_00, idempotencyKey: 'refund-1' })
  await transact(w.pool, (tx) => endRefund(tx, w.clock.now(), failed.id, { status: 'failed', failure: 'no' }))
  await followToEnd(w, await refund(w, charge, { amountCents: 10_00, reason: 'returned' }))
  await followToEnd(w, await refund(w, charge, { amountCents: 20_00 }))
  const ended = await refund(w, charge, { amountCents: 5_00 })
  w.clock.advance(REFUND_ABSENT_MS)
  await endUndecided(w.ctx, OPERATOR, ended.id, { outcome: 'done', reason: 'the bank said so' })
  await flap(w, account)
  await refund(w, charge, { amountCents: 5_00 })
  for (const cents of [1_00, 2_00, 3_00]) await refundAtBank(w, failed.endToEndId, cents)
  await settleListed(w)
  await resolve(w, 'foreign_refund', { how: 'charge_account' })
  await resolve(w, 'foreign_refund', { how: 'write_off' })
}

async function makePayouts(w: World, { accountId }: TestAccount): Promise<void> {
  const ask = async (valueCents: number) => {
    const asked = { accountId, valueCents, note: 'March', idempotencyKey: `payout-${valueCents}` }
    return (await requestPayout(w.ctx, OPERATOR, asked)).payout.id
  }
  await payPayout(w.ctx, OPERATOR, await ask(3_00), { reference: 'E1' })
  await rejectPayout(w.ctx, OPERATOR, await ask(2_00), 'no')
  await ask(1_00)
}

async function makeDisputes(w: World, account: TestAccount): Promise<void> {
  for (const isEnded of [true, false]) {
    const paid = await completedCharge(w, { valueCents: 30_00, account })
    const { id } = await contest(w, paid)
    w.clock.advance(60_000)
    if (isEnded) await transact(w.pool, (tx) => endDispute(tx, w.clock.now(), id, 'REJECTED'))
    else {
      await recordDisputeHints(w.ctx, 'sandbox', [paid.payment.endToEndId])
      const file = { fileName: 'receipt.pdf', content: Buffer.from('%PDF-1.4'), description: 'It came' }
      await giveEvidence(w.ctx, OPERATOR, { accountId: null, disputeId: id }, file)
    }
  }
}

/** A refund that the bank made, took back and made again: once before anybody decided, and once after that. */
async function flap(w: World, account: TestAccount): Promise<void> {
  const { charge } = await completedCharge(w, { valueCents: 91_00, account })
  const made = await refund(w, charge, { amountCents: 6_00 })
  await followToEnd(w, made)
  await changeMind(w, made.endToEndId, 'take back')
  await changeMind(w, made.endToEndId, 'make again')
  await changeMind(w, made.endToEndId, 'take back')
  await resolve(w, 'undone_refund', { how: 'write_off' })
  await changeMind(w, made.endToEndId, 'make again')
  await resolve(w, 'foreign_refund', { how: 'write_off' })
}

async function makeExceptions(w: World, account: TestAccount): Promise<void> {
  const charge = await w.deposit(account, { valueCents: 60_00, expiresInSeconds: 86_400 })
  await pay(w, { txid: charge.id, amountCents: 60_00 })
  await settleListed(w)
  await pay(w, { txid: charge.id, amountCents: 60_00 })
  await settleListed(w)
  await resolve(w, 'second_payment', { how: 'credit', accountId: account.accountId })
  for (const way of [{ how: 'write_off' }, { how: 'refund' }] as const) {
    await strayPayment(w, 7_00)
    await resolve(w, 'unknown_charge', way)
  }
  await strayPayment(w, 8_00)
  for (const way of [{ how: 'match' }, undefined] as const) {
    const other = await w.deposit(account, { valueCents: 61_00 })
    await pay(w, { txid: other.id, amountCents: 62_00 })
    await settleListed(w)
    if (way) await resolve(w, 'wrong_amount', way)
  }
  w.clock.advance(2 * HOUR_MS)
  await checkDue(w.ctx)
}

async function resolve(w: World, kind: ExceptionKind, way: Resolution): Promise<void> {
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', kind, limit: 1 })
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, way, 'because')
  w.clock.advance(60_000)
}

async function pay(w: World, order: { txid: string; amountCents: number }): Promise<void> {
  await w.sandbox.pay({ ...order, force: true })
}

/** Settles whatever the bank has and the books do not. */
async function settleListed(w: World): Promise<void> {
  const window = {
    from: new Date(w.clock.now().getTime() - 24 * HOUR_MS),
    to: new Date(w.clock.now().getTime() + HOUR_MS),
  }
  for await (const page of w.ctx.providers[0]!.listReceived(window)) await w.ctx.settlements.add(page)
  w.clock.advance(60_000)
}

/** Delivers the events. The victim's webhook takes them, and eve's is gone. */
async function deliver(w: World, eve: TestAccount): Promise<void> {
  const claimed = await claimDeliveries(w.ctx, { default: 1_000, named: new Map(), total: 1_000 })
  const rows = await query<{ id: string }>(w.pool, 'select id from webhooks where account_id = $1', [eve.accountId])
  const now = w.clock.now()
  const attempts = claimed.map((delivery): Attempt => {
    const status = delivery.webhookId === rows[0]!.id ? 410 : 200
    return { delivery, at: now, answer: { kind: 'answered', status, latencyMs: 1, retryAfterMs: null, excerpt: '' } }
  })
  const isGone = ({ delivery }: Attempt) => delivery.webhookId === rows[0]!.id
  await recordDelivered(
    w.ctx,
    attempts.filter((attempt) => !isGone(attempt)),
  )
  await transact(w.pool, (tx) => recordFailed(tx, now, attempts.filter(isGone), () => 0))
}
