import type { Log } from './base/log.ts'
import type { Config } from './config.ts'
import { openEmbedded } from './db/embedded.ts'
import { migrate } from './db/migrate.ts'
import { makePool, type Pool } from './db/pool.ts'

export type Say = (line: string) => void
export type Opened<Part> = { part: Part; close(): Promise<void> }

/** The configured database, or the embedded one, migrated. */
export async function openDatabase(
  config: Config,
  log: Log,
  say: Say,
): Promise<Opened<{ pool: Pool; databaseUrl: string }>> {
  const embedded = config.databaseUrl ? undefined : await openEmbedded({ home: config.home, say })
  try {
    const databaseUrl = config.databaseUrl ?? embedded!.databaseUrl
    const applied = await migrate(databaseUrl)
    if (applied.length > 0) log.info({ migrations: applied }, 'the database was migrated')
    const pool = makePool(databaseUrl, log)
    return {
      part: { pool, databaseUrl },
      async close() {
        await pool.end()
        await embedded?.stop()
      },
    }
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}
