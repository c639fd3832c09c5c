import { Fault } from '../../base/fault.ts'
import { hexFromUuid, newUuid7, uuidFromHex } from '../../base/ids.ts'
import { query, transact } from '../../db/tx.ts'
import { insertAttempts } from './record-attempts.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { cursorUuid } from '../core/cursor.ts'
import { readDelivery, sendDelivery } from './delivery-queue.ts'
import { eventIdFrom, eventName, insertEvents } from './events.ts'
import { findDeliveries, findEvents, FIRST_UUID, QUEUED_STATE, type DeliveryState } from './find-deliveries.ts'
import { findWebhook, findWebhookOwner } from './webhooks.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

// What account holders see of their events, and how they have them sent again.

/** An account's, or with null everybody's, which is for the operator. */
export type Whose = string | null

export type LoggedEvent = {
  id: string
  email: string
  kind: string
  body: string
  createdAt: Date
  deliveries: LoggedDelivery[]
}

export type LoggedDelivery = {
  webhookId: string
  state: DeliveryState
  attempts: number
  nextAttemptAt: Date | null
  endedAt: Date | null
}

export type LoggedAttempt = {
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

export type EventFilter = {
  kind?: string
  state?: DeliveryState
  webhookId?: string
  from?: Date
  to?: Date
  cursor?: string
  limit: number
}

// A batch is one short transaction; all batches together are what one request may put into the queue.
const RESEND_BATCH = 5_000
const MAX_RESEND_BATCHES = 200
// Eleven attempts for each of at most a hundred webhooks, and resends; beyond that the newest tell enough.
const MAX_ATTEMPTS_SHOWN = 2_000

/**
 * Newest first, each with what became of it at every webhook. With a filter, a page may be short and still not be the
 * last.
 */
export async function listEvents(
  core: Core,
  accountId: Whose,
  filter: EventFilter,
): Promise<{ events: LoggedEvent[]; nextCursor: string | null }> {
  const search = { ...filter, accountId, limit: filter.limit + 1 }
  const cursor = cursorUuid(filter.cursor)
  // Of the event at the cursor itself nothing is left.
  const before = { eventId: cursor, webhookId: FIRST_UUID }
  const hasDelivery = filter.state !== undefined || filter.webhookId !== undefined
  const { ids, seenDownTo } = hasDelivery
    ? await findDeliveries(core, { ...search, before, isByEvent: true }).then(({ places, seenDownTo }) => ({
        ids: places.map((place) => place.eventId),
        seenDownTo,
      }))
    : await findEvents(core, { ...search, before: cursor })
  const shown = ids.slice(0, filter.limit)
  const rows = await query<EventRow>(
    core.pool,
    `select ${EVENT_COLUMNS} from events v where v.id = any($1) order by v.id desc`,
    [shown],
  )
  const next = ids.length > filter.limit ? shown.at(-1)! : seenDownTo && idAfter(seenDownTo)
  return { events: rows.map(eventFromRow), nextCursor: next === undefined ? null : hexFromUuid(next) }
}

/**
 * A cursor names the last event that was seen, and this one was not: the next larger id stands for "this one is next".
 */
function idAfter(id: string): string {
  return uuidFromHex((BigInt(`0x${hexFromUuid(id)}`) + 1n).toString(16).padStart(32, '0'))
}

export async function findEvent(
  core: Core,
  accountId: Whose,
  name: string,
): Promise<{ event: LoggedEvent; attempts: LoggedAttempt[] }> {
  const id = eventIdFrom(name)
  const [row] = await query<EventRow>(
    core.pool,
    `select ${EVENT_COLUMNS} from events v where v.id = $1 and ($2::uuid is null or v.account_id = $2)`,
    [id, accountId],
  )
  if (!row) throw new Fault('not_found', 'Event not found')
  const attempts = await query<LoggedAttempt>(
    core.pool,
    `select webhook_id as "webhookId", number, at, status, error, error_code as "errorCode", error_detail as "errorDetail",
       latency_ms as "latencyMs", excerpt
     from attempts where event_id = $1 order by at desc, number desc limit $2`,
    [id, MAX_ATTEMPTS_SHOWN],
  )
  return { event: eventFromRow(row), attempts }
}

/** One event again, to all webhooks that want its kind or to one of them. */
export async function resendEvent(
  core: Core,
  accountId: Whose,
  name: string,
  webhookId: string | null,
): Promise<number> {
  const { event } = await findEvent(core, accountId, name)
  await requireWebhook(core, accountId, webhookId)
  return queueAgain(core, ONE_EVENT, [accountId, webhookId, eventIdFrom(event.id)])
}

/**
 * Everything that failed, whether given up or still being retried, or everything since a time. Returns how many were
 * put in the queue.
 */
export async function resendMany(
  core: Core,
  accountId: Whose,
  which: { failed: true } | { since: Date },
  webhookId: string | null,
): Promise<number> {
  await requireWebhook(core, accountId, webhookId)
  if ('since' in which) return queueAgain(core, EVENTS_SINCE, [accountId, webhookId, which.since])
  return queueAgain(core, TROUBLED_EVENTS, [accountId, webhookId, 'failed'])
}

const ONE_EVENT = 'join events v on v.account_id = e.account_id and v.id = $4'
const EVENTS_SINCE = 'join events v on v.account_id = e.account_id and v.created_at >= $4'
// What was given up, and what failed and will be tried again. Of those in the queue that were never tried, none failed.
const TROUBLED_EVENTS = `cross join lateral (
    select event_id from delivery_outcomes where webhook_id = e.id and outcome = $4
    union
    select event_id from deliveries where webhook_id = e.id and attempts > 0
  ) s join events v on v.id = s.event_id`

async function requireWebhook(core: Core, accountId: Whose, webhookId: string | null): Promise<void> {
  if (webhookId !== null) await findWebhook(core, accountId ?? (await findWebhookOwner(core, webhookId)), webhookId)
}

async function queueAgain(
  core: Core,
  which: string,
  [accountId, webhookId, subject]: [Whose, string | null, unknown],
): Promise<number> {
  const now = core.now()
  let queued = 0
  let last = { event_id: FIRST_UUID, webhook_id: FIRST_UUID }
  for (let batch = 0; batch < MAX_RESEND_BATCHES; batch++) {
    const rows = await transact(core.pool, (tx) =>
      tx.rows<typeof last>(
        `with picked as (
           select v.id as event_id, e.id as webhook_id
           from webhooks e ${which}
           where ($1::uuid is null or e.account_id = $1) and e.disabled_at is null and e.deleted_at is null
             and ($2::uuid is null or e.id = $2) and v.kind = any(e.event_kinds) and (v.id, e.id) > ($5::uuid, $6::uuid) order by v.id, e.id limit ${RESEND_BATCH}
         ), forgotten as (
           delete from delivery_outcomes o using picked p where o.event_id = p.event_id and o.webhook_id = p.webhook_id
         ), queued as (
           insert into deliveries (event_id, webhook_id, due_at) select event_id, webhook_id, $3 from picked
           on conflict (event_id, webhook_id) do update set due_at = excluded.due_at, leased_until = null, attempts = 0
         )
         select event_id, webhook_id from picked order by event_id, webhook_id`,
        [accountId, webhookId, now, subject, last.event_id, last.webhook_id],
      ),
    )
    queued += rows.length
    core.wakeDeliveries()
    if (rows.length < RESEND_BATCH) break
    last = rows.at(-1)!
  }
  return queued
}

/** Sends WEBHOOK_TEST now and tells what came of it. It stands in the log like any other event. */
export async function testWebhook(ctx: Context, accountId: string, webhookId: string): Promise<WebhookAnswer> {
  await findWebhook(ctx, accountId, webhookId)
  const subjectId = newUuid7(ctx.now())
  const data = { message: 'guiche can reach this address. Nothing was paid.' }
  const eventId = await transact(ctx.pool, async (tx) => {
    const [id] = await insertEvents(tx, ctx.now(), [
      { kind: 'WEBHOOK_TEST', accountId, subjectId, createdAt: ctx.now(), data },
    ])
    return id!
  })
  const delivery = await readDelivery(ctx, eventId, webhookId)
  const at = ctx.now()
  const answer = await sendDelivery(ctx, delivery, at)
  const ok = answer.kind === 'answered' && answer.status >= 200 && answer.status < 300
  await transact(ctx.pool, async (tx) => {
    await insertAttempts(tx, [{ delivery, at, answer }])
    await tx.run(
      'insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at) values ($1, $2, $3, 1, $4)',
      [eventId, webhookId, ok ? 'delivered' : 'failed', ctx.now()],
    )
  })
  return answer
}

const STATES_OF_EVENT = `
  select webhook_id, ${QUEUED_STATE} as state, attempts, due_at, null::timestamptz as ended_at from deliveries where event_id = v.id
  union all
  select webhook_id, outcome, attempts, null, ended_at from delivery_outcomes o where event_id = v.id
    and not exists (select from deliveries d where d.event_id = v.id and d.webhook_id = o.webhook_id)`

const DELIVERIES_OF_EVENT = `(
  select coalesce(jsonb_agg(jsonb_build_object('webhookId', s.webhook_id, 'state', s.state, 'attempts', s.attempts,
    'nextAttemptAt', s.due_at, 'endedAt', s.ended_at) order by s.webhook_id), '[]') from (${STATES_OF_EVENT}) s)`

const EVENT_COLUMNS = `v.id, (select a.email from accounts a where a.id = v.account_id) as email, v.kind, v.body, v.created_at,
  ${DELIVERIES_OF_EVENT} as deliveries`

type EventRow = {
  id: string
  email: string
  kind: string
  body: string
  created_at: Date
  deliveries: (Omit<LoggedDelivery, 'nextAttemptAt' | 'endedAt'> & {
    nextAttemptAt: string | null
    endedAt: string | null
  })[]
}

function eventFromRow(row: EventRow): LoggedEvent {
  const date = (text: string | null) => (text === null ? null : new Date(text))
  return {
    id: eventName(row.id),
    email: row.email,
    kind: row.kind,
    body: row.body,
    createdAt: row.created_at,
    deliveries: row.deliveries.map((one) => ({
      ...one,
      nextAttemptAt: date(one.nextAttemptAt),
      endedAt: date(one.endedAt),
    })),
  }
}
