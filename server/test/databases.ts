import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import type { Log } from '../src/base/log.ts'
import { makeSealer } from '../src/base/sealer.ts'
import { makePool, type Pool } from '../src/db/pool.ts'
import { superuserUrl } from '../src/db/embedded/server.ts'
import { joinPresence, type Presence } from '../src/db/presence.ts'
import { databaseNamed } from './cluster.ts'

// Databases for tests. A worker empties its database after each test and keeps the connections: in a new database, each
// new connection reads the catalogs and plans every statement again, which takes longer than most tests.

/** `directUrl` is the same as `databaseUrl`, unless the run goes through a pooler. */
export type Database = { databaseUrl: string; directUrl: string; presence: Presence; pool: Pool }

type Kept = Database & {
  name: string
  janitor: pg.Client
  /** SQL that inserts the rows of a migrated database. */
  restore: string
  catalogs: string
  /** The pool's own listeners, by event. */
  listeners: Listeners
  setLog(log: Log): void
}

/** A database with a table of more bytes is not emptied, because making a new one is faster. */
const KEPT_BYTES = 256 * 1024
/** Tests fill tables with one statement. On a busy machine that takes longer than the product's statements may. */
const STATEMENT_TIMEOUT_MS = 120_000
/** How long sessions that a test left at work may take to end. */
const END_WITHIN_MS = 5_000
/** How many turns the statements that a test left running may take to end. */
const IDLE_TURNS = 100
const IDLE_TURN_MS = 5
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** The key that seals rows and ids of charges. A command that audits them needs it as SECRET_KEY. */
export const CHARGE_SECRET = 'a secret for ids of charges that only tests know'
export const SEALER = makeSealer(() => [CHARGE_SECRET])

const free: Promise<Kept | undefined>[] = []

/** A migrated database for this test alone, a first process that is present in it, and its pool. */
export async function takeDatabase(log: Log): Promise<Database> {
  const database = (await free.pop()) ?? (await makeDatabase())
  database.setLog(log)
  onTestFinished(() => {
    database.setLog(SILENT)
    free.push(empty(database).catch(() => drop(database)))
  })
  return database
}

async function makeDatabase(): Promise<Kept> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await inCluster(`create database ${name} template guiche_template strategy file_copy`)
  const databaseUrl = databaseNamed(inject('worldsUrl'), name)
  const directUrl = databaseNamed(inject('clusterUrl'), name)
  const [janitor, presence] = await Promise.all([connect(superuserUrl(directUrl)), joinPresence(databaseUrl)])
  const restore = await remember(janitor)
  let log = SILENT
  const following: Log = {
    debug: (...args) => log.debug(...args),
    info: (...args) => log.info(...args),
    warn: (...args) => log.warn(...args),
    error: (...args) => log.error(...args),
  }
  const pool = makePool(databaseUrl, following, { sealer: SEALER, statementTimeoutMs: STATEMENT_TIMEOUT_MS })
  const setLog = (to: Log) => void (log = to)
  const [catalogs, listeners] = [await readCatalogs(janitor), listenersOf(pool)]
  return { name, databaseUrl, directUrl, presence, pool, janitor, restore, catalogs, listeners, setLog }
}

/** Empties the database, or drops it if it cannot be used again. */
async function empty(database: Kept): Promise<Kept | undefined> {
  const { janitor, presence, pool, catalogs, listeners, restore } = database
  if (pool.ended || !(await isIdle(pool)) || inject('worldsUrl') !== inject('clusterUrl')) return drop(database)
  unwatch(pool, listeners)
  await janitor.query(END_SESSIONS)
  if ((await readCatalogs(janitor)) !== catalogs) return drop(database)
  const { rows } = await janitor.query<Filled>(FILLED)
  if (rows.some(({ isLarge }) => isLarge)) return drop(database)
  const deletes = rows.map(({ name }) => `delete from ${name}`)
  const leave = `delete from processes where instance <> ${presence.instance}`
  // With the role of a replica, foreign keys and triggers do not apply.
  await janitor.query(
    ['begin', 'set local session_replication_role = replica', leave, ...deletes, restore, 'commit'].join(';'),
  )
  return database
}

/** Waits for statements that nobody awaits, such as the one that stores when a key was last used. */
async function isIdle(pool: Pool): Promise<boolean> {
  for (let turn = 0; turn < IDLE_TURNS; turn++) {
    if (pool.idleCount === pool.totalCount && pool.waitingCount === 0) return true
    await sleep(IDLE_TURN_MS)
  }
  return false
}

async function drop({ name, janitor, presence, pool }: Kept): Promise<undefined> {
  await Promise.allSettled([presence.leave(), janitor.end(), ...(pool.ended ? [] : [pool.end()])])
  await inCluster(`drop database ${name} with (force)`).catch(() => {})
}

// Idle sessions hold no lock. The others were left by a test that ended or by a process that was killed.
const END_SESSIONS = prepared(
  'end_sessions',
  `select pg_terminate_backend(pid, ${END_WITHIN_MS}) from pg_stat_activity
   where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`,
)

type Filled = { name: string; isLarge: boolean }

const FILLED = prepared(
  'filled',
  `select oid::regclass::text as name, pg_relation_size(oid) > ${KEPT_BYTES} as "isLarge" from pg_class
   where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'processes' and pg_relation_size(oid) > 0`,
)

/** These run after each test, and planning them takes longer than running them. */
function prepared(name: string, text: string): pg.QueryConfig {
  return { name, text }
}

/** Copies the rows of a migrated database, and returns SQL that inserts them again. */
async function remember(janitor: pg.Client): Promise<string> {
  const { rows: tables } = await janitor.query<Filled>(FILLED)
  const { rows: sequences } = await janitor.query<{ name: string }>(
    `select format('%I.%I', schemaname, sequencename) as name from pg_sequences where last_value is null`,
  )
  for (const { name } of tables) await janitor.query(`create temp table kept_${name} as table public.${name}`)
  return [
    ...tables.map(({ name }) => `insert into ${name} overriding system value table pg_temp.kept_${name}`),
    ...sequences.map(({ name }) => `select setval('${name}', 1, false)`),
  ].join(';')
}

/** A text that changes with the schema, the statistics and the settings of the database. */
async function readCatalogs(janitor: pg.Client): Promise<string> {
  const { rows } = await janitor.query<{ state: string }>(CATALOGS)
  return rows[0]!.state
}

// What PostgreSQL brings along has smaller numbers, stays as it is, and is most of these tables.
const OWN_OID = 16_384

const CATALOGS = prepared(
  'catalogs',
  `select concat_ws(' ', ${[
    `pg_class where oid >= ${OWN_OID}`,
    `pg_attribute where attrelid >= ${OWN_OID}`,
    `pg_constraint where oid >= ${OWN_OID}`,
    `pg_trigger where oid >= ${OWN_OID}`,
    `pg_proc where oid >= ${OWN_OID}`,
    `pg_statistic where starelid >= ${OWN_OID}`,
    'pg_db_role_setting',
  ]
    .map((rows) => `(select (count(*), max(xmin::text::bigint)) from ${rows})`)
    .join(', ')}) as state`,
)

type Listeners = Map<string | symbol, unknown[]>

function listenersOf(pool: Pool): Listeners {
  return new Map(pool.eventNames().map((name) => [name, pool.listeners(name)]))
}

/** Removes the spies and listeners that a test added. */
function unwatch(pool: Pool, own: Listeners): void {
  for (const method of ['query', 'connect']) Reflect.deleteProperty(pool, method)
  for (const [name, found] of listenersOf(pool))
    for (const listener of found) if (!own.get(name)?.includes(listener)) pool.off(name, listener as () => void)
}

let cluster: Promise<pg.Client> | undefined

/** Runs on one connection, which each worker keeps. */
async function inCluster(sql: string): Promise<void> {
  await (await (cluster ??= connect(inject('clusterUrl')))).query(sql)
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // The cluster is stopped at the end of the run, maybe before this worker.
  client.on('error', () => {})
  await client.connect()
  return client
}
