import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { migrate, missingMigrations } from '../src/db/migrate.ts'
import { databaseNamed } from './cluster.ts'
import { until } from './world.ts'

const TABLES = `select tablename as name from pg_tables where schemaname = 'public' order by 1`

test('an empty database is migrated once; after that there is nothing to do', async () => {
  const db = await emptyDatabase()
  const applied = await migrate(db.url)
  expect(applied[0]).toBe('0001_deposits.sql')
  expect(await migrate(db.url)).toEqual([])
  expect(await db.names('select name from migrations order by name')).toEqual(applied)
})

// Both are stopped at their first statement that writes, by a transaction that makes the same table and never commits, so
// neither can be done before the other has begun.
test('two processes that start at once apply each migration once', async () => {
  const db = await emptyDatabase()
  const blocker = await connect(db.url)
  await blocker.query('begin; create table migrations (name text)')
  const both = Promise.all([migrate(db.url), migrate(db.url)])
  await until('both wait', async () => {
    const sql = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    return (await db.client.query(sql)).rows.length === 2
  })
  await blocker.end()
  const [one, other] = await both
  expect([...one, ...other]).toEqual(await db.names('select name from migrations order by name'))
  expect(one.length * other.length).toBe(0)
})

test('a migration that was edited after it was applied is refused, and names the file', async () => {
  const db = await emptyDatabase()
  await migrate(db.url)
  await db.client.query(`update migrations set checksum = 'another' where name = '0001_deposits.sql'`)
  await expect(migrate(db.url)).rejects.toThrow(
    'migration 0001_deposits.sql was edited after it was applied: restore the file',
  )
})

test('a database that a newer guiche has migrated is refused, and left as it is', async () => {
  const db = await emptyDatabase()
  await migrate(db.url)
  await db.client.query(`insert into migrations (name, checksum) values ('9999_future.sql', '')`)
  await expect(migrate(db.url)).rejects.toThrow(
    'the database was migrated by a newer guiche (9999_future.sql): update guiche, or restore a backup',
  )
})

// The file's later statements meet a table of that name, so it fails after it has made others.
test('a migration that fails half-way leaves nothing behind, and works once its cause is gone', async () => {
  const db = await emptyDatabase()
  await db.client.query('create table transfers ()')
  await expect(migrate(db.url)).rejects.toThrow(
    'migration 0001_deposits.sql failed: relation "transfers" already exists',
  )
  expect(await db.names(TABLES)).toEqual(['migrations', 'transfers'])
  expect(await db.count('migrations')).toBe(0)

  await db.client.query('drop table transfers')
  expect(await migrate(db.url)).toContain('0001_deposits.sql')
})

test('a migration that cannot be recorded is not applied either', async () => {
  const db = await emptyDatabase()
  await db.client.query('create table migrations (name text, checksum text check (false), applied_at timestamptz)')
  await expect(migrate(db.url)).rejects.toThrow('migration 0001_deposits.sql failed')
  expect(await db.names(TABLES)).toEqual(['migrations'])
})

test('what is missing is applied in the order of its numbers', () => {
  const file = (name: string) => ({ name, sql: '', checksum: name })
  const files = ['0001_a.sql', '0002_b.sql', '0003_c.sql'].map(file)
  expect(missingMigrations(files, [file('0001_a.sql')]).map(({ name }) => name)).toEqual(['0002_b.sql', '0003_c.sql'])
})

async function emptyDatabase() {
  const clusterUrl = inject('clusterUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  const url = databaseNamed(clusterUrl, name)
  const cluster = await connect(clusterUrl)
  await cluster.query(`create database ${name} template template0`)
  const client = await connect(url)
  onTestFinished(async () => {
    await client.end()
    await cluster.query(`drop database ${name} with (force)`)
    await cluster.end()
  })
  return {
    url,
    client,
    names: async (sql: string) => (await client.query<{ name: string }>(sql)).rows.map((row) => row.name),
    count: async (table: string) => (await client.query(`select from ${table}`)).rows.length,
  }
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}
