import type { PoolClient } from 'pg'
import type { Pool } from '../src/db/pool.ts'
import { until } from './world.ts'

/**
 * How many statements this work sends through the pool, with `begin` and `commit`. Each is a round trip. The settings
 * of a new connection do not count.
 */
export async function countStatements(pool: Pool, work: () => Promise<unknown>): Promise<number> {
  await until('what came before is done', async () => pool.waitingCount === 0 && pool.idleCount === pool.totalCount)
  let count = 0
  const watched = new Map<PoolClient, PoolClient['query']>()
  const watch = (client: PoolClient) => {
    if (watched.has(client)) return
    const { query } = client
    watched.set(client, query)
    client.query = ((...args: unknown[]) => {
      if (!String(args[0]).startsWith('set ')) count += 1
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
  return count
}
