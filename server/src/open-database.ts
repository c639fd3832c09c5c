import type { Log } from './base/log.ts'
import type { Config } from './config.ts'
import { openEmbedded } from './db/embedded/server.ts'
import { migrate, requireMigrated } from './db/migrate.ts'
import { makePool, type Pool } from './db/pool.ts'

export type Say = (line: string) => void
export type Opened<Value> = { value: Value; close(): Promise<void> }

/** `migrates`: create or migrate the database. Only the service and `guiche migrate` may. */
export type OpenOptions = {
  migrates?: boolean
  /** Aborts a slow first start at its next step. */
  signal?: AbortSignal
}

/** The URL of the configured database, or of the embedded one, which runs until `work` ends. */
export async function withDatabaseUrl<Result>(
  config: Config,
  say: Say,
  { migrates = false }: OpenOptions,
  work: (databaseUrl: string) => Promise<Result>,
): Promise<Result> {
  if (config.databaseUrl) return work(config.databaseUrl)
  const embedded = await openEmbedded({ home: config.home, say, mayCreate: migrates })
  try {
    return await work(embedded.databaseUrl)
  } finally {
    await embedded.stop()
  }
}

/** The configured or the embedded database, at the schema version that this release needs. */
export async function openDatabase(
  config: Config,
  log: Log,
  say: Say,
  { migrates = false, signal }: OpenOptions = {},
): Promise<Opened<{ pool: Pool; databaseUrl: string }>> {
  const embedded = config.databaseUrl
    ? undefined
    : await openEmbedded({ home: config.home, say, mayCreate: migrates, signal })
  try {
    const databaseUrl = config.databaseUrl ?? embedded!.databaseUrl
    signal?.throwIfAborted()
    if (migrates) {
      const applied = await migrate(databaseUrl, { say: (line) => log.warn({}, line) })
      if (applied.length > 0) log.info({ migrations: applied }, 'the database was migrated')
    } else await requireMigrated(databaseUrl)
    const pool = makePool(databaseUrl, log, { maxConnections: config.databasePoolSize })
    return {
      value: { pool, databaseUrl },
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
