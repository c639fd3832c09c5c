import type pg from 'pg'
import type { Sealer } from '../base/sealer.ts'
import { DatabaseUnavailable, isConnectionFailure, isDiskFull, sqlState } from './failure.ts'
import { begin, clientTimeoutMs, CONNECT_TIMEOUT_MS, outageLogOf, sealerOf, setDiskFull, type Pool } from './pool.ts'
import { preparedName } from './prepared.ts'

declare const inTransaction: unique symbol

/**
 * An open transaction. A function that takes one reads and writes, and never calls the network. Only transact() makes
 * one.
 */
export type Tx = {
  readonly [inTransaction]: true
  readonly sealer: Sealer
  rows<Row>(sql: string, params?: unknown[]): Promise<Row[]>
  /** For statements that always give exactly one row; any other number is a bug, and throws. */
  one<Row>(sql: string, params?: unknown[]): Promise<Row>
  /** For statements whose rows do not matter: resolves to the number of rows affected. */
  run(sql: string, params?: unknown[]): Promise<number>
  /** For long work. Sets the time limit of each following statement, at the database and in this process. */
  setStatementTimeout(timeoutMs: number): Promise<void>
}

// Deadlocks and serialization failures leave nothing behind and pass on a retry; three in a row is a bug.
const MAX_ATTEMPTS = 3

export async function transact<Result>(
  pool: Pool,
  work: (tx: Tx) => Promise<Result>,
  options: { isolation?: 'repeatable read' } = {},
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      const statement = options.isolation ? `begin isolation level ${options.isolation}` : 'begin'
      const result = await attemptOnce(pool, work, statement)
      outageLogOf(pool)?.worked()
      return result
    } catch (error) {
      if (isConnectionFailure(error)) throw unavailable(pool, error)
      if (!isTransient(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** One statement, which PostgreSQL runs as a transaction of its own. */
export function query<Row>(pool: Pool, sql: string, params: unknown[] = []): Promise<Row[]> {
  const name = preparedName(pool, sql)
  const sent = name === undefined ? pool.query(sql, params) : pool.query({ name, text: sql, values: params })
  return sent.then(
    (result) => {
      outageLogOf(pool)?.worked()
      return result.rows as Row[]
    },
    (error: unknown) => {
      throw isConnectionFailure(error) ? unavailable(pool, error) : error
    },
  )
}

// One process of Node answers no more lists than two connections read. Without a bound, a burst of lists opens every
// connection of the pool at once, and deposits wait behind it. In the first ten seconds of 64 callers, the p99 of lists
// was 4.5 to 12 times their p50, and 2.3 to 3.2 times with this bound, on two busy cores.
export const READS_AT_ONCE = 4

type Turns = { free: number; waiting: (() => void)[] }
const turnsOf = new WeakMap<Pool, Turns>()

/** Runs long reads of a pool a few at a time, in the order in which they came. */
export async function inTurn<Result>(pool: Pool, read: () => Promise<Result>): Promise<Result> {
  const turns = turnsOf.get(pool) ?? { free: READS_AT_ONCE, waiting: [] }
  turnsOf.set(pool, turns)
  if (turns.free > 0) turns.free -= 1
  else await nextTurn(pool, turns)
  try {
    return await read()
  } finally {
    const next = turns.waiting.shift()
    if (next) next()
    else turns.free += 1
  }
}

/** Waits as long as for a connection. */
function nextTurn(pool: Pool, { waiting }: Turns): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(begin), 1)
      reject(unavailable(pool, new Error('timeout exceeded while waiting for other lists')))
    }, CONNECT_TIMEOUT_MS)
    waiting.push(begin)
  })
}

/** Runs each statement as a transaction of its own. */
export function autocommit(pool: Pool): Pick<Tx, 'rows' | 'sealer'> {
  return { sealer: sealerOf(pool), rows: (sql, params) => query(pool, sql, params) }
}

/** The same for a statement that always gives exactly one row. */
export async function queryOne<Row>(pool: Pool, sql: string, params: unknown[] = []): Promise<Row> {
  return onlyRow(await query<Row>(pool, sql, params))
}

function onlyRow<Row>(rows: Row[]): Row {
  const [row] = rows
  if (row === undefined || rows.length > 1) throw new Error(`expected one row, got ${rows.length}`)
  return row
}

/** For a library that uses the pool itself: maps its failures as query() and transact() do. */
export function unavailable(pool: Pool, error: unknown): DatabaseUnavailable {
  outageLogOf(pool)?.failed(error)
  if (isDiskFull(error)) setDiskFull(pool, true)
  return new DatabaseUnavailable(error)
}

async function attemptOnce<Result>(pool: Pool, work: (tx: Tx) => Promise<Result>, statement: string): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const { tx, query } = openTx(pool, client)
    await begin(client, statement)
    const result = await work(tx)
    await query('commit')
    return result
  } catch (error) {
    // A connection that cannot roll back is discarded, and PostgreSQL rolls back when it ends.
    await client.query('rollback').catch((rollbackError: Error) => (broken = rollbackError))
    throw error
  } finally {
    client.release(broken)
  }
}

function openTx(pool: Pool, client: pg.PoolClient) {
  let timeoutMs: number | undefined
  const query = (text: string, values: unknown[] = []) =>
    client.query({ name: preparedName(pool, text), text, values, query_timeout: timeoutMs } as pg.QueryConfig)
  const tx = {
    sealer: sealerOf(pool),
    rows: async (sql, params) => (await query(sql, params)).rows,
    one: async (sql, params) => onlyRow((await query(sql, params)).rows),
    run: async (sql, params) => (await query(sql, params)).rowCount ?? 0,
    async setStatementTimeout(statementTimeoutMs) {
      timeoutMs = clientTimeoutMs(pool, statementTimeoutMs)
      await query(`set local statement_timeout = ${statementTimeoutMs}`)
    },
  } as Tx
  return { tx, query }
}

/** A deadlock or a serialization failure. It left nothing behind. */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlState(error))
}

/** A row with the same key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505'
}
