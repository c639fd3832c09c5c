// The PostgreSQL of the home, as the service starts it. The bench holds it open while the service restarts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { openEmbedded } from '../../server/dist/db/embedded/server.js'
import { readDatabaseUrl } from '../../server/dist/db/database-url.js'

/** The database of the service. */
const SERVICE = 'guiche'
const DURABLE = { fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' }

export async function openDatabase(home) {
  const embedded = await openEmbedded({ home, say: () => {} })
  const pools = new Map()
  /** A pool of the bench itself, for any database of the cluster. */
  const poolOf = (name) => {
    if (!pools.has(name)) pools.set(name, makePool(embedded.databaseUrl, name))
    return pools.get(name)
  }
  const readIn = (name) => async (sql, params) => (await poolOf(name).query(sql, params)).rows
  const read = readIn(SERVICE)
  const database = {
    url: embedded.databaseUrl,
    urlOf: (name) => urlOf(embedded.databaseUrl, name),
    /** The same cluster, with another database to read. */
    named: (name) => ({ ...database, url: urlOf(embedded.databaseUrl, name), read: readIn(name) }),
    /** As PostgreSQL's own programs want it. */
    libpq: libpqOf(embedded.databaseUrl),
    poolOf,
    read,
    postmaster: () => Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0]),
    create: (name) => read(`create database ${name}`),
    async describe() {
      const [{ version }] = await read(`select current_setting('server_version') as version`)
      return version
    },
    async requireDurable() {
      for (const [name, wanted] of Object.entries(DURABLE)) {
        const [{ value }] = await read(`select current_setting('${name}') as value`)
        if (value !== wanted) throw new Error(`the database runs with ${name} = ${value}: nothing it says counts`)
      }
    },
    /** Where the write-ahead log is, in bytes. */
    async walBytes() {
      const [{ bytes }] = await read(`select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes`)
      return Number(bytes)
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.end()))
      await embedded.stop()
    },
  }
  return database
}

function makePool(databaseUrl, name) {
  const pool = new pg.Pool({ ...readDatabaseUrl(urlOf(databaseUrl, name)), max: 5, application_name: 'guiche bench' })
  // The end of the database is noticed by whoever asks it next.
  pool.on('error', () => {})
  return pool
}

function urlOf(databaseUrl, name) {
  return databaseUrl.replace('@/guiche?', `@/${name}?`)
}

function libpqOf(databaseUrl) {
  const [, user, password, query] = /^postgresql:\/\/([^:]+):([^@]+)@\/guiche\?(.+)$/.exec(databaseUrl)
  const params = new URLSearchParams(query)
  return { PGUSER: user, PGPASSWORD: password, PGHOST: params.get('host'), PGPORT: params.get('port') }
}
