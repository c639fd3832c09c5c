// The PostgreSQL of the bench: the embedded one as the service would start it, or Debian's started in the same way.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { makeStockHome } from '../scripts/stock-postgres.mjs'
import { openEmbedded } from '../server/dist/db/embedded/server.js'

const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit']
const IN_MEMORY = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
])

/** Makes a directory on a disk: in memory an fsync would cost nothing, and every figure would be wrong. */
export function makeHome(parent) {
  mkdirSync(parent, { recursive: true })
  const found = IN_MEMORY.get(statfsSync(parent).type)
  if (found) throw new Error(`${parent} is in memory (${found}): name a directory on a disk with --data`)
  const home = mkdtempSync(join(parent, 'guiche-bench-'))
  // If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
  chmodSync(home, 0o755)
  return { home, remove: async () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }) }
}

export async function openDatabase(home, { postgres }) {
  if (postgres === 'stock') await makeStockHome(home)
  const embedded = await openEmbedded({ home, say: () => {} })
  const connection = connectionOf(embedded.databaseUrl)
  const pool = new pg.Pool({ ...connection, max: 2 })
  // A lost connection needs no handler here: the next query fails.
  pool.on('error', () => {})
  const readOne = async (sql) => (await pool.query(sql)).rows[0]
  for (const name of DURABLE) {
    const { value } = await readOne(`select current_setting('${name}') as value`)
    if (value !== 'on') throw new Error(`The database runs with ${name} = ${value}: nothing it says counts`)
  }
  return {
    url: embedded.databaseUrl,
    version: (await readOne(`select current_setting('server_version') as version`)).version,
    postmaster: () => Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0]),
    /** Creates another database in the same cluster. Resolves to its connection settings. */
    async create(name) {
      await pool.query(`create database ${name}`)
      return { ...connection, database: name }
    },
    /** The position in the write-ahead log, in bytes. */
    walBytes: async () => Number((await readOne(`select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes`)).bytes),
    async close() {
      await pool.end()
      await embedded.stop()
    },
  }
}

function connectionOf(databaseUrl) {
  const [, user, password, database, query] = /^postgresql:\/\/([^:]+):([^@]+)@\/(\w+)\?(.+)$/.exec(databaseUrl)
  const params = new URLSearchParams(query)
  return { user, password, database, host: params.get('host'), port: Number(params.get('port')) }
}
