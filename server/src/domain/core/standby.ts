import { makePool } from '../../db/pool.ts'
import { queryOne } from '../../db/tx.ts'
import type { Standby } from './core.ts'

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
    async ageSeconds(now) {
      if (now.getTime() < avoidedUntilMs) return undefined
      try {
        return (await queryOne<{ seconds: number }>(pool, AGE)).seconds
      } catch (error) {
        avoidedUntilMs = now.getTime() + AVOIDED_FOR_MS
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
