import type { PoolClient, QueryConfig } from 'pg'
import { vi } from 'vitest'
import type { Pool } from '../src/db/pool.ts'
import { until } from './world.ts'

export type Statement = { text: string; values: unknown[] }

/**
 * The statements that this work sends through the pool, with `begin` and `commit`. Each is a round trip. The settings
 * of a new connection do not count.
 */
export async function recordStatements(pool: Pool, work: () => Promise<unknown>): Promise<Statement[]> {
  await untilIdle(pool)
  const statements: Statement[] = []
  const watched = new Map<PoolClient, PoolClient['query']>()
  const watch = (client: PoolClient) => {
    if (watched.has(client)) return
    const { query } = client
    watched.set(client, query)
    client.query = ((...args: unknown[]) => {
      const [sent, values] = args as [string | QueryConfig, unknown]
      const text = typeof sent === 'string' ? sent : sent.text
      const given = typeof sent === 'string' ? values : sent.values
      if (!text.startsWith('set ')) statements.push({ text, values: Array.isArray(given) ? given : [] })
      return Reflect.apply(query, client, args)
    }) as typeof query
  }
  pool.on('acquire', watch)
  try {
    await work()
  } finally {
    pool.off('acquire', watch)
    for (const [client, query] of watched) client.query = query
  }
  return statements
}

/** The queries from now on, without those that nobody awaits, such as the one that stores when a key was used. */
export async function spyOnQueries(pool: Pool) {
  await untilIdle(pool)
  return vi.spyOn(pool, 'query')
}

async function untilIdle(pool: Pool): Promise<void> {
  await until('what came before is done', async () => pool.waitingCount === 0 && pool.idleCount === pool.totalCount)
}

export async function countStatements(pool: Pool, work: () => Promise<unknown>): Promise<number> {
  return (await recordStatements(pool, work)).length
}
