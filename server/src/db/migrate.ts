import { OperatorError } from '../base/operator-error.ts'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { requireVersion, withClient } from './connect.ts'
import { explainDatabase, isLockTimeout } from './failure.ts'
import { setForSession, setLocal } from './pool.ts'
import { isTransient } from './tx.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)
const MIGRATION_LOCK = 4_782_113
// A migration may rewrite a large table.
const STATEMENT_TIMEOUT_MS = 30 * 60_000
const CLIENT_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 60_000
// While a statement waits for a lock, everything that needs the table waits behind it. So it waits for a second, and is
// tried again after longer and longer pauses, for about three minutes.
const LOCK_TIMEOUT_MS = 1_000
const LOCK_ATTEMPTS = 20
const LOCK_PAUSE_MS = 500
const MAX_LOCK_PAUSE_MS = 10_000
const TURN_POLL_MS = 250

export type Migration = { name: string; sql: string; checksum: string }

export type MigrateOptions = {
  say?: (line: string) => void
  folder?: URL
  lockTimeoutMs?: number
  lockAttempts?: number
  lockPauseMs?: number
}

/**
 * Applies what is missing and returns the names applied. A file is one transaction, or one statement if its first line
 * says `-- no transaction`. Refuses a database that is ahead or was edited.
 */
export function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<string[]> {
  return inspect(databaseUrl, options.folder ?? FOLDER, async (client, files) => {
    // Most starts find nothing to do, and then take no lock at all.
    if ((await readMissing(client, files)).length === 0) return []
    return inTurn(databaseUrl, options, async () => {
      await client.query(
        'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
      )
      // Looked up again: another process may have applied them while this one waited.
      const missing = await readMissing(client, files)
      for (const file of missing) await applyWithRetries(client, file, options)
      return missing.map((file) => file.name)
    })
  })
}

/** The names of the migrations that the database lacks. */
export function findMissingMigrations(databaseUrl: string): Promise<string[]> {
  return inspect(databaseUrl, FOLDER, async (client, files) =>
    (await readMissing(client, files)).map(({ name }) => name),
  )
}

export async function requireMigrated(databaseUrl: string): Promise<void> {
  const missing = await findMissingMigrations(databaseUrl)
  if (missing.length === 0) return
  const count = missing.length === 1 ? '1 migration' : `${missing.length} migrations`
  throw new OperatorError(
    `The database lacks ${count} (${missing[0]} …): run guiche migrate, or start the service, which migrates too`,
  )
}

export function missingMigrations(files: Migration[], applied: { name: string; checksum: string }[]): Migration[] {
  const byName = new Map(files.map((file) => [file.name, file]))
  for (const row of applied) {
    const file = byName.get(row.name)
    if (!file)
      throw new OperatorError(
        `The database has a migration that this guiche does not know (${row.name}): a newer version applied it, or one ` +
          'that was never released. Run that version, or restore a backup',
      )
    if (file.checksum !== row.checksum)
      throw new OperatorError(`Migration ${row.name} was edited after it was applied: restore the file`)
  }
  const done = new Set(applied.map((row) => row.name))
  return files.filter((file) => !done.has(file.name))
}

async function inspect<Result>(
  databaseUrl: string,
  folder: URL,
  work: (client: pg.Client, files: Migration[]) => Promise<Result>,
): Promise<Result> {
  const files = await readMigrations(folder)
  return withClient(databaseUrl, { name: 'guiche-migrate', queryTimeoutMs: CLIENT_TIMEOUT_MS }, async (client) => {
    await requireVersion(client)
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

/** A transaction of its own connection holds the lock, so that no pooler can keep it. */
function inTurn<Result>(databaseUrl: string, options: MigrateOptions, work: () => Promise<Result>): Promise<Result> {
  return withClient(databaseUrl, { name: 'guiche-migrate-lock', queryTimeoutMs: CLIENT_TIMEOUT_MS }, async (holder) => {
    await holder.query('begin isolation level read committed')
    await holder.query(`set local idle_in_transaction_session_timeout = 0`)
    await takeTurn(holder, options)
    const result = await work()
    await holder.query('commit')
    return result
  })
}

/**
 * A concurrent index build waits for every older snapshot. So nobody waits inside a statement, and this one has no
 * parameter: its portal would keep a snapshot until the transaction ends.
 */
async function takeTurn(holder: pg.Client, options: MigrateOptions): Promise<void> {
  const sql = `select pg_try_advisory_xact_lock(${MIGRATION_LOCK}) as "isOurs"`
  for (let waitedMs = 0; ; waitedMs += TURN_POLL_MS) {
    const { rows } = await holder.query<{ isOurs: boolean }>(sql)
    if (rows[0]!.isOurs) return
    if (waitedMs >= STATEMENT_TIMEOUT_MS)
      throw new OperatorError('Another process has been migrating the database for too long: end it, and start again')
    if (waitedMs === 0) options.say?.('Waiting for another process that migrates the database…')
    await sleep(TURN_POLL_MS)
  }
}

async function applyWithRetries(client: pg.Client, file: Migration, options: MigrateOptions): Promise<void> {
  const { lockAttempts = LOCK_ATTEMPTS, lockPauseMs = LOCK_PAUSE_MS } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await apply(client, file, options)
    } catch (cause) {
      // A file that locks two tables may deadlock with a transaction that locks them in another order.
      const isLocked = isLockTimeout(cause) || isTransient(cause)
      if (!isLocked && explainDatabase(cause) !== undefined) throw cause
      if (!isLocked) throw new OperatorError(`Migration ${file.name} failed: ${(cause as Error).message}`, { cause })
      if (attempt >= lockAttempts)
        throw new OperatorError(
          `Migration ${file.name} cannot lock a table that is in use: ` +
            'end what holds it (pg_stat_activity shows long transactions), and run guiche migrate again',
          { cause },
        )
      options.say?.(
        `Migration ${file.name} needs a table that is in use; trying again (${attempt} of ${lockAttempts})…`,
      )
      await sleep(Math.min(lockPauseMs * 2 ** (attempt - 1), MAX_LOCK_PAUSE_MS))
    }
  }
}

async function apply(client: pg.Client, file: Migration, options: MigrateOptions): Promise<void> {
  const isTransaction = !file.sql.startsWith('-- no transaction\n')
  try {
    if (isTransaction) {
      await client.query('begin')
      const { lockTimeoutMs = LOCK_TIMEOUT_MS } = options
      await client.query(setLocal({ statement_timeout: STATEMENT_TIMEOUT_MS, lock_timeout: lockTimeoutMs }))
    } else {
      // Behind a pooler, the settings of the role hold.
      await setForSession(client, { statement_timeout: STATEMENT_TIMEOUT_MS, lock_timeout: 0 })
      await prepareIndexBuild(client, file, options)
    }
    await client.query(file.sql)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [file.name, file.checksum])
    if (isTransaction) await client.query('commit')
  } catch (error) {
    // On a broken connection this fails too, and the database rolls back by itself.
    if (isTransaction) await client.query('rollback').catch(() => {})
    throw error
  }
}

const INDEX_BUILD = /^create (?:unique )?index concurrently if not exists (?<index>\w+)\s+on (?<table>\w+)/im

/** Drops what a build left unfinished in a process that ended before it could write that down. */
async function prepareIndexBuild(client: pg.Client, file: Migration, options: MigrateOptions): Promise<void> {
  const { index = '', table } = INDEX_BUILD.exec(file.sql)?.groups ?? {}
  const sql = 'select from pg_index where indexrelid = to_regclass($1) and not indisvalid'
  if ((await client.query(sql, [index])).rows.length > 0) await client.query(`drop index concurrently ${index}`)
  // An empty table is indexed at once, so the first start of a new database does not mention it.
  const hasRows = 'select from pg_class where oid = to_regclass($1) and pg_relation_size(oid) > 0'
  if ((await client.query(hasRows, [table])).rows.length > 0)
    options.say?.(
      `Migration ${file.name} builds the index ${index}. The service can be used; a large table takes minutes…`,
    )
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_[a-z0-9-_]+\.sql$/.test(name)).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}
