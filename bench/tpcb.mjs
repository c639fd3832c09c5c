// The reference for `settle`: pgbench with TPC-B at scale 1. All its transactions update the one row of `branches`, as
// all payments of one account update its balance.
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { runChild } from './children.mjs'

const CLIENTS = [1, 4, 16]
const SETUP_WITHIN_MS = 60_000
const DEBIAN = '/usr/lib/postgresql'

/** Resolves to a function that measures. Its first turn finds the best number of clients, which later turns use. */
export async function openTpcb(database) {
  const pgbench = findPgbench()
  const { user, password, host, port, database: name } = await database.create('bench_tpcb')
  const libpq = { PGUSER: user, PGPASSWORD: password, PGHOST: host, PGPORT: String(port), PGDATABASE: name }
  const run = (args, withinMs) => runChild('pgbench', pgbench, args, { env: { ...process.env, ...libpq }, withinMs })
  await run(['-i', '-q', '-s', '1'], SETUP_WITHIN_MS)
  const measureWith = async (clients, seconds) => {
    const args = ['-n', '-M', 'prepared', '-c', String(clients), '-j', '1', '-T', String(seconds)]
    const { stdout } = await run(args, SETUP_WITHIN_MS + seconds * 1000)
    if (/number of failed transactions: [1-9]/.test(stdout)) throw new Error(`pgbench: ${stdout.slice(-500)}`)
    // pgbench prints no rate if no transaction ended in time.
    return { clients, perSecond: Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1] ?? 0) }
  }
  let best
  return async (seconds) => {
    const turns = []
    for (const clients of best ? [best.clients] : CLIENTS) turns.push(await measureWith(clients, seconds))
    best = turns.toSorted((a, b) => b.perSecond - a.perSecond)[0]
    if (best.perSecond === 0) throw new Error('pgbench finished no transaction: give it more time with --seconds')
    return best
  }
}

/** Throws if it is not installed. */
export function findPgbench() {
  const debian = existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin')) : []
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...debian]
  const found = folders.map((folder) => join(folder, 'pgbench')).find((path) => existsSync(path))
  if (found) return found
  throw new Error(
    "The measure settle needs pgbench: install Debian's package postgresql, or leave settle out with --only",
  )
}
