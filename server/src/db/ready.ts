import { outageLogOf, type Pool } from './pool.ts'
import { query, unavailable } from './tx.ts'

// Probes time out after one or a few seconds by default.
const READY_WITHIN_MS = 2_000

export type DatabaseTrouble = 'database' | 'database in recovery' | 'database read-only'

/** Why no deposit could be created now: unreachable, a standby, or read-only by a setting. */
export async function databaseTrouble(pool: Pool): Promise<DatabaseTrouble | undefined> {
  try {
    const client = await pool.connect()
    let trouble: DatabaseTrouble | undefined = 'database'
    try {
      const { rows } = await client.query<{ recovering: boolean; readOnly: boolean }>({
        text: `select pg_is_in_recovery() as recovering, current_setting('transaction_read_only') = 'on' as "readOnly"`,
        query_timeout: READY_WITHIN_MS,
      } as { text: string })
      const [row] = rows
      trouble = row!.recovering ? 'database in recovery' : row!.readOnly ? 'database read-only' : undefined
    } finally {
      // A new connection may reach the primary.
      client.release(trouble !== undefined)
    }
    if (trouble) outageLogOf(pool)?.failed(new Error(trouble))
    return trouble
  } catch (error) {
    unavailable(pool, error)
    return 'database'
  }
}

/** What an operator wants to know about the database. */
export async function describeDatabase(pool: Pool): Promise<{ version: string; migrations: number }> {
  const [row] = await query<{ version: string; migrations: number }>(
    pool,
    `select current_setting('server_version') as version, (select count(*) from migrations) as migrations`,
  )
  return row!
}
