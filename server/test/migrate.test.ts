import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { findMissingMigrations, migrate, missingMigrations, requireMigrated } from '../src/db/migrate.ts'
import { query } from '../src/db/tx.ts'
import { connect, emptyDatabase } from './empty-database.ts'
import { runCli, temporaryHome } from './process.ts'
import { patient, until, world } from './world.ts'

/** A database is made, and started twice, which takes long on a busy machine. */
const SLOW_MS = patient(400_000)
const TABLES = `select tablename as name from pg_tables where schemaname = 'public' order by 1`

test('an empty database is migrated once; after that there is nothing to do', async () => {
  const db = await emptyDatabase()
  const applied = await migrate(db.url)
  expect(applied[0]).toBe('0001_baseline.sql')
  expect(await migrate(db.url)).toEqual([])
  expect(await db.names('select name from migrations order by name')).toEqual(applied)
})

// A transaction that makes the same table and never commits stops the first process at its first write. So the first
// cannot be done before the second has begun.
test('two processes that start at once apply each migration once', async () => {
  const db = await emptyDatabase()
  const blocker = await connect(db.url)
  await blocker.query('begin; create table migrations (name text)')
  const both = Promise.all([migrate(db.url), migrate(db.url)])
  await until('one works and the other waits for its turn', async () => {
    const sql = `select application_name as name from pg_stat_activity
      where (wait_event_type = 'Lock' or application_name = 'guiche-migrate-lock') and datname = current_database()
      order by 1`
    return (await db.names(sql)).join() === 'guiche-migrate,guiche-migrate-lock,guiche-migrate-lock'
  })
  await blocker.end()
  const [one, other] = await both
  expect([...one, ...other]).toEqual(await db.names('select name from migrations order by name'))
  expect(one.length * other.length).toBe(0)
})

test('whoever waits for another process that migrates is told, and one with nothing to do does not wait', async () => {
  const db = await emptyDatabase()
  const blocker = await connect(db.url)
  await blocker.query('begin; select pg_advisory_xact_lock(4782113)')
  const said: string[] = []
  const waiting = migrate(db.url, { say: (line) => void said.push(line) })
  await until('it is told', async () => said.length > 0)
  expect(said).toEqual(['Waiting for another process that migrates the database…'])
  await blocker.query('rollback')
  expect(await waiting).toContain('0001_baseline.sql')

  await blocker.query('begin; select pg_advisory_xact_lock(4782113)')
  expect(await migrate(db.url)).toEqual([])
  await blocker.end()
})

test('a process that dies while it migrates leaves no lock behind', async () => {
  const db = await emptyDatabase()
  const blocker = await connect(db.url)
  await blocker.query('begin; create table migrations (name text)')
  const killed = migrate(db.url).catch((error: Error) => error.message)
  const holders = `select pid from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`
  await until('it holds the lock', async () => (await db.client.query(holders)).rows.length === 1)
  await db.client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'guiche-migrate%' and datname = current_database()`,
  )
  expect(await killed).toMatch(/^The database at DATABASE_URL cannot be reached/)
  await blocker.end()
  expect(await migrate(db.url)).toContain('0001_baseline.sql')
})

test('a migration gives up waiting for a table in use, so that others pass, says so, and tries again', async () => {
  const db = await emptyDatabase()
  const user = await connect(db.url)
  await user.query('begin; create table charges ()')
  const said: string[] = []
  const options = { lockTimeoutMs: 50, lockPauseMs: 1, say: (line: string) => void said.push(line) }
  await expect(migrate(db.url, { ...options, lockAttempts: 2 })).rejects.toThrow(
    /^Migration 0001_baseline\.sql cannot lock a table that is in use: end what holds it/,
  )
  expect(said).toEqual(['Migration 0001_baseline.sql needs a table that is in use; trying again (1 of 2)…'])

  const later = migrate(db.url, { ...options, lockAttempts: 10_000 })
  await until('it tries again', async () => said.length > 2)
  await user.end()
  expect(await later).toContain('0001_baseline.sql')
})

test('a database that is behind is refused by name, and looking at it alters nothing', async () => {
  const db = await emptyDatabase()
  const missing = await findMissingMigrations(db.url)
  expect(missing[0]).toBe('0001_baseline.sql')
  await expect(requireMigrated(db.url)).rejects.toThrow(
    `The database lacks ${missing.length === 1 ? '1 migration' : `${missing.length} migrations`} (0001_baseline.sql …): run guiche migrate, or start the service, which migrates too`,
  )
  expect(await db.names(TABLES)).toEqual([])
  await migrate(db.url)
  await requireMigrated(db.url)
})

test('guiche migrate applies what is missing and lists it; a dry run lists it and alters nothing', async () => {
  const db = await emptyDatabase()
  const env = { DATABASE_URL: db.url, GUICHE_HOME: temporaryHome() }
  const dry = await runCli(['migrate', '--dry-run'], env)
  expect([dry.code, dry.stderr]).toEqual([0, 'Nothing was applied: this was a dry run.\n'])
  expect(await db.names(TABLES)).toEqual([])

  const done = await runCli(['migrate'], env)
  expect([done.code, done.stdout]).toEqual([0, dry.stdout])
  expect(await db.names('select name from migrations order by name')).toEqual(dry.stdout.trim().split('\n'))
  expect(await runCli(['migrate'], env)).toEqual({ code: 0, stdout: '', stderr: 'The database is up to date.\n' })
})

test.each([[['key', 'list']], [['audit']], [['doctor']]])(
  'guiche %s refuses a database that is behind, and alters nothing',
  async (command) => {
    const db = await emptyDatabase()
    const ran = await runCli(command, { DATABASE_URL: db.url, GUICHE_HOME: temporaryHome() })
    expect(ran.code).toBe(1)
    expect(ran.stdout + ran.stderr).toMatch(
      /The database lacks \d+ migrations? \(0001_baseline\.sql …\): run guiche migrate/,
    )
    expect(await db.names(TABLES)).toEqual([])
  },
)

test(
  'a command does not make the embedded database; guiche migrate does, and then commands work',
  { timeout: SLOW_MS },
  async () => {
    const home = temporaryHome()
    const env = { GUICHE_HOME: home }
    const refused = await runCli(['key', 'list'], env)
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `guiche: ${home} holds no database yet: start the service, or run guiche migrate\n`,
    ])
    expect(readdirSync(home)).toEqual([])

    expect((await runCli(['migrate'], env)).stdout).toMatch(/^0001_baseline\.sql\n/)
    expect(await runCli(['key', 'list', '--json'], env)).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  },
)

test('a role that may not create tables is told so in one line, with the remedy', async () => {
  const db = await emptyDatabase()
  // Since PostgreSQL 15, only the owner of the database may create tables. This takes the right from the owner too.
  await db.client.query('revoke create on schema public from pg_database_owner')
  const refused = await runCli(['migrate'], { DATABASE_URL: db.url, GUICHE_HOME: temporaryHome() })
  expect(refused.stderr).toMatch(
    /^guiche: The role of DATABASE_URL lacks a permission \(permission denied for schema public\): make it the owner .*\n$/,
  )
})

test('a role that may not read the tables is told so in one line too', async () => {
  const w = await world()
  await query(w.pool, 'revoke all on table api_keys from guiche')
  const refused = await runCli(['key', 'list'], { DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome() })
  expect(refused.stderr).toMatch(
    /^guiche: The role of DATABASE_URL lacks a permission \(permission denied for table api_keys\): .*\n$/,
  )
})

test('a migration that was edited after it was applied is refused, and names the file', async () => {
  const db = await emptyDatabase()
  await migrate(db.url)
  await db.client.query(`update migrations set checksum = 'another' where name = '0001_baseline.sql'`)
  await expect(migrate(db.url)).rejects.toThrow(
    'Migration 0001_baseline.sql was edited after it was applied: restore the file',
  )
})

test('a database with an unknown migration is refused, and left as it is', async () => {
  const db = await emptyDatabase()
  await migrate(db.url)
  await db.client.query(`insert into migrations (name, checksum) values ('9999_future.sql', '')`)
  await expect(migrate(db.url)).rejects.toThrow(
    'The database has a migration that this guiche does not know (9999_future.sql): a newer version applied it, or one ' +
      'that was never released. Run that version, or restore a backup',
  )
})

// The writer's transaction is older than the index, so the build has to wait for it. A second process waits for its
// turn meanwhile; the build must not wait for that one too.
test('an index is built while others write, in a file without a transaction', async () => {
  const db = await emptyDatabase()
  const folder = migrationFolder({
    '0001_a.sql': 'create table notes (id integer)',
    '0002_b.sql':
      '-- no transaction\n-- Of ids; fast.\ncreate index concurrently if not exists notes_by_id on notes (id);\n',
  })
  const said: string[] = []
  const options = { folder, say: (line: string) => void said.push(line) }
  await migrate(db.url, { folder: migrationFolder({ '0001_a.sql': 'create table notes (id integer)' }) })
  const writer = await connect(db.url)
  await writer.query('begin; insert into notes values (1)')
  const first = migrate(db.url, options)
  await until('the build waits', async () => (await db.names(BUILDS)).length === 1)
  const second = migrate(db.url, options)
  await until('the second waits', async () => said.length === 2)
  await db.client.query('insert into notes values (2)')
  await writer.query('commit')
  await writer.end()
  expect([...(await first), ...(await second)]).toEqual(['0002_b.sql'])
  expect(said).toEqual([
    'Migration 0002_b.sql builds the index notes_by_id. The service can be used; a large table takes minutes…',
    'Waiting for another process that migrates the database…',
  ])
  expect(await db.names(VALID_INDEXES)).toEqual(['notes_by_id'])
})

test('a new database has nothing to say while its indexes are built', async () => {
  const db = await emptyDatabase()
  const said: string[] = []
  expect(await migrate(db.url, { say: (line) => void said.push(line) })).not.toEqual([])
  expect(said).toEqual([])
})

test('an index whose build failed or was not recorded is no obstacle to the next try', async () => {
  const db = await emptyDatabase()
  const folder = migrationFolder({
    '0001_a.sql': 'create table notes (id integer); insert into notes values (1), (1)',
    '0002_b.sql': '-- no transaction\ncreate unique index concurrently if not exists notes_once on notes (id)',
  })
  await expect(migrate(db.url, { folder })).rejects.toThrow(
    'Migration 0002_b.sql failed: could not create unique index',
  )
  expect(await db.names(VALID_INDEXES)).toEqual([])
  await db.client.query('delete from notes')
  expect(await migrate(db.url, { folder })).toEqual(['0002_b.sql'])
  expect(await db.names(VALID_INDEXES)).toEqual(['notes_once'])

  await db.client.query(`delete from migrations where name = '0002_b.sql'`)
  expect(await migrate(db.url, { folder })).toEqual(['0002_b.sql'])
})

// A later statement of the file meets a table of that name, so the file fails after it has made others.
test('a migration that fails half-way leaves nothing behind, and works once its cause is gone', async () => {
  const db = await emptyDatabase()
  await db.client.query('create table transfers ()')
  await expect(migrate(db.url)).rejects.toThrow(
    'Migration 0001_baseline.sql failed: relation "transfers" already exists',
  )
  expect(await db.names(TABLES)).toEqual(['migrations', 'transfers'])
  expect((await findMissingMigrations(db.url))[0]).toBe('0001_baseline.sql')

  await db.client.query('drop table transfers')
  expect((await migrate(db.url))[0]).toBe('0001_baseline.sql')
})

test('a migration that cannot be recorded is not applied either', async () => {
  const db = await emptyDatabase()
  await db.client.query('create table migrations (name text, checksum text check (false), applied_at timestamptz)')
  await expect(migrate(db.url)).rejects.toThrow('Migration 0001_baseline.sql failed')
  expect(await db.names(TABLES)).toEqual(['migrations'])
})

test('what is missing is applied in the order of its numbers', () => {
  const file = (name: string) => ({ name, sql: '', checksum: name })
  const files = ['0001_a.sql', '0002_b.sql', '0003_c.sql'].map(file)
  expect(missingMigrations(files, [file('0001_a.sql')]).map(({ name }) => name)).toEqual(['0002_b.sql', '0003_c.sql'])
})

const BUILDS = `select query as name from pg_stat_activity where wait_event_type = 'Lock' and query like '%concurrently%'
  and datname = current_database()`
const VALID_INDEXES = `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indisvalid and i.indrelid = 'notes'::regclass`

function migrationFolder(files: Record<string, string>): URL {
  const folder = temporaryHome()
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(folder, name), sql)
  return pathToFileURL(`${folder}/`)
}
