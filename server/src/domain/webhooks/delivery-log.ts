import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isUuid } from '../../base/ids.ts'
import { query } from '../../db/tx.ts'
import { cursorUuid } from '../core/cursor.ts'
import { headersOf } from './delivery-queue.ts'
import { eventIdFrom, eventName } from './events.ts'
import { findDeliveries, LAST_UUID, type DeliveryState, type Place } from './find-deliveries.ts'
import type { Core } from '../core/core.ts'

// What became of each event at each webhook. event-log.ts has the same by event.

export type LogEntry = {
  eventId: string
  event: string
  /** Of the deposit that it is about. */
  paymentLinkId: string | null
  webhookId: string
  webhookName: string
  status: DeliveryState
  attempts: number
  lastStatus: number | null
  lastError: string | null
  lastErrorCode: string | null
  lastErrorDetail: string | null
  lastAt: Date | null
  nextAt: Date | null
  createdAt: Date
}

export type LogFilter = {
  status?: DeliveryState
  webhookId?: string
  event?: string
  cursor?: string
  limit: number
}

const MAX_ATTEMPTS_SHOWN = 200

/** Newest first. A page may hold fewer than asked for and still not be the last. */
export async function listDeliveries(
  core: Core,
  accountId: string,
  filter: LogFilter,
): Promise<{ deliveries: LogEntry[]; nextCursor: string | null }> {
  const { places: found, seenDownTo } = await findDeliveries(core, {
    accountId,
    state: filter.status,
    webhookId: filter.webhookId,
    kind: filter.event,
    before: readCursor(filter.cursor),
    limit: filter.limit + 1,
    isByEvent: false,
  })
  const places = found.slice(0, filter.limit)
  const deliveries = await readEntries(core, places)
  if (found.length > filter.limit) return { deliveries, nextCursor: cursorOf(places.at(-1)!) }
  // The event at which the look ended comes first on the next page.
  return { deliveries, nextCursor: seenDownTo ? cursorOf({ eventId: seenDownTo, webhookId: LAST_UUID }) : null }
}

export type SentRequest = { url: string; headers: Record<string, string>; body: string }

export type LogAttempt = {
  number: number
  at: Date
  status: number | null
  error: string | null
  errorCode: string | null
  errorDetail: string | null
  latencyMs: number
  excerpt: string
}

/** One of them, with what is sent and every attempt of the last 30 days, newest first. */
export async function readLoggedDelivery(
  core: Core,
  accountId: string,
  name: { eventId: string; webhookId: string },
): Promise<{ delivery: LogEntry; request: SentRequest; attempts: LogAttempt[] }> {
  const eventId = eventIdFrom(name.eventId)
  const { webhookId } = name
  const [sent] = isUuid(webhookId)
    ? await query<{ url: string; body: string; has_authorization: boolean }>(
        core.pool,
        `select e.url, v.body, e.authorization_box is not null as has_authorization
         from events v join webhooks e on e.account_id = v.account_id where v.id = $1 and e.id = $2 and v.account_id = $3`,
        [eventId, webhookId, accountId],
      )
    : []
  const [delivery] = sent ? await readEntries(core, [{ eventId, webhookId: webhookId.toLowerCase() }]) : []
  if (!sent || !delivery) throw new Fault('not_found', 'Delivery not found')
  const attempts = await query<LogAttempt>(
    core.pool,
    `select number, at, status, error, error_code as "errorCode", error_detail as "errorDetail", latency_ms as "latencyMs", excerpt
     from attempts
     where event_id = $1 and webhook_id = $2 order by at desc, number desc limit $3`,
    [eventId, webhookId, MAX_ATTEMPTS_SHOWN],
  )
  const at = attempts[0]?.at ?? delivery.createdAt
  const request = { url: sent.url, headers: maskedHeaders(sent, eventId, at), body: sent.body }
  return { delivery, request, attempts }
}

const MASK = '••••••••'

/** As they are sent, but for what would let a reader of the log pass for us. */
function maskedHeaders(
  sent: { body: string; has_authorization: boolean },
  eventId: string,
  at: Date,
): Record<string, string> {
  const headers = headersOf({ eventId, body: sent.body, secrets: [], authorization: null }, at)
  return {
    ...headers,
    'webhook-signature': `v1,${MASK}`,
    ...(sent.has_authorization && { authorization: MASK }),
  }
}

async function readEntries(core: Core, places: Place[]): Promise<LogEntry[]> {
  const rows = await query<LogEntry>(
    core.pool,
    `select v.id as "eventId", v.kind as event, v.body::jsonb -> 'data' ->> 'paymentLinkId' as "paymentLinkId",
       e.id as "webhookId", e.name as "webhookName", case when d.event_id is null then o.outcome when d.attempts = 0 then 'pending' else 'retrying' end as status,
       coalesce(d.attempts, o.attempts) as attempts, t.status as "lastStatus", t.error as "lastError",
       t.error_code as "lastErrorCode", t.error_detail as "lastErrorDetail", t.at as "lastAt",
       d.due_at as "nextAt", v.created_at as "createdAt"
     from unnest($1::uuid[], $2::uuid[]) with ordinality as n (event_id, webhook_id, place)
     join events v on v.id = n.event_id
     join webhooks e on e.id = n.webhook_id
     left join deliveries d on d.event_id = n.event_id and d.webhook_id = n.webhook_id
     left join delivery_outcomes o on o.event_id = n.event_id and o.webhook_id = n.webhook_id
     left join lateral (
       select status, error, error_code, error_detail, at from attempts a where a.event_id = n.event_id and a.webhook_id = n.webhook_id
       order by at desc limit 1
     ) t on true
     where d.event_id is not null or o.event_id is not null
     order by n.place`,
    [places.map((one) => one.eventId), places.map((one) => one.webhookId)],
  )
  return rows.map((row) => ({ ...row, eventId: eventName(row.eventId) }))
}

function cursorOf({ eventId, webhookId }: Place): string {
  return hexFromUuid(eventId) + hexFromUuid(webhookId)
}

function readCursor(cursor: string | undefined): Place {
  const [eventId, webhookId] = [cursor?.slice(0, 32), cursor?.slice(32)].map(cursorUuid)
  return { eventId: eventId!, webhookId: webhookId! }
}

// ---- What the operator sees ----

export type TroubledWebhook = {
  webhookId: string
  accountId: string
  accountEmail: string
  name: string
  url: string
  failingSince: Date | null
  disabledAt: Date | null
  disabledReason: string | null
  disabledCode: string | null
  /** Of the last attempt that failed: what was answered, or why nothing was. */
  lastStatus: number | null
  lastError: string | null
  lastErrorCode: string | null
  lastErrorDetail: string | null
  /** How much is in its queue, up to a bound. */
  pending: number
}

// Past this it is the same news.
const MAX_PENDING_COUNTED = 10_000

/** Webhooks of all accounts that fail or are disabled, the newest first. */
export async function listTroubledWebhooks(
  core: Core,
  filter: { cursor?: string; limit: number },
): Promise<{ webhooks: TroubledWebhook[]; nextCursor: string | null }> {
  const rows = await query<TroubledWebhook>(
    core.pool,
    `select e.id as "webhookId", e.account_id as "accountId", a.email as "accountEmail", e.name, e.url,
       e.failing_since as "failingSince", e.disabled_at as "disabledAt", e.disabled_reason as "disabledReason",
       e.disabled_code as "disabledCode", l.status as "lastStatus", l.error as "lastError", l.error_code as "lastErrorCode",
       l.error_detail as "lastErrorDetail",
       (select count(*) from (select from deliveries d where d.webhook_id = e.id limit $3) q) as pending
     from webhooks e join accounts a on a.id = e.account_id
     left join lateral (
       select t.status, t.error, t.error_code, t.error_detail from (
         (select event_id from deliveries where webhook_id = e.id and attempts > 0 order by due_at desc limit 1)
         union all
         (select event_id from delivery_outcomes where webhook_id = e.id and outcome = 'failed' order by event_id desc limit 1)
       ) failed join attempts t on t.event_id = failed.event_id and t.webhook_id = e.id
       order by t.at desc limit 1) l on true
     where e.id < $1 and e.deleted_at is null and (e.failing_since is not null or e.disabled_at is not null)
     order by e.id desc limit $2`,
    [cursorUuid(filter.cursor), filter.limit + 1, MAX_PENDING_COUNTED],
  )
  const webhooks = rows.slice(0, filter.limit)
  return { webhooks, nextCursor: rows.length > filter.limit ? hexFromUuid(webhooks.at(-1)!.webhookId) : null }
}
