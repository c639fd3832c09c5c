import { expect, onTestFinished, test } from 'vitest'
import { isPresent, joinPresence, purgeProcesses } from '../src/db/presence.ts'
import { autocommit, query, transact } from '../src/db/tx.ts'
import { startFreezingProxy } from './database-proxy.ts'
import { until, world, type World } from './world.ts'

const SOON = { leaseMs: 60_000, renewEveryMs: 20 }

async function join(w: World, options = SOON, databaseUrl = w.databaseUrl) {
  const presence = await joinPresence(databaseUrl, options)
  onTestFinished(presence.leave)
  return presence
}

async function leasedUntil(w: World, instance: number): Promise<number> {
  const sql = 'select leased_until as until from processes where instance = $1'
  return (await query<{ until: Date }>(w.pool, sql, [instance]))[0]!.until.getTime()
}

test('a process is present while it renews its lease, and gone at once when it leaves', async () => {
  const w = await world()
  const { instance, leave } = await join(w)
  expect(await isPresent(autocommit(w.pool), instance)).toBe(true)
  const before = await leasedUntil(w, instance)
  await until('the lease is renewed', async () => (await leasedUntil(w, instance)) > before)
  await leave()
  expect(await isPresent(autocommit(w.pool), instance)).toBe(false)
  expect(await w.count('processes', `instance = ${instance}`)).toBe(0)
})

test('a process that no longer renews is absent when its lease ends, by the database’s clock', async () => {
  const w = await world()
  const { instance } = await join(w, { leaseMs: 300, renewEveryMs: 3_600_000 })
  await until('the lease ends', async () => !(await isPresent(autocommit(w.pool), instance)))
  expect(await w.count('processes', `instance = ${instance} and leased_until <= clock_timestamp()`)).toBe(1)
})

test('a lease is renewed while every connection of the ordinary pool is busy', async () => {
  const w = await world()
  const { ctx } = await w.anotherProcess({ pool: { maxConnections: 1 } })
  const { instance } = await join(w)
  await transact(ctx.pool, async () => {
    const before = await leasedUntil(w, instance)
    await until('the lease is renewed', async () => (await leasedUntil(w, instance)) > before)
    expect(ctx.pool.idleCount).toBe(0)
  })
})

test('a row that a failover lost comes back with the next renewal', async () => {
  const w = await world()
  const { instance } = await join(w)
  await query(w.pool, 'delete from processes where instance = $1', [instance])
  await until('it is back', () => isPresent(autocommit(w.pool), instance))
  expect(await w.count('processes', `instance = ${instance}`)).toBe(1)
})

test('a process that leaves a frozen database does not wait for it', async () => {
  const w = await world()
  const proxy = await startFreezingProxy(w.directUrl)
  const { leave } = await join(w, SOON, proxy.url)
  proxy.freeze()
  const began = performance.now()
  await leave()
  expect(performance.now() - began).toBeLessThan(10_000)
})

test('rows of processes that ended a day ago are purged, and no others', async () => {
  const w = await world()
  await query(
    w.pool,
    `insert into processes select i, 'all', 'a', '1', now(), now() - i * interval '1 hour' from generate_series(20, 30) i`,
  )
  await purgeProcesses(w.pool)
  expect(await w.count('processes', 'instance between 20 and 30')).toBe(4)
  expect(await isPresent(autocommit(w.pool), w.ctx.instance)).toBe(true)
})

test('a process learns with its renewals how many others there are, and is not alone before the first', async () => {
  const w = await world()
  // The world itself counts as a process.
  const one = await join(w)
  expect(one.running()).toBe(2)
  const other = await join(w)
  await until('both know', async () => one.running() === 3 && other.running() === 3)
  await other.leave()
  await until('the other is gone', async () => one.running() === 2)
})
