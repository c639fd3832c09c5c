import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { openDeposit } from '../src/domain/deposits/open-deposit.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { world, type TestAccount, type World } from './world.ts'

const full = (max: number) => ({
  success: false,
  error: `Too many deposits are PENDING: at most ${max} at a time. Wait until some are paid or expire, or cancel some`,
})

const post = (w: World, { key }: TestAccount, idempotencyKey?: string) =>
  w.app.inject({
    method: 'POST',
    url: '/api/deposit',
    headers: { authorization: `Bearer ${key}`, ...(idempotencyKey && { 'idempotency-key': idempotencyKey }) },
    payload: { value: 5000 },
  })

test('an account with too many PENDING charges is refused, and another is not', async () => {
  const w = await world({ settings: { pendingMaxPerAccount: 3 } })
  const [alice, bob] = [await w.account(), await w.account()]
  for (let i = 0; i < 3; i++) expect((await post(w, alice)).statusCode).toBe(201)
  const refused = await post(w, alice)
  expect(refused.statusCode).toBe(429)
  expect(refused.json()).toEqual(full(3))
  expect(refused.headers['retry-after']).toBe('5')
  expect((await post(w, bob)).statusCode).toBe(201)
  expect(await w.count('charges')).toBe(4)
})

test('a charge that ends makes room for another', async () => {
  const w = await world({ settings: { pendingMaxPerAccount: 2 } })
  const account = await w.account()
  const { payment } = await w.paidCharge({ account })
  expect((await post(w, account)).statusCode).toBe(201)
  expect((await post(w, account)).statusCode).toBe(429)
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  w.clock.advance(5_000)
  expect((await post(w, account)).statusCode).toBe(201)
  expect((await post(w, account)).statusCode).toBe(429)
})

test('a repeated request gets its first answer although there is no room for a new one', async () => {
  const w = await world({ settings: { pendingMaxPerAccount: 1 } })
  const account = await w.account()
  const first = await post(w, account, 'order-1')
  expect((await post(w, account)).statusCode).toBe(429)
  const again = await post(w, account, 'order-1')
  expect(again.statusCode).toBe(201)
  expect(again.json()).toEqual(first.json())
})

test('many deposits at once pass the bound by no more than those in flight', async () => {
  const w = await world({ settings: { pendingMaxPerAccount: 20 } })
  const account = await w.account()
  for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 15 }, () => post(w, account)))
  const made = await w.count('charges')
  expect(made).toBeGreaterThanOrEqual(20)
  expect(made).toBeLessThanOrEqual(35)
  expect((await post(w, account)).json()).toEqual(full(20))
})

test('what another process opened is counted too', async () => {
  const w = await world({ settings: { pendingMaxPerAccount: 10 } })
  const account = await w.account()
  const other = await w.anotherProcess()
  const request = { valueCents: 5000, externalId: null, description: null, expiresInSeconds: null }
  for (let i = 0; i < 10; i++) await openDeposit(other.ctx, account.caller, request, null)
  await expect(openDeposit(other.ctx, account.caller, request, null)).rejects.toMatchObject({ code: 'rate_limited' })
  // A tenth of the bound passes before this process counts.
  expect((await post(w, account)).statusCode).toBe(201)
  expect((await post(w, account)).statusCode).toBe(429)
})
