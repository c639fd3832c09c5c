// PostgreSQL's own measure: TPC-B at scale 1, where all transactions meet at one row of `branches`, as all payments of
// one account meet at its balance. By pgbench where it is installed, else the same five statements through the driver.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { readDatabaseUrl } from '../../server/dist/db/database-url.js'
import { runChild } from './children.mjs'
import { findProgram } from './find-program.mjs'

const CLIENTS = [1, 4, 16]
const DATABASE = 'bench_tpcb'
const SETUP_WITHIN_MS = 60_000
const ACCOUNTS = 100_000
const TELLERS = 10

export async function openTpcb(database) {
  const pgbench = findProgram('pgbench', installedFolders())
  await database.create(DATABASE)
  const tpcb = pgbench ? await openPgbench(pgbench, database.libpq) : await openDriver(database)
  let best
  return {
    name: pgbench ? 'pgbench' : 'TPC-B through the driver',
    /** Transactions a second, with as many clients as are best. */
    async measure(seconds) {
      if (best) return tpcb(best, seconds)
      const found = []
      for (const clients of CLIENTS) found.push({ clients, perSecond: await tpcb(clients, seconds) })
      const first = found.toSorted((a, b) => b.perSecond - a.perSecond)[0]
      best = first.clients
      return first.perSecond
    },
    clients: () => best,
  }
}

function installedFolders() {
  const parent = '/usr/lib/postgresql'
  try {
    return readdirSync(parent).map((version) => join(parent, version, 'bin'))
  } catch {
    return []
  }
}

async function openPgbench(pgbench, libpq) {
  const env = { ...process.env, ...libpq, PGDATABASE: DATABASE }
  const run = (args, withinMs) => runChild('pgbench', pgbench, args, { env, withinMs })
  await run(['-i', '-q', '-s', '1'], SETUP_WITHIN_MS)
  return async (clients, seconds) => {
    const args = ['-n', '-M', 'prepared', '-c', String(clients), '-j', '1', '-T', String(seconds)]
    const { stdout } = await run(args, SETUP_WITHIN_MS + seconds * 1000)
    const failed = /number of failed transactions: ([1-9]\d*)/.exec(stdout)
    const found = /^tps = ([\d.]+)/m.exec(stdout)
    if (failed || !found) throw new Error(`pgbench: ${stdout.slice(-500)}`)
    return Number(found[1])
  }
}

async function openDriver(database) {
  const pool = database.poolOf(DATABASE)
  await pool.query(`
    create table branches (id int primary key, balance int not null) with (fillfactor = 100);
    create table tellers (id int primary key, branch_id int not null, balance int not null);
    create table bank_accounts (id int primary key, branch_id int not null, balance int not null, filler char(84));
    create table history (teller_id int, branch_id int, account_id int, delta int, at timestamp, filler char(22));
    insert into branches values (1, 0);
    insert into tellers select n, 1, 0 from generate_series(1, ${TELLERS}) n;
    insert into bank_accounts select n, 1, 0, '' from generate_series(1, ${ACCOUNTS}) n;`)
  await pool.query('vacuum analyze')
  return async (clients, seconds) => {
    const endMs = performance.now() + seconds * 1000
    const counts = await Promise.all(
      Array.from({ length: clients }, async () => {
        const client = new pg.Client(readDatabaseUrl(database.urlOf(DATABASE)))
        await client.connect()
        let count = 0
        for (; performance.now() < endMs; count++) await transaction(client)
        await client.end()
        return count
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0) / seconds
  }
}

async function transaction(client) {
  const random = (count) => 1 + Math.floor(Math.random() * count)
  const [account, teller, delta] = [random(ACCOUNTS), random(TELLERS), random(10_000) - 5_000]
  const run = (name, text, values) => client.query({ name, text, values })
  await run('begin', 'begin', [])
  await run('1', 'update bank_accounts set balance = balance + $1 where id = $2', [delta, account])
  await run('2', 'select balance from bank_accounts where id = $1', [account])
  await run('3', 'update tellers set balance = balance + $1 where id = $2', [delta, teller])
  await run('4', 'update branches set balance = balance + $1 where id = $2', [delta, 1])
  await run('5', 'insert into history (teller_id, branch_id, account_id, delta, at) values ($1, 1, $2, $3, now())', [
    teller,
    account,
    delta,
  ])
  await run('commit', 'commit', [])
}
