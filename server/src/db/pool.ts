import pg from 'pg'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'

export type Pool = pg.Pool

// bigint columns hold cents and counts; all of them fit a safe integer, and one that does not is a broken invariant.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error(`bigint out of range: ${text}`)
  return value
})

// Enough for the batched money paths and a burst of reads; PostgreSQL's own default allows 100 in all.
const MAX_CONNECTIONS = 20
// A caller who cannot get a connection in this time is told 503: waiting longer would only queue more behind it.
const CONNECT_TIMEOUT_MS = 3_000
// No statement of ours is slow by design except migrations and audits, which set their own.
const STATEMENT_TIMEOUT_MS = 10_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000

export function makePool(databaseUrl: string, log: Log): Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    application_name: 'guiche',
  })
  // Without a listener, a connection that breaks ends the process: while idle by the first, while checked out by the second.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'))
  pool.on('connect', (client) => client.on('error', (error) => log.warn({ err: error }, 'a database connection broke')))
  return pool
}

/** True when the failure says "the database is out of reach", as opposed to "the statement was wrong". */
export function isOutOfReach(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    /^(08|57P0|53)/.test(code) ||
    ['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].includes(code) ||
    /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error/.test(
      error.message,
    )
  )
}

export function databaseFault(error: unknown): Fault {
  return new Fault('unavailable', 'The service is temporarily unavailable, please try again', {
    retryAfterSeconds: 1,
    cause: error,
  })
}
