import { expect, test } from 'vitest'
import { MAX_CENTS } from '../src/base/money.ts'
import { transact } from '../src/db/tx.ts'
import { openDeposit } from '../src/domain/deposits/open-deposit.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { makeOperator } from './operators-client.ts'
import { appWith, get } from './requests.ts'
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
  // A process lets a tenth of the bound pass before it counts.
  expect((await post(w, account)).statusCode).toBe(201)
  expect((await post(w, account)).statusCode).toBe(429)
})

// ---- What programs count exactly ----

const MOST_CENTS = Number.MAX_SAFE_INTEGER - 1_000 * MAX_CENTS
const OF_ACCOUNT = `(select id from ledger_accounts where account_id = $1)`
const OF_CASH = `(select id from ledger_accounts where kind = 'cash' order by id limit 1)`

const deposit = (w: World, { key }: TestAccount, value: number) =>
  w.app.inject({ method: 'POST', url: '/api/deposit', headers: { authorization: `Bearer ${key}` }, payload: { value } })

test('a deposit that would carry a balance past what programs count exactly is refused, and paid ones are booked', async () => {
  const w = await world()
  const [rich, other] = [await w.account(), await w.account()]
  const { charge, payment } = await w.paidCharge({ account: rich, valueCents: 50_00 })
  const credits = 'update ledger_balances set credits_cents = $2 where ledger_account_id ='
  await w.pool.query(`${credits} ${OF_ACCOUNT}`, [rich.accountId, MOST_CENTS - charge.valueCents - 700_00])

  const refused = await deposit(w, rich, MAX_CENTS)
  expect([refused.statusCode, refused.headers['guiche-error'], refused.json().error]).toEqual([
    400,
    'value_too_large',
    `value must be at most 70000 (cents): a balance can hold ${MOST_CENTS} cents`,
  ])
  expect((await deposit(w, rich, 700_00)).statusCode).toBe(201)
  expect((await deposit(w, rich, 1)).statusCode).toBe(400)
  expect((await deposit(w, other, MAX_CENTS)).statusCode).toBe(201)

  await w.pool.query(`${credits} ${OF_ACCOUNT}`, [rich.accountId, String(2n ** 53n)])
  await w.ctx.settlements.add([payment])
  expect(await w.count('charges', `status = 'COMPLETED'`)).toBe(1)
})

test('no account may deposit what would carry the cash of all past what programs count exactly', async () => {
  const w = await world()
  const account = await w.account()
  await w.ctx.settlements.add([(await w.paidCharge({ account })).payment])
  await w.pool.query(`update ledger_balances set debits_cents = $1 where ledger_account_id = ${OF_CASH}`, [MOST_CENTS])
  expect((await deposit(w, account, MAX_CENTS)).json().error).toMatch('value must be at most 0 (cents)')
})

test('a balance past what programs count exactly is told exactly, and fails nobody who shares its read', async () => {
  const w = await world()
  const [rich, other] = [await w.account(), await w.account()]
  const held = 2n ** 53n + 1n
  const credits = 'update ledger_balances set credits_cents = $2 where ledger_account_id ='
  await w.pool.query(`${credits} ${OF_ACCOUNT}`, [rich.accountId, String(held)])
  const app = await appWith(w.ctx, { checksAnswers: false })
  const operator = await makeOperator(w)
  const answers = await Promise.all([
    app.inject(get(rich.key, '/api/balance')),
    app.inject(get(other.key, '/api/balance')),
    app.inject(get(operator.key, '/api/operator/accounts')),
  ])
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200])
  expect(answers.map(({ body }) => body.includes(`"balance":${held}`))).toEqual([true, false, true])
  expect(await w.differences()).toContainEqual({
    check: 'ledger_account',
    subject: `balance ${rich.accountId}`,
    text: `holds ${held} cents, more than programs count exactly (${Number.MAX_SAFE_INTEGER})`,
  })
})
