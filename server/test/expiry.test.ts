import { expect, test } from 'vitest'
import { EXPIRES_SECONDS } from '../src/domain/core/charge-facts.ts'
import { ensureDeposit } from '../src/domain/deposits/orders.ts'
import { readDailyTotals, refreshDailyTotals } from '../src/domain/reports/daily-totals.ts'
import { checkDue } from '../src/workers/check.ts'
import { deposit, get } from './requests.ts'
import { world } from './world.ts'

// Charges that can be paid for weeks.

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MONTH_SECONDS = EXPIRES_SECONDS.max

test('a deposit may live for thirty days, and no longer', async () => {
  const w = await world()
  const { key } = await w.account()
  const create = (expiresIn: number) => w.app.inject(deposit(key, JSON.stringify({ value: 5000, expiresIn })))
  const made = await create(MONTH_SECONDS)
  expect(made.statusCode).toBe(201)
  const record = await w.app.inject(get(key, `/api/deposits/${made.json().charge.paymentLinkId}`))
  expect(record.json().deposit.expiresAt).toBe('2026-04-01T12:00:00.000Z')
  expect((await create(MONTH_SECONDS + 1)).statusCode).toBe(400)
})

test('the operator’s bound of the providers is a clear refusal, and stores nothing', async () => {
  const w = await world({ settings: { chargeMaxExpiresSeconds: 86_400 } })
  const { key } = await w.account()
  const answer = await w.app.inject(deposit(key, '{"value":5000,"expiresIn":86401}'))
  expect([answer.statusCode, answer.headers['guiche-error'], answer.json().error]).toEqual([
    400,
    'field_invalid',
    'expiresIn can be at most 86400 (seconds) on this service',
  ])
  expect(await w.count('charges')).toBe(0)
})

test('the bank is not asked about a charge of thirty days before its end, unless it says something', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { expiresInSeconds: MONTH_SECONDS })
  const asked = async () => (await w.sandbox.stats()).calls['GET /cob/:txid'] ?? 0
  for (let day = 0; day < 29; day++) {
    w.clock.advance(DAY_MS)
    await checkDue(w.ctx)
  }
  expect(await asked()).toBe(0)
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId: null }] })
  // A hint of a payment that is not there is followed for about a minute, and then left alone until the end.
  for (let minute = 0; minute < 10; minute++) {
    w.clock.advance(60_000)
    await checkDue(w.ctx)
  }
  const afterHint = await asked()
  expect(afterHint).toBeLessThanOrEqual(7)
  w.clock.advance(DAY_MS / 2)
  await checkDue(w.ctx)
  expect(await asked()).toBe(afterHint)
  w.clock.advance(DAY_MS)
  await checkDue(w.ctx)
  expect(await w.count('charges', `status = 'EXPIRED'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('a charge that is paid on its last day is credited', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { expiresInSeconds: MONTH_SECONDS })
  w.clock.advance(29 * DAY_MS)
  const { pix } = await w.sandbox.pay({ emv: charge.emv })
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charge.id, endToEndId: pix[0]!.endToEndId }] })
  await checkDue(w.ctx)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.differences()).toEqual([])
})

// A charge becomes visible when its intent is resumed, and the charges of a day are counted for good after 25 hours.
test.each([
  [23, true],
  [26, false],
])(
  'an intent whose answer was lost %d hours ago is resumed: %s; the totals are right either way',
  async (hours, isResumed) => {
    const w = await world()
    const account = await w.account()
    const wanted = { valueCents: 50_00, description: null, externalId: 'order-1', expiresInSeconds: MONTH_SECONDS }
    const { charge: lost } = await ensureDeposit(w.ctx, account.caller, wanted)
    await w.pool.query(`update charges set status = 'OPENING', emv = null, code_seal = null, opening_instance = null`)
    w.clock.advance(hours * HOUR_MS)
    await refreshDailyTotals(w.ctx, account.accountId)

    const again = () => ensureDeposit(w.ctx, account.caller, wanted)
    if (!isResumed) {
      await expect(again()).rejects.toMatchObject({ code: 'in_flight' })
      // The worker withdraws it, and the order is free.
      await checkDue(w.ctx)
      expect(await w.count('charges', `status = 'FAILED'`)).toBe(1)
    }
    expect((await again()).charge.id === lost.id).toBe(isResumed)
    w.clock.advance(3 * HOUR_MS)
    await refreshDailyTotals(w.ctx, account.accountId)
    const days = await readDailyTotals(w.ctx, account.accountId, '2026-03-01')
    expect(days.reduce((sum, { created }) => sum + created, 0)).toBe(1)
  },
)
