import { uuidOfTime } from '../../base/ids.ts'
import { inTurn, query, queryOne } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { findWebhook } from './webhooks.ts'

// How one webhook fares. Attempts have no index by webhook, which every delivery would have to write. So they are found
// by their events, and only the newest events of the account are looked at, however many there are.

const HOUR_MS = 3_600_000
const STATS_HOURS = 24
const WEEK_MS = 7 * 24 * HOUR_MS
// 0.1 s for the longest answer: each event costs a look into the index of each day since.
const MAX_EVENTS = 2_000
// All retries of an event, and some resends.
const MAX_ATTEMPTS_OF_EVENT = 20
// The clock that wrote an event may be ahead of the one that wrote its attempt.
const CLOCK_SLACK = '1 minute'
// A longer queue is the same news.
const MAX_WAITING_COUNTED = 10_000
// Deliveries that failed are due later than those that were never tried, so they are at the end of the queue.
const MAX_WAITING_SEARCHED = 1_000

export type Figures = {
  attempts: number
  delivered: number
  /** Of the attempts that were answered. Null: none was. */
  latencyP50Ms: number | null
  latencyP95Ms: number | null
}

export type WebhookStats = {
  /** The oldest event that was looked at, if there are older ones within the week. Null: all of the week was. */
  sampledSince: Date | null
  day: Figures
  week: Figures
  /** Of the last 24 hours, oldest first. The last one is under way. */
  hours: { hour: Date; delivered: number; failed: number }[]
}

export type Waiting = {
  count: number
  isMore: boolean
  nextAttemptAt: Date | null
  /** Of a delivery that waits: its last attempt. */
  lastFailure: {
    at: Date
    status: number | null
    error: string | null
    errorCode: string | null
    errorDetail: string | null
  } | null
}

export async function readWebhookStats(
  core: Core,
  accountId: string,
  webhookId: string,
): Promise<{ stats: WebhookStats; waiting: Waiting }> {
  await findWebhook(core, accountId, webhookId)
  const [stats, waiting] = await Promise.all([
    inTurn(core.pool, () => readStats(core, accountId, webhookId)),
    readWaiting(core, webhookId),
  ])
  return { stats, waiting }
}

const figuresSince = (since: string) => `(
  select jsonb_build_object(
    'attempts', count(*),
    'delivered', count(*) filter (where status between 200 and 299),
    'latencyP50Ms', percentile_disc(0.5) within group (order by latency_ms) filter (where status is not null),
    'latencyP95Ms', percentile_disc(0.95) within group (order by latency_ms) filter (where status is not null)
  ) from tried where at > ${since}
)`

const READ_STATS = `
  with looked_at as materialized (
    select id, created_at from events where account_id = $1 and id >= $3 order by id desc limit ${MAX_EVENTS}
  ), tried as materialized (
    select a.at, a.status, a.latency_ms from looked_at v cross join lateral (
      select at, status, latency_ms from attempts
      where event_id = v.id and webhook_id = $2 and at >= v.created_at - interval '${CLOCK_SLACK}' and at <= $4
      order by at desc limit ${MAX_ATTEMPTS_OF_EVENT}
    ) a
  )
  select ${figuresSince('$5::timestamptz')} as day, ${figuresSince('$6::timestamptz')} as week,
    (select count(*) from looked_at) as looked, (select min(created_at) from looked_at) as oldest,
    (select coalesce(jsonb_object_agg(hours_ago, jsonb_build_object('delivered', delivered, 'failed', failed)), '{}')
     from (
       select ceil(extract(epoch from $7::timestamptz - at) / 3600)::int - 1 as hours_ago,
         count(*) filter (where status between 200 and 299) as delivered,
         count(*) filter (where status is null or status not between 200 and 299) as failed
       from tried where at >= $7::timestamptz - interval '${STATS_HOURS} hours' group by 1
     ) h) as hours`

type Row = {
  day: Figures
  week: Figures
  looked: number
  oldest: Date | null
  hours: Record<string, { delivered: number; failed: number }>
}

async function readStats(core: Core, accountId: string, webhookId: string): Promise<WebhookStats> {
  const now = core.now()
  const since = (ms: number) => new Date(now.getTime() - ms)
  const week = since(WEEK_MS)
  const ended = Math.floor(now.getTime() / HOUR_MS + 1) * HOUR_MS
  const row = await queryOne<Row>(core.pool, READ_STATS, [
    accountId,
    webhookId,
    uuidOfTime(week),
    now,
    since(STATS_HOURS * HOUR_MS),
    week,
    new Date(ended),
  ])
  const hours = Array.from({ length: STATS_HOURS }, (_, index) => {
    const hoursAgo = STATS_HOURS - 1 - index
    const hour = new Date(ended - (hoursAgo + 1) * HOUR_MS)
    return { hour, ...(row.hours[hoursAgo] ?? { delivered: 0, failed: 0 }) }
  })
  return { sampledSince: row.looked < MAX_EVENTS ? null : row.oldest, day: row.day, week: row.week, hours }
}

async function readWaiting(core: Core, webhookId: string): Promise<Waiting> {
  const { count, ...waiting } = await queryOne<Omit<Waiting, 'isMore' | 'lastFailure'>>(
    core.pool,
    `select (select count(*) from (select from deliveries where webhook_id = $1 limit ${MAX_WAITING_COUNTED + 1}) q),
       (select min(due_at) from deliveries where webhook_id = $1) as "nextAttemptAt"`,
    [webhookId],
  )
  const [lastFailure = null] = await query<NonNullable<Waiting['lastFailure']>>(
    core.pool,
    `select t.at, t.status, t.error, t.error_code as "errorCode", t.error_detail as "errorDetail" from (
       select event_id from (
         select event_id, attempts from deliveries where webhook_id = $1
         order by due_at desc limit ${MAX_WAITING_SEARCHED}
       ) q where attempts > 0 limit 1
     ) d join attempts t on t.event_id = d.event_id and t.webhook_id = $1
     order by t.at desc limit 1`,
    [webhookId],
  )
  return { ...waiting, count: Math.min(count, MAX_WAITING_COUNTED), isMore: count > MAX_WAITING_COUNTED, lastFailure }
}
