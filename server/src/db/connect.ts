import type pg from 'pg'
import { OperatorError } from '../base/operator-error.ts'
import { readDatabaseUrl } from './database-url.ts'
import { explainDatabase } from './failure.ts'
import { makeClient } from './hosts.ts'
import { KEEP_ALIVE_AFTER_MS } from './pool.ts'

const CONNECT_TIMEOUT_MS = 10_000

/** One connection outside the pool, closed afterwards. */
export async function withClient<Result>(
  databaseUrl: string,
  options: { name: string; queryTimeoutMs: number },
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = makeClient({
    ...readDatabaseUrl(databaseUrl),
    application_name: options.name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: options.queryTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  })
  client.on('error', () => {}) // a broken connection is reported by the query under way
  try {
    await client.connect()
    return await work(client)
  } catch (error) {
    const text = explainDatabase(error)
    throw text === undefined ? error : new OperatorError(text, { cause: error })
  } finally {
    await client.end().catch(() => {})
  }
}

const OLDEST_POSTGRESQL = 15

/** Resolves to the version. */
export async function requireVersion(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ version: string }>(`select current_setting('server_version') as version`)
  const { version } = rows[0]!
  if (Number.parseInt(version, 10) >= OLDEST_POSTGRESQL) return version
  const text = `The database at DATABASE_URL is PostgreSQL ${version}, and guiche needs ${OLDEST_POSTGRESQL} or newer`
  throw new OperatorError(text, { topic: 'PostgreSQL' })
}
