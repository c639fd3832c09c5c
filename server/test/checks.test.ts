import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { claimChecks, endChecks, finishChecks } from '../src/domain/deposits/checks/check-queue.ts'
import { openUnnamedPayment } from '../src/domain/exceptions/exception-states.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { checkDue } from '../src/workers/check.ts'
import { untilWaiting } from './refund-steps.ts'
import { get } from './requests.ts'
import { connectScripted, notFound } from './scripted-psp.ts'
import { until, world } from './world.ts'

const HOUR_MS = 3_600_000
const PAST_EXPIRY_MS = HOUR_MS + 60_000

// ---- Notifications are hints ----

test('a hundred copies of one notification at once are one credit', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  const hint = { txid: payment.txid, endToEndId: payment.endToEndId }
  await Promise.all(Array.from({ length: 100 }, () => w.ctx.hints.add({ provider: 'sandbox', hints: [hint, hint] })))
  await Promise.all([checkDue(w.ctx), checkDue(w.ctx), checkDue((await w.anotherProcess()).ctx)])
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.count('payments')).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('a notification of a payment that the provider does not know credits nothing', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  await w.ctx.hints.add({
    provider: 'sandbox',
    hints: [{ txid: charge.id, endToEndId: 'E00000000202603021200forged00001' }],
  })
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(0)
  expect(await w.count('payments')).toBe(0)
})

test('a payment with a txid that is none of ours is found by its endToEndId and becomes an exception', async () => {
  const w = await world()
  const { pix } = await w.sandbox.pay({ txid: 'f'.repeat(32), amountCents: 7_00 })
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: 'f'.repeat(32), endToEndId: pix[0]!.endToEndId }] })
  await checkDue(w.ctx)
  expect(await w.count('exceptions', `kind = 'unknown_charge'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('a notification that gives our txid as an endToEndId too is one question', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  const hints = [
    { txid: null, endToEndId: payment.txid },
    { txid: payment.txid, endToEndId: null },
  ]
  await w.ctx.hints.add({ provider: 'sandbox', hints })
  expect(await w.count('checks')).toBe(1)
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

test('a second payment of a completed charge becomes an exception', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  const { pix } = await w.sandbox.pay({ emv: charge.emv, times: 2 })
  await w.ctx.hints.add({ provider: 'sandbox', hints: pix.map(({ txid, endToEndId }) => ({ txid, endToEndId })) })
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.count('exceptions', `kind = 'second_payment'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('a hint that arrives while its charge is being checked is not lost', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId: null }] })
  await w.sandbox.faults({ latencyMs: 200 })
  const asking = checkDue(w.ctx)
  await until('the question is at the bank', async () => (await w.sandbox.stats()).calls['GET /cob/:txid'] === 1)
  await w.sandbox.faults({})
  w.clock.advance(1)
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId: null }] })
  await asking
  expect(await claimChecks(w.ctx, 10)).toHaveLength(1)
})

test.each(['finished', 'ended by a settlement'])(
  'a hint that commits while its check is being %s is not lost',
  async (how) => {
    const w = await world()
    const charge = await w.deposit(await w.account())
    await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId: null }] })
    const [check] = await claimChecks(w.ctx, 10)
    const ending = { check: check!, nextDueAt: null, untilEnded: false, wasAsked: true }
    const { ended } = await transact(w.pool, async (hint) => {
      await hint.run('update checks set due_at = $1, claim = null, attempts = 0', [w.clock.now()])
      const ended =
        how === 'finished'
          ? finishChecks(w.ctx, [ending])
          : transact(w.pool, (settlement) => endChecks(settlement, [ending.check]))
      ended.catch(() => {})
      await w.lockWait()
      return { ended }
    })
    await ended
    expect(await claimChecks(w.ctx, 10)).toHaveLength(1)
  },
)

test('a notification that runs ahead of the provider’s own books is asked about again soon', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId: null }] })
  await checkDue(w.ctx)
  await w.sandbox.pay({ emv: charge.emv })
  w.clock.advance(2_000)
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

// ---- Expiry ----

test('an unpaid charge expires after its time and a grace, and not before', async () => {
  const w = await world()
  const account = await w.account()
  await w.deposit(account, { externalId: 'order-1' })
  w.clock.advance(PAST_EXPIRY_MS - 1)
  expect(await checkDue(w.ctx)).toBe('idle')
  w.clock.advance(1)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'EXPIRED'`)).toBe(1)
  expect(await w.count('checks')).toBe(0)
  await w.deposit(account, { externalId: 'order-1' }) // the external id is free again
})

test('a charge that was paid, with every notification lost, is completed by the expiry check', async () => {
  const w = await world()
  const { account } = await w.paidCharge()
  w.clock.advance(PAST_EXPIRY_MS)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'COMPLETED' and not paid_late`)).toBe(1)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

test('a provider that cannot be asked keeps its charges pending, however late', async () => {
  const w = await world()
  const { account } = await w.paidCharge()
  w.clock.advance(PAST_EXPIRY_MS)
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'PENDING'`)).toBe(1)
  await w.sandbox.faults({})
  w.clock.advance(HOUR_MS)
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

// An answer from before the end of the grace says nothing about a payment in its last second.
test('a charge does not expire by an answer to a question that was asked before its grace ended', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  const provider = w.ctx.providers[0]!
  w.clock.advance(PAST_EXPIRY_MS - 1)
  const slow: typeof provider.check = async (txid) => {
    const answer = await provider.check(txid)
    w.clock.advance(2)
    return answer
  }
  w.ctx.providers[0] = { ...provider, check: slow }
  expect((await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)).charge.status).toBe('PENDING')
  w.ctx.providers[0] = provider
  expect((await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)).charge.status).toBe('EXPIRED')
})

test('a charge that the provider calls paid, without saying by what, does not expire', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  const paid = {
    txid: charge.id,
    status: 'paid' as const,
    emv: '',
    valueCents: 50_00,
    expiresAt: charge.expiresAt,
    payments: [],
  }
  w.ctx.providers[0] = { ...w.ctx.providers[0]!, check: () => Promise.resolve(paid) }
  w.clock.advance(PAST_EXPIRY_MS)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'PENDING'`)).toBe(1)
  expect(await checkDue(w.ctx)).toBe('idle') // and the charge is not checked again and again
  // A query is not told either that the charge was checked and is unpaid.
  expect(await queryDeposit(w.ctx, charge.accountId, charge.paymentLinkId)).toMatchObject({
    check: 'failed',
    charge: { status: 'PENDING' },
  })
})

test('a query does not pass for fresh while the provider calls the charge paid, without saying by what', async () => {
  const w = await world()
  const { account, charge } = await w.paidCharge()
  const provider = w.ctx.providers[0]!
  w.ctx.providers[0] = {
    ...provider,
    async check(txid) {
      const answer = await provider.check(txid)
      return answer === 'absent' ? answer : { ...answer, payments: [] }
    },
  }
  const stored = await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  expect(stored.json()).toMatchObject({ charge: { status: 'PENDING' } })
  expect(stored.headers['guiche-provider-check']).toBe('failed')
  expect(provider.health().breaker).toBe('closed')
  w.ctx.providers[0] = provider
  const told = await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  expect(told.json()).toMatchObject({ charge: { status: 'COMPLETED' } })
  expect(told.headers['guiche-provider-check']).toBe('fresh')
})

test('a charge that is called paid without a Pix is an exception once the records should agree, and once only', async () => {
  const w = await world()
  const { charge } = await w.paidCharge()
  const provider = w.ctx.providers[0]!
  w.ctx.providers[0] = {
    ...provider,
    async check(txid) {
      const answer = await provider.check(txid)
      return answer === 'absent' ? answer : { ...answer, payments: [] }
    },
  }
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId: null }] })
  const opened: number[] = []
  for (let round = 0; round < 8; round++) {
    await checkDue(w.ctx)
    opened.push(await w.count('exceptions', `kind = 'unnamed_payment'`))
    w.clock.advance(60_000)
  }
  expect(opened).toEqual([0, 0, 0, 0, 0, 1, 1, 1])
})

// The transaction that locks the charge first decides, and the other one sees its result.
test('a Pix that is settled while its charge becomes an exception leaves none open, in either order', async () => {
  const w = await world()
  const [early, late] = [await w.paidCharge(), await w.paidCharge()]
  const now = w.clock.now()
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    expect(await openUnnamedPayment(tx, now, early.charge.id)).toEqual({ isNew: true, state: 'open' })
    second = Promise.all([
      transact(w.pool, (other) => settle(other, now, [early.payment])),
      transact(w.pool, (other) => openUnnamedPayment(other, now, early.charge.id)),
    ])
    await untilWaiting(w, 2)
  })
  await second
  expect(await w.count('exceptions', `resolution = 'match'`)).toBe(1)
  await transact(w.pool, async (tx) => {
    await settle(tx, now, [late.payment])
    second = transact(w.pool, (other) => openUnnamedPayment(other, now, late.charge.id))
    await w.lockWait()
  })
  expect(await second).toBeUndefined()
  expect(await w.count('exceptions')).toBe(1)
  expect(await w.count('charges', `status = 'COMPLETED'`)).toBe(2)
  expect(await w.differences()).toEqual([])
})

test('a payment after expiry completes the charge, late', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  w.clock.advance(PAST_EXPIRY_MS)
  await checkDue(w.ctx)
  const { pix } = await w.sandbox.pay({ txid: charge.id, at: w.clock.now().toISOString() })
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId: pix[0]!.endToEndId }] })
  await checkDue(w.ctx)
  expect((await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)).charge).toMatchObject({
    status: 'COMPLETED',
    paidLate: true,
  })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.differences()).toEqual([])
})

test('workers of many processes never claim the same row, and a dead one leaves its rows to others when its lease ends', async () => {
  const w = await world()
  const account = await w.account()
  for (let index = 0; index < 10; index++) await w.deposit(account)
  w.clock.advance(PAST_EXPIRY_MS)
  const other = await w.anotherProcess()
  const claims = await Promise.all([claimChecks(w.ctx, 6), claimChecks(other.ctx, 6), claimChecks(w.ctx, 6)])
  const subjects = claims.flat().map((check) => check.subject)
  expect(subjects).toHaveLength(10)
  expect(new Set(subjects).size).toBe(10)
  w.clock.advance(30_001)
  expect(await claimChecks(w.ctx, 100)).toHaveLength(10)
})

// ---- Cancellations of charges that the bank does not have ----

test('a charge that its bank does not have is canceled, and withdrawn if it appears there after all', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  const bank = w.ctx.providers[0]!
  w.ctx.providers[0] = { ...bank, cancel: async () => 'absent', check: async () => 'absent' }
  expect(await cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).toMatchObject({ status: 'CANCELED' })
  expect(await cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).toMatchObject({ status: 'CANCELED' })
  w.ctx.providers[0] = bank
  w.clock.advance(61_000)
  await checkDue(w.ctx)
  await expect(w.sandbox.pay({ emv: charge.emv })).rejects.toThrow(/409/)
  expect(await w.count('checks')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('a gateway that finds nothing at all cancels no charge', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  const bank = w.ctx.providers[0]!
  const { provider: gateway } = await connectScripted(() => notFound)
  w.ctx.providers[0] = { ...gateway, name: 'sandbox' }
  await expect(cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).rejects.toMatchObject({
    code: 'provider_unavailable',
  })
  w.ctx.providers[0] = bank
  expect((await cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).status).toBe('CANCELED')
})
