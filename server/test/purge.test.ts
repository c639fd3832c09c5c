import pg from 'pg'
import { expect, test } from 'vitest'
import { readDatabaseUrl } from '../src/db/database-url.ts'
import { query, queryOne } from '../src/db/tx.ts'
import { keepAttemptPartitions } from '../src/domain/webhooks/attempt-partitions.ts'
import { purge } from '../src/workers/purge.ts'
import { deposit } from './requests.ts'
import { world, type World } from './world.ts'

const DAY_MS = 24 * 3_600_000

test('days of attempts begin at midnight UTC, also after the time zone of the database was changed and changed back', async () => {
  const w = await world()
  await keepAttemptPartitions(w.ctx)
  const { name } = await queryOne<{ name: string }>(w.pool, 'select current_database() as name')
  for (const zone of ['America/Sao_Paulo', 'Asia/Tokyo', 'UTC']) {
    await inSession(w, `alter database ${name} set timezone to '${zone}'`)
    w.clock.advance(DAY_MS)
    const { ctx } = await w.anotherProcess()
    expect((await keepAttemptPartitions(ctx)).made).toHaveLength(1)
  }
  const bounds = await inSession(
    w,
    `set timezone to 'UTC'; select pg_get_expr(relpartbound, oid) as bounds from pg_class where relname ~ '^attempts_\\d{8}$'`,
  )
  expect(bounds).toHaveLength(11)
  for (const { bounds: text } of bounds)
    expect(text).toMatch(/^FOR VALUES FROM \('\S+ 00:00:00\+00'\) TO \('\S+ 00:00:00\+00'\)$/)
})

test('a day that a part from another time zone reaches into is kept without that time', async () => {
  const w = await world()
  const [today, tomorrow] = [w.clock.now(), new Date(w.clock.now().getTime() + DAY_MS)].map((at) =>
    at.toISOString().slice(0, 10),
  )
  const name = `attempts_${today!.replaceAll('-', '')}`
  await query(
    w.pool,
    `create table ${name} partition of attempts for values from ('${today} 03:00+00') to ('${tomorrow} 03:00+00')`,
  )
  expect((await keepAttemptPartitions(w.ctx)).made).toHaveLength(7)
  w.clock.advance(31 * DAY_MS)
  expect((await keepAttemptPartitions(w.ctx)).dropped).toEqual([name])
})

test('a kind of old rows that cannot be deleted keeps no other from it, and is a metric until it can', async () => {
  const w = await world()
  const account = await w.account()
  const idempotent = deposit(account.key, '{"value":5000}', { 'idempotency-key': 'order-1' })
  expect((await w.app.inject(idempotent)).statusCode).toBe(201)
  const failing = async () =>
    Object.fromEntries((await w.ctx.metrics.purgeFailing.get()).values.map(({ labels, value }) => [labels.step, value]))
  w.clock.advance(2 * DAY_MS)
  await query(w.pool, 'alter table attempts rename to away')
  await purge(w.ctx)
  expect(await w.count('idempotency_keys')).toBe(0)
  expect(await failing()).toMatchObject({ attempts: 1, sessions: 0, idempotency_keys: 0 })
  await query(w.pool, 'alter table away rename to attempts')
  await purge(w.ctx)
  expect(await failing()).toMatchObject({ attempts: 0 })
})

/** Runs SQL on a connection of its own, with the settings of the database. */
async function inSession(w: World, sql: string): Promise<{ bounds: string }[]> {
  const client = new pg.Client(readDatabaseUrl(w.directUrl))
  await client.connect()
  const answers = [await client.query(sql)].flat()
  await client.end()
  return answers.at(-1)!.rows
}
