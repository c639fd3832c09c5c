import { createHash } from 'node:crypto'
import { keepsStatements, type Pool } from './pool.ts'

// By text. Only module constants are registered, so the number of names is bounded.
const names = new Map<string, string>()

/** A statement whose text never changes. PostgreSQL parses it once for each connection. */
export function prepared(sql: string): string {
  names.set(sql, `guiche_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`)
  return sql
}

/** Undefined for any other statement, and behind a pooler. */
export function preparedName(pool: Pool, sql: string): string | undefined {
  return keepsStatements(pool) ? names.get(sql) : undefined
}
