import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { freePort } from '../../../scripts/free-port.mjs'
import { openEmbedded } from '../../src/db/embedded/server.ts'
import { makePool, type Pool } from '../../src/db/pool.ts'
import { query } from '../../src/db/tx.ts'
import { startFreezingProxy } from '../database-proxy.ts'
import { preparedHome } from '../process.ts'
import { until } from '../world.ts'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const END_CONNECTIONS = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'guiche'`
const WHICH = `select pg_postmaster_start_time()::text as started`

test('of several hosts the one that writes is used, also when it changes', async () => {
  const embedded = await openEmbedded({ home: preparedHome(), say: () => {} })
  onTestFinished(() => embedded.stop())
  const [first, second] = [
    await startFreezingProxy(embedded.databaseUrl),
    await startFreezingProxy(inject('clusterUrl')),
  ]
  const closed = `127.0.0.1:${await freePort()}`
  const hosts = [closed, hostOf(first.url), hostOf(second.url)].join(',')
  const pool = makePool(first.url.replace(hostOf(first.url), hosts), SILENT)
  onTestFinished(() => pool.end())
  const [one, other] = [await startOf(embedded.databaseUrl), await startOf(inject('clusterUrl'))]

  expect(await whichOf(pool)).toBe(one)
  // The first host acts like a demoted primary: its connections end, and new ones are read-only.
  await run(embedded.databaseUrl, 'alter database guiche set default_transaction_read_only = on')
  await run(embedded.databaseUrl, END_CONNECTIONS)
  await until('the other one is used', async () => (await writeAndAsk(pool)) === other)
  await run(
    embedded.databaseUrl,
    'set default_transaction_read_only = off; alter database guiche reset default_transaction_read_only',
  )
  second.freeze()
  await until('the first one is used again', async () => (await writeAndAsk(pool)) === one)
})

test('if no host writes, the failure says why of each', async () => {
  const hosts = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const pool = makePool(`postgresql://guiche:x@${hosts.join(',')}/guiche`, SILENT)
  onTestFinished(() => pool.end())
  const failure = await query(pool, 'select 1').catch((error: Error) => error)
  expect(failure).toMatchObject({ code: 'unavailable' })
  expect(String((failure as Error).cause)).toContain(
    `No host can be written to: ${hosts.map((host) => `${host} (connect ECONNREFUSED ${host})`).join(', ')}`,
  )
})

function hostOf(url: string): string {
  return new URL(url).host
}

async function whichOf(pool: Pool): Promise<string> {
  return (await query<{ started: string }>(pool, WHICH))[0]!.started
}

/** Writes, and tells which host took it. Undefined if nothing can be written now. */
async function writeAndAsk(pool: Pool): Promise<string | undefined> {
  try {
    await query(pool, 'create table if not exists written (id int)')
    return await whichOf(pool)
  } catch {
    return undefined
  }
}

async function startOf(url: string): Promise<string> {
  return ((await run(url, WHICH)) as { started: string }[])[0]!.started
}

async function run(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    let rows: unknown[] = []
    for (const statement of sql.split('; ')) rows = (await client.query(statement)).rows as unknown[]
    return rows
  } finally {
    await client.end()
  }
}
