import { expect, test } from 'vitest'
import type { Context } from '../src/domain/context.ts'
import { listDeposits } from '../src/domain/reports/list-deposits.ts'
import { openDeposit, type DepositRequest } from '../src/domain/deposits/open-deposit.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { ProviderError, type ProviderCharge, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import { checkDue } from '../src/workers/check.ts'
import { changeProvider } from './refund-steps.ts'
import { DEFAULT_TERMS, until, world, type TestAccount, type World } from './world.ts'

const request: DepositRequest = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }
const HOUR_MS = 3_600_000

test('a deposit opens a charge that the bank takes', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 50_00, description: 'Pedido 7' })
  expect(charge).toMatchObject({
    status: 'PENDING',
    valueCents: 50_00,
    originalValueCents: 50_00,
    feeCents: 50,
    provider: 'sandbox',
  })
  expect((await w.sandbox.pay({ emv: charge.emv })).pix).toMatchObject([{ txid: charge.id, amountCents: 50_00 }])
})

test('a payment link begins with its time, so that a new one lies beside the newest in its index', async () => {
  const w = await world()
  const account = await w.account()
  const links: string[] = []
  for (let count = 0; count < 5; count++) {
    links.push((await w.deposit(account)).paymentLinkId)
    w.clock.advance(1)
  }
  expect(links.toSorted()).toEqual(links)
})

test('the fee that the payer bears is added to the value, and the account is credited what was asked for', async () => {
  const w = await world({
    settings: {
      terms: { ...DEFAULT_TERMS, feeBearer: 'payer' },
    },
  })
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 50_00 })
  expect(charge).toMatchObject({ valueCents: 50_50, originalValueCents: 50_00, feeCents: 50 })
  await w.sandbox.pay({ emv: charge.emv })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  expect(await w.balanceCents(account.accountId)).toBe(50_00)
})

// ---- Idempotency ----

test('a repeated idempotency key answers its charge as it is by then, also from another process', async () => {
  const w = await world()
  const account = await w.account()
  const first = await openDeposit(w.ctx, account.caller, request, 'order-1')
  await w.sandbox.pay({ emv: first.charge.emv })
  await queryDeposit(w.ctx, account.accountId, first.charge.paymentLinkId)

  const other = await w.anotherProcess()
  const second = await openDeposit(other.ctx, account.caller, request, 'order-1')
  expect(first.replayed).toBe(false)
  expect(second).toMatchObject({ replayed: true, charge: { id: first.charge.id, status: 'COMPLETED' } })
  expect(await w.count('charges')).toBe(1)
})

test('a repeated idempotency key never answers an empty code: the provider is asked for it, and 503 if it does not tell', async () => {
  const w = await world()
  const account = await w.account()
  const lost = await openDeposit(w.ctx, account.caller, request, 'order-1')
  await w.sandbox.pay({ emv: lost.charge.emv })
  // As if the answer to the creation had been lost, and the payment had arrived.
  await w.pool.query(`update charges set status = 'OPENING', emv = null`)
  await w.ctx.settlements.add(await paymentsOf(w, lost.charge.id))
  expect(await w.count('charges', `status = 'COMPLETED' and emv is null`)).toBe(1)

  const again = await openDeposit(w.ctx, account.caller, request, 'order-1')
  expect(again).toMatchObject({ replayed: true, charge: { status: 'COMPLETED', emv: lost.charge.emv } })
  const { check } = w.ctx.providers[0]!
  const codeless = async (txid: string) => ({ ...((await check(txid)) as ProviderCharge), emv: '' })
  for (const silent of [
    codeless,
    async () => 'absent' as const,
    () => Promise.reject(new ProviderError('unknown', 'x')),
  ]) {
    changeProvider(w, { check: silent })
    await expect(openDeposit(w.ctx, account.caller, request, 'order-1')).rejects.toMatchObject({
      code: 'provider_unavailable',
      retryAfterSeconds: 2,
    })
  }
})

async function paymentsOf(w: World, txid: string): Promise<ReceivedPayment[]> {
  return ((await w.ctx.providers[0]!.check(txid)) as ProviderCharge).payments
}

test('an idempotency key is refused with another request, belongs to its account, and is free after a day', async () => {
  const w = await world()
  const [account, stranger] = [await w.account(), await w.account()]
  const first = await openDeposit(w.ctx, account.caller, request, 'order-1')
  await expect(openDeposit(w.ctx, account.caller, { ...request, valueCents: 1 }, 'order-1')).rejects.toMatchObject({
    code: 'idempotency_mismatch',
  })
  expect((await openDeposit(w.ctx, stranger.caller, request, 'order-1')).replayed).toBe(false)
  w.clock.advance(24 * HOUR_MS)
  const nextDay = await openDeposit(w.ctx, account.caller, request, 'order-1')
  expect(nextDay.charge.id).not.toBe(first.charge.id)
})

test('twenty requests at once with one idempotency key make one charge', async () => {
  const w = await world()
  const account = await w.account()
  const other = await w.anotherProcess()
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) =>
      openDeposit(index % 2 ? w.ctx : other.ctx, account.caller, request, 'order-1'),
    ),
  )
  const ids = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.charge.id] : []))
  const codes = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
  expect(new Set(ids).size).toBe(1)
  expect(new Set(codes)).toEqual(new Set(codes.length > 0 ? ['in_flight'] : []))
  expect(await w.count('charges')).toBe(1)
  expect((await w.sandbox.stats()).calls['PUT /cob/:txid']).toBe(1)
})

test('while a process is opening a charge, its idempotency key is in flight; when the process dies, the next one goes on with the same charge', async () => {
  const w = await world()
  const account = await w.account()
  const doomed = await w.anotherProcess()
  await openUpToTheAnswer(doomed.ctx, account)

  await expect(openDeposit(w.ctx, account.caller, request, 'order-1')).rejects.toMatchObject({ code: 'in_flight' })
  await doomed.die()
  const { charge } = await openDeposit(w.ctx, account.caller, request, 'order-1')
  expect(charge.status).toBe('PENDING')
  expect(await w.count('charges')).toBe(1)
  expect((await w.sandbox.pay({ emv: charge.emv })).pix).toMatchObject([{ txid: charge.id }])
})

test('a key whose attempt came to nothing may be used again', async () => {
  const w = await world()
  const account = await w.account()
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  await expect(openDeposit(w.ctx, account.caller, request, 'order-1')).rejects.toMatchObject({
    code: 'provider_unavailable',
  })
  expect((await listDeposits(w.ctx, account.accountId, { limit: 10 })).deposits).toEqual([])
  await w.sandbox.faults({})
  w.clock.advance(60_000) // the breaker's cool-down
  expect((await openDeposit(w.ctx, account.caller, request, 'order-1')).charge.status).toBe('PENDING')
})

// ---- External ids ----

test('an external id is unique among the charges of an account that are pending or completed', async () => {
  const w = await world()
  const [account, stranger] = [await w.account(), await w.account()]
  const first = await w.deposit(account, { externalId: 'order-1' })
  await expect(w.deposit(account, { externalId: 'order-1' })).rejects.toMatchObject({
    code: 'external_id_taken',
    details: { paymentLinkId: first.paymentLinkId },
  })
  await w.deposit(stranger, { externalId: 'order-1' })
  await cancelDeposit(w.ctx, account.accountId, first.paymentLinkId)
  await w.deposit(account, { externalId: 'order-1' })
})

test('while nobody knows whether a deposit was made, its external id is in flight, and not taken', async () => {
  const w = await world()
  const account = await w.account()
  const again = () => w.deposit(account, { externalId: 'order-1' })
  const { create } = w.ctx.providers[0]!
  changeProvider(w, { create: () => Promise.reject(new ProviderError('unknown', 'sandbox: create: no answer')) })
  await expect(again()).rejects.toMatchObject({ code: 'provider_unavailable' })
  changeProvider(w, { create })
  w.clock.advance(20_000)
  await expect(again()).rejects.toMatchObject({ code: 'in_flight', retryAfterSeconds: 40 })
  w.clock.advance(40_000)
  await checkDue(w.ctx)
  expect((await again()).status).toBe('PENDING')
})

test('a refused external id gives its idempotency key back', async () => {
  const w = await world()
  const account = await w.account()
  await w.deposit(account, { externalId: 'order-1' })
  await expect(openDeposit(w.ctx, account.caller, { ...request, externalId: 'order-1' }, 'k')).rejects.toMatchObject({
    code: 'external_id_taken',
  })
  expect((await openDeposit(w.ctx, account.caller, { ...request, externalId: 'order-2' }, 'k')).replayed).toBe(false)
})

test('a late payment completes its charge although its external id was claimed again', async () => {
  const w = await world()
  const account = await w.account()
  const first = await w.deposit(account, { externalId: 'order-1' })
  await cancelDeposit(w.ctx, account.accountId, first.paymentLinkId)
  await w.deposit(account, { externalId: 'order-1' })
  const { pix } = await w.sandbox.pay({ txid: first.id, at: w.clock.now().toISOString() })
  await w.ctx.settlements.add([
    {
      provider: 'sandbox',
      endToEndId: pix[0]!.endToEndId,
      txid: first.id,
      amountCents: first.valueCents,
      occurredAt: w.clock.now(),
    },
  ])
  const { charge } = await queryDeposit(w.ctx, account.accountId, first.paymentLinkId)
  expect(charge).toMatchObject({ status: 'COMPLETED', paidLate: true })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

// ---- Query ----

test('with notifications lost, a query that begins after the payment answers COMPLETED', async () => {
  const w = await world()
  await w.sandbox.faults({ dropNotifications: true })
  const { charge, account } = await w.paidCharge()
  const { charge: queried, check } = await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  expect(check).toBe('fresh')
  expect(queried).toMatchObject({ status: 'COMPLETED', paidLate: false })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

// The first call is held until all have asked, so the queries are concurrent on every machine.
test('200 queries at once of one pending charge share one call to the provider, and one behind it', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  const bank = w.ctx.providers[0]!
  let [calls, asking] = [0, 0]
  let allAsk = () => {}
  const allHaveAsked = new Promise<void>((resolve) => (allAsk = resolve))
  const check: typeof bank.check = async (...question) => {
    calls++
    await allHaveAsked
    return bank.check(...question)
  }
  const queries: typeof w.ctx.queries = (key, call) => {
    if (++asking === 200) allAsk()
    return w.ctx.queries(key, call)
  }
  const ctx = { ...w.ctx, providers: [{ ...bank, check }], queries }
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => queryDeposit(ctx, account.accountId, charge.paymentLinkId)),
  )
  expect(answers.every((answer) => answer.check === 'fresh' && answer.charge.status === 'PENDING')).toBe(true)
  expect(calls).toBe(2)
})

test('a query that begins while another is in flight sees a payment made in between', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  await w.sandbox.faults({ latencyMs: 200 })
  const early = queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  await until('the first query is at the bank', async () => (await w.sandbox.stats()).calls['GET /cob/:txid'] === 1)
  await w.sandbox.pay({ emv: charge.emv })
  const late = await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  expect(late.charge.status).toBe('COMPLETED')
  await early
})

test('a provider that fails leaves the stored charge as the answer, and the answer says so', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  expect(await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)).toMatchObject({
    check: 'failed',
    charge: { status: 'PENDING' },
  })
})

test("another account's charge is not found, by any way", async () => {
  const w = await world()
  const [account, stranger] = [await w.account(), await w.account()]
  const charge = await w.deposit(account)
  for (const attempt of [queryDeposit, cancelDeposit]) {
    await expect(attempt(w.ctx, stranger.accountId, charge.paymentLinkId)).rejects.toMatchObject({ code: 'not_found' })
  }
  expect((await listDeposits(w.ctx, stranger.accountId, { limit: 100 })).deposits).toEqual([])
})

// ---- Cancel ----

test('a canceled charge is withdrawn at the bank, and canceling again changes nothing', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  expect((await cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).status).toBe('CANCELED')
  expect((await cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).status).toBe('CANCELED')
  await expect(w.sandbox.pay({ emv: charge.emv })).rejects.toThrow(/409/)
})

test('canceling a charge that was paid meanwhile is refused, and the charge is completed', async () => {
  const w = await world()
  const { charge, account } = await w.paidCharge()
  await expect(cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).rejects.toMatchObject({
    code: 'not_cancelable',
    message: 'Charge is COMPLETED and cannot be canceled',
  })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

test('a cancellation that the bank does not confirm leaves the charge pending', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  await expect(cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)).rejects.toMatchObject({
    code: 'provider_unavailable',
  })
  expect(await w.count('charges', `status = 'PENDING'`)).toBe(1)
})

// ---- Intents that nobody finished ----

test('a charge that was made at the bank and never answered is withdrawn there, so that it can never be paid', async () => {
  const w = await world()
  const account = await w.account()
  const doomed = await w.anotherProcess()
  await openUpToTheAnswer(doomed.ctx, account)
  await doomed.die()

  w.clock.advance(61_000)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'FAILED'`)).toBe(1)
  const { rows } = await w.pool.query<{ id: string }>('select id from charges')
  await expect(w.sandbox.pay({ txid: rows[0]!.id.replaceAll('-', '') })).rejects.toThrow(/409/)
  expect(await w.count('checks')).toBe(0)
})

test('a charge whose outcome is unknown is neither answered nor given up: it is cleared when the provider answers', async () => {
  const w = await world()
  const account = await w.account()
  await w.sandbox.faults({ loseAnswerRate: 1, seed: 1 })
  const provider = w.ctx.providers[0]!
  // The provider's own retries are tested elsewhere. Here it says at once that the outcome is unknown.
  w.ctx.providers[0] = { ...provider, create: () => Promise.reject(new ProviderError('unknown', 'no answer')) }
  await expect(openDeposit(w.ctx, account.caller, request, 'order-1')).rejects.toMatchObject({
    code: 'provider_unavailable',
  })
  expect(await w.count('charges', `status = 'OPENING' and opening_instance is null`)).toBe(1)

  // The first attempt to clear it fails half-way, and must not keep the next one out.
  w.ctx.providers[0] = { ...provider, cancel: () => Promise.reject(new ProviderError('unknown', 'no answer')) }
  w.clock.advance(61_000)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'OPENING'`)).toBe(1)
  await w.sandbox.faults({})
  w.ctx.providers[0] = provider
  w.clock.advance(600_000)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'FAILED'`)).toBe(1)
  expect((await openDeposit(w.ctx, account.caller, request, 'order-1')).charge.status).toBe('PENDING')
})

test('a deposit list pages through all charges once, newest first, and filters', async () => {
  const w = await world()
  const account = await w.account()
  const ids: string[] = []
  for (let index = 0; index < 7; index++) {
    w.clock.advance(1000)
    ids.push((await w.deposit(account, { externalId: `order-${index}` })).id)
  }
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof listDeposits>> = await listDeposits(w.ctx, account.accountId, {
      limit: 3,
      ...(cursor && { cursor }),
    })
    seen.push(...page.deposits.map((charge) => charge.id))
    cursor = page.nextCursor
  } while (cursor)
  expect(seen).toEqual(ids.toReversed())
  expect(
    (await listDeposits(w.ctx, account.accountId, { limit: 3, externalId: 'order-2' })).deposits.map(
      (charge) => charge.id,
    ),
  ).toEqual([ids[2]])
  expect((await listDeposits(w.ctx, account.accountId, { limit: 3, status: 'COMPLETED' })).deposits).toEqual([])
})

/**
 * Opens a deposit until the provider has answered and stops there, like a process that is killed at that point.
 * Resolves when it is there.
 */
function openUpToTheAnswer(ctx: Context, account: TestAccount): Promise<void> {
  return new Promise((resolve, reject) => {
    ctx.acceptances = {
      add: () => {
        resolve()
        return new Promise(() => {})
      },
      drained: () => Promise.resolve(),
    }
    openDeposit(ctx, account.caller, request, 'order-1').catch(reject)
  })
}
