import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { readDailyTotals, refreshDailyTotals } from '../src/domain/reports/daily-totals.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { createKey } from '../src/domain/accounts/api-keys.ts'
import { readOverview } from '../src/domain/reports/overview.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const OVERVIEW = '/dashboard/api/overview'

/** Makes a deposit that is paid at the clock's time. */
async function paid(w: World, account: TestAccount, valueCents: number): Promise<void> {
  const { charge } = await w.paidCharge({ account, valueCents })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
}

// The clock stands at 12:00 UTC of 2 March, which is 9 in the morning in São Paulo; the day there began at 03:00 UTC.
test('days are those of São Paulo: 02:59 UTC is yesterday, and 03:00 is today', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(account)
  w.clock.advance(14 * HOUR_MS + 59 * 60_000)
  await paid(w, account, 10_00)
  w.clock.advance(60_000)
  await paid(w, account, 20_00)
  await w.deposit(account)

  const { today, days, latest, balance } = (await session.ask('GET', OVERVIEW)).json()
  expect(today).toEqual({ created: 2, paid: 1, paidValue: 20_00, creditedValue: 19_80, fees: 20 })
  expect(days.slice(-2)).toEqual([
    { day: '2026-03-02', created: 1, paid: 1, paidValue: 10_00, creditedValue: 9_90 },
    { day: '2026-03-03', created: 2, paid: 1, paidValue: 20_00, creditedValue: 19_80 },
  ])
  expect(days).toHaveLength(30)
  expect(days[0]).toEqual({ day: '2026-02-02', created: 0, paid: 0, paidValue: 0, creditedValue: 0 })
  expect(latest.map((one: { value: number }) => one.value)).toEqual([50_00, 20_00, 10_00])
  expect(balance).toBe(29_70)
})

test('a deposit counts as created on the day it was asked for, and as paid on the day it was paid', async () => {
  const w = await world()
  const account = await w.account()
  w.clock.advance(14 * HOUR_MS + 30 * 60_000)
  const charge = await w.deposit(account, { valueCents: 10_00 })
  w.clock.advance(40 * 60_000)
  await w.sandbox.pay({ emv: charge.emv })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const { days } = await readOverview(w.ctx, account.accountId)
  expect(days.slice(-2).map(({ created, paid }) => [created, paid])).toEqual([
    [1, 0],
    [0, 1],
  ])
})

// The clock stands at 9 in the morning in São Paulo, nine hours after the day began.
test('today is compared with yesterday until the same time of day', async () => {
  const w = await world()
  const account = await w.account()
  const soFar = async () => (await (await w.session(account)).ask('GET', OVERVIEW)).json().yesterdaySoFar as number
  // The payments come at 23:59:59 on the day before yesterday, at 8:59:59, 9:00 and 23:59 yesterday, and today.
  for (const [afterMs, valueCents] of [
    [15 * HOUR_MS - 1_000, 1_00],
    [9 * HOUR_MS, 2_00],
    [1_000, 4_00],
    [15 * HOUR_MS - 60_000, 8_00],
    [60_000, 16_00],
  ] as const) {
    w.clock.advance(afterMs)
    await paid(w, account, valueCents)
  }
  await paid(w, await w.account(), 32_00)
  expect(await soFar()).toBe(0)
  w.clock.advance(9 * HOUR_MS)
  expect(await soFar()).toBe(2_00)
  w.clock.advance(1)
  expect(await soFar()).toBe(6_00)
  w.clock.advance(15 * HOUR_MS - 2)
  expect(await soFar()).toBe(14_00)
})

test('the last thirty days and the thirty before are counted apart, and what is older not at all', async () => {
  const w = await world()
  const account = await w.account()
  for (const [days, valueCents] of [
    [0, 1_00],
    [1, 2_00],
    [29, 4_00],
    [1, 8_00],
    [29, 16_00],
  ] as const) {
    w.clock.advance(days * DAY_MS)
    await paid(w, account, valueCents)
    // Reading in between leaves nothing out and counts nothing twice.
    await readOverview(w.ctx, account.accountId)
  }
  // Today is day 60; the others were on days 0, 1, 30 and 31.
  const { last30, previous30 } = await readOverview(w.ctx, account.accountId)
  expect([last30.created, last30.paid, last30.paidCents]).toEqual([2, 2, 24_00])
  expect([previous30.created, previous30.paid, previous30.paidCents]).toEqual([2, 2, 6_00])
})

test('what was counted once equals what a count of everything says, whoever looks when', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  for (let round = 0; round < 12; round++) {
    await paid(w, round % 3 === 0 ? other : account, 100 + round)
    await w.deposit(account)
    if (round % 4 === 1) await readOverview(w.ctx, account.accountId)
    if (round % 5 === 1) await refreshDailyTotals(w.ctx, null)
    w.clock.advance(7 * HOUR_MS)
  }
  for (const accountId of [account.accountId, null]) {
    await refreshDailyTotals(w.ctx, accountId)
    const counted = await readDailyTotals(w.ctx, accountId, '2026-01-01')
    const direct = await query(
      w.pool,
      `select day::text, sum(created)::int as created, sum(paid)::int as paid, sum(cents)::int as "paidCents", sum(fee)::int as "feeCents"
       from (
         select (created_at at time zone 'America/Sao_Paulo')::date, 1, 0, 0, 0 from charges where $1::uuid is null or account_id = $1
         union all select (paid_at at time zone 'America/Sao_Paulo')::date, 0, 1, value_cents, fee_cents from charges
           where paid_at is not null and ($1::uuid is null or account_id = $1)
       ) n (day, created, paid, cents, fee) group by day order by day`,
      [accountId],
    )
    expect(counted).toEqual(direct)
  }
})

test('a charge that came to nothing is not counted, and is once it is paid after all', async () => {
  const w = await world()
  const account = await w.account()
  const { charge, payment } = await w.paidCharge({ account, valueCents: 10_00 })
  await w.pool.query(`update charges set status = 'OPENING', emv = null, opening_instance = $1`, [w.ctx.instance])
  await w.ctx.endedIntents.add({ chargeId: charge.id, outcome: 'failed' })
  w.clock.advance(3 * DAY_MS)
  expect((await readOverview(w.ctx, account.accountId)).last30).toMatchObject({ created: 0, paid: 0 })
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  for (let look = 0; look < 2; look++) {
    expect((await readOverview(w.ctx, account.accountId)).last30).toMatchObject({ created: 1, paid: 1 })
    w.clock.advance(DAY_MS)
  }
})

// A lock on the marks that they count from holds both readers until both are there.
test('two who look at once count nothing twice', async () => {
  const w = await world()
  const account = await w.account()
  await readOverview(w.ctx, account.accountId)
  await paid(w, account, 10_00)
  w.clock.advance(2 * DAY_MS)
  const looks: ReturnType<typeof readOverview>[] = []
  await transact(w.pool, async (tx) => {
    await tx.run('select from daily_total_marks for update')
    looks.push(readOverview(w.ctx, account.accountId), readOverview(w.ctx, account.accountId))
    await until('both wait', async () => {
      const waiting = `datname = current_database() and wait_event_type = 'Lock'`
      return (await w.count('pg_stat_activity', waiting)) === 2
    })
  })
  for (const { last30 } of [...(await Promise.all(looks)), await readOverview(w.ctx, account.accountId)])
    expect(last30).toMatchObject({ created: 1, paid: 1, paidCents: 10_00 })
})

test("nothing of another account's is in an overview", async () => {
  const w = await world()
  await paid(w, await w.account(), 10_00)
  const session = await w.session(await w.account())
  const overview = (await session.ask('GET', OVERVIEW)).json()
  expect(overview).toMatchObject({ balance: 0, latest: [], last30: { created: 0, paid: 0, paidValue: 0 } })
})

test('what wants attention is named, the most urgent first', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(account)
  const kinds = async () =>
    (await session.ask('GET', OVERVIEW)).json().attention.map((one: { kind: string }) => one.kind)
  expect(await kinds()).toEqual(['no_webhook', 'no_second_factor'])

  await w.pool.query(`update users set two_factor_enabled = true`)
  await w.pool.query(`update api_keys set revoked_at = $1`, [w.clock.now()])
  for (const [name, failing, disabled] of [
    ['a', 'now()', 'null'],
    ['b', 'null', 'now()'],
  ])
    await w.pool.query(
      `insert into webhooks (id, account_id, name, url, event_kinds, secret_box, created_at, failing_since, disabled_at, disabled_code, disabled_reason)
       values (gen_random_uuid(), $1, $2, 'https://a.example', '{X}', '', now(), ${failing}, ${disabled}, ${disabled}::text, ${disabled}::text)`,
      [account.accountId, name],
    )
  expect(await kinds()).toEqual(['webhook_disabled', 'webhook_failing', 'no_key'])

  const expiresAt = new Date(w.clock.now().getTime() + 5 * DAY_MS)
  const key = { accountId: account.accountId, name: 'old', scopes: ['deposits:read' as const], expiresAt }
  await transact(w.pool, (tx) => createKey(tx, w.clock.now(), 'test', key))
  await w.pool.query(`update accounts set suspended_at = $1, suspended_reason = 'papers'`, [w.clock.now()])
  expect((await session.ask('GET', OVERVIEW)).json().attention).toMatchObject([
    { kind: 'account_suspended', name: 'papers' },
    { kind: 'webhook_disabled', name: 'b' },
    { kind: 'webhook_failing', name: 'a' },
    { kind: 'key_expiring', name: 'old', at: expiresAt.toISOString() },
  ])
})
