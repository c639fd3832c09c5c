import type { Log } from './base/log.ts'
import type { Config } from './config/config.ts'
import { openEmbedded } from './db/embedded/server.ts'
import { migrate, requireMigrated } from './db/migrate.ts'
import { makePool, type Pool } from './db/pool.ts'

export type Say = (line: string) => void
export type Opened<Value> = { value: Value; close(): Promise<void> }

export type OpenOptions = {
  /** Only the service and `guiche migrate` do. */
  migrates?: boolean
  /** Stops a slow first start at its next step. */
  signal?: AbortSignal
}

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

/** The schema has the version that this release needs. */
export async function openDatabase(
  config: Config,
  log: Log,
  say: Say,
  { migrates = false, signal }: OpenOptions = {},
): Promise<Opened<{ pool: Pool; databaseUrl: string }>> {
  const database = config.databaseUrl
    ? { databaseUrl: config.databaseUrl, stop: async () => {} }
    : await openEmbedded({ home: config.home, say, mayCreate: migrates, signal })
  const { databaseUrl } = database
  try {
    signal?.throwIfAborted()
    if (migrates) {
      const applied = await migrate(databaseUrl, { say: (line) => log.warn({}, line) })
      if (applied.length > 0) log.info({ migrations: applied }, 'the database was migrated')
    } else await requireMigrated(databaseUrl)
    const { sealer } = config.settings
    const pool = makePool(databaseUrl, log, { maxConnections: config.databasePoolSize, sealer })
    return {
      value: { pool, databaseUrl },
      async close() {
        await pool.end()
        await database.stop()
      },
    }
  } catch (error) {
    await database.stop()
    throw error
  }
}
