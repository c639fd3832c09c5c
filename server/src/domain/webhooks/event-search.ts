import { uuidOfTime } from '../../base/ids.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import type { ListFilter } from '../core/cursor.ts'

// Lists events and deliveries that match a filter, a page at a time, without reading all of them.

/** pending: not tried since it was queued. retrying: the last attempt failed. The others are no longer queued. */
export const DELIVERY_STATES = ['pending', 'retrying', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** The id of an account. Null stands for all accounts, for the operator. */
export type AccountScope = string | null

export type DeliveryFilter = ListFilter & { kind?: string; state?: DeliveryState; webhookId?: string }
export type EventFilter = DeliveryFilter & { order?: Order }
export type Order = 'desc' | 'asc'

export type Place = { eventId: string; webhookId: string }

type Search = DeliveryFilter & {
  accountId: AccountScope
  /** By the id of the event, and for one event by that of the webhook. */
  order: Order
  after: Place
  /** One place for each event. */
  isByEvent: boolean
}

/** One more than `limit`. `searchedUpTo`: the event at which a bounded search ended, not searched itself. */
type Found<At = Place> = { found: At[]; searchedUpTo: string | undefined }

// Failed and queued deliveries are found through an index. Any other filter looks at this many events at most, so that
// no filter costs a walk through all events of an account.
const MAX_EVENTS_SEARCHED = 5_000
// The clock that made an event's id may be ahead of the one that wrote created_at.
const ID_SLACK_MS = 60_000

export const FIRST_UUID = '00000000-0000-0000-0000-000000000000'
export const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Where each order begins and ends, and what its statements compare with. */
export const ENDS = {
  desc: { first: LAST_UUID, last: FIRST_UUID, after: '<', before: '>' },
  asc: { first: FIRST_UUID, last: LAST_UUID, after: '>', before: '<' },
} as const

export async function searchDeliveries(core: Core, search: Search): Promise<Found> {
  const { state, after, order } = search
  const isQueued = state === 'pending' || state === 'retrying'
  const isIndexed = isQueued || state === 'failed'
  const searchedUpTo = isIndexed ? undefined : await searchBound(core, search)
  const sql = isQueued ? byWebhook(QUEUED, order) : isIndexed ? byWebhook(FAILED, order) : byEvent(order)
  const found = await query<Place>(core.pool, search.isByEvent ? oneForEachEvent(sql, order) : sql, [
    ...commonParams(search, searchedUpTo),
    after.webhookId,
    search.webhookId ?? null,
    state ?? null,
  ])
  return { found, searchedUpTo }
}

/** Also finds events that no webhook wanted. */
export async function searchEvents(core: Core, search: Search): Promise<Found<Pick<Place, 'eventId'>>> {
  const { kind, order } = search
  const searchedUpTo = kind === undefined ? undefined : await searchBound(core, search)
  const found = await query<{ eventId: string }>(
    core.pool,
    `select v.id as "eventId" from events v where v.id ${ENDS[order].after} $2 and ${eventMatches(order)}
     order by v.id ${order} limit $9`,
    commonParams(search, searchedUpTo),
  )
  return { found, searchedUpTo }
}

/** The last event that a bounded search looks at. Undefined if it looks at all. */
async function searchBound(core: Core, { accountId, after, order }: Search): Promise<string | undefined> {
  const [row] = await query<{ id: string }>(
    core.pool,
    `select id from events where ($1::uuid is null or account_id = $1) and id ${ENDS[order].after}= $2
     order by id ${order} offset $3 limit 1`,
    [accountId, after.eventId, MAX_EVENTS_SEARCHED],
  )
  return row?.id
}

/** $1 to $9 of every search. $7 and $8 are the ids of the times $5 and $6. */
function commonParams({ accountId, after, order, kind, from, to, limit }: Search, upTo?: string): unknown[] {
  const fromId = from ? uuidOfTime(new Date(from.getTime() - ID_SLACK_MS)) : FIRST_UUID
  const toId = to ? uuidOfTime(new Date(to.getTime() + ID_SLACK_MS)) : LAST_UUID
  const bounds = [accountId, after.eventId, upTo ?? ENDS[order].last]
  return [...bounds, kind ?? null, from ?? null, to ?? null, fromId, toId, limit + 1]
}

const QUEUED_STATE = `case when attempts = 0 then 'pending' else 'retrying' end`

export const DELIVERIES_OF_EVENT = `(
  select webhook_id, ${QUEUED_STATE} as state, attempts, due_at, null::timestamptz as ended_at
  from deliveries where event_id = v.id
  union all
  select webhook_id, outcome, attempts, null, ended_at from delivery_outcomes o where event_id = v.id
    and not exists (select from deliveries d where d.event_id = v.id and d.webhook_id = o.webhook_id)
) d`

const eventMatches = (order: Order) => `
  ($1::uuid is null or v.account_id = $1) and v.id ${ENDS[order].before} $3 and ($4::text is null or v.kind = $4)
  and ($5::timestamptz is null or v.created_at >= $5 and v.id >= $7)
  and ($6::timestamptz is null or v.created_at < $6 and v.id < $8)`

const byEvent = (order: Order) => `
  select v.id as "eventId", d.webhook_id as "webhookId" from events v cross join lateral ${DELIVERIES_OF_EVENT}
  where v.id ${ENDS[order].after}= $2 and ${eventMatches(order)}
    and (v.id, d.webhook_id) ${ENDS[order].after} ($2::uuid, $10::uuid)
    and ($11::uuid is null or d.webhook_id = $11) and ($12::text is null or d.state = $12)
  order by v.id ${order}, d.webhook_id ${order} limit $9`

const QUEUED = `(select event_id, webhook_id, ${QUEUED_STATE} as state from deliveries)`
const FAILED = `(
  select event_id, webhook_id, outcome as state from delivery_outcomes o where outcome = 'failed'
    and not exists (select from deliveries d where d.event_id = o.event_id and d.webhook_id = o.webhook_id))`

const byWebhook = (source: string, order: Order) => `
  select d.event_id as "eventId", d.webhook_id as "webhookId" from webhooks w
  cross join lateral (
    select event_id, webhook_id from ${source} s
    where webhook_id = w.id and event_id ${ENDS[order].after}= $2 and event_id ${ENDS[order].before} $3
      and (event_id, webhook_id) ${ENDS[order].after} ($2::uuid, $10::uuid)
      and s.state = $12 and event_id >= $7 and event_id < $8
      and (($4::text is null and $5::timestamptz is null and $6::timestamptz is null) or exists (
        select from events v where v.id = event_id and ($4::text is null or v.kind = $4)
          and ($5::timestamptz is null or v.created_at >= $5) and ($6::timestamptz is null or v.created_at < $6)))
    order by event_id ${order} limit $9
  ) d
  where ($1::uuid is null or w.account_id = $1) and ($11::uuid is null or w.id = $11)
  order by d.event_id ${order}, d.webhook_id ${order} limit $9`

/** The limit then counts events. The index of each webhook still gives at most `limit` places. */
const oneForEachEvent = (sql: string, order: Order) => `
  select distinct on ("eventId") "eventId", "webhookId" from (${sql.replace(/limit \$9$/, '')}) s
  order by "eventId" ${order} limit $9`
