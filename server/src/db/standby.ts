import { makePool, type Pool } from './pool.ts'
import { queryOne } from './tx.ts'

/** A standby for reports (DATABASE_READ_URL). Its data are a little old, so nothing about money is decided by them. */
export type Standby = {
  pool: Pool
  /** How old its data are; undefined for a while after it failed. */
  ageSeconds(): Promise<number | undefined>
}

/** Reports are few. Slow ones wait for each other, and not for deposits. */
const MAX_CONNECTIONS = 5
/** Otherwise each report would wait three seconds for a connection. */
const AVOIDED_FOR_MS = 10_000
/** Reports log why they do not use it: the primary works, and that is not an outage. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

export function openStandby(databaseUrl: string): Standby {
  const pool = makePool(databaseUrl, SILENT, { maxConnections: MAX_CONNECTIONS })
  let avoidedUntilMs = -Infinity
  return {
    pool,
    async ageSeconds() {
      if (performance.now() < avoidedUntilMs) return undefined
      try {
        return (await queryOne<{ seconds: number }>(pool, AGE)).seconds
      } catch (error) {
        avoidedUntilMs = performance.now() + AVOIDED_FOR_MS
        throw error
      }
    },
  }
}

// Processes renew their presence every two seconds, so a standby that follows is hardly older.
const AGE = `
  select case when pg_is_in_recovery() then
    coalesce(greatest(0, ceil(date_part('epoch', clock_timestamp() - pg_last_xact_replay_timestamp()))), 'infinity')
  else 0 end as seconds`
