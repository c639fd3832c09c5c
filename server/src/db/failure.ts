import { Fault } from '../base/fault.ts'
import { OperatorError } from '../base/operator-error.ts'

/** The pool logged why, once for all callers: see makeOutageLog() of db/pool.ts. */
export class DatabaseUnavailable extends Fault {
  constructor(cause: unknown) {
    super('unavailable', 'The service is temporarily unavailable, please try again', { retryAfterSeconds: 1, cause })
  }
}

const LOST_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]
const LOST_TEXTS =
  /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Client was closed and is not queryable|Query read timeout/
/** A standby, or a primary that was demoted. */
const READ_ONLY = '25006'
export const LACKS_PERMISSION = '42501'
export const DISK_FULL = '53100'
/** A full disk, no free connection (53), a statement timeout, a lock timeout: a retry may work. */
const NOT_NOW = /^(53|57014|55P03)/

export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === '53100'
}

export function isConnectionFailure(error: unknown): boolean {
  return isConnectionUseless(error) || NOT_NOW.test(sqlState(error))
}

/**
 * True if no other statement on this connection can work either. After a client timeout the answer may still arrive,
 * and would be taken for that of the next statement.
 */
export function isConnectionUseless(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = sqlState(error)
  return /^(08|57P0)/.test(code) || code === READ_ONLY || LOST_CODES.includes(code) || LOST_TEXTS.test(error.message)
}

export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/** The database canceled a statement that took longer than it may. */
export function isStatementTimeout(error: unknown): boolean {
  return sqlState(error) === '57014'
}

/** The SQLSTATE, or the system's error code, or empty. */
export function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** One line for the operator, if only an operator can fix the failure. */
export function explainDatabase(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof OperatorError) return undefined
  const text = error.message || String(error)
  const code = sqlState(error)
  if (/unsupported startup parameter/.test(text))
    return (
      `The pooler at DATABASE_URL refuses a setting (${text}): connect to PostgreSQL directly, ` +
      'or leave the setting out of DATABASE_URL'
    )
  if (/statement pooling mode/.test(text)) return STATEMENT_POOLING
  if (code === LACKS_PERMISSION)
    return (
      `The role of DATABASE_URL lacks a permission (${text}): make it the owner of the database ` +
      '("alter database … owner to …"), or run "grant create, usage on schema public to …" and let it own guiche’s tables'
    )
  if (code === DISK_FULL) return `The disk of the database is full (${text}): make room on it`
  if (code === READ_ONLY)
    return `The database at DATABASE_URL is read-only (${text}): name the primary, or wait for its promotion`
  if (/CERT|TLS|SIGNATURE/.test(code) || text === 'The server does not support SSL connections')
    return `The database at DATABASE_URL cannot be reached by TLS: ${text}; see sslmode and sslrootcert in docs/operations.md`
  // A missing file has the same code as a missing socket.
  if ('path' in error) return undefined
  // 28: password or role; 3D: no such database.
  if (isConnectionFailure(error) || /^(28|3D)/.test(code))
    return `The database at DATABASE_URL cannot be reached: ${text}`
  return undefined
}

const STATEMENT_POOLING =
  'DATABASE_URL leads to a pooler in statement mode, which refuses transactions: ' +
  'use transaction mode (PgBouncer: pool_mode = transaction), or connect to PostgreSQL directly'
