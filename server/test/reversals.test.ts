import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { setAccountTerms } from '../src/domain/accounts/terms.ts'
import { readBalance, readStatement } from '../src/domain/ledger/account-statement.ts'
import { bookForeign, recordExternalRefunds } from '../src/domain/refunds/external-refunds.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { payPayout, rejectPayout, requestPayout } from '../src/domain/payouts/payouts.ts'
import { corrupt } from './corrupt.ts'
import {
  bookDifferences,
  changeMind,
  completedCharge,
  followToEnd,
  hearOf,
  holdings,
  OPERATOR,
  refund,
  refundAtBank,
  settleAll,
  stateOf,
  strayPayment,
} from './refund-steps.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { DEFAULT_TERMS, world, type TestAccount, type World } from './world.ts'

type Order = Parameters<World['sandbox']['reverse']>[0]

/** The bank returns a payment by itself, and the service learns of it. */
async function reverse(w: World, order: Order): Promise<void> {
  await w.sandbox.reverse(order)
  w.clock.advance(200)
  await hearOf(w, order.endToEndId)
}

/** Takes everything out of the balance but `leftCents`. */
async function payOut(w: World, { accountId }: TestAccount, leftCents = 0): Promise<void> {
  const { availableCents } = await readBalance(w.ctx, accountId)
  const wanted = { accountId, valueCents: availableCents - leftCents, note: null, idempotencyKey: null }
  const { payout } = await requestPayout(w.ctx, OPERATOR, wanted)
  await payPayout(w.ctx, OPERATOR, payout.id, { reference: 'a transfer' })
}

/** What is available, and what is owed. */
async function standing(w: World, { accountId }: TestAccount): Promise<[number, number]> {
  const { availableCents, owedCents } = await readBalance(w.ctx, accountId)
  return [availableCents, owedCents]
}

async function reversedEvents(w: World) {
  const rows = await query<{ body: string }>(
    w.pool,
    `select body from events where kind = 'DEPOSIT_REVERSED' order by id`,
  )
  return rows.map(({ body }) => JSON.parse(body).data)
}

test.each([
  ['MED_FRAUDE', 'fraud'],
  ['MED_OPERACIONAL', 'operational'],
  ['MED_PIX_AUTOMATICO', 'automatic'],
  ['ORIGINAL', 'other'],
  ['RETIRADA', 'other'],
])('a payment that the bank returns as %s is charged to its account, and told as %s', async (natureza, nature) => {
  const w = await world()
  const { account, charge, payment } = await completedCharge(w)
  await reverse(w, { endToEndId: payment.endToEndId, nature: natureza, amountCents: 20_00 })

  expect(await standing(w, account)).toEqual([29_50, 0])
  const told = { nature, reversedValue: 20_00, chargedValue: 20_00, owedValue: 0, totalRefundedValue: 20_00 }
  expect(await reversedEvents(w)).toMatchObject([{ ...told, transactionId: charge.id, status: 'COMPLETED' }])
  expect(await w.count('events', `kind = 'DEPOSIT_REFUNDED'`)).toBe(0)
  const { lines } = await readStatement(w.ctx, account.accountId, { limit: 1 })
  expect(lines).toMatchObject([
    { kind: 'reversal_charged', nature, netCents: -20_00, paymentLinkId: charge.paymentLinkId },
  ])
  expect(await w.differences()).toEqual([])
})

test('what the balance lacks is owed, and the next deposit pays it before it is available', async () => {
  const w = await world()
  const { account, payment } = await completedCharge(w)
  await payOut(w, account, 10_00)
  await reverse(w, { endToEndId: payment.endToEndId })
  expect(await standing(w, account)).toEqual([0, 40_00])
  expect(await reversedEvents(w)).toMatchObject([{ chargedValue: 10_00, owedValue: 40_00 }])
  expect(await w.differences()).toEqual([])

  await completedCharge(w, { account, valueCents: 30_00 })
  expect(await standing(w, account)).toEqual([0, 10_30])
  await completedCharge(w, { account, valueCents: 30_00 })
  expect(await standing(w, account)).toEqual([19_40, 0])
  const { lines } = await readStatement(w.ctx, account.accountId, { limit: 2 })
  expect(lines.map(({ kind, netCents, balanceCents }) => [kind, netCents, balanceCents])).toEqual([
    ['debt_paid', -10_30, 19_40],
    ['deposit', 29_70, 29_70],
  ])
  expect(await w.differences()).toEqual([])
})

// The deposit reads before the reversal commits and books after it: it must see the debt all the same.
test('a deposit that waits for a reversal pays the debt that it makes', async () => {
  const w = await world()
  const { account, charge, payment } = await completedCharge(w)
  await payOut(w, account)
  const next = await w.paidCharge({ account, valueCents: 20_00 })
  const [{ id: paymentId }] = (await query<{ id: string }>(w.pool, 'select id from payments')) as [{ id: string }]
  const seen = {
    paymentId,
    chargeId: charge.id,
    exceptionId: null,
    undoneExceptionId: null,
    provider: 'sandbox',
    providerRefundId: 'D1',
    amountCents: payment.amountCents,
    nature: 'fraud' as const,
  }
  let settling: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from charges where id = $1 for no key update', [charge.id])
    await bookForeign(tx, w.clock.now(), seen, DEFAULT_TERMS)
    settling = settleAll(w, [next.payment])
    await w.lockWait()
  })
  await settling

  expect(await standing(w, account)).toEqual([0, 50_00 - 19_80])
  expect(await bookDifferences(w)).toEqual([])
})

// Neither has a ledger account of what is owed yet, and both must add to the same one.
test('two reversals of one account at once make one debt', async () => {
  const w = await world()
  const first = await completedCharge(w)
  const { account } = first
  const second = await completedCharge(w, { account, valueCents: 20_00 })
  await payOut(w, account, 5_00)
  const [payment] = await query<{ id: string }>(w.pool, 'select id from payments where charge_id = $1', [
    first.charge.id,
  ])
  const seen = {
    paymentId: payment!.id,
    chargeId: first.charge.id,
    exceptionId: null,
    undoneExceptionId: null,
    provider: 'sandbox',
    providerRefundId: 'D1',
    amountCents: 50_00,
    nature: 'fraud' as const,
  }
  const refunds = [{ refundId: 'D2', amountCents: 20_00, status: 'done' as const, reason: null }]
  const { endToEndId, provider } = second.payment
  let other: Promise<void> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from charges where id = $1 for no key update', [first.charge.id])
    await bookForeign(tx, w.clock.now(), seen, DEFAULT_TERMS)
    other = recordExternalRefunds(w.ctx, [{ provider, endToEndId, refunds }])
    await w.lockWait()
  })
  await other
  expect(await standing(w, account)).toEqual([0, 65_00])
  expect(await bookDifferences(w)).toEqual([])
})

test('of a batch of payments each account that owes something pays its debt, and the others nothing', async () => {
  const w = await world()
  const accounts = [await w.account(), await w.account(), await w.account()]
  for (const account of accounts.slice(0, 2)) {
    const { payment } = await completedCharge(w, { account })
    await payOut(w, account)
    await reverse(w, { endToEndId: payment.endToEndId })
  }
  const paid = []
  for (const account of [...accounts, ...accounts])
    paid.push((await w.paidCharge({ account, valueCents: 30_00 })).payment)
  await settleAll(w, paid)
  const after = [
    [9_40, 0],
    [9_40, 0],
    [59_40, 0],
  ]
  expect(await Promise.all(accounts.map((account) => standing(w, account)))).toEqual(after)
  expect(await w.count('transfers', `kind = 'debt_paid'`)).toBe(2)
  expect(await w.differences()).toEqual([])
})

test('a reversal that is reported twice at once is booked once', async () => {
  const w = await world()
  const { account, payment } = await completedCharge(w)
  await w.sandbox.reverse({ endToEndId: payment.endToEndId, amountCents: 5_00 })
  w.clock.advance(200)
  const found = await w.ctx.providers[0]!.findPayment(payment.endToEndId)
  if (found === 'absent') throw new Error('the bank lost it')
  const reported = { ...found, refunds: found.refunds! }
  await Promise.all([1, 2, 3].map(() => recordExternalRefunds(w.ctx, [reported])))

  expect(await standing(w, account)).toEqual([44_50, 0])
  expect(await w.count('events', `kind = 'DEPOSIT_REVERSED'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('an account whose terms say so is not charged before an operator decides', async () => {
  const w = await world()
  const { account, payment } = await completedCharge(w)
  await setAccountTerms(w.ctx, OPERATOR, account.accountId, { reversalPolicy: 'operator' }, 'large shop')
  await payOut(w, account, 20_00)
  await reverse(w, { endToEndId: payment.endToEndId })

  expect(await standing(w, account)).toEqual([20_00, 0])
  expect(await reversedEvents(w)).toMatchObject([{ nature: 'fraud', chargedValue: null, owedValue: null }])
  expect(await bookDifferences(w)).toEqual([])
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 10 })
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'charge_account' }, 'it is theirs')
  expect(await standing(w, account)).toEqual([0, 30_00])
  expect(await w.differences()).toEqual([])
})

test('the terms of the deployment decide where the account has none of its own', async () => {
  const w = await world({ settings: { terms: { ...DEFAULT_TERMS, reversalPolicy: 'operator' } } })
  const { account, payment } = await completedCharge(w)
  await reverse(w, { endToEndId: payment.endToEndId })
  expect(await standing(w, account)).toEqual([49_50, 0])
  expect(await w.count('exceptions', 'resolved_at is null')).toBe(1)
})

test('money that is reserved for a payout is not touched, and pays the debt when the payout is rejected', async () => {
  const w = await world()
  const { account, payment } = await completedCharge(w)
  const wanted = { accountId: account.accountId, valueCents: 45_00, note: null, idempotencyKey: null }
  const { payout } = await requestPayout(w.ctx, OPERATOR, wanted)
  await reverse(w, { endToEndId: payment.endToEndId })
  expect(await readBalance(w.ctx, account.accountId)).toMatchObject({ reservedCents: 45_00, owedCents: 45_50 })

  await rejectPayout(w.ctx, OPERATOR, payout.id, 'wrong bank account')
  expect(await standing(w, account)).toEqual([0, 50])
  expect(await w.differences()).toEqual([])
})

test('a credit by an operator pays the debt', async () => {
  const w = await world()
  const { account, payment } = await completedCharge(w)
  await payOut(w, account)
  await reverse(w, { endToEndId: payment.endToEndId })
  await strayPayment(w, 60_00)
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 10 })
  const to = { how: 'credit', accountId: account.accountId } as const
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, to, 'they sent it by hand')
  expect(await standing(w, account)).toEqual([10_00, 0])
  expect(await w.differences()).toEqual([])
})

test('a refund that fails pays the debt with what it releases', async () => {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const { account, charge } = await completedCharge(w)
  const other = await completedCharge(w, { account })
  await w.sandbox.faults({ refundsFailed: true })
  const ours = await refund(w, charge, { amountCents: 40_00 })
  await payOut(w, account)
  await w.sandbox.faults({ refundsFailed: true })
  await recordExternalRefunds(w.ctx, [
    {
      provider: 'sandbox',
      endToEndId: other.payment.endToEndId,
      refunds: [{ refundId: 'D1', amountCents: 50_00, status: 'done', reason: null, nature: 'fraud' }],
    },
  ])
  expect(await standing(w, account)).toEqual([0, 50_00])
  w.clock.advance(600_000)
  await followFailed(w, ours)
  // The fee that had come back with the refund is kept again.
  expect(await standing(w, account)).toEqual([0, 50_00 - 39_60])
  expect(await bookDifferences(w)).toEqual([])
})

async function followFailed(w: World, ours: { endToEndId: string; id: string }): Promise<void> {
  await runDueRefunds(w.ctx)
  expect(await w.count('refunds', `id = '${ours.id}' and status = 'FAILED'`)).toBe(1)
}

test('a part that the bank returns after a refund of ours is a reversal, and the refund is not', async () => {
  const w = await world()
  const { account, charge, payment } = await completedCharge(w)
  await followToEnd(w, await refund(w, charge, { amountCents: 15_00 }))
  await reverse(w, { endToEndId: payment.endToEndId })
  expect(await stateOf(w, charge.id)).toMatchObject({ refunded_cents: 50_00 })
  expect(await standing(w, account)).toEqual([0, 50])
  const kinds = await query<{ kind: string }>(
    w.pool,
    `select kind from events where kind like 'DEPOSIT_RE%' order by id`,
  )
  expect(kinds.map(({ kind }) => kind)).toEqual(['DEPOSIT_REFUNDED', 'DEPOSIT_REVERSED'])
  expect(await w.differences()).toEqual([])
})

test('a reversal that the bank takes back and makes again is told each time, and charged once', async () => {
  const w = await world()
  const { account, payment } = await completedCharge(w)
  await reverse(w, { endToEndId: payment.endToEndId, amountCents: 20_00 })
  await changeMind(w, payment.endToEndId, 'take back')
  await changeMind(w, payment.endToEndId, 'make again')
  expect(await standing(w, account)).toEqual([29_50, 0])
  expect((await reversedEvents(w)).map(({ chargedValue }) => chargedValue)).toEqual([20_00, 0])
  expect(await w.differences()).toEqual([])
})

test('a payment that the bank froze is known to be returned when the bank returns it, and not before', async () => {
  const w = await world()
  const { account, payment } = await completedCharge(w)
  const { endToEndId } = payment
  await reverse(w, { endToEndId, freezeSeconds: 3600 })
  expect(await standing(w, account)).toEqual([49_50, 0])
  w.clock.advance(3_600_000)
  await hearOf(w, endToEndId)
  expect(await standing(w, account)).toEqual([0, 50])
  expect(await w.differences()).toEqual([])
})

test('what the bank says first about the reason is kept, and another word later is a difference', async () => {
  const w = await world()
  const { payment } = await completedCharge(w)
  const { endToEndId, provider } = payment
  const id = await refundAtBank(w, endToEndId, 5_00)
  const listed = { refundId: id, amountCents: 5_00, status: 'done' as const, reason: null }
  await recordExternalRefunds(w.ctx, [{ provider, endToEndId, refunds: [{ ...listed, nature: 'fraud' }] }])
  await recordExternalRefunds(w.ctx, [{ provider, endToEndId, refunds: [{ ...listed, nature: 'operational' }] }])
  expect(await query(w.pool, 'select nature from refunds')).toEqual([{ nature: 'fraud' }])
  expect(await w.differences()).toMatchObject([{ text: expect.stringContaining('fraud') }])
})

test('a payment that belongs to nobody is returned without a reversal', async () => {
  const w = await world()
  const { endToEndId } = await strayPayment(w)
  await reverse(w, { endToEndId })
  expect(await reversedEvents(w)).toEqual([])
  expect(await holdings(w)).toEqual({})
  expect(await w.differences()).toEqual([])
})

test.each([
  [
    'the debt is erased',
    `update ledger_balances set debits_cents = credits_cents where ledger_account_id in (select id from ledger_accounts where kind = 'owed')`,
  ],
  ['what is owed stands on another account', `update exceptions set owed_cents = null where owed_cents is not null`],
  ['the reason is another one', `update refunds set nature = 'operational'`],
  ['a payment of the debt is gone', `delete from transfers where kind = 'debt_paid'`],
])('the audit notices that %s', async (_what, sql) => {
  const w = await world()
  const { account, payment } = await completedCharge(w)
  await payOut(w, account)
  await reverse(w, { endToEndId: payment.endToEndId })
  await completedCharge(w, { account, valueCents: 10_00 })
  expect(await bookDifferences(w)).toEqual([])
  await corrupt(w, sql)
  expect(await bookDifferences(w)).not.toEqual([])
})
