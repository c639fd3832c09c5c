import { Refusal } from '../base/refusal.ts'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { Fault } from '../base/fault.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)
// Any number that nothing else locks; two processes that start at once migrate one after the other.
const MIGRATION_LOCK = 4_782_113
// A migration may rewrite a large table; more than this wants a plan of its own.
const STATEMENT_TIMEOUT_MS = 30 * 60_000

export type Migration = { name: string; sql: string; checksum: string }

/** Applies what is missing, one transaction a file, and returns the names applied. Refuses a database that is ahead or was edited. */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const files = await readMigrations()
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'guiche-migrate',
    statement_timeout: STATEMENT_TIMEOUT_MS,
  })
  client.on('error', () => {}) // a broken connection is reported by the query under way
  await client.connect().catch((error: Error) => {
    throw new Fault(
      'unavailable',
      `the database at DATABASE_URL cannot be reached: ${error.message || String(error)}`,
      { cause: error },
    )
  })
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    )
    const { rows } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from migrations order by name',
    )
    const missing = missingMigrations(files, rows)
    for (const file of missing) await apply(client, file)
    return missing.map((file) => file.name)
  } finally {
    await client.end()
  }
}

/** Pure: what to apply, or why not. */
export function missingMigrations(files: Migration[], applied: { name: string; checksum: string }[]): Migration[] {
  const byName = new Map(files.map((file) => [file.name, file]))
  for (const row of applied) {
    const file = byName.get(row.name)
    if (!file)
      throw new Refusal(`the database was migrated by a newer guiche (${row.name}): update guiche, or restore a backup`)
    if (file.checksum !== row.checksum)
      throw new Refusal(`migration ${row.name} was edited after it was applied: restore the file`)
  }
  const done = new Set(applied.map((row) => row.name))
  return files.filter((file) => !done.has(file.name))
}

async function apply(client: pg.Client, file: Migration) {
  try {
    await client.query('begin')
    await client.query(file.sql)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [file.name, file.checksum])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Refusal(`migration ${file.name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => /^\d{4}_[a-z0-9-_]+\.sql$/.test(name)).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, FOLDER), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}
