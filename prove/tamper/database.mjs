// The service's PostgreSQL: queries for the history, copies for the forgeries, and the audit of a copy in this process.

import { createRequire } from 'node:module'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { statementsOf } from './forgeries.mjs'
import { until } from './history.mjs'

const IN_USE = '55006'
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

// No copy survives its audit, so nothing is flushed to disk. This takes a quarter of the time.
function hurry(data) {
  appendFileSync(join(data, 'postgresql.conf'), '\nfsync = off\nfull_page_writes = off\n')
  process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGHUP')
}

export async function openDatabase({ dist, home }) {
  const load = (path) => import(pathToFileURL(join(dist, path)).href)
  const { openEmbedded } = await load('db/embedded/server.js')
  const { makePool } = await load('db/pool.js')
  const { transact } = await load('db/tx.js')
  const { booksOptions } = await load('domain/audit/audit.js')
  const { auditBooks } = await load('domain/audit/books.js')
  const { loadConfig } = await load('config/config.js')
  const { refreshDailyTotals } = await load('domain/reports/daily-totals.js')
  const pg = createRequire(join(dist, 'cli.js'))('pg')
  const embedded = await openEmbedded({ home, say: () => undefined })
  const named = (name) => embedded.databaseUrl.replace(/\/guiche(\?|$)/, `/${name}$1`)
  const secretKey = readFileSync(join(home, 'secret-key'), 'utf8').trim()
  let pool = makePool(embedded.databaseUrl, SILENT)
  const rows = async (sql, params) => (await pool.query(sql, params)).rows

  const on = async (url, work) => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  // A database can be copied only while it has no sessions. Ended sessions take a moment to disappear, and the
  // connection that keeps the database running comes back.
  const copy = (from, to) =>
    until(`${from} can be copied`, () =>
      on(named('postgres'), async (client) => {
        // Ends only the sessions of clients, because PostgreSQL ends its own workers itself.
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
          [from],
        )
        try {
          await client.query(`create database ${to} template ${from} strategy file_copy`)
          return true
        } catch (error) {
          if (error.code !== IN_USE) throw error
          return false
        }
      }),
    )

  return {
    secretKey,
    count: async (what) => Number((await rows(`select count(*) as n from ${what}`))[0].n),
    accountId: async (email) => (await rows('select id from accounts where email = $1', [email]))[0].id,
    endToEndId: async (txid) =>
      (await rows('select end_to_end_id from payments where txid = $1 and credited', [txid]))[0].end_to_end_id,
    exceptions: async (kind) =>
      (
        await rows(
          `select replace(id::text, '-', '') as id from exceptions where kind = $1 and resolution is null order by id`,
          [kind],
        )
      ).map(({ id }) => id),
    /** Updates the daily totals, as the dashboard does. */
    countDays: () => refreshDailyTotals({ pool, now: () => new Date() }, null),
    /** Leaves the original database, because the history is complete. From here on only copies are used. */
    async leave() {
      await pool.end()
      pool = undefined
      hurry(join(home, 'data'))
      await copy('guiche', 'pristine')
    },
    /** Runs `work` on a copy with the forgery. */
    async forged(forgery, work) {
      const url = named('forged')
      await copy('pristine', 'forged')
      try {
        await on(url, async (client) => {
          await client.query('begin')
          for (const sql of statementsOf(forgery)) await client.query(sql)
          await client.query('commit')
        })
        return await work(url)
      } finally {
        // Not `with (force)`: our role may not end an autovacuum worker. A plain drop makes PostgreSQL end it.
        await on(named('postgres'), (client) => client.query('drop database forged'))
      }
    },
    async audit(url) {
      const { settings } = loadConfig({ GUICHE_HOME: home })
      const forged = makePool(url, SILENT, { sealer: settings.sealer })
      try {
        const options = await booksOptions({ now: () => new Date(), settings })
        const work = (tx) => auditBooks(tx, options)
        return (await transact(forged, work, { isolation: 'repeatable read' })).differences
      } finally {
        await forged.end()
      }
    },
    async close() {
      await pool?.end()
      await embedded.stop()
    },
  }
}
