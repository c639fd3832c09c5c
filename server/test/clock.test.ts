import { expect, test } from 'vitest'
import { makeDatabaseClock, MAX_CLOCK_OFFSET_MS } from '../src/db/clock.ts'
import { query } from '../src/db/tx.ts'
import type { Context } from '../src/domain/context.ts'
import { reconcileDue } from '../src/workers/reconcile.ts'
import { startLoop } from '../src/workers/loop.ts'
import { sweepAll } from './reconcile-bank.ts'
import { makeOperator } from './operators-client.ts'
import { appWith, bearer } from './requests.ts'
import { until, world, type World } from './world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

// ---- Whose time it is ----

test('the time is the database’s, whatever the wall clock of this machine says', async () => {
  const { pool } = await world()
  for (const aheadMs of [3 * DAY_MS, -3 * DAY_MS, 0]) {
    const clock = makeDatabaseClock(pool, { wallMs: () => Date.now() + aheadMs })
    const before = await databaseTime(pool)
    await clock.measure()
    const now = clock.now()
    const after = await databaseTime(pool)
    // A measurement is wrong by at most half of its round trip, which fits between `before` and `after`.
    const errorMs = after.getTime() - before.getTime()
    expect(now.getTime()).toBeGreaterThanOrEqual(before.getTime() - errorMs)
    expect(now.getTime()).toBeLessThanOrEqual(after.getTime() + errorMs)
  }
})

test('setting the wall clock of a running process does not move the time', async () => {
  const { pool } = await world()
  const machine = { wall: Date.now(), monotonic: 0 }
  const clock = makeDatabaseClock(pool, { wallMs: () => machine.wall, monotonicMs: () => machine.monotonic })
  await clock.measure()
  const before = clock.now().getTime()
  machine.wall += 3 * DAY_MS
  expect(clock.now().getTime()).toBe(before)
  machine.monotonic += 1_000
  expect(clock.now().getTime()).toBe(before + 1_000)
})

test('the difference is signed, and up to two seconds of it are allowed', async () => {
  const { pool } = await world()
  const measured = async (aheadMs: number) => {
    const clock = makeDatabaseClock(pool, { wallMs: () => Date.now() + aheadMs })
    await clock.measure()
    return { offsetMs: clock.offsetMs(), agrees: clock.agrees() }
  }
  expect(await measured(0)).toMatchObject({ agrees: true })
  expect(await measured(MAX_CLOCK_OFFSET_MS / 2)).toMatchObject({ agrees: true })
  const ahead = await measured(HOUR_MS)
  expect(ahead.agrees).toBe(false)
  expect(ahead.offsetMs).toBeGreaterThan(HOUR_MS / 2)
  const behind = await measured(-HOUR_MS)
  expect(behind.agrees).toBe(false)
  expect(behind.offsetMs).toBeLessThan(-HOUR_MS / 2)
})

test('a slow answer of the database is no difference of the clocks', async () => {
  const { pool } = await world()
  // Each reading of either clock is ten seconds after the one before, as on a starved machine.
  let readings = 0
  const start = Date.now() - 15_000
  const slow = () => start + 10_000 * Math.floor(readings++ / 2)
  const clock = makeDatabaseClock(pool, { wallMs: slow, monotonicMs: slow })
  await clock.measure()
  expect(clock.offsetMs()).toBe(0)
})

// ---- What a process with a wrong clock does ----

test('while the clock differs from the database’s, no worker begins a round, and they go on when it agrees again', async () => {
  const { ctx } = await world()
  let agrees = true
  let rounds = 0
  const clock = { ...ctx.clock, agrees: () => agrees }
  const loop = startLoop({ ...ctx, clock }, { name: 'test', idleMs: 1, round: async () => (rounds++, 'idle' as const) })
  await until('a round was done', async () => rounds > 0)
  agrees = false
  const sofar = await until('the round under way is done', async () => rounds)
  for (let woken = 0; woken < 20; woken++) {
    loop.wake()
    await new Promise((resolve) => setImmediate(resolve))
  }
  // One more round may have begun just before the clocks differed.
  expect(rounds).toBeLessThanOrEqual(sofar + 1)
  agrees = true
  const held = rounds
  loop.wake()
  await until('another round was done', async () => rounds > held)
  await loop.stop()
})

test('/readyz and /metrics say that the clock is wrong', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const clock = { now: w.clock.now, offsetMs: () => -7_200_000, agrees: () => false }
  const app = await appWith({ ...w.ctx, clock })
  const answer = await app.inject({ method: 'GET', url: '/readyz' })
  expect(answer.statusCode).toBe(503)
  expect(answer.json()).toEqual({ status: 'not ready', reason: 'clock' })
  const metrics = await app.inject({ method: 'GET', url: '/metrics', headers: bearer(key) })
  expect(metrics.body).toContain('\nguiche_clock_offset_seconds -7200\n')
})

// ---- Cursors that a wrong clock left behind ----

test('a cursor in the future is rewound: what was paid since is credited, and days closed too early are closed again', async () => {
  const w = await world()
  const account = await w.account()
  await w.deposit(account)
  await sweepAll(w)
  await sweepWith(w, ahead(w.ctx, 3 * DAY_MS))
  const [poisoned] = await cursors(w)
  expect(poisoned!.sweptUntil.getTime()).toBeGreaterThan(w.clock.now().getTime() + 2 * DAY_MS)
  expect(await w.count('closings')).toBeGreaterThan(1)

  // The bank has no address of ours to notify, so only the sweep can find the payment.
  const charge = await w.deposit(account)
  w.clock.advance(MINUTE_MS)
  await w.sandbox.pay({ emv: charge.emv })
  w.clock.advance(MINUTE_MS)
  await sweepAll(w)

  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  const [cursor] = await cursors(w)
  expect(cursor!.sweptUntil).toEqual(w.clock.now())
  expect(cursor!.nextClosing).toBe('2026-03-02')
  expect(w.logged).toContainEqual(
    expect.objectContaining({ level: 'error', text: 'the cursor of a sweep was in the future and was rewound' }),
  )
  // The day that was closed before it was over is closed again, with its payment.
  w.clock.advance(DAY_MS)
  await sweepAll(w)
  const closings = await query<{ revision: number; ledger_count: number }>(
    w.pool,
    `select revision, ledger_count from closings where day = '2026-03-02' order by revision`,
  )
  expect(closings).toEqual([
    { revision: 1, ledger_count: 0 },
    { revision: 2, ledger_count: 1 },
  ])
})

test('a sweep that is due in three days is done now', async () => {
  const w = await world()
  await w.deposit(await w.account())
  await sweepAll(w)
  await query(w.pool, `update sweeps set due_at = $1`, [new Date(w.clock.now().getTime() + 3 * DAY_MS)])
  const before = (await w.sandbox.stats()).calls['GET /pix'] ?? 0
  await reconcileDue(w.ctx, w.ctx.providers[0]!)
  expect((await w.sandbox.stats()).calls['GET /pix']).toBeGreaterThan(before)
})

test('the age of a cursor in the future is told below zero', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  await w.deposit(await w.account())
  await sweepAll(w)
  await query(w.pool, `update sweeps set swept_until = $1`, [new Date(w.clock.now().getTime() + HOUR_MS)])
  const metrics = await w.app.inject({ method: 'GET', url: '/metrics', headers: bearer(key) })
  expect(metrics.body).toContain('\nguiche_sweep_age_seconds{provider="sandbox"} -3600\n')
})

/** The context of another process whose time is `ms` ahead. */
function ahead(ctx: Context, ms: number): Context {
  const now = () => new Date(ctx.now().getTime() + ms)
  return { ...ctx, now, clock: { ...ctx.clock, now } }
}

async function sweepWith(w: World, ctx: Context): Promise<void> {
  while ((await reconcileDue(ctx, w.ctx.providers[0]!)) === 'more');
}

function cursors(w: World): Promise<{ sweptUntil: Date; nextClosing: string }[]> {
  return query(w.pool, `select swept_until as "sweptUntil", next_closing::text as "nextClosing" from sweeps`)
}

async function databaseTime(pool: World['pool']): Promise<Date> {
  const [row] = await query<{ now: Date }>(pool, 'select clock_timestamp() as now')
  return row!.now
}
