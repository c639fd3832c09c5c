import type { Pool } from './pool.ts'
import { read } from './tx.ts'

/** Throws when the database is out of reach. */
export async function databaseReady(pool: Pool): Promise<void> {
  await read(pool, 'select 1')
}

/** What an operator wants to know of the database. */
export async function describeDatabase(pool: Pool): Promise<{ version: string; migrations: number }> {
  const [row] = await read<{ version: string; migrations: number }>(
    pool,
    `select current_setting('server_version') as version, (select count(*) from migrations) as migrations`,
  )
  return row!
}
