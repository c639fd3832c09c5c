import { DatabaseUnavailable } from '../../db/failure.ts'
import { makePool } from '../../db/pool.ts'
import { isTransient, queryOne } from '../../db/tx.ts'
import type { Core, Standby } from '../core/core.ts'

/** `ageSeconds`: how old the data may be; null if they came from the primary. */
export type Report<Result> = { result: Result; ageSeconds: number | null }

/** Older data would puzzle whoever looks at them. A standby that is so far behind has a problem. */
const MAX_AGE_SECONDS = 60

/** Only for what may be old: never for a charge, a balance, or anything that money depends on. */
export async function readReport<Result>(core: Core, read: (core: Core) => Promise<Result>): Promise<Report<Result>> {
  const { standby } = core
  if (!standby) return { result: await read(core), ageSeconds: null }
  try {
    const ageSeconds = await standby.ageSeconds(core.now())
    if (ageSeconds !== undefined && ageSeconds <= MAX_AGE_SECONDS)
      return { result: await read({ ...core, pool: standby.pool }), ageSeconds }
    if (ageSeconds !== undefined)
      core.log.warn({ ageSeconds }, 'reports read from the primary: the standby at DATABASE_READ_URL is too far behind')
  } catch (error) {
    // A standby cancels a read that keeps it from following the primary, as a serialization failure.
    if (!(error instanceof DatabaseUnavailable) && !isTransient(error)) throw error
    core.log.warn({ err: error }, 'reports read from the primary: the standby at DATABASE_READ_URL failed')
  }
  return { result: await read(core), ageSeconds: null }
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
