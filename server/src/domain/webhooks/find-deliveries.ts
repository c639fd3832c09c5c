import { uuidOfTime } from '../../base/ids.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'

// Which events went to which webhook, and how that stands. The one reader behind the list of events and the list of
// deliveries.

/**
 * pending: in the queue, and not tried since it was put there. retrying: in the queue, and the last attempt failed.
 * delivered and failed: out of the queue. A delivery that is in the queue is one of the first two, whatever became of
 * it before.
 */
export const DELIVERY_STATES = ['pending', 'retrying', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** In SQL, of a row of the queue. */
export const QUEUED_STATE = `case when attempts = 0 then 'pending' else 'retrying' end`

export type Place = { eventId: string; webhookId: string }

export type DeliveryFilter = {
  /** An account's, or with null everybody's, which is for the operator. */
  accountId: string | null
  state?: DeliveryState | undefined
  webhookId?: string | undefined
  kind?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Only what stands before this place: newest events first, and of one event the largest webhook first. */
  before: Place
  limit: number
  /** One place for each event. */
  isByEvent: boolean
}

// A search that no index answers looks at this many events at the most and may then be short, so that no filter costs a
// walk through all events of an account. What failed or is in the queue is found by webhook, through an index.
const MAX_EVENTS_SEEN = 5_000
// An id is made in the moment of its event, by a clock that may be a little ahead of the one that wrote created_at.
const ID_SLACK_MS = 60_000

export const FIRST_UUID = '00000000-0000-0000-0000-000000000000'
export const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Newest first. `seenDownTo`: where a bounded search ended; what is there has not been looked at yet. */
export async function findDeliveries(
  core: Core,
  filter: DeliveryFilter,
): Promise<{ places: Place[]; seenDownTo: string | undefined }> {
  const { state } = filter
  const isQueued = state === 'pending' || state === 'retrying'
  const isIndexed = isQueued || state === 'failed'
  const seenDownTo = isIndexed ? undefined : await eventsSeenDownTo(core, filter.accountId, filter.before.eventId)
  const sql = isQueued ? ofWebhooks(QUEUED) : isIndexed ? ofWebhooks(FAILED) : OF_EVENTS
  const places = await query<Place>(core.pool, filter.isByEvent ? oneForEachEvent(sql) : sql, [
    filter.accountId,
    filter.before.eventId,
    filter.before.webhookId,
    filter.webhookId ?? null,
    filter.kind ?? null,
    filter.limit,
    seenDownTo ?? FIRST_UUID,
    state ?? null,
    ...timesOf(filter),
  ])
  return { places, seenDownTo }
}

/** Events whether or not they had a webhook to go to. */
export async function findEvents(
  core: Core,
  filter: Pick<DeliveryFilter, 'accountId' | 'kind' | 'from' | 'to' | 'limit'> & { before: string },
): Promise<{ ids: string[]; seenDownTo: string | undefined }> {
  const { accountId, kind, before } = filter
  const seenDownTo = kind === undefined ? undefined : await eventsSeenDownTo(core, accountId, before)
  const rows = await query<{ id: string }>(
    core.pool,
    `select id from events v
     where ($1::uuid is null or account_id = $1) and id < $2 and id > $3 and ($4::text is null or kind = $4)
       and ($6::timestamptz is null or created_at >= $6 and id >= $8) and ($7::timestamptz is null or created_at < $7 and id < $9)
     order by id desc limit $5`,
    [accountId, before, seenDownTo ?? FIRST_UUID, kind ?? null, filter.limit, ...timesOf(filter)],
  )
  return { ids: rows.map((row) => row.id), seenDownTo }
}

/** From, to, and the ids that such times have. */
function timesOf({ from, to }: Pick<DeliveryFilter, 'from' | 'to'>): unknown[] {
  return [
    from ?? null,
    to ?? null,
    from ? uuidOfTime(new Date(from.getTime() - ID_SLACK_MS)) : FIRST_UUID,
    to ? uuidOfTime(new Date(to.getTime() + ID_SLACK_MS)) : LAST_UUID,
  ]
}

/** The oldest event that a bounded search looks at; undefined when it looks at all that there are. */
async function eventsSeenDownTo(core: Core, accountId: string | null, before: string): Promise<string | undefined> {
  const [row] = await query<{ id: string }>(
    core.pool,
    'select id from events where ($1::uuid is null or account_id = $1) and id <= $2 order by id desc offset $3 limit 1',
    [accountId, before, MAX_EVENTS_SEEN],
  )
  return row?.id
}

const OF_EVENTS = `
  select v.id as "eventId", s.webhook_id as "webhookId" from events v
  cross join lateral (
    select webhook_id, ${QUEUED_STATE} as state from deliveries where event_id = v.id
    union all
    select webhook_id, outcome from delivery_outcomes o where event_id = v.id
      and not exists (select from deliveries d where d.event_id = v.id and d.webhook_id = o.webhook_id)
  ) s
  where ($1::uuid is null or v.account_id = $1) and v.id <= $2 and v.id > $7 and (v.id, s.webhook_id) < ($2::uuid, $3::uuid)
    and ($4::uuid is null or s.webhook_id = $4) and ($5::text is null or v.kind = $5) and ($8::text is null or s.state = $8)
    and ($9::timestamptz is null or v.created_at >= $9 and v.id >= $11)
    and ($10::timestamptz is null or v.created_at < $10 and v.id < $12)
  order by v.id desc, s.webhook_id desc limit $6`

const QUEUED = `(select event_id, webhook_id, ${QUEUED_STATE} as state from deliveries)`
const FAILED = `(
  select event_id, webhook_id, outcome as state from delivery_outcomes o where outcome = 'failed'
    and not exists (select from deliveries w where w.event_id = o.event_id and w.webhook_id = o.webhook_id))`

const ofWebhooks = (source: string) => `
  select d.event_id as "eventId", d.webhook_id as "webhookId" from webhooks e
  cross join lateral (
    select event_id, webhook_id from ${source} s
    where webhook_id = e.id and event_id <= $2 and event_id > $7 and (event_id, webhook_id) < ($2::uuid, $3::uuid)
      and s.state = $8 and event_id >= $11 and event_id < $12
      and (($5::text is null and $9::timestamptz is null and $10::timestamptz is null) or exists (
        select from events v where v.id = event_id and ($5::text is null or v.kind = $5)
          and ($9::timestamptz is null or v.created_at >= $9) and ($10::timestamptz is null or v.created_at < $10)))
    order by event_id desc limit $6
  ) d
  where ($1::uuid is null or e.account_id = $1) and ($4::uuid is null or e.id = $4)
  order by d.event_id desc, d.webhook_id desc limit $6`

/** The limit then counts events. Each webhook still answers as many places as are asked for at the most. */
const oneForEachEvent = (sql: string) => `
  select distinct on ("eventId") "eventId", "webhookId" from (${sql.replace(/limit \$6$/, '')}) s
  order by "eventId" desc limit $6`
