import { expect, test } from 'vitest'
import { hexFromUuid, newUuid7 } from '../src/base/ids.ts'
import { query } from '../src/db/tx.ts'
import { EVENT_KINDS } from '../src/domain/webhooks/event-kinds.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { findAccount } from '../src/domain/accounts/accounts.ts'
import { readDailyTotals, refreshDailyTotals } from '../src/domain/reports/daily-totals.ts'
import { dayOf } from '../src/domain/core/business-days.ts'
import { planHistory, type SeedPlan, type Step } from '../src/domain/demo/seed-plan.ts'
import { seedHistory, type BankHistory } from '../src/domain/demo/seed.ts'
import { runCli, temporaryHome } from './process.ts'
import { CHARGE_SECRET } from './databases.ts'
import { DEFAULT_TERMS, world, type TestAccount, type World } from './world.ts'

async function tellBank(w: World, history: BankHistory | object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${w.sandbox.url}/bank/history`, { method: 'POST', headers, body: JSON.stringify(history) })
}

async function seed(w: World, { email }: TestAccount, deposits: number, onBatch: () => void = () => {}) {
  const account = (await findAccount(w.ctx, email))!
  const request = { account, provider: 'sandbox', deposits, days: 30, seed: 7 }
  const tell = async (history: BankHistory) => {
    expect((await tellBank(w, history)).status).toBe(201)
  }
  return seedHistory(w.ctx, request, tell, onBatch)
}

test('a seeded history agrees with itself and with the bank, also if it was cut off after a batch', async () => {
  const w = await world()
  const account = await w.account()
  await w.paidCharge({ account })
  const cutOff = new Error('cut off')
  const cut = seed(w, account, 300, () => {
    throw cutOff
  })
  await expect(cut).rejects.toBe(cutOff)
  expect(await w.differences()).toHaveLength(1)
  expect(await w.count('charges')).toBeGreaterThan(150)

  const before = { charges: await w.count('charges'), payments: await w.count('payments') }
  const refundsBefore = await w.count('refunds')
  const seeded = await seed(w, account, 300)
  const known = await w.differences()
  // The only difference is the payment from before, which nobody has settled.
  expect(known).toMatchObject([{ check: 'provider', text: expect.stringContaining('is not in our books') }])
  expect(known).toHaveLength(1)
  expect(seeded.deposits).toBe(300)
  expect(await w.count('charges')).toBe(before.charges + 300)
  expect(await w.count('payments')).toBe(before.payments + seeded.payments)
  expect(await w.count('refunds', `status = 'DONE'`)).toBe(refundsBefore + seeded.refunds)
  expect(seeded.payments / 300).toBeCloseTo(0.7, 1)
  expect(seeded.refunds).toBeGreaterThan(0)
  for (const status of ['EXPIRED', 'CANCELED', 'PENDING'])
    expect(await w.count('charges', `status = '${status}'`)).toBeGreaterThan(1)
  expect(await w.count('charges', 'paid_late')).toBeGreaterThan(0)
  expect(await w.count('exceptions')).toBe(0)
})

test('nothing of a seeded history is sent to anybody, and its log of deliveries has failures in it', async () => {
  const w = await world()
  const account = await w.account()
  await seed(w, account, 400)
  expect(await w.count('deliveries')).toBe(0)
  expect((await w.sandbox.stats()).notifications).toMatchObject({ sent: 0, waiting: 0 })
  expect(await w.count('webhooks', 'disabled_at is null')).toBe(0)
  expect(await w.count('delivery_outcomes', `outcome = 'delivered'`)).toBeGreaterThan(200)
  expect(await w.count('delivery_outcomes', `outcome = 'failed'`)).toBeGreaterThan(0)
  // Workers have nothing to ask the bank about, except for charges that can still be paid.
  expect(await w.count('checks')).toBe(await w.count('charges', `status = 'PENDING'`))
  // A second history is delivered to the same example webhook.
  const outcomes = await w.count('delivery_outcomes')
  await seed(w, account, 100)
  expect(await w.count('delivery_outcomes')).toBeGreaterThan(outcomes + 40)
  expect(await w.count('webhooks')).toBe(1)
  expect(await w.count('webhooks', 'disabled_at is null')).toBe(0)
})

test('a history carries the times of the past, and reaches the account’s own webhook on paper only', async () => {
  const w = await world()
  const account = await w.account()
  const fields = { name: 'Own', url: 'https://own.example.com/', eventKinds: [...EVENT_KINDS], authorization: null }
  await createWebhook(w.ctx, account.accountId, fields)
  await seed(w, account, 200)
  expect(await w.count('deliveries')).toBe(0)
  expect(await w.count('delivery_outcomes')).toBe(await w.count('events'))
  expect(await w.count('webhooks')).toBe(1)
  expect(await w.count('webhooks', 'disabled_at is null and failing_since is null')).toBe(1)
  const spread = async (table: string, column: string, where = 'true') => {
    const [row] = await query<{ days: number; moments: number; newest: Date }>(
      w.pool,
      `select count(distinct ${column}::date) as days, count(distinct ${column}) as moments, max(${column}) as newest
       from ${table} where ${where}`,
    )
    return row!
  }
  const times: [string, string, string?][] = [
    ['charges', 'created_at', `status <> 'PENDING'`],
    ['charges', 'closed_at'],
    ['payments', 'recorded_at'],
    ['transfers', 'recorded_at'],
    ['events', 'created_at'],
    ['attempts', 'at'],
    ['delivery_outcomes', 'ended_at'],
  ]
  for (const [table, column, where] of times) {
    const { days, moments, newest } = await spread(table, column, where)
    expect([table, column, days > 20, moments > 100]).toEqual([table, column, true, true])
    expect(newest.getTime()).toBeLessThan(w.clock.now().getTime())
  }
  expect(await w.count('payments', `recorded_at - occurred_at not between interval '0' and interval '4 seconds'`)).toBe(
    0,
  )
})

test('a history that is seeded behind days that were counted is counted too', async () => {
  const w = await world()
  const account = await w.account()
  const total = async () => {
    await refreshDailyTotals(w.ctx, account.accountId)
    const days = await readDailyTotals(w.ctx, account.accountId, '2020-01-01')
    return days.reduce((sum, day) => sum + day.created, 0)
  }
  await w.deposit(account)
  expect(await total()).toBe(1)
  await seed(w, account, 100)
  expect(await total()).toBe(101)
  const [row] = await query<{ days: number }>(w.pool, 'select count(distinct day) as days from daily_totals')
  expect(row!.days).toBeGreaterThan(20)
})

const PLAN: SeedPlan = {
  deposits: 4_000,
  days: 28,
  seed: 1,
  now: new Date('2026-03-02T12:00:00Z'),
  terms: DEFAULT_TERMS,
  newChargeId: (at) => hexFromUuid(newUuid7(at)),
}

const shape = (steps: Step[]) =>
  steps.map(({ at, failures, refundCents, deposit }) => [at, failures, refundCents, deposit.status, deposit.valueCents])

test('the same seed makes the same amounts, times and outcomes, and another one others', () => {
  const first = { ...PLAN, deposits: 500 }
  expect(shape(planHistory(first))).toEqual(shape(planHistory(first)))
  expect(shape(planHistory(first))).not.toEqual(shape(planHistory({ ...first, seed: 2 })))
})

test('a history is in order, over by now, busier by day than by night and on Fridays than on Sundays', () => {
  const steps = planHistory(PLAN)
  const times = steps.map(({ at }) => at.getTime())
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(times.at(-1)).toBeLessThan(PLAN.now.getTime())
  const created = steps.flatMap(({ deposit, refundCents }) => (refundCents === null ? [deposit.createdAt] : []))
  expect(created).toHaveLength(4_000)
  const weekday = (at: Date) => new Date(`${dayOf(at)}T00:00:00Z`).getUTCDay()
  const on = (test: (at: Date) => boolean) => created.filter(test).length
  expect(on((at) => weekday(at) === 5)).toBeGreaterThan(1.5 * on((at) => weekday(at) === 0))
  expect(on((at) => at.getUTCHours() === 18)).toBeGreaterThan(4 * on((at) => at.getUTCHours() === 6))
})

test('a large history has few moments, so that replaying it takes no longer with each deposit', () => {
  const moments = new Set(planHistory({ ...PLAN, deposits: 30_000, days: 7 }).map(({ at }) => at.getTime()))
  expect(moments.size).toBeLessThan(9 * 24 * 15)
})

test('amounts stay within the limits of the account', () => {
  const terms = { ...PLAN.terms, valueMinCents: 60_00, valueMaxCents: 90_00 }
  for (const { deposit } of planHistory({ ...PLAN, terms })) {
    expect(deposit.originalValueCents).toBeGreaterThanOrEqual(60_00)
    expect(deposit.originalValueCents).toBeLessThanOrEqual(90_00)
  }
})

test('the bank takes a history as often as it is told, and all of it or none', async () => {
  const w = await world()
  const at = '2026-01-31T12:00:00.000Z'
  const endToEndId = `E88888888202601311200${'a'.repeat(11)}`
  const pix = [{ endToEndId, txid: 'f'.repeat(32), amountCents: 50_00, at }]
  const refunds = [{ endToEndId, id: 'a'.repeat(32), amountCents: 10_00, at }]
  for (let time = 0; time < 2; time++) expect((await tellBank(w, { pix, refunds })).status).toBe(201)
  const payment = await w.ctx.providers[0]!.findPayment(endToEndId)
  expect(payment).toMatchObject({ endToEndId, amountCents: 50_00, refunds: [{ amountCents: 10_00, status: 'done' }] })
  const other = `E88888888202601311200${'b'.repeat(11)}`
  const bad = [
    {
      pix: [
        { ...pix[0], endToEndId: other },
        { ...pix[0], amountCents: -1 },
      ],
    },
    { pix: [{ ...pix[0], endToEndId: other }], refunds: [{ ...refunds[0], endToEndId: 'E1' }] },
    { refunds: [{ ...refunds[0], endToEndId: other }] },
    { pix: Array(301).fill(pix[0]) },
    { pix: 'all' },
  ]
  for (const body of bad) expect((await tellBank(w, body)).status).toBe(400)
  expect((await w.sandbox.stats()) as object).toMatchObject({ payments: 1 })
})

test('guiche seed fills an account so that guiche audit agrees, and refuses where money is real', async () => {
  const w = await world()
  const account = await w.account()
  const bank = { PROVIDER_SANDBOX_URL: w.sandbox.url, SECRET_KEY: CHARGE_SECRET }
  const env = { ...bank, DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome() }
  const seeded = await runCli(['seed', '--deposits', '100', '--email', account.email, '--days', '10'], env)
  expect(seeded.stdout).toMatch(/^Created 100 deposits in \S+: \d+ paid \(\d+ of them refunded\), 1 pending\.\n$/)
  const audited = await runCli(['audit'], env)
  expect(audited.stdout).toContain('Everything agrees')
  const live = {
    ...env,
    PROVIDERS: 'efi',
    PUBLIC_URL: 'https://pay.example.com',
    PROVIDER_EFI_KIND: 'woovi',
    PROVIDER_EFI_APP_ID: 'x',
    SECRET_KEY: CHARGE_SECRET,
  }
  const refused = await runCli(['seed', '--deposits', '10', '--email', account.email], live)
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('Seed works in sandbox mode only')
})
