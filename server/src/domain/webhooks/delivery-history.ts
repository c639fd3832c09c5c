import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isUuid } from '../../base/ids.ts'
import { columnsOf } from '../../db/insert-rows.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, hexBeside, page } from '../core/cursor.ts'
import { headersOf } from './delivery-queue.ts'
import {
  DELIVERIES_OF_EVENT,
  ENDS,
  LAST_UUID,
  searchDeliveries,
  searchEvents,
  type AccountScope,
  type DeliveryFilter,
  type DeliveryState,
  type EventFilter,
  type Place,
} from './event-search.ts'
import { eventName, parseEventName } from './events.ts'

// Events, their deliveries and their attempts, for the public API, the dashboard and the command line.

export type EventDelivery = {
  webhookId: string
  state: DeliveryState
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

export type DeliveryRecord = EventDelivery & {
  eventId: string
  kind: string
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

// Eleven attempts for each of a hundred webhooks, and resends; beyond that the newest tell enough.
const MAX_ATTEMPTS_OF_EVENT = 2_000
const MAX_ATTEMPTS_OF_DELIVERY = 200

/** Newest first unless told. A page may have fewer events than `limit` and not be the last. */
export async function listEvents(
  core: Core,
  accountId: AccountScope,
  { order = 'desc', ...filter }: EventFilter,
): Promise<{ events: EventRecord[]; nextCursor: string | null }> {
  const { first, last } = ENDS[order]
  // No delivery of the event at the cursor is left.
  const after = { eventId: filter.cursor === undefined ? first : cursorUuid(filter.cursor), webhookId: last }
  const needsDelivery = filter.state !== undefined || filter.webhookId !== undefined
  const search: typeof searchEvents = needsDelivery ? searchDeliveries : searchEvents
  const { found, searchedUpTo } = await search(core, { ...filter, order, accountId, after, isByEvent: true })
  const { items, nextCursor } = page(found, filter.limit, ({ eventId }) => eventId)
  const rows = await query<EventRow>(
    core.pool,
    `select ${EVENT_COLUMNS} from events v where v.id = any($1) order by v.id ${order}`,
    [items.map(({ eventId }) => eventId)],
  )
  return {
    events: rows.map(eventFromRow),
    nextCursor: nextCursor ?? (searchedUpTo ? hexBeside(searchedUpTo, order) : null),
  }
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
  const search = { ...filter, order: 'desc', accountId, after: { eventId, webhookId }, isByEvent: false } as const
  const { found, searchedUpTo } = await searchDeliveries(core, search)
  const { items, nextCursor } = page(found, filter.limit, cursorOf)
  // The next page begins with the event at which the search ended.
  const next = searchedUpTo ? cursorOf({ eventId: searchedUpTo, webhookId: LAST_UUID }) : null
  return { deliveries: await readDeliveries(core, items), nextCursor: nextCursor ?? next }
}

function cursorOf({ eventId, webhookId }: Place): string {
  return hexFromUuid(eventId + webhookId)
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
  const { items: webhooks, nextCursor } = page(rows, limit, ({ webhookId }) => webhookId)
  return { webhooks, nextCursor }
}

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
