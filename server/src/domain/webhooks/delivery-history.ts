import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isUuid, uuidOfTime } from '../../base/ids.ts'
import { columnsOf } from '../../db/insert-rows.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { headersOf } from './delivery-queue.ts'
import { eventName, parseEventName } from './events.ts'

// Events, their deliveries and their attempts, for the public API, the dashboard and the command line.

/**
 * pending: queued, and not tried since. retrying: queued, and the last attempt failed. delivered, failed: no longer
 * queued. A queued delivery is in one of the first two states, whatever an earlier delivery of the event ended in.
 */
export const DELIVERY_STATES = ['pending', 'retrying', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** The id of an account. Null stands for all accounts, for the operator. */
export type AccountScope = string | null

export type EventDelivery = {
  webhookId: string
  state: DeliveryState
  /** Since it was last queued. */
  attempts: number
  nextAttemptAt: Date | null
  endedAt: Date | null
}

export type EventRecord = {
  id: string
  email: string
  kind: string
  body: string
  createdAt: Date
  deliveries: EventDelivery[]
}

/** A delivery with its event, its webhook and the outcome of its last attempt. */
export type DeliveryRecord = EventDelivery & {
  eventId: string
  kind: string
  /** Of the deposit that the event is about. */
  paymentLinkId: string | null
  webhookName: string
  lastStatus: number | null
  lastError: string | null
  lastErrorCode: string | null
  lastErrorDetail: string | null
  lastAt: Date | null
  createdAt: Date
}

export type AttemptRecord = {
  webhookId: string
  number: number
  at: Date
  status: number | null
  error: string | null
  errorCode: string | null
  errorDetail: string | null
  latencyMs: number
  excerpt: string
}

export type DeliveryFilter = ListFilter & { kind?: string; state?: DeliveryState; webhookId?: string }

// Eleven attempts for each of a hundred webhooks, and resends; beyond that the newest tell enough.
const MAX_ATTEMPTS_OF_EVENT = 2_000
const MAX_ATTEMPTS_OF_DELIVERY = 200

/** Newest first. A page may have fewer events than `limit` and not be the last. */
export async function listEvents(
  core: Core,
  accountId: AccountScope,
  filter: DeliveryFilter,
): Promise<{ events: EventRecord[]; nextCursor: string | null }> {
  // No delivery of the event at the cursor is left.
  const before = { eventId: cursorUuid(filter.cursor), webhookId: FIRST_UUID }
  const needsDelivery = filter.state !== undefined || filter.webhookId !== undefined
  const search: typeof searchEvents = needsDelivery ? searchDeliveries : searchEvents
  const { found, searchedDownTo } = await search(core, { ...filter, accountId, before, isByEvent: true })
  const { items, nextCursor } = page(found, filter.limit, ({ eventId }) => hexFromUuid(eventId))
  const rows = await query<EventRow>(
    core.pool,
    `select ${EVENT_COLUMNS} from events v where v.id = any($1) order by v.id desc`,
    [items.map(({ eventId }) => eventId)],
  )
  return {
    events: rows.map(eventFromRow),
    nextCursor: nextCursor ?? (searchedDownTo ? hexAfter(searchedDownTo) : null),
  }
}

/** A cursor names the last event of a page. The next larger id stands for an event that no page had yet. */
function hexAfter(id: string): string {
  return (BigInt(`0x${hexFromUuid(id)}`) + 1n).toString(16).padStart(32, '0')
}

export async function findEvent(
  core: Core,
  accountId: AccountScope,
  name: string,
): Promise<{ event: EventRecord; attempts: AttemptRecord[] }> {
  const row = await requireEvent(core, accountId, name)
  return { event: eventFromRow(row), attempts: await readAttempts(core, row.id, null, MAX_ATTEMPTS_OF_EVENT) }
}

/** By the name that receivers see. `id` is the key of the row. */
export async function requireEvent(core: Core, accountId: AccountScope, name: string): Promise<EventRow> {
  const { kind, subjectId } = parseEventName(name)
  const [row] = await query<EventRow>(
    core.pool,
    `select ${EVENT_COLUMNS} from events v
     where v.kind = $1 and v.subject_id = $2 and ($3::uuid is null or v.account_id = $3)`,
    [kind, subjectId, accountId],
  )
  if (!row) throw new Fault('not_found', 'Event not found')
  return row
}

/** Newest first. A page may have fewer deliveries than `limit` and not be the last. */
export async function listDeliveries(
  core: Core,
  accountId: string,
  filter: DeliveryFilter,
): Promise<{ deliveries: DeliveryRecord[]; nextCursor: string | null }> {
  const [eventId, webhookId] = [cursorUuid(filter.cursor?.slice(0, 32)), cursorUuid(filter.cursor?.slice(32))]
  const search = { ...filter, accountId, before: { eventId, webhookId }, isByEvent: false }
  const { found, searchedDownTo } = await searchDeliveries(core, search)
  const { items, nextCursor } = page(found, filter.limit, cursorOf)
  // The next page begins with the event at which the search ended.
  const next = searchedDownTo ? cursorOf({ eventId: searchedDownTo, webhookId: LAST_UUID }) : null
  return { deliveries: await readDeliveries(core, items), nextCursor: nextCursor ?? next }
}

function cursorOf({ eventId, webhookId }: Place): string {
  return hexFromUuid(eventId) + hexFromUuid(webhookId)
}

export type SentRequest = { url: string; headers: Record<string, string>; body: string }

/** With the request as it is sent, and the attempts that are kept, newest first. */
export async function findDelivery(
  core: Core,
  accountId: string,
  name: { eventId: string; webhookId: string },
): Promise<{ delivery: DeliveryRecord; request: SentRequest; attempts: AttemptRecord[] }> {
  const { kind, subjectId } = parseEventName(name.eventId)
  const webhookId = name.webhookId.toLowerCase()
  const [sent] = isUuid(webhookId)
    ? await query<{ eventId: string; url: string; body: string; hasAuthorization: boolean }>(
        core.pool,
        `select v.id as "eventId", w.url, v.body, w.authorization_box is not null as "hasAuthorization"
         from events v join webhooks w on w.account_id = v.account_id
         where v.kind = $1 and v.subject_id = $2 and w.id = $3 and v.account_id = $4`,
        [kind, subjectId, webhookId, accountId],
      )
    : []
  const [delivery] = sent ? await readDeliveries(core, [{ eventId: sent.eventId, webhookId }]) : []
  if (!sent || !delivery) throw new Fault('not_found', 'Delivery not found')
  const { eventId, url, body, hasAuthorization } = sent
  const attempts = await readAttempts(core, eventId, webhookId, MAX_ATTEMPTS_OF_DELIVERY)
  const message = { body, keys: [], authorization: hasAuthorization ? MASK : null }
  const headers = headersOf(message, attempts[0]?.at ?? delivery.createdAt)
  return { delivery, request: { url, headers: { ...headers, 'webhook-signature': `v1,${MASK}` }, body }, attempts }
}

// In place of the headers that would let a reader impersonate us.
const MASK = '••••••••'

export type FailingWebhook = {
  webhookId: string
  accountId: string
  accountEmail: string
  name: string
  url: string
  failingSince: Date | null
  disabledAt: Date | null
  disabledReason: string | null
  disabledCode: string | null
  /** Of the last attempt that failed: the status of the answer, or why there was none. */
  lastStatus: number | null
  lastError: string | null
  lastErrorCode: string | null
  lastErrorDetail: string | null
  /** The length of its queue, up to MAX_PENDING_COUNTED. */
  pending: number
}

// A longer queue is the same news.
const MAX_PENDING_COUNTED = 10_000

/** For the operator: failing or disabled webhooks of all accounts, newest first. */
export async function listFailingWebhooks(
  core: Core,
  { cursor, limit }: { cursor?: string; limit: number },
): Promise<{ webhooks: FailingWebhook[]; nextCursor: string | null }> {
  const rows = await query<FailingWebhook>(
    core.pool,
    `select w.id as "webhookId", w.account_id as "accountId", a.email as "accountEmail", w.name, w.url,
       w.failing_since as "failingSince", w.disabled_at as "disabledAt", w.disabled_reason as "disabledReason",
       w.disabled_code as "disabledCode", t.status as "lastStatus", t.error as "lastError",
       t.error_code as "lastErrorCode", t.error_detail as "lastErrorDetail",
       (select count(*) from (select from deliveries d where d.webhook_id = w.id limit $3) q) as pending
     from webhooks w join accounts a on a.id = w.account_id
     left join lateral (
       select t.status, t.error, t.error_code, t.error_detail from (
         (select event_id from deliveries where webhook_id = w.id and attempts > 0 order by due_at desc limit 1)
         union all
         (select event_id from delivery_outcomes where webhook_id = w.id and outcome = 'failed'
          order by event_id desc limit 1)
       ) failed join attempts t on t.event_id = failed.event_id and t.webhook_id = w.id
       order by t.at desc limit 1
     ) t on true
     where w.id < $1 and w.deleted_at is null and (w.failing_since is not null or w.disabled_at is not null)
     order by w.id desc limit $2`,
    [cursorUuid(cursor), limit + 1, MAX_PENDING_COUNTED],
  )
  const { items: webhooks, nextCursor } = page(rows, limit, ({ webhookId }) => hexFromUuid(webhookId))
  return { webhooks, nextCursor }
}

// ---- Rows ----

const QUEUED_STATE = `case when attempts = 0 then 'pending' else 'retrying' end`

const DELIVERIES_OF_EVENT = `(
  select webhook_id, ${QUEUED_STATE} as state, attempts, due_at, null::timestamptz as ended_at
  from deliveries where event_id = v.id
  union all
  select webhook_id, outcome, attempts, null, ended_at from delivery_outcomes o where event_id = v.id
    and not exists (select from deliveries d where d.event_id = v.id and d.webhook_id = o.webhook_id)
) d`

const EVENT_COLUMNS = `
  v.id, v.subject_id as "subjectId", (select a.email from accounts a where a.id = v.account_id) as email, v.kind, v.body, v.created_at as "createdAt",
  (select coalesce(jsonb_agg(jsonb_build_object('webhookId', d.webhook_id, 'state', d.state, 'attempts', d.attempts,
    'nextAttemptAt', d.due_at, 'endedAt', d.ended_at) order by d.webhook_id), '[]')
   from ${DELIVERIES_OF_EVENT}) as deliveries`

type EventRow = Omit<EventRecord, 'deliveries'> & {
  subjectId: string
  deliveries: (Omit<EventDelivery, 'nextAttemptAt' | 'endedAt'> & Record<'nextAttemptAt' | 'endedAt', string | null>)[]
}

function eventFromRow(row: EventRow): EventRecord {
  const date = (text: string | null) => (text === null ? null : new Date(text))
  const deliveries = row.deliveries.map((delivery) => ({
    ...delivery,
    nextAttemptAt: date(delivery.nextAttemptAt),
    endedAt: date(delivery.endedAt),
  }))
  const { subjectId: _, ...event } = row
  return { ...event, id: eventName(row), deliveries }
}

async function readDeliveries(core: Core, places: Place[]): Promise<DeliveryRecord[]> {
  const rows = await query<DeliveryRecord & { subjectId: string }>(
    core.pool,
    `select v.subject_id as "subjectId", v.kind, v.body::jsonb -> 'data' ->> 'paymentLinkId' as "paymentLinkId",
       w.id as "webhookId", w.name as "webhookName", d.state, d.attempts, d.due_at as "nextAttemptAt",
       d.ended_at as "endedAt", t.status as "lastStatus", t.error as "lastError", t.error_code as "lastErrorCode",
       t.error_detail as "lastErrorDetail", t.at as "lastAt", v.created_at as "createdAt"
     from unnest($1::uuid[], $2::uuid[]) with ordinality as n (event_id, webhook_id, place)
     join events v on v.id = n.event_id
     join webhooks w on w.id = n.webhook_id
     join lateral ${DELIVERIES_OF_EVENT} on d.webhook_id = n.webhook_id
     left join lateral (
       select * from attempts a where a.event_id = n.event_id and a.webhook_id = n.webhook_id order by at desc limit 1
     ) t on true
     order by n.place`,
    columnsOf(places, 'eventId', 'webhookId'),
  )
  return rows.map(({ subjectId, ...row }) => ({ ...row, eventId: eventName({ kind: row.kind, subjectId }) }))
}

function readAttempts(core: Core, eventId: string, webhookId: string | null, limit: number): Promise<AttemptRecord[]> {
  return query<AttemptRecord>(
    core.pool,
    `select webhook_id as "webhookId", number, at, status, error, error_code as "errorCode",
       error_detail as "errorDetail", latency_ms as "latencyMs", excerpt
     from attempts where event_id = $1 and ($2::uuid is null or webhook_id = $2)
     order by at desc, number desc limit $3`,
    [eventId, webhookId, limit],
  )
}

// ---- Search ----

type Place = { eventId: string; webhookId: string }

type Search = DeliveryFilter & {
  accountId: AccountScope
  /** Only what comes after this place. Newer events come first, and of one event the larger webhook id. */
  before: Place
  /** One place for each event. */
  isByEvent: boolean
}

/** One more than `limit`. `searchedDownTo`: the event at which a bounded search ended, not searched itself. */
type Found<At = Place> = { found: At[]; searchedDownTo: string | undefined }

// Failed and queued deliveries are found through an index. Any other filter looks at this many events at most, so that
// no filter costs a walk through all events of an account.
const MAX_EVENTS_SEARCHED = 5_000
// The clock that made an event's id may be ahead of the one that wrote created_at.
const ID_SLACK_MS = 60_000

export const FIRST_UUID = '00000000-0000-0000-0000-000000000000'
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

async function searchDeliveries(core: Core, search: Search): Promise<Found> {
  const { state, before } = search
  const isQueued = state === 'pending' || state === 'retrying'
  const isIndexed = isQueued || state === 'failed'
  const searchedDownTo = isIndexed ? undefined : await searchBound(core, search)
  const sql = isQueued ? byWebhook(QUEUED) : isIndexed ? byWebhook(FAILED) : BY_EVENT
  const found = await query<Place>(core.pool, search.isByEvent ? oneForEachEvent(sql) : sql, [
    ...commonParams(search, searchedDownTo),
    before.webhookId,
    search.webhookId ?? null,
    state ?? null,
  ])
  return { found, searchedDownTo }
}

/** Also finds events that no webhook wanted. */
async function searchEvents(core: Core, search: Search): Promise<Found<Pick<Place, 'eventId'>>> {
  const searchedDownTo = search.kind === undefined ? undefined : await searchBound(core, search)
  const found = await query<{ eventId: string }>(
    core.pool,
    `select v.id as "eventId" from events v where v.id < $2 and ${EVENT_MATCHES} order by v.id desc limit $9`,
    commonParams(search, searchedDownTo),
  )
  return { found, searchedDownTo }
}

/** The oldest event that a bounded search looks at. Undefined if it looks at all. */
async function searchBound(core: Core, { accountId, before }: Search): Promise<string | undefined> {
  const [row] = await query<{ id: string }>(
    core.pool,
    'select id from events where ($1::uuid is null or account_id = $1) and id <= $2 order by id desc offset $3 limit 1',
    [accountId, before.eventId, MAX_EVENTS_SEARCHED],
  )
  return row?.id
}

/** $1 to $9 of every search. $7 and $8 are the ids of the times $5 and $6. */
function commonParams({ accountId, before, kind, from, to, limit }: Search, downTo = FIRST_UUID): unknown[] {
  const fromId = from ? uuidOfTime(new Date(from.getTime() - ID_SLACK_MS)) : FIRST_UUID
  const toId = to ? uuidOfTime(new Date(to.getTime() + ID_SLACK_MS)) : LAST_UUID
  return [accountId, before.eventId, downTo, kind ?? null, from ?? null, to ?? null, fromId, toId, limit + 1]
}

const EVENT_MATCHES = `($1::uuid is null or v.account_id = $1) and v.id > $3 and ($4::text is null or v.kind = $4)
  and ($5::timestamptz is null or v.created_at >= $5 and v.id >= $7)
  and ($6::timestamptz is null or v.created_at < $6 and v.id < $8)`

const BY_EVENT = `
  select v.id as "eventId", d.webhook_id as "webhookId" from events v cross join lateral ${DELIVERIES_OF_EVENT}
  where v.id <= $2 and ${EVENT_MATCHES} and (v.id, d.webhook_id) < ($2::uuid, $10::uuid)
    and ($11::uuid is null or d.webhook_id = $11) and ($12::text is null or d.state = $12)
  order by v.id desc, d.webhook_id desc limit $9`

const QUEUED = `(select event_id, webhook_id, ${QUEUED_STATE} as state from deliveries)`
const FAILED = `(
  select event_id, webhook_id, outcome as state from delivery_outcomes o where outcome = 'failed'
    and not exists (select from deliveries d where d.event_id = o.event_id and d.webhook_id = o.webhook_id))`

const byWebhook = (source: string) => `
  select d.event_id as "eventId", d.webhook_id as "webhookId" from webhooks w
  cross join lateral (
    select event_id, webhook_id from ${source} s
    where webhook_id = w.id and event_id <= $2 and event_id > $3 and (event_id, webhook_id) < ($2::uuid, $10::uuid)
      and s.state = $12 and event_id >= $7 and event_id < $8
      and (($4::text is null and $5::timestamptz is null and $6::timestamptz is null) or exists (
        select from events v where v.id = event_id and ($4::text is null or v.kind = $4)
          and ($5::timestamptz is null or v.created_at >= $5) and ($6::timestamptz is null or v.created_at < $6)))
    order by event_id desc limit $9
  ) d
  where ($1::uuid is null or w.account_id = $1) and ($11::uuid is null or w.id = $11)
  order by d.event_id desc, d.webhook_id desc limit $9`

/** The limit then counts events. The index of each webhook still gives at most `limit` places. */
const oneForEachEvent = (sql: string) => `
  select distinct on ("eventId") "eventId", "webhookId" from (${sql.replace(/limit \$9$/, '')}) s
  order by "eventId" desc limit $9`
