import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { seededRandom } from '../src/base/seeded-random.ts'
import {
  leaseOf,
  makeSharedBuckets,
  type SharedBucket,
  type SharedBuckets,
  type Rate,
} from '../src/base/token-buckets.ts'
import { makePool, type Pool } from '../src/db/pool.ts'
import { purgeSharedLimits, reportTaken } from '../src/db/shared-limits.ts'
import { transact } from '../src/db/tx.ts'
import type { Context } from '../src/domain/context.ts'
import { makeApiPix } from '../src/providers/api-pix/adapter.ts'
import { makeRateLimit, rateOf } from '../src/providers/http/limits.ts'
import { appWith, get } from './requests.ts'
import { countStatements } from './statements.ts'
import { until, world, type World } from './world.ts'

const RATE: Rate = { perSecond: 100, burst: 50 }
const LEASE = leaseOf(RATE)

/** Several processes on one database, which report only when the test says so, or when they took a lease. */
async function setUp(processes: number) {
  const w = await world({ isDirect: true })
  const others = Array.from({ length: processes - 1 }, () => w.anotherProcess())
  const pools = [w.pool, ...(await Promise.all(others)).map(({ ctx }) => ctx.pool)]
  const limits = pools.map((pool) =>
    limitsOn(
      w,
      () => pool,
      () => processes,
    ),
  )
  return { w, limits }
}

function limitsOn(w: World, pool: () => Pool, processes: () => number): SharedBuckets {
  const limits = makeSharedBuckets({
    report: (reports) => reportTaken(pool(), w.clock.now(), reports),
    processes,
    now: w.clock.now,
    reportEveryMs: 3_600_000,
    // A slow machine must not look like a database that is away.
    reportWithinMs: 60_000,
  })
  onTestFinished(() => limits.close())
  return limits
}

/** Takes until the bucket gives no more, not even after a report. */
async function takeAll(w: World, bucket: SharedBucket): Promise<number> {
  for (let count = 0; ; count++) {
    const taken = bucket.take(nowMs(w))
    if (!taken.ok && (taken.waitMs > 0 || !(await bucket.takeReported(nowMs(w))).ok)) return count
  }
}

const nowMs = (w: World) => w.clock.now().getTime()

const tokensOf = async (w: World, name: string) => {
  const { rows } = await w.pool.query<{ tokens: number }>('select tokens from shared_limits where name = $1', [name])
  return rows[0]?.tokens
}

// ---- The bound ----

test('in whatever order processes take and report, together they take the burst, what flows in, and a lease each at most', async () => {
  const { w, limits } = await setUp(3)
  const buckets = limits.map((own) => own.bucket('key:1', RATE))
  const random = seededRandom(7)
  const startedAtMs = nowMs(w)
  const allowed = () => RATE.burst + ((nowMs(w) - startedAtMs) * RATE.perSecond) / 1000
  const waiting: Promise<void>[] = []
  let taken = 0
  const takeReported = async (bucket: SharedBucket) => {
    if ((await bucket.takeReported(nowMs(w))).ok) taken += 1
  }
  for (let step = 0; step < 600; step++) {
    const turn = Math.floor(random() * buckets.length)
    const bucket = buckets[turn]!
    if (random() < 0.2) await limits[turn]!.report()
    for (let count = Math.floor(random() * 15); count > 0; count--) {
      const got = bucket.take(nowMs(w))
      if (got.ok) taken += 1
      else if (got.waitMs === 0) waiting.push(takeReported(bucket))
    }
    expect(taken).toBeLessThanOrEqual(allowed() + buckets.length * LEASE)
    w.clock.advance(Math.floor(random() * 30))
    // A report that is under way may come back at any step.
    if (random() < 0.5) await nextTurn()
  }
  await Promise.all(waiting)
  expect(taken).toBeLessThanOrEqual(allowed() + buckets.length * LEASE)
  // They also take not much less: at every step more was asked for than there was.
  expect(taken).toBeGreaterThan(0.8 * allowed())
})

test('a process that took a lease waits until the database has its report', async () => {
  const { w, limits } = await setUp(2)
  const [bucket, other] = limits.map((own) => own.bucket('key:1', RATE))
  await takeAll(w, other!)
  await limits[1]!.report()
  w.clock.advance(10_000)

  // The row is locked, so no report comes through.
  await transact(w.pool, async (tx) => {
    await tx.rows(`select from shared_limits where name = 'key:1' for update`)
    const taken = Array.from({ length: LEASE + 1 }, () => bucket!.take(nowMs(w)))
    expect(taken.map(({ ok }) => ok)).toEqual([...Array<boolean>(LEASE).fill(true), false])
    expect(taken.at(-1)).toEqual({ ok: false, waitMs: 0 })
    await w.lockWait()
    expect(bucket!.take(nowMs(w))).toEqual({ ok: false, waitMs: 0 })
  })
  await bucket!.reported()
  expect(bucket!.take(nowMs(w)).ok).toBe(true)
  expect(await tokensOf(w, 'key:1')).toBe(RATE.burst - LEASE)
})

test('those who wait for a report get what the others left, and the rest is returned', async () => {
  const { w, limits } = await setUp(2)
  const [bucket, other] = limits.map((own) => own.bucket('key:1', RATE))
  // This process does not hear that the other takes all but fifteen tokens.
  for (let count = 0; count < LEASE; count++) bucket!.take(nowMs(w))
  await limits[0]!.report()
  for (let count = 0; count < RATE.burst - LEASE - 15; count++)
    if (!other!.take(nowMs(w)).ok) await other!.takeReported(nowMs(w))
  await limits[1]!.report()

  for (let count = 0; count < LEASE; count++) expect(bucket!.take(nowMs(w)).ok).toBe(true)
  const waiting = Array.from({ length: 20 }, () => bucket!.takeReported(nowMs(w)))
  const given = (await Promise.all(waiting)).filter(({ ok }) => ok).length
  await limits[0]!.report()
  // The process had already taken a lease of ten without asking.
  expect(given).toBe(5)
  expect(await tokensOf(w, 'key:1')).toBe(0)
})

test('a burst at one process costs two reports, however long it is', async () => {
  const { w, limits } = await setUp(2)
  const bucket = limits[0]!.bucket('key:1', RATE)
  // This opens a connection before the statements are counted.
  expect(await tokensOf(w, 'key:1')).toBeUndefined()
  const statements = await countStatements(w.pool, async () => {
    const unasked = Array.from({ length: LEASE }, () => bucket.take(nowMs(w)))
    const waiting = Array.from({ length: RATE.burst - LEASE }, () => bucket.takeReported(nowMs(w)))
    expect([...unasked, ...(await Promise.all(waiting))].every(({ ok }) => ok)).toBe(true)
  })
  expect(statements).toBe(2)
  expect(bucket.take(nowMs(w))).toMatchObject({ ok: false, waitMs: 10 })
  expect(await tokensOf(w, 'key:1')).toBe(0)
})

test('a report that was held up lets nothing flow in twice', async () => {
  const { w, limits } = await setUp(2)
  const [held, other] = limits.map((own) => own.bucket('key:1', RATE))
  expect(await takeAll(w, other!)).toBe(RATE.burst)
  await limits[1]!.report()
  let reported: Promise<void> | undefined
  await transact(w.pool, async (tx) => {
    await tx.rows(`select from shared_limits where name = 'key:1' for update`)
    held!.take(nowMs(w))
    reported = limits[0]!.report()
    await w.lockWait()
    // The other process reports ten seconds later and gets through first.
    w.clock.advance(10_000)
    await tx.rows(`update shared_limits set tokens = 0, filled_at = $1 where name = 'key:1'`, [w.clock.now()])
  })
  await reported
  expect(await tokensOf(w, 'key:1')).toBe(-1)
  expect(await takeAll(w, other!)).toBeLessThanOrEqual(LEASE)
})

// ---- Providers and keys ----

test('two processes together call a provider no more often than its budget allows', async () => {
  const w = await world({ processes: 2 })
  const { ctx } = await w.anotherProcess()
  const sentAtMs: number[] = []
  const send = ({ limits }: Context) => {
    const rateLimit = makeRateLimit({
      callsPerSecond: 10,
      bucket: limits.bucket('provider:bank', rateOf(10), { isDivided: true }),
      maxWaiting: 100,
      now: w.clock.now,
      sleep: async (ms) => {
        await nextTurn()
        w.clock.advance(ms)
      },
    })
    return Array.from({ length: 60 }, async (_, index) => {
      const call = { priority: 'write', sharer: `account ${index}`, remainingMs: 600_000 } as const
      if (await rateLimit.acquire(call)) sentAtMs.push(nowMs(w))
    })
  }
  const startedAtMs = nowMs(w)
  await Promise.all([...send(w.ctx), ...send(ctx)])
  expect(sentAtMs).toHaveLength(120)
  const most = Math.max(...sentAtMs.map((from) => sentAtMs.filter((at) => at >= from && at < from + 1_000).length))
  // At most a burst of ten, ten that flow in, and a lease of one for each process.
  expect(most).toBeLessThanOrEqual(10 + 10 + 2)
  expect(nowMs(w) - startedAtMs).toBeGreaterThanOrEqual((120 - 10 - 2) * 100)
})

test('a key’s limit holds across processes', async () => {
  const w = await world({ processes: 2, settings: { rateLimit: { perSecond: 1, burst: 20 } } })
  const { ctx } = await w.anotherProcess()
  const other = await appWith(ctx)
  const { key } = await w.account()
  const ask = async (count: number) => {
    const statuses: number[] = []
    for (let request = 0; request < count; request++)
      for (const app of [w.app, other]) statuses.push((await app.inject(get(key, '/api/balance'))).statusCode)
    return statuses
  }
  const statuses = await ask(20)
  const admitted = statuses.filter((status) => status === 200).length
  expect(admitted).toBeGreaterThanOrEqual(20)
  // Each process may take a lease of one beyond the burst.
  expect(admitted).toBeLessThanOrEqual(22)
  expect(statuses.slice(22)).toEqual(Array<number>(18).fill(429))
  w.clock.advance(60_000)
  expect(await ask(1)).toEqual([200, 200])
})

test('a burst of a key is served whole, although most of it waits for the database', async () => {
  const w = await world({ processes: 2, settings: { rateLimit: { perSecond: 1, burst: 40 } } })
  const { key } = await w.account()
  const answers = await Promise.all(Array.from({ length: 50 }, () => w.app.inject(get(key, '/api/balance'))))
  const statuses = answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)
  expect(statuses).toEqual([...Array<number>(40).fill(200), ...Array<number>(10).fill(429)])
})

test('a process that dies gives its tokens back by time', async () => {
  const { w, limits } = await setUp(2)
  const [dying, living] = limits.map((own) => own.bucket('key:1', RATE))
  expect(await takeAll(w, dying!)).toBe(RATE.burst)
  limits[0]!.close()
  expect(await takeAll(w, living!)).toBeLessThanOrEqual(LEASE)
  w.clock.advance(1_000)
  expect(await takeAll(w, living!)).toBeGreaterThanOrEqual(RATE.burst - LEASE)
})

// ---- A process that is alone ----

test('a process that is alone tells the database nothing', async () => {
  const w = await world({ settings: { rateLimit: { perSecond: 1, burst: 20 } } })
  const { key } = await w.account()
  const answers = await Promise.all(Array.from({ length: 25 }, () => w.app.inject(get(key, '/api/balance'))))
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(20)
  await w.ctx.limits.report()
  expect(await w.count('shared_limits')).toBe(0)
})

test('what a process took while it was alone counts when a second one comes, unless it has flowed in again', async () => {
  const w = await world()
  let processes = 1
  const own = () =>
    limitsOn(
      w,
      () => w.pool,
      () => processes,
    )
  const [limits, newcomers] = [own(), own()]
  const [busy, idle] = ['key:busy', 'key:idle'].map((name) => limits.bucket(name, RATE))
  for (let count = 0; count < 40; count++)
    for (const bucket of [busy, idle]) expect(bucket!.take(nowMs(w)).ok).toBe(true)
  w.clock.advance(500)
  for (let count = 0; count < 40; count++) expect(busy!.take(nowMs(w)).ok).toBe(true)

  processes = 2
  busy!.take(nowMs(w))
  idle!.take(nowMs(w))
  await limits.report()
  expect(await takeAll(w, newcomers.bucket('key:busy', RATE))).toBe(10)
  expect(await takeAll(w, newcomers.bucket('key:idle', RATE))).toBe(RATE.burst - 1)
})

test('a limit of 0 is no limit, and asks nothing', async () => {
  const w = await world({ processes: 2, settings: { rateLimit: { perSecond: 0, burst: 1 } } })
  const account = await w.account()
  await w.deposit(account)
  for (let request = 0; request < 20; request++)
    expect((await w.app.inject(get(account.key, '/api/balance'))).statusCode).toBe(200)
  await w.ctx.limits.report()
  expect(await w.count('shared_limits')).toBe(0)
})

// ---- Without the database ----

/** Limits whose database is away until the test sets one. */
function limitsAway(w: World, processes: number) {
  const nowhere = makePool('postgres://nobody@127.0.0.1:1/none', w.ctx.log)
  onTestFinished(() => nowhere.end())
  const database = { pool: nowhere }
  const limits = limitsOn(
    w,
    () => database.pool,
    () => processes,
  )
  return { limits, database }
}

test('with the database away requests are still answered, within the limit of a process', async () => {
  const w = await world({ settings: { rateLimit: { perSecond: 1, burst: 20 } } })
  const app = await appWith({ ...w.ctx, limits: limitsAway(w, 2).limits })
  const { key } = await w.account()
  const answers = await Promise.all(Array.from({ length: 30 }, () => app.inject(get(key, '/api/balance'))))
  const statuses = answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)
  expect(statuses).toEqual([...Array<number>(20).fill(200), ...Array<number>(10).fill(429)])
})

test('with the database away each process keeps to its part of a provider’s budget', async () => {
  const w = await world()
  const bucket = limitsAway(w, 4).limits.bucket('provider:bank', rateOf(100), { isDivided: true })
  let sent = 0
  for (let count = 0; count < 1_000; count++) {
    await bucket.reported()
    if (bucket.take(nowMs(w)).ok) sent += 1
  }
  // The process sends what it took before it knew, and then a quarter of the burst.
  expect(sent).toBeLessThanOrEqual(leaseOf(rateOf(100)) + 25)
  expect(sent).toBeGreaterThanOrEqual(25)
  for (let second = 0; second < 10; second++) {
    w.clock.advance(1_000)
    for (let count = 0; count < 100; count++) if (bucket.take(nowMs(w)).ok) sent += 1
  }
  expect(sent).toBeLessThanOrEqual(leaseOf(rateOf(100)) + 25 + 250)
  expect(sent).toBeGreaterThanOrEqual(250)
})

test('when the database is back, the limit is shared again and nobody is punished for the time between', async () => {
  const w = await world()
  const { limits, database } = limitsAway(w, 2)
  const bucket = limits.bucket('key:1', RATE)
  expect(await takeAll(w, bucket)).toBe(RATE.burst)
  w.clock.advance(60_000)
  bucket.take(nowMs(w))
  database.pool = w.pool
  await limits.report()
  expect(await tokensOf(w, 'key:1')).toBe(RATE.burst - 1)
  expect(await takeAll(w, bucket)).toBe(RATE.burst - 1)
  await limits.report()
  expect(await tokensOf(w, 'key:1')).toBe(0)
})

test('a report that is late holds one connection, however often it is tried again', async () => {
  const w = await world({ isDirect: true })
  const limits = makeSharedBuckets({
    report: (reports) => reportTaken(w.pool, w.clock.now(), reports),
    processes: () => 2,
    now: w.clock.now,
    reportWithinMs: 20,
  })
  onTestFinished(() => limits.close())
  const bucket = limits.bucket('key:1', RATE)
  await reportTaken(w.pool, w.clock.now(), [{ name: 'key:1', ...RATE, taken: 0, openForMs: 0 }])
  await transact(w.pool, async (tx) => {
    await tx.rows(`select from shared_limits where name = 'key:1' for update`)
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(bucket.take(nowMs(w)).ok).toBe(true)
      await limits.report()
    }
    await w.lockWait()
    expect(w.pool.totalCount - w.pool.idleCount).toBe(2)
  })
  await until('it is reported', async () => {
    await limits.report()
    // One of the four was reported late. The other three are half of the five that are missing, rounded up.
    return (await tokensOf(w, 'key:1')) === RATE.burst - 4
  })
})

// ---- Breakers ----

const call = (ctx: Context) => ctx.providers[0]!.check('a'.repeat(32)).catch(() => 'failed')
const breakerOf = (ctx: Context) => ctx.providers[0]!.health().breaker

test('a breaker that one process opened stops the others', async () => {
  const w = await world({ processes: 2 })
  const { ctx } = await w.anotherProcess()
  await w.sandbox.goDown()
  while (breakerOf(w.ctx) === 'closed') await call(w.ctx)
  await w.ctx.limits.report()
  // The other process learns of it after one call of its own. Otherwise it would take ten failures of its own.
  await call(ctx)
  await ctx.limits.report()
  expect(breakerOf(ctx)).toBe('open')
  await w.sandbox.comeBack()
  expect(await call(ctx)).toBe('failed')
  w.clock.advance(5_000)
  expect(await call(ctx)).toBe('absent')
  expect(breakerOf(ctx)).toBe('closed')
})

test('a process whose own calls succeed is not stopped by one that reaches nothing', async () => {
  const w = await world({ processes: 2 })
  const { ctx } = await w.anotherProcess()
  await w.sandbox.goDown()
  while (breakerOf(w.ctx) === 'closed') await call(w.ctx)
  await w.ctx.limits.report()
  await w.sandbox.comeBack()
  // With a budget, this provider learns with every call that the other breaker is open.
  const { url } = w.sandbox
  const { log, limits } = ctx
  const provider = makeApiPix({
    name: 'sandbox',
    url,
    tokenUrl: `${url}/oauth/token`,
    clientId: 'sandbox',
    clientSecret: 'sandbox',
    pixKey: 'sandbox@guiche.example',
    callsPerSecond: 10,
    now: w.clock.now,
    log,
    limits,
  })
  w.clock.advance(1_000)
  onTestFinished(() => provider.close())
  for (let count = 0; count < 3; count++) {
    expect(await provider.check('a'.repeat(32))).toBe('absent')
    await limits.report()
  }
  expect([breakerOf(w.ctx), provider.health().breaker]).toEqual(['open', 'closed'])
  expect(
    await w.count('shared_limits', `name = 'provider:sandbox' and open_until > '${w.clock.now().toISOString()}'`),
  ).toBe(1)
})

// ---- The table ----

test('buckets that nobody used for a day are purged, and no others', async () => {
  const { w, limits } = await setUp(2)
  limits[0]!.bucket('key:old', RATE).take(nowMs(w))
  await limits[0]!.report()
  w.clock.advance(25 * 3_600_000)
  limits[0]!.bucket('key:new', RATE).take(nowMs(w))
  await limits[0]!.report()
  await purgeSharedLimits(w.pool, w.clock.now())
  expect(await tokensOf(w, 'key:old')).toBeUndefined()
  expect(await tokensOf(w, 'key:new')).toBe(RATE.burst - 1)
})

test('a database whose clock is set back does not stop a bucket', async () => {
  const { w, limits } = await setUp(2)
  const bucket = limits[0]!.bucket('key:1', RATE)
  expect(await takeAll(w, bucket)).toBe(RATE.burst)
  w.clock.advance(-3_600_000)
  limits[1]!.bucket('key:1', RATE).take(nowMs(w))
  await limits[1]!.report()
  w.clock.advance(1_000)
  expect(await takeAll(w, limits[1]!.bucket('key:1', RATE))).toBeGreaterThanOrEqual(RATE.burst - LEASE)
})
