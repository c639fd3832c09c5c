import type { Report, Standing } from '../base/token-buckets.ts'
import { columnsOf, unnest } from './insert-rows.ts'
import type { Pool } from './pool.ts'
import { prepared } from './prepared.ts'
import { query } from './tx.ts'

/** Rows that nobody used for a day are nearly full, and are made again when needed. */
const KEPT = '1 day'
const PURGE_LIMIT = 1_000

/** Subtracts what a process took from all buckets in one statement. */
export function reportTaken(pool: Pool, now: Date, reports: Report[]): Promise<Standing[]> {
  return query<Standing>(pool, REPORT, [now, ...columnsOf(reports, 'name', 'perSecond', 'burst', 'taken', 'openForMs')])
}

export async function purgeSharedLimits(pool: Pool, now: Date): Promise<void> {
  await query(
    pool,
    `delete from shared_limits where name in (
       select name from shared_limits where filled_at < $1::timestamptz - interval '${KEPT}'
       limit ${PURGE_LIMIT} for update skip locked
     )`,
    [now],
  )
}

// A report that waited for a lock brings an older time than the last one, and nothing flows in twice. A minute means
// that the clock of the database was set back. Sorted, so that two reports lock rows in the same order.
const REPORT = prepared(`
  insert into shared_limits as bucket (name, per_second, burst, tokens, filled_at, open_until)
  select name, per_second, burst, burst - taken, $1::timestamptz,
    $1::timestamptz + nullif(open_for_ms, 0) * interval '1 ms'
  from ${unnest(['text', 'float8', 'float8', 'int', 'int'], 2)} as n (name, per_second, burst, taken, open_for_ms)
  order by name
  on conflict (name) do update set
    per_second = excluded.per_second,
    burst = excluded.burst,
    tokens = least(
        excluded.burst,
        bucket.tokens
          + excluded.per_second * greatest(0, extract(epoch from excluded.filled_at - bucket.filled_at)::float8)
      ) - (excluded.burst - excluded.tokens),
    filled_at = case when bucket.filled_at > excluded.filled_at + interval '1 minute' then excluded.filled_at
      else greatest(bucket.filled_at, excluded.filled_at) end,
    open_until = greatest(bucket.open_until, excluded.open_until)
  returning name, tokens, filled_at as "filledAt",
    greatest(0, extract(epoch from open_until - $1::timestamptz) * 1000)::int as "openForMs"`)
