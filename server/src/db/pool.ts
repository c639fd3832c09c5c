import pg from 'pg'
import { makeCollapsedLog } from '../base/collapsed-log.ts'
import type { Log } from '../base/log.ts'
import { NO_SEALER, type Sealer } from '../base/sealer.ts'
import { readDatabaseUrl } from './database-url.ts'
import { isConnectionUseless, sqlState } from './failure.ts'
import { clientOf } from './hosts.ts'

export type Pool = pg.Pool

// bigint columns hold cents, counts and ids, which fit a safe integer. One that does not stays exact, as a BigInt: it
// cannot be added to a number, so nothing rounds it in silence. Throwing here would fail all rows of the statement.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
})

// Enough for the batched money paths and a burst of reads; PostgreSQL's own default allows 100 in all.
const DEFAULT_POOL_SIZE = 20
// After this long without a connection a caller gets 503: waiting longer would only lengthen the queue.
export const CONNECT_TIMEOUT_MS = 3_000
// No statement of ours is slow by design except migrations and audits, which set their own.
const STATEMENT_TIMEOUT_MS = 10_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000
// A working database cancels a slow statement itself. Only a frozen or unreachable one takes this much longer.
const CLIENT_GRACE_MS = 2_000
// After this much silence the kernel sends TCP keep-alive probes.
export const KEEP_ALIVE_AFTER_MS = 10_000

export type PoolOptions = {
  maxConnections?: number
  statementTimeoutMs?: number
  clientGraceMs?: number
  /** Seals the rows that this pool writes. */
  sealer?: Sealer
  /** For the intervals of the log. */
  nowMs?: () => number
}

type Extras = {
  sealer: Sealer
  outage: OutageLog
  clientGraceMs: number
  /** See keepsStatements(). */
  keepsStatements: boolean
  /** See isDiskFull(). */
  isDiskFull: boolean
}
const extras = new WeakMap<Pool, Extras>()
/** Of connections through a pooler: see setForSession(). */
const settingsOfTransactions = new WeakMap<pg.ClientBase, string>()

export function makePool(databaseUrl: string, log: Log, options: PoolOptions = {}): Pool {
  const {
    maxConnections = DEFAULT_POOL_SIZE,
    clientGraceMs = CLIENT_GRACE_MS,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
    sealer = NO_SEALER,
  } = options
  const outage = makeOutageLog(log, options.nowMs)
  const own: Extras = { sealer, outage, clientGraceMs, keepsStatements: false, isDiskFull: false }
  const settings = {
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    // A prepared statement is planned for its values each time. A plan that PostgreSQL keeps was made for the size that
    // the tables had then, and may read all of a table that has grown.
    plan_cache_mode: 'force_custom_plan',
    // Our statements run for a millisecond, and compiling one takes hundreds.
    jit: 'off',
    // A date without a zone means the same in every session, whatever the role or the database has as its zone.
    timezone: 'UTC',
  }
  const address = readDatabaseUrl(databaseUrl)
  const pool = new pg.Pool({
    ...address,
    Client: clientOf(address),
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: statementTimeoutMs + clientGraceMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    application_name: 'guiche',
    verify: (client, done) =>
      void setForSession(client, settings).then((isDirect) => {
        own.keepsStatements = isDirect
        if (!isDirect) settingsOfTransactions.set(client, setLocal(settings))
        done()
      }, done),
  })
  extras.set(pool, own)
  // The embedded database stops right after the pool ends, and may send an error on a connection that is closing.
  const failed = (error: Error) => {
    if (!pool.ending) outage.failed(error)
  }
  // Without these listeners a broken connection ends the process: the first for idle ones, the second for those in use.
  pool.on('error', failed)
  pool.on('connect', (client) => {
    client.on('error', failed)
    endWhenUseless(client)
  })
  return pool
}

/** Begins a transaction with the settings of the pool, in one round trip, also where the session does not keep them. */
export async function begin(client: pg.ClientBase, statement: string): Promise<void> {
  const settings = settingsOfTransactions.get(client)
  await client.query(settings === undefined ? statement : `${statement}; ${settings}`)
}

export function outageLogOf(pool: Pool): OutageLog | undefined {
  return extras.get(pool)?.outage
}

type OutageLog = ReturnType<typeof makeOutageLog>

export function makeOutageLog(log: Log, nowMs: () => number = Date.now) {
  const { failed, worked } = makeCollapsedLog(
    log,
    { began: 'database unavailable', ended: 'the database works again' },
    nowMs,
  )
  return {
    failed(error: unknown) {
      const reason = error instanceof Error ? error.message || error.name : String(error)
      const code = sqlState(error) || undefined
      failed(code ?? (error instanceof Error ? error.message : 'unknown'), { reason, code })
    },
    worked,
  }
}

/** How long the client waits for a statement that may itself take this long. */
export function clientTimeoutMs(pool: Pool, statementTimeoutMs: number): number {
  return statementTimeoutMs + (extras.get(pool)?.clientGraceMs ?? CLIENT_GRACE_MS)
}

/** By the key of the pool's owner, which the database never sees. */
export function sealerOf(pool: Pool): Sealer {
  return extras.get(pool)?.sealer ?? NO_SEALER
}

/** False behind a pooler, where the next transaction may run on a connection without our prepared statements. */
export function keepsStatements(pool: Pool): boolean {
  return extras.get(pool)?.keepsStatements ?? false
}

/** The disk of the database was full when something was last written that needs room on it. */
export function isDiskFull(pool: Pool): boolean {
  return extras.get(pool)?.isDiskFull ?? false
}

export function setDiskFull(pool: Pool, isFull: boolean): void {
  const own = extras.get(pool)
  if (own) own.isDiskFull = isFull
}

/** Names and values, as `set` takes them. */
type SessionSettings = Record<string, string | number>

/**
 * Sets them for the session of this connection, in one round trip. False, and nothing is set, behind a pooler: in
 * transaction mode the session changes with each transaction, and a setting would stay behind in a session of somebody
 * else. There only `set local` in a transaction works.
 *
 * By a statement, because PgBouncer refuses or drops them as connection parameters.
 */
export async function setForSession(client: pg.ClientBase, settings: SessionSettings): Promise<boolean> {
  // PostgreSQL sends its process id when a connection is made. A pooler sends an invented one instead.
  const { processID } = client as pg.ClientBase & { processID: number }
  const { rows } = await client.query<{ isDirect: boolean }>(
    `select pg_backend_pid() = $1 as "isDirect", (
       select count(set_config(name, value, false)) from unnest($2::text[], $3::text[]) as s (name, value)
       where pg_backend_pid() = $1
     )`,
    [processID, Object.keys(settings), Object.values(settings).map(String)],
  )
  return rows[0]!.isDirect
}

/** Sets them until the transaction ends, which works behind a pooler too. */
export function setLocal(settings: SessionSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `set local ${name} = ${value}`)
    .join('; ')
}

/** A library may release a broken connection as if it were good; the pool discards one that has ended. */
function endWhenUseless(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const guarded = (...args: unknown[]) => {
    const result = query(...args)
    if (!(result instanceof Promise)) return result
    return result.catch((error: unknown) => {
      if (isConnectionUseless(error)) end(client)
      throw error
    })
  }
  client.query = guarded as typeof client.query
}

function end(client: pg.PoolClient): void {
  ;(client as pg.PoolClient & { end(): Promise<void> }).end().catch(() => {})
}
