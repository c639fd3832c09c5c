import { createHash } from 'node:crypto'
import { sqlState } from './failure.ts'
import { keepsStatements, stopKeepingStatements, type Pool } from './pool.ts'

// By text. Only module constants are registered, so the number of names is bounded.
const names = new Map<string, string>()

/**
 * A statement of a hot path: PostgreSQL parses it once for each connection and soon keeps its plan too. For texts that
 * never change and need the same plan for all parameters. tx.rows(), query() and the like know it by its text.
 */
export function prepared(sql: string): string {
  // By the text's digest: behind a pooler, another process may have given this connection its statements.
  const digest = createHash('sha256').update(sql).digest('hex')
  names.set(sql, `guiche_${digest.slice(0, 24)}`)
  return sql
}

/** The text of every prepared statement in the loaded modules. For tests. */
export function preparedTexts(): string[] {
  return [...names.keys()]
}

/** Undefined for any other statement, and behind a pooler that keeps no prepared statements. */
export function preparedName(pool: Pool, sql: string): string | undefined {
  return keepsStatements(pool) ? names.get(sql) : undefined
}

/** The statement does not exist, or exists already: a pooler moved us to another of its connections. */
const MOVED = ['26000', '42P05']

/** True for such a failure, which left nothing behind. From then on the pool sends its statements without names. */
export function isPoolerMove(pool: Pool, error: unknown): boolean {
  if (!MOVED.includes(sqlState(error))) return false
  stopKeepingStatements(pool)
  return true
}
