import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { makePool, type Pool } from '../src/db/pool.ts'
import { prepared } from '../src/db/prepared.ts'
import { query, transact } from '../src/db/tx.ts'
import { startTransactionPooler } from './database-proxy.ts'
import { world } from './world.ts'

const SUM = prepared('select $1::int + $2::int as sum')
const silentLog = { debug() {}, info() {}, warn() {}, error() {} }

const SETTINGS = `select current_setting('statement_timeout') as statement, current_setting('plan_cache_mode') as plans,
  current_setting('jit') as jit, current_setting('idle_in_transaction_session_timeout') as idle`
const OURS = { statement: '10s', plans: 'force_custom_plan', jit: 'off', idle: '15s' }
const SERVERS = { statement: '0', plans: 'auto', jit: 'on', idle: '0' }

test('a pooled connection keeps no setting of ours in its session, and has all of them in a transaction', async () => {
  const w = await world()
  const pool = poolAt(await startTransactionPooler(w.directUrl))
  expect(await query(pool, SETTINGS)).toEqual([SERVERS])
  expect(await transact(pool, (tx) => tx.rows(SETTINGS))).toEqual([OURS])
  expect(await transact(pool, (tx) => tx.rows(SETTINGS), { isolation: 'repeatable read' })).toEqual([OURS])
  expect(await query(pool, SETTINGS)).toEqual([SERVERS])
})

test('a direct connection has our settings in its session', async () => {
  const { directUrl } = await world()
  expect(await query(poolAt(directUrl), SETTINGS)).toEqual([OURS])
})

test('behind a pooler statements have no names, so it may run each on another connection', async () => {
  const w = await world()
  const url = await startTransactionPooler(w.directUrl)
  const pool = poolAt(url)
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  onTestFinished(() => other.end())
  const sums = async () => [
    await query(pool, SUM, [2, 3]),
    await transact(pool, (tx) => tx.rows<{ sum: number }>(SUM, [2, 3])),
  ]
  expect(await sums()).toEqual([[{ sum: 5 }], [{ sum: 5 }]])
  // This client takes the connection that we used, so the pooler lends us another one.
  await other.query('begin')
  expect(await sums()).toEqual([[{ sum: 5 }], [{ sum: 5 }]])
  await other.query('commit')
  expect(await sums()).toEqual([[{ sum: 5 }], [{ sum: 5 }]])
})

function poolAt(url: string): Pool {
  const pool = makePool(url, silentLog, { maxConnections: 1 })
  onTestFinished(() => pool.end())
  return pool
}
