import { expect, onTestFinished, test } from 'vitest'
import { makeKeyCache } from '../src/domain/accounts/callers.ts'
import { DatabaseUnavailable } from '../src/db/failure.ts'
import { makeOutageLog, makePool } from '../src/db/pool.ts'
import { query, transact } from '../src/db/tx.ts'
import { readOperatorOverview, readOverview } from '../src/domain/reports/overview.ts'
import { makeLog } from '../src/log.ts'
import { startLoop } from '../src/workers/loop.ts'
import { startFreezingProxy } from './database-proxy.ts'
import { makeOperator } from './operators-client.ts'
import { appWith, deposit, get, withPool } from './requests.ts'
import { scrape } from './scrape.ts'
import { until, world, type World } from './world.ts'

// What callers and operators see of a database that cannot be used now: read-only, too slow, frozen, or gone.

const VALUE = '{"value":5000}'
/** These limits are short, so tests that wait for them are short too. Nothing depends on the speed of the rest. */
const SHORT = { statementTimeoutMs: 1_000, clientGraceMs: 500 }

test('a read-only database is 503 with Retry-After and not ready, and a connection to it is not kept', async () => {
  const w = await world({ isDirect: true })
  const { key } = await w.account()
  const set = (what: string) => query(w.pool, `alter database ${databaseOf(w)} ${what}`)
  const app = await appWith((await w.anotherProcess()).ctx)
  await set('set default_transaction_read_only = on')

  const ready = await app.inject('/readyz')
  expect([ready.statusCode, ready.json()]).toEqual([503, { status: 'not ready', reason: 'database read-only' }])
  const refused = await app.inject(deposit(key, VALUE))
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1'])

  // The setting applies to new connections only: an old one would be refused for ever.
  await set('reset default_transaction_read_only')
  expect((await app.inject(deposit(key, VALUE))).statusCode).toBe(201)
  expect((await app.inject('/readyz')).statusCode).toBe(200)
})

test('a full disk is 503 and not ready, until there is room again', async () => {
  const w = await world({ isDirect: true })
  const { key } = await w.account()
  const { key: metricsKey } = await makeOperator(w)
  // PostgreSQL raises this when it cannot extend a table. Here both a deposit and the check for free space get it.
  const full = `begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end`
  await w.pool.query(`create schema full_disk;
    create function full_disk.repeat(text, integer) returns text language plpgsql as $$${full}$$;
    create function full_disk.refuse() returns trigger language plpgsql as $$${full}$$;
    create trigger full_disk before insert on charges execute function full_disk.refuse();
    alter database ${databaseOf(w)} set search_path = full_disk, public, pg_catalog`)
  const app = await appWith((await w.anotherProcess()).ctx)
  const state = async () => [
    (await app.inject('/readyz')).json(),
    (await scrape({ app }, metricsKey))['guiche_database_writable'],
  ]
  expect(await state()).toMatchObject([{ status: 'ready' }, 1])

  const refused = await app.inject(deposit(key, VALUE))
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1'])
  w.clock.advance(2_000)
  expect(await state()).toEqual([{ status: 'not ready', reason: 'database disk full' }, 0])

  await w.pool.query('drop schema full_disk cascade')
  w.clock.advance(2_000)
  expect(await state()).toMatchObject([{ status: 'ready' }, 1])
  expect((await app.inject(deposit(key, VALUE))).statusCode).toBe(201)
})

test('a single statement that meets a read-only database gives its connection up too', async () => {
  const w = await world()
  await query(w.pool, `alter database ${databaseOf(w)} set default_transaction_read_only = on`)
  const pool = poolOf(w, {})
  await expect(query(pool, 'delete from charges')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  expect(pool.totalCount).toBe(0)
})

test.each([
  ['a statement that takes too long', { statementTimeoutMs: 200 }, undefined],
  ['a lock that does not come', {}, 'set lock_timeout = 200'],
])('%s is 503 with Retry-After', async (_, pool, setting) => {
  // Behind a pooler PostgreSQL does not know the limit: the statement goes on, and its outcome is unknown.
  const w = await world({ isDirect: true })
  const { key } = await w.account()
  if (setting) await query(w.pool, `alter database ${databaseOf(w)} ${setting}`)
  const app = await appWith((await w.anotherProcess({ pool })).ctx)
  await transact(w.pool, async (tx) => {
    await tx.run('lock table charges')
    const refused = await app.inject(deposit(key, VALUE))
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1'])
  })
  expect(await w.count('charges')).toBe(0)
})

test('a frozen database is 503 for whoever waits for it, and is used again when it is back', async () => {
  const w = await world()
  const { key } = await w.account()
  const proxy = await startFreezingProxy(w.directUrl)
  const app = await appWith((await w.anotherProcess({ databaseUrl: proxy.url, pool: SHORT })).ctx)
  const ask = async () => (await app.inject(get(key, '/api/balance'))).statusCode
  await until('the database answers', async () => (await ask()) === 200)

  proxy.freeze()
  w.clock.advance(1_000) // the key is read again
  const answers = await Promise.all([ask(), app.inject(deposit(key, VALUE)).then((answer) => answer.statusCode)])
  expect(answers).toEqual([503, 503])
  expect((await app.inject('/readyz')).statusCode).toBe(503)

  proxy.thaw()
  await until('the database answers again', async () => (await ask()) === 200)
})

test('a commit whose answer is lost is 503, and its idempotency key answers the retry: one charge', async () => {
  const w = await world()
  const { key } = await w.account()
  const proxy = await startFreezingProxy(w.directUrl)
  const app = await appWith((await w.anotherProcess({ databaseUrl: proxy.url, pool: SHORT })).ctx)
  const ask = () => app.inject(deposit(key, VALUE, { 'idempotency-key': 'order-1' }))
  await until('the key is known', async () => (await app.inject(get(key, '/api/balance'))).statusCode === 200)

  proxy.loseAnswerTo('insert into charges')
  expect((await ask()).statusCode).toBe(503)
  expect(await w.count('charges', `status = 'OPENING'`)).toBe(1)
  await until('the retry is answered', async () => (await ask()).statusCode === 201)
  expect(await w.count('charges')).toBe(1)
  expect(await w.count('charges', `status = 'PENDING'`)).toBe(1)
})

test('a connection whose answer did not come in time is not used again, also by who gives it back as good', async () => {
  const w = await world()
  const pool = poolOf(w, { statementTimeoutMs: 0, clientGraceMs: 200 })
  const client = await pool.connect()
  await expect(client.query('select pg_sleep(30)')).rejects.toThrow('Query read timeout')
  client.release()
  expect(pool.totalCount).toBe(0)
})

test('a transaction that asks for more time gets it at the database and in the process', async () => {
  const w = await world()
  const pool = poolOf(w, { statementTimeoutMs: 100, clientGraceMs: 100 })
  const sleep = (timeoutMs?: number) =>
    transact(pool, async (tx) => {
      if (timeoutMs) await tx.setStatementTimeout(timeoutMs)
      await tx.run('select pg_sleep(0.5)')
      return 'done'
    })
  await expect(sleep()).rejects.toMatchObject({ code: 'unavailable' })
  expect(await sleep(60_000)).toBe('done')
})

test('an overview takes one connection at a time', async () => {
  const w = await world()
  const { accountId } = await w.account()
  await until('the use of the key, written in the background, is recorded', async () => {
    const { rowCount } = await w.pool.query('select from api_keys where last_used_at is not null')
    return rowCount === 1 && w.pool.idleCount === w.pool.totalCount
  })
  let [inUse, most] = [0, 0]
  w.pool.on('acquire', () => void (most = Math.max(most, ++inUse)))
  w.pool.on('release', () => void inUse--)
  await readOverview(w.ctx, accountId)
  await readOperatorOverview(w.ctx)
  expect(most).toBe(1)
})

test('while the database is away, the log has one line for a cause and ten seconds, and no stack', async () => {
  const w = await world()
  const { key } = await w.account()
  const lines: { msg: string; reason?: string; failures?: number; err?: unknown }[] = []
  const log = makeLog('info', { write: (line) => void lines.push(JSON.parse(line)) })
  let nowMs = 0
  const pool = makePool('postgresql://nobody@127.0.0.1:1/none', log, { nowMs: () => nowMs })
  const app = await appWith({ ...withPool(w.ctx, pool), log, keys: { ...makeKeyCache(), get: () => undefined } })
  const fail = async () => expect((await app.inject(get(key, '/api/balance'))).statusCode).toBe(503)
  const told = () => lines.filter((line) => line.msg === 'database unavailable')

  for (let request = 0; request < 10; request++) await fail()
  await app.inject('/readyz')
  const round = () => query(pool, 'select 1').then(() => 'idle' as const)
  const loop = startLoop({ ...w.ctx, log }, { name: 'test', idleMs: 60_000, round })
  await loop.stop()
  expect(told()).toMatchObject([{ reason: 'connect ECONNREFUSED 127.0.0.1:1', failures: 1 }])

  nowMs = 10_000
  await fail()
  expect(told()).toMatchObject([{ failures: 1 }, { failures: 12 }])
  expect(lines.filter((line) => line.err !== undefined)).toEqual([])
})

test('a database that stops while the pool closes its connections is no outage', async () => {
  const w = await world()
  const lines: string[] = []
  const pool = makePool(w.directUrl, makeLog('info', { write: (line) => void lines.push(line) }))
  const client = await pool.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = rows[0]!.pid
  const closed = new Promise((resolve) => void client.once('end', resolve))
  client.release()

  process.kill(pid, 'SIGSTOP')
  try {
    await query(w.pool, 'select pg_terminate_backend($1)', [pid])
    await pool.end()
  } finally {
    // Now PostgreSQL sends 57P01, on a connection that is closing.
    process.kill(pid, 'SIGCONT')
  }
  await closed
  expect(lines).toEqual([])
})

test('the end of an outage is told once, with how often it was met, when nothing has failed for a while', () => {
  const lines: { fields: object; text: string }[] = []
  const note = (fields: object, text: string) => void lines.push({ fields, text })
  let nowMs = 0
  const outage = makeOutageLog({ debug: note, info: note, warn: note, error: note }, () => nowMs)
  outage.worked()
  expect(lines).toEqual([])

  for (nowMs = 0; nowMs < 8_000; nowMs += 1_000) outage.failed(new Error('Connection terminated'))
  outage.worked() // another connection still works, and then none
  outage.failed(new Error('Connection terminated'))
  expect(lines).toHaveLength(1)
  nowMs += 3_000
  outage.worked()
  outage.worked()
  expect(lines.slice(1)).toEqual([{ fields: { failures: 9, unsaid: 8, seconds: 8 }, text: 'the database works again' }])
})

test('other failures, and one that ends the service, are in the log as before', async () => {
  const lines: { msg: string; err?: { stack?: string } }[] = []
  const log = makeLog('info', { write: (line) => void lines.push(JSON.parse(line)) })
  log.error({ err: new Error('a bug') }, 'a worker round failed')
  log.error({ err: new DatabaseUnavailable(new Error('away')) }, 'a worker round failed')
  log.fatal({ err: new DatabaseUnavailable(new Error('away')) }, 'the service ends because of an error')
  expect(lines).toMatchObject([
    { msg: 'a worker round failed', err: { stack: expect.stringContaining('a bug') } },
    { msg: 'the service ends because of an error' },
  ])
})

function databaseOf(w: World): string {
  return /\/(test_\w+)/.exec(w.databaseUrl)![1]!
}

function poolOf(w: World, options: Parameters<typeof makePool>[2]) {
  const pool = makePool(w.directUrl, w.ctx.log, options)
  onTestFinished(() => pool.end())
  return pool
}
