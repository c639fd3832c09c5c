import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isStockRun } from '../../scripts/stock-postgres.mjs'
import { openEmbedded, superuserUrl } from '../src/db/embedded/server.ts'
import { connect } from './empty-database.ts'
import { preparedHome, startServer } from './process.ts'
import { until } from './world.ts'

/** A part of each statement that an idle service repeats. */
const IDLE = ['insert into processes', 'from deliveries', 'from checks', 'from refunds', 'from sweeps']
const TIMES = 3

// The embedded PostgreSQL is built without JIT, so only GUICHE_TEST_POSTGRES=stock can show it.
test.skipIf(!isStockRun())('PostgreSQL compiles no statement of an idle service', async () => {
  const home = preparedHome()
  appendFileSync(join(home, 'data/postgresql.conf'), `\nshared_preload_libraries = 'pg_stat_statements'\n`)
  const embedded = await openEmbedded({ home, say: () => {} })
  onTestFinished(() => embedded.stop())
  const client = await connect(superuserUrl(embedded.databaseUrl))
  onTestFinished(() => client.end())
  await client.query('create extension pg_stat_statements')
  expect((await client.query('select pg_jit_available() as available, current_setting($1)', ['jit'])).rows).toEqual([
    { available: true, current_setting: 'on' },
  ])

  await startServer({ GUICHE_HOME: home })
  const asked = `select from unnest($1::text[]) part
    where (select max(calls) from pg_stat_statements where position(part in query) > 0) >= $2`
  await until('every loop has asked several times', async () => {
    const { rowCount } = await client.query(asked, [IDLE, TIMES])
    return rowCount === IDLE.length
  })
  const { rows } = await client.query('select query from pg_stat_statements where jit_functions > 0')
  expect(rows).toEqual([])
})
