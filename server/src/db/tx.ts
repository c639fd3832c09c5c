import type pg from 'pg'
import { databaseFault, isOutOfReach, type Pool } from './pool.ts'

declare const inTransaction: unique symbol

/**
 * An open transaction. A function that takes one reads and writes, and never calls the network; only transact() makes one, so a
 * network call inside a transaction cannot be written by accident.
 */
export type Tx = {
  readonly [inTransaction]: true
  rows<Row>(sql: string, params?: unknown[]): Promise<Row[]>
  /** For statements whose rows do not matter: how many were touched. */
  run(sql: string, params?: unknown[]): Promise<number>
}

// Deadlocks and serialization failures leave nothing behind and go away on repetition; three in a row is a bug to hear of.
const MAX_ATTEMPTS = 3

export async function transact<Result>(
  pool: Pool,
  work: (tx: Tx) => Promise<Result>,
  options: { isolation?: 'repeatable read' } = {},
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptOnce(pool, work, options.isolation ? `begin isolation level ${options.isolation}` : 'begin')
    } catch (error) {
      if (isOutOfReach(error)) throw databaseFault(error)
      if (!isTransient(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** One statement on its own, which PostgreSQL runs as a transaction of its own. */
export function read<Row>(pool: Pool, sql: string, params: unknown[] = []): Promise<Row[]> {
  return pool.query(sql, params).then(
    (result) => result.rows as Row[],
    (error: unknown) => {
      throw isOutOfReach(error) ? databaseFault(error) : error
    },
  )
}

async function attemptOnce<Result>(pool: Pool, work: (tx: Tx) => Promise<Result>, begin: string): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query(begin)
    const result = await work(openTx(client))
    await client.query('commit')
    return result
  } catch (error) {
    // A connection that cannot even roll back is thrown away; PostgreSQL rolls back when it goes.
    await client.query('rollback').catch((rollbackError: Error) => (broken = rollbackError))
    throw error
  } finally {
    client.release(broken)
  }
}

function openTx(client: pg.PoolClient): Tx {
  return {
    rows: async (sql, params = []) => (await client.query(sql, params)).rows,
    run: async (sql, params = []) => (await client.query(sql, params)).rowCount ?? 0,
  } as Tx
}

function isTransient(error: unknown): boolean {
  return hasCode(error, '40001') || hasCode(error, '40P01')
}

/** A row with the same key is there already. */
export function isTaken(error: unknown): boolean {
  return hasCode(error, '23505')
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
