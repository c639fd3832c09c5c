import { OperatorError } from '../base/operator-error.ts'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { withClient } from './connect.ts'
import { explainDatabase, isLockTimeout } from './failure.ts'
import { requireSession } from './pooling.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)
// Any number that nothing else locks; two processes that start at once migrate one after the other.
const MIGRATION_LOCK = 4_782_113
// A migration may rewrite a large table; more than this wants a plan of its own.
const STATEMENT_TIMEOUT_MS = 30 * 60_000
// The answer of a database that works comes before; this is for one that is frozen or cut off.
const CLIENT_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 60_000
// Whatever comes after a statement that waits for a lock waits behind it, deposits included. So it does not wait for long…
const LOCK_TIMEOUT_MS = 2_000
// …and tries again, with a pause in which those deposits go on. About two minutes in all: more means that something holds the lock for good.
const LOCK_ATTEMPTS = 30
const LOCK_PAUSE_MS = 2_000

export type Migration = { name: string; sql: string; checksum: string }

export type MigrateOptions = {
  /** Hears why it takes longer. */
  say?: (line: string) => void
  lockTimeoutMs?: number
  lockAttempts?: number
  lockPauseMs?: number
}

/** Applies what is missing, one transaction a file, and returns the names applied. Refuses a database that is ahead or was edited. */
export function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<string[]> {
  return inspect(databaseUrl, async (client, files) => {
    // Most starts find nothing to do, and then take no lock at all.
    if ((await readMissing(client, files)).length === 0) return []
    return inTurn(databaseUrl, options, async () => {
      await client.query(`set statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
      await client.query(
        'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
      )
      // Looked up again: another process may have applied them while this one waited.
      const missing = await readMissing(client, files)
      for (const file of missing) await withLockRetries(options, () => apply(client, file, options))
      return missing.map((file) => file.name)
    })
  })
}

/** The names of the migrations that the database lacks. Looks, and alters nothing. */
export function findMissingMigrations(databaseUrl: string): Promise<string[]> {
  return inspect(databaseUrl, async (client, files) => (await readMissing(client, files)).map(({ name }) => name))
}

/** Refuses a database that this version of guiche cannot work with as it is. */
export async function requireMigrated(databaseUrl: string): Promise<void> {
  const missing = await findMissingMigrations(databaseUrl)
  if (missing.length === 0) return
  const count = missing.length === 1 ? '1 migration' : `${missing.length} migrations`
  throw new OperatorError(
    `the database lacks ${count} (${missing[0]} …): run guiche migrate, or start the service, which migrates too`,
  )
}

/** Pure: what to apply, or why not. */
export function missingMigrations(files: Migration[], applied: { name: string; checksum: string }[]): Migration[] {
  const byName = new Map(files.map((file) => [file.name, file]))
  for (const row of applied) {
    const file = byName.get(row.name)
    if (!file)
      throw new OperatorError(
        `the database was migrated by a newer guiche (${row.name}): update guiche, or restore a backup`,
      )
    if (file.checksum !== row.checksum)
      throw new OperatorError(`migration ${row.name} was edited after it was applied: restore the file`)
  }
  const done = new Set(applied.map((row) => row.name))
  return files.filter((file) => !done.has(file.name))
}

async function inspect<Result>(
  databaseUrl: string,
  work: (client: pg.Client, files: Migration[]) => Promise<Result>,
): Promise<Result> {
  const files = await readMigrations()
  return withClient(databaseUrl, { name: 'guiche-migrate', queryTimeoutMs: CLIENT_TIMEOUT_MS }, async (client) => {
    await requireSession(client, databaseUrl)
    return work(client, files)
  })
}

async function readMissing(client: pg.Client, files: Migration[]): Promise<Migration[]> {
  const { rows: found } = await client.query<{ isThere: boolean }>(
    `select to_regclass('migrations') is not null as "isThere"`,
  )
  if (!found[0]!.isThere) return missingMigrations(files, [])
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from migrations order by name',
  )
  return missingMigrations(files, rows)
}

/**
 * Does the work while no other process migrates. A transaction of its own connection holds the lock, so it ends with the
 * transaction or with this process, and no pooler can keep it.
 */
function inTurn<Result>(databaseUrl: string, options: MigrateOptions, work: () => Promise<Result>): Promise<Result> {
  return withClient(databaseUrl, { name: 'guiche-migrate-lock', queryTimeoutMs: CLIENT_TIMEOUT_MS }, async (holder) => {
    await holder.query('begin')
    // Between these statements and the last it only holds the lock, however long the work takes.
    await holder.query(`set local idle_in_transaction_session_timeout = 0`)
    await holder.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
    const { rows } = await holder.query<{ isOurs: boolean }>('select pg_try_advisory_xact_lock($1) as "isOurs"', [
      MIGRATION_LOCK,
    ])
    if (!rows[0]!.isOurs) {
      options.say?.('Waiting for another process that migrates the database…')
      await holder.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    }
    const result = await work()
    await holder.query('commit')
    return result
  })
}

async function apply(client: pg.Client, file: Migration, options: MigrateOptions): Promise<void> {
  try {
    await client.query('begin')
    await client.query(`set local lock_timeout = ${options.lockTimeoutMs ?? LOCK_TIMEOUT_MS}`)
    await client.query(file.sql)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [file.name, file.checksum])
    await client.query('commit')
  } catch (error) {
    // On a broken connection this fails too, and the database rolls back by itself.
    await client.query('rollback').catch(() => {})
    if (isLockTimeout(error)) throw new TableInUse(file.name, { cause: error })
    if (explainDatabase(error) !== undefined) throw error
    throw new OperatorError(
      `migration ${file.name} failed: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    )
  }
}

class TableInUse extends OperatorError {
  readonly migration: string

  constructor(migration: string, options: { cause: unknown }) {
    super(
      `migration ${migration} cannot lock a table that is in use: ` +
        'end what holds it (pg_stat_activity shows long transactions), and run guiche migrate again',
      options,
    )
    this.migration = migration
  }
}

async function withLockRetries<Result>(options: MigrateOptions, work: () => Promise<Result>): Promise<Result> {
  const { lockAttempts = LOCK_ATTEMPTS, lockPauseMs = LOCK_PAUSE_MS } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof TableInUse) || attempt >= lockAttempts) throw error
      options.say?.(
        `Migration ${error.migration} needs a table that is in use; trying again (${attempt} of ${lockAttempts})…`,
      )
      await sleep(lockPauseMs)
    }
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
