import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import type { Context } from '../src/domain/context.ts'
import { insertIntents } from '../src/domain/deposits/intents.ts'
import { openDeposit } from '../src/domain/deposits/open-deposit.ts'
import { transactOrders } from '../src/domain/deposits/order-locks.ts'
import { ensureDeposit } from '../src/domain/deposits/orders.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { settle, type Settled } from '../src/domain/deposits/settle.ts'
import { ProviderError, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { checkDue } from '../src/workers/check.ts'
import { corrupt } from './corrupt.ts'
import { bookDifferences, changeProvider, OPERATOR, settleAll } from './refund-steps.ts'
import { bearer, get } from './requests.ts'
import { recordStatements } from './statements.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const ORDER = 'order-1'

function ensure(w: World, account: TestAccount, valueCents = 50_00, ctx: Context = w.ctx) {
  return ensureDeposit(ctx, account.caller, { externalId: ORDER, valueCents, expiresInSeconds: null })
}

async function put(w: World, account: TestAccount, body: object, externalId = ORDER) {
  const url = `/api/orders/${encodeURIComponent(externalId)}/deposit`
  const answer = await w.app.inject({ method: 'PUT', url, headers: bearer(account.key), payload: body })
  const { deposit, error } = answer.json()
  return { status: answer.statusCode, headers: answer.headers, code: answer.headers['guiche-error'], deposit, error }
}

/** The charges of the account that the bank still takes money for, by paying each of them. */
async function payableCodes(w: World): Promise<string[]> {
  const { rows } = await w.pool.query<{ txid: string }>(`select replace(id::text, '-', '') as txid from charges`)
  const payable: string[] = []
  for (const { txid } of rows)
    await w.sandbox.pay({ txid }).then(
      () => payable.push(txid),
      () => {},
    )
  return payable
}

test('an order has one live deposit: it is made, answered, renewed when it ended, and kept once it is paid', async () => {
  const w = await world()
  const account = await w.account()
  const made = await put(w, account, { value: 50_00, description: 'Order 1', metadata: { cart: '7' } })
  expect(made).toMatchObject({
    status: 201,
    headers: { location: `/api/deposits/${made.deposit.paymentLinkId}` },
    deposit: { status: 'PENDING', externalId: ORDER, description: 'Order 1', metadata: { cart: '7' } },
  })
  const same = await put(w, account, { value: 50_00, description: 'Other words', expiresIn: 300 })
  expect(same).toMatchObject({ status: 200, headers: { 'guiche-provider-check': 'fresh' }, deposit: made.deposit })

  await cancelDeposit(w.ctx, account.accountId, made.deposit.paymentLinkId)
  const second = await put(w, account, { value: 50_00 })
  expect([second.status, second.deposit.status]).toEqual([201, 'PENDING'])
  // Its time and grace are over, and no worker has looked yet.
  w.clock.advance(3_700_000)
  const third = await put(w, account, { value: 50_00 })
  expect([third.status, third.deposit.status]).toEqual([201, 'PENDING'])

  await w.sandbox.faults({ dropNotifications: true })
  await w.sandbox.pay({ emv: third.deposit.emv })
  const paid = await put(w, account, { value: 50_00 })
  expect(paid).toMatchObject({ status: 200, deposit: { id: third.deposit.id, status: 'COMPLETED' } })
  expect(await put(w, account, { value: 50_00 })).toMatchObject({ status: 200, deposit: paid.deposit })

  const { deposits } = (await w.app.inject(get(account.key, `/api/orders/${ORDER}?limit=2`))).json()
  expect(deposits.map(({ id }: { id: string }) => id)).toEqual([third.deposit.id, second.deposit.id])
  expect(deposits.map(({ status }: { status: string }) => status)).toEqual(['COMPLETED', 'EXPIRED'])
  expect(await w.differences()).toEqual([])
})

test('when the value changed, the old code can no longer be paid before there is a new one', async () => {
  const w = await world()
  const account = await w.account()
  const old = await ensure(w, account, 50_00)
  const creates: string[] = []
  const provider = w.ctx.providers[0]!
  changeProvider(w, {
    create: async (request) => {
      await expect(w.sandbox.pay({ emv: old.charge.emv })).rejects.toThrow(/409/)
      creates.push(request.txid)
      return provider.create(request)
    },
  })
  const { charge, isNew } = await ensure(w, account, 60_00)
  expect([isNew, charge.valueCents, creates]).toEqual([true, 60_00, [charge.id]])
  expect(await w.count('charges', `status = 'CANCELED'`)).toBe(1)
})

test('a value that is refused leaves the order its deposit', async () => {
  const w = await world()
  const account = await w.account()
  const { charge } = await ensure(w, account)
  await expect(ensure(w, account, 999_999_999_999_9)).rejects.toMatchObject({ code: 'value_too_large' })
  expect((await ensure(w, account)).charge).toMatchObject({ id: charge.id, status: 'PENDING' })
})

test('an order that was paid with another value is refused, and the refusal names its deposit', async () => {
  const w = await world()
  const account = await w.account()
  await w.sandbox.faults({ dropNotifications: true })
  const { charge } = await ensure(w, account)
  await w.sandbox.pay({ emv: charge.emv })
  for (const _ of ['found by the withdrawal', 'known by now'])
    expect(await put(w, account, { value: 60_00 })).toMatchObject({
      status: 409,
      code: 'order_paid',
      headers: { location: `/api/deposit/${charge.paymentLinkId}` },
      error: 'The order was paid with another value, which is 5000 (cents)',
    })
  expect([await w.count('charges'), await w.balanceCents(account.accountId)]).toEqual([1, 49_50])
})

// The settlement has decided and not committed. The withdrawal finds the charge paid, and waits for it.
test('a payment that is settled at the moment of a replacement leaves the order without a second code', async () => {
  const w = await world()
  const account = await w.account()
  await w.sandbox.faults({ dropNotifications: true })
  const { charge } = await ensure(w, account)
  const { pix } = await w.sandbox.pay({ emv: charge.emv })
  const payment = {
    provider: 'sandbox',
    endToEndId: pix[0]!.endToEndId,
    txid: charge.id,
    amountCents: charge.valueCents,
    occurredAt: new Date(pix[0]!.horario),
  }
  let replaced: Promise<PromiseSettledResult<unknown>[]> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [payment])
    replaced = Promise.allSettled([ensure(w, account, 60_00)])
    await w.lockWait()
  })
  expect(await replaced).toMatchObject([{ status: 'rejected', reason: { code: 'order_paid' } }])
  expect(await w.count('charges')).toBe(1)
})

// The first process has claimed the order and not committed. The second one waits for it.
test('two processes that begin an order at once make one deposit, and the loser is told to repeat', async () => {
  const w = await world()
  const account = await w.account()
  const other = await w.anotherProcess()
  let held: Promise<void> | undefined
  const stored = new Promise<void>((resolve) => {
    other.ctx.intents = {
      add: async (intent) => {
        held = transact(other.ctx.pool, async (tx) => {
          await insertIntents(tx, w.clock.now(), [intent])
          resolve()
          await w.lockWait()
        })
        await held
        return { kind: 'opened' }
      },
      drained: () => Promise.resolve(),
    }
  })
  const made = deferred()
  const provider = other.ctx.providers[0]!
  other.ctx.providers[0] = { ...provider, create: (request) => made.promise.then(() => provider.create(request)) }
  const first = ensure(w, account, 50_00, other.ctx)
  await stored
  await expect(ensure(w, account)).rejects.toMatchObject({ code: 'in_flight', retryAfterSeconds: 1 })
  made.resolve()
  const { charge } = await first
  expect(await ensure(w, account)).toMatchObject({ isNew: false, charge: { id: charge.id } })
  expect(await w.count('charges')).toBe(1)
})

test('whoever loses an order to another process answers the deposit of that process', async () => {
  const w = await world()
  const account = await w.account()
  const other = await w.anotherProcess()
  const { intents } = w.ctx
  let winner: string | undefined
  w.ctx.intents = {
    ...intents,
    add: async (intent) => {
      winner ??= (await ensure(w, account, 50_00, other.ctx)).charge.id
      return intents.add(intent)
    },
  }
  expect(await ensure(w, account)).toMatchObject({ isNew: false, charge: { id: winner, status: 'PENDING' } })
})

test('callers that want different values at once leave one payable code, whoever wins', async () => {
  const w = await world()
  const account = await w.account()
  const other = await w.anotherProcess()
  const values = Array.from({ length: 24 }, (_, index) => [50_00, 60_00, 70_00][index % 3]!)
  const results = await Promise.allSettled(
    values.map((value, index) => ensure(w, account, value, index % 2 ? other.ctx : w.ctx)),
  )
  const codes = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
  expect(codes.filter((code) => code !== 'in_flight')).toEqual([])
  const { charge } = await until('the last call is through', () => ensure(w, account, 80_00).catch(() => undefined))
  expect(await payableCodes(w)).toEqual([charge.id])
})

test.each([
  ['the same value', 50_00, 1],
  ['another value', 60_00, 2],
])(
  'a deposit whose outcome is unknown is continued by a repetition with %s, and has one code',
  async (_, value, charges) => {
    const w = await world()
    const account = await w.account()
    const provider = w.ctx.providers[0]!
    changeProvider(w, {
      create: async (request) => {
        await provider.create(request)
        throw new ProviderError('unknown', 'no answer')
      },
    })
    await expect(ensure(w, account)).rejects.toMatchObject({ code: 'provider_unavailable', retryAfterSeconds: 2 })
    w.ctx.providers[0] = provider
    const { charge, isNew } = await ensure(w, account, value)
    expect([isNew, charge.status, charge.valueCents]).toEqual([true, 'PENDING', value])
    expect(await w.count('charges')).toBe(charges)
    expect(await payableCodes(w)).toEqual([charge.id])
  },
)

test('a replacement that stops between its steps is finished by a repetition', async () => {
  const w = await world()
  const account = await w.account()
  const { charge: old } = await ensure(w, account)
  const provider = w.ctx.providers[0]!
  // The bank withdrew it, and the answer was lost.
  changeProvider(w, {
    cancel: async (txid, options) => {
      await provider.cancel(txid, options)
      throw new ProviderError('unknown', 'no answer')
    },
  })
  await expect(ensure(w, account, 60_00)).rejects.toMatchObject({ code: 'provider_unavailable' })
  expect(await w.count('charges', `status = 'PENDING'`)).toBe(1)
  // It is canceled, and there is no new one yet.
  changeProvider(w, { cancel: provider.cancel, create: () => Promise.reject(new ProviderError('refused', 'no')) })
  await expect(ensure(w, account, 60_00)).rejects.toMatchObject({ code: 'provider_refused' })
  w.ctx.providers[0] = provider
  const { charge } = await ensure(w, account, 60_00)
  expect([charge.valueCents, await payableCodes(w)]).toEqual([60_00, [charge.id]])
  expect((await queryDeposit(w.ctx, account.accountId, old.paymentLinkId)).charge.status).toBe('CANCELED')
})

test('while the bank does not say whether it withdrew the code, there is no second one', async () => {
  const w = await world()
  const account = await w.account()
  await ensure(w, account)
  changeProvider(w, { cancel: () => Promise.reject(new ProviderError('unknown', 'no answer')) })
  await expect(ensure(w, account, 60_00)).rejects.toMatchObject({ code: 'provider_unavailable' })
  expect(await w.count('charges')).toBe(1)
})

test('when a deposit was paid after it had ended, the order is paid, and its newer code is withdrawn', async () => {
  const w = await world()
  const account = await w.account()
  const { charge: first } = await ensure(w, account)
  await cancelDeposit(w.ctx, account.accountId, first.paymentLinkId)
  const { charge: second } = await ensure(w, account)
  const { pix } = await w.sandbox.pay({ txid: first.id, amountCents: first.valueCents, force: true })
  const { endToEndId } = pix[0]!
  const { id: txid, valueCents: amountCents } = first
  await settleAll(w, [{ provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: w.clock.now() }])
  expect(await ensure(w, account)).toMatchObject({ isNew: false, charge: { id: first.id, status: 'COMPLETED' } })
  await expect(w.sandbox.pay({ emv: second.emv })).rejects.toThrow(/409/)
})

test('a deposit made by its key is the deposit of its order too, and a second payment of the order is held', async () => {
  const w = await world()
  const account = await w.account()
  const wanted = { externalId: ORDER, valueCents: 50_00, expiresInSeconds: null }
  const { charge } = await openDeposit(w.ctx, account.caller, wanted, 'a key')
  expect(await ensure(w, account)).toMatchObject({ isNew: false, charge: { id: charge.id } })
  await w.sandbox.faults({ dropNotifications: true })
  const { pix } = await w.sandbox.pay({ emv: charge.emv, times: 2 })
  const { deposit } = await put(w, account, { value: 50_00 })
  expect(deposit).toMatchObject({ status: 'COMPLETED', heldValue: 50_00 })

  const full = (await w.app.inject(get(account.key, `/api/deposits/${charge.paymentLinkId}`))).json().deposit
  expect(full.heldPayments).toEqual([
    {
      endToEndId: pix[1]!.endToEndId,
      value: 50_00,
      paidAt: pix[1]!.horario,
      heldAt: w.clock.now().toISOString(),
      reason: 'second_payment',
      decision: null,
      decidedAt: null,
    },
  ])
  expect(full.refunds).toEqual([])
})

test('an order is named by any reference, and belongs to its account', async () => {
  const w = await world()
  const [account, stranger] = [await w.account(), await w.account()]
  for (const externalId of ['a/b?c#d', 'pedido nº 7 ✓', '%2F']) {
    const { status, deposit } = await put(w, account, { value: 1_00, externalId: 'ignored' }, externalId)
    expect([status, deposit?.externalId]).toEqual([201, externalId])
    const url = `/api/orders/${encodeURIComponent(externalId)}`
    expect((await w.app.inject(get(account.key, url))).json().deposits).toMatchObject([{ id: deposit.id }])
    expect((await w.app.inject(get(stranger.key, url))).json().deposits).toEqual([])
  }
  expect((await put(w, account, { value: 1_00, externalId: 'x' })).headers['guiche-ignored']).toBe('externalId')
  expect(await put(w, account, { value: 1_00 }, 'x'.repeat(65))).toMatchObject({ status: 400, code: 'field_invalid' })
  expect(await put(w, account, { value: 0 })).toMatchObject({
    status: 400,
    error: 'value must be a positive integer (cents)',
  })
})

// ---- A deposit that is paid after its end, while the next one of its order can be paid ----

const DEPOSIT = { externalId: ORDER, valueCents: 50_00, expiresInSeconds: null }

/** `late` has ended and `next` is open, both of one order that was opened by keys. Nobody has paid. */
async function renewed(w: World) {
  const account = await w.account()
  await w.sandbox.faults({ dropNotifications: true })
  const { charge: late } = await openDeposit(w.ctx, account.caller, DEPOSIT, 'first')
  await cancelDeposit(w.ctx, account.accountId, late.paymentLinkId)
  const { charge: next } = await openDeposit(w.ctx, account.caller, DEPOSIT, 'second')
  return { account, late, next }
}

/** Paid at the bank. `afterMs`: when, after now. */
async function payAtBank(w: World, txid: string, afterMs = 0, amountCents = 50_00): Promise<ReceivedPayment> {
  const { pix } = await w.sandbox.pay({ txid, amountCents, force: true })
  const occurredAt = new Date(w.clock.now().getTime() + afterMs)
  return { provider: 'sandbox', endToEndId: pix[0]!.endToEndId, txid, amountCents, occurredAt }
}

function settleOrder(w: World, payment: ReceivedPayment): Promise<Settled> {
  return settleAll(w, [payment])
}

const HELD = { completed: [], excepted: [{ kind: 'second_payment' }] }

/** One deposit of the order is credited, once; the other payment is held for its own deposit. */
async function expectCreditedOnce(w: World, account: TestAccount, creditedId: string): Promise<void> {
  const { deposits } = (await w.app.inject(get(account.key, `/api/orders/${ORDER}`))).json()
  const paid = deposits.filter(({ status }: { status: string }) => status === 'COMPLETED')
  expect(paid).toMatchObject([{ id: creditedId, heldValue: 0 }])
  expect(deposits.reduce((sum: number, { heldValue }: { heldValue: number }) => sum + heldValue, 0)).toBe(50_00)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await bookDifferences(w)).toEqual([])
}

test('when an ended deposit is paid after all, the payment of the next one of its order is held', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  expect((await settleOrder(w, await payAtBank(w, late.id))).completed).toEqual([late.id])
  expect(await bookDifferences(w)).toEqual([])
  expect(await settleOrder(w, await payAtBank(w, next.id))).toMatchObject(HELD)
  await expectCreditedOnce(w, account, late.id)
})

test('an order that was paid late is never free again, although the next deposit has ended', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  await settleOrder(w, await payAtBank(w, late.id))
  await cancelDeposit(w.ctx, account.accountId, next.paymentLinkId)
  await expect(openDeposit(w.ctx, account.caller, DEPOSIT, 'third')).rejects.toMatchObject({
    code: 'external_id_taken',
    details: { paymentLinkId: late.paymentLinkId },
  })
  expect(await settleOrder(w, await payAtBank(w, next.id))).toMatchObject(HELD)
  await expectCreditedOnce(w, account, late.id)
})

test('a late payment of an order that its next deposit has paid is held', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  expect((await settleOrder(w, await payAtBank(w, next.id))).completed).toEqual([next.id])
  expect(await settleOrder(w, await payAtBank(w, late.id))).toMatchObject(HELD)
  await expectCreditedOnce(w, account, next.id)
})

test.each([
  ['late', 0, 1],
  ['next', 1, 0],
] as const)('of two payments of an order in one batch, the first by time is credited: %s', async (credited, a, b) => {
  const w = await world()
  const order = await renewed(w)
  const payments = [await payAtBank(w, order.late.id, a), await payAtBank(w, order.next.id, b)]
  expect(await settleAll(w, payments)).toMatchObject({ ...HELD, completed: [order[credited].id] })
  await expectCreditedOnce(w, order.account, order[credited].id)
})

// The first has booked and not committed, and the second waits for its lock.
test.each([
  ['late', 'next'],
  ['next', 'late'],
] as const)('two deposits of an order that are settled at once are credited once: %s before %s', async (one, other) => {
  const w = await world()
  const order = await renewed(w)
  const [first, second] = [await payAtBank(w, order[one].id), await payAtBank(w, order[other].id)]
  let waiting: Promise<Settled> | undefined
  const settled = await transactOrders(w.ctx, async (tx, open) => {
    const outcome = await settle(tx, w.clock.now(), [first], open)
    waiting = settleOrder(w, second)
    await w.lockWait()
    return outcome
  })
  expect(settled.completed).toEqual([order[one].id])
  expect(await waiting).toMatchObject(HELD)
  await expectCreditedOnce(w, order.account, order[one].id)
})

// The batch of one names a newer charge that the other holds, and the other wants the charge of the order: each would
// wait for the other if the late one locked it after its own.
test('settlements that need charges of the same order lock them in one order', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  const newest = await w.deposit(account, {})
  const [a, b, c] = [await payAtBank(w, late.id), await payAtBank(w, next.id), await payAtBank(w, newest.id)]
  const deadlocks = () =>
    w.pool.query<{ deadlocks: number }>('select deadlocks from pg_stat_database where datname = current_database()')
  const before = (await deadlocks()).rows[0]!.deadlocks
  let waiting: Promise<Settled> | undefined
  await transactOrders(w.ctx, async (tx) => {
    await tx.run('select from charges where id = $1 for no key update', [next.id])
    waiting = settleAll(w, [a, c])
    await w.lockWait()
    // It waits for this one, and must not hold the newest.
    await settle(tx, w.clock.now(), [b, c])
  })
  expect(await waiting).toMatchObject({ completed: [], known: 1, excepted: [{ kind: 'second_payment' }] })
  expect((await deadlocks()).rows[0]!.deadlocks).toBe(before)
  expect(await bookDifferences(w)).toEqual([])
})

test('two ended deposits of an order that are paid at once are credited once', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  await cancelDeposit(w.ctx, account.accountId, next.paymentLinkId)
  const [first, second] = [await payAtBank(w, late.id), await payAtBank(w, next.id)]
  let waiting: Promise<Settled> | undefined
  await transactOrders(w.ctx, async (tx, open) => {
    await settle(tx, w.clock.now(), [first], open)
    waiting = settleOrder(w, second)
    await w.lockWait()
  })
  expect(await waiting).toMatchObject(HELD)
  await expectCreditedOnce(w, account, late.id)
})

// The new intent has the row and has not committed. The late payment neither sees it nor may take its row unmarked.
test('a deposit that is opened while a late payment of its order is booked is not credited', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  await cancelDeposit(w.ctx, account.accountId, next.paymentLinkId)
  const payment = await payAtBank(w, late.id)
  let waiting: Promise<Settled> | undefined
  const { intents } = w.ctx
  w.ctx.intents = {
    ...intents,
    add: async (intent) => {
      await transact(w.pool, async (tx) => {
        await insertIntents(tx, w.clock.now(), [intent])
        waiting = settleOrder(w, payment)
        await w.lockWait()
      })
      expect((await waiting)?.completed).toEqual([late.id])
      return { kind: 'opened' }
    },
  }
  const { charge: third } = await openDeposit(w.ctx, account.caller, DEPOSIT, 'third')
  expect(await w.count('charges', `order_paid and status = 'PENDING'`)).toBe(1)
  expect(await settleOrder(w, await payAtBank(w, third.id))).toMatchObject(HELD)
  await expectCreditedOnce(w, account, late.id)
})

test('a deposit that ends while another one of its order is paid late leaves the order paid', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  const payment = await payAtBank(w, late.id)
  let canceled: Promise<unknown> | undefined
  await transactOrders(w.ctx, async (tx, open) => {
    await settle(tx, w.clock.now(), [payment], open)
    canceled = cancelDeposit(w.ctx, account.accountId, next.paymentLinkId)
    await w.lockWait()
  })
  expect(await canceled).toMatchObject({ status: 'CANCELED' })
  await expect(openDeposit(w.ctx, account.caller, DEPOSIT, 'third')).rejects.toMatchObject({
    code: 'external_id_taken',
  })
  expect(await bookDifferences(w)).toEqual([])
})

test('the code of an open deposit whose order was paid late is withdrawn at once', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  await settleOrder(w, await payAtBank(w, late.id))
  await checkDue(w.ctx)
  await expect(w.sandbox.pay({ emv: next.emv })).rejects.toThrow(/409/)
  expect((await queryDeposit(w.ctx, account.accountId, next.paymentLinkId)).charge.status).toBe('CANCELED')
  expect(await w.count('checks', `subject = '${next.id}'`)).toBe(0)
  expect(await bookDifferences(w)).toEqual([])
})

test('a code that was paid before it could be withdrawn is asked about, and its payment is held', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  await w.sandbox.pay({ emv: next.emv })
  await settleOrder(w, await payAtBank(w, late.id))
  await checkDue(w.ctx)
  await expectCreditedOnce(w, account, late.id)
  expect(await ensure(w, account)).toMatchObject({ isNew: false, charge: { id: late.id } })
  expect((await queryDeposit(w.ctx, account.accountId, next.paymentLinkId)).charge.status).toBe('CANCELED')
})

// The bank has made the charge, and its answer is on the way.
test('a deposit that is being opened while its order is paid late is withdrawn as soon as it is open', async () => {
  const w = await world()
  const account = await w.account()
  const { charge: late } = await openDeposit(w.ctx, account.caller, DEPOSIT, 'first')
  await cancelDeposit(w.ctx, account.accountId, late.paymentLinkId)
  const payment = await payAtBank(w, late.id)
  const bank = w.ctx.providers[0]!
  changeProvider(w, {
    create: async (request) => {
      const made = await bank.create(request)
      await settleOrder(w, payment)
      return made
    },
  })
  const { charge: next } = await openDeposit(w.ctx, account.caller, DEPOSIT, 'second')
  expect(next.status).toBe('PENDING')
  expect(await bookDifferences(w)).toEqual([])
  await checkDue(w.ctx)
  await expect(w.sandbox.pay({ emv: next.emv })).rejects.toThrow(/409/)
  expect(await ensure(w, account)).toMatchObject({ isNew: false, charge: { id: late.id } })
  expect(await bookDifferences(w)).toEqual([])
})

test('a payment of a marked deposit is settled with the statements of any payment that is held', async () => {
  const w = await world({ isDirect: true })
  const { account, late, next } = await renewed(w)
  const wrong = await w.deposit(account, {})
  await settleOrder(w, await payAtBank(w, late.id))
  const [held, any] = [await payAtBank(w, next.id), await payAtBank(w, wrong.id, 0, 7_00)]
  const textsOf = async (payment: ReceivedPayment) =>
    (await recordStatements(w.pool, () => settleOrder(w, payment))).map(({ text }) => text)
  const texts = await textsOf(held)
  expect(texts).toHaveLength(5)
  expect(texts[1]).toMatch(/^select [^]* from charges c where c.id = any\(\$1\) order by c.id for no key update$/)
  expect(texts[1]).not.toMatch(/join|external_ids/)
  expect(await textsOf(any)).toEqual(texts)
})

test('an operator cannot complete a second deposit of an order, and is told which one paid it', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  // Another deposit pays the order, while this one is open and when it has ended.
  const wrong = [await payAtBank(w, next.id, 0, 40_00), await payAtBank(w, next.id, 0, 41_00)]
  await settleAll(w, wrong)
  await settleOrder(w, await payAtBank(w, late.id))
  const { exceptions } = await listExceptions(w.ctx, { kind: 'wrong_amount', limit: 10 })
  const match = (index: number) => resolveException(w.ctx, OPERATOR, exceptions[index]!.id, { how: 'match' }, 'it fits')
  const refusal = {
    code: 'order_paid',
    message: `The deposit ${late.paymentLinkId} paid the order ${ORDER}: credit or refund this money instead`,
    details: { paymentLinkId: late.paymentLinkId },
  }
  await expect(match(0)).rejects.toMatchObject(refusal)
  await cancelDeposit(w.ctx, account.accountId, next.paymentLinkId)
  await expect(match(1)).rejects.toMatchObject(refusal)
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'refund' }, 'it was paid twice')
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await bookDifferences(w)).toEqual([])
})

test('an ended deposit that an operator completes takes its order from the open one', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  await settleAll(w, [await payAtBank(w, late.id, 0, 40_00)])
  const { exceptions } = await listExceptions(w.ctx, { kind: 'wrong_amount', limit: 1 })
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'match' }, 'less was agreed')
  expect(await settleOrder(w, await payAtBank(w, next.id))).toMatchObject(HELD)
  expect(await w.balanceCents(account.accountId)).toBe(39_50)
  expect(await w.count('charges', `status = 'COMPLETED'`)).toBe(1)
  expect(await bookDifferences(w)).toEqual([])
})

test('a payment whose txid is told later completes no second deposit of an order', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  const payment = await payAtBank(w, next.id)
  await settleOrder(w, { ...payment, txid: null })
  await settleOrder(w, await payAtBank(w, late.id))
  expect(await settleOrder(w, payment)).toMatchObject({ completed: [], matched: 0, known: 1 })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await bookDifferences(w)).toEqual([])
})

// Release 1.0.0-rc.1 left the external id to the newer deposit and credited both. Its events have no seal.
test('an order that an earlier release credited twice is excused, and one that this release did is named', async () => {
  const w = await world()
  const { account, late, next } = await renewed(w)
  await settleOrder(w, await payAtBank(w, late.id))
  await corrupt(w, `update external_ids set charge_id = '${next.id}'; update charges set order_paid = false`)
  const named = { check: 'external_id', subject: `charge ${late.id}` }
  expect(await bookDifferences(w)).toEqual([expect.objectContaining(named)])
  await corrupt(w, `update events set seal = null where subject_id = '${late.id}'`)
  expect((await bookDifferences(w)).filter(({ check }) => check === 'external_id')).toEqual([])
  await settleOrder(w, await payAtBank(w, next.id))
  expect((await bookDifferences(w)).filter(({ check }) => check === 'external_id')).toEqual([])
  expect(await ensure(w, account)).toMatchObject({ isNew: false, charge: { status: 'COMPLETED' } })
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}
