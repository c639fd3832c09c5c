import { transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { requireEvent } from './delivery-history.ts'
import { FIRST_UUID, type AccountScope } from './event-search.ts'
import { findWebhook, findWebhookOwner } from './webhooks.ts'

// A batch is one short transaction. All batches together are what one request may queue.
const RESEND_BATCH = 5_000
const MAX_RESEND_BATCHES = 200

/** Queues one event again, for all webhooks that want its kind or for one of them. Returns how many were queued. */
export async function resendEvent(
  core: Core,
  accountId: AccountScope,
  name: string,
  webhookId: string | null,
): Promise<number> {
  const { id } = await requireEvent(core, accountId, name)
  return queueAgain(core, accountId, webhookId, { sql: ONE_EVENT, value: id })
}

/** Queues again all that failed, given up or still being retried, or all since a time. Returns how many. */
export function resendMany(
  core: Core,
  accountId: AccountScope,
  which: { failed: true } | { since: Date },
  webhookId: string | null,
): Promise<number> {
  const events = 'since' in which ? { sql: EVENTS_SINCE, value: which.since } : { sql: FAILED_EVENTS, value: 'failed' }
  return queueAgain(core, accountId, webhookId, events)
}

const ONE_EVENT = 'join events v on v.account_id = w.account_id and v.id = $4'
const EVENTS_SINCE = 'join events v on v.account_id = w.account_id and v.created_at >= $4'
const FAILED_EVENTS = `cross join lateral (
    select event_id from delivery_outcomes where webhook_id = w.id and outcome = $4
    union
    select event_id from deliveries where webhook_id = w.id and attempts > 0
  ) s join events v on v.id = s.event_id`

async function queueAgain(
  core: Core,
  accountId: AccountScope,
  webhookId: string | null,
  events: { sql: string; value: unknown },
): Promise<number> {
  if (webhookId !== null) await findWebhook(core, accountId ?? (await findWebhookOwner(core, webhookId)), webhookId)
  let queued = 0
  let last = { event_id: FIRST_UUID, webhook_id: FIRST_UUID }
  for (let batch = 0; batch < MAX_RESEND_BATCHES; batch++) {
    const now = core.now()
    const rows = await transact(core.pool, (tx) =>
      tx.rows<typeof last>(
        `with picked as (
         select v.id as event_id, w.id as webhook_id
         from webhooks w ${events.sql}
         where ($1::uuid is null or w.account_id = $1) and w.disabled_at is null and w.deleted_at is null
           and ($2::uuid is null or w.id = $2) and v.kind = any(w.event_kinds)
           and (v.id, w.id) > ($5::uuid, $6::uuid)
         order by v.id, w.id limit ${RESEND_BATCH}
       ), forgotten as (
         delete from delivery_outcomes o using picked p where o.event_id = p.event_id and o.webhook_id = p.webhook_id
       ), queued as (
         insert into deliveries (event_id, webhook_id, due_at) select event_id, webhook_id, $3 from picked
         on conflict (event_id, webhook_id) do update set due_at = excluded.due_at, leased_until = null, attempts = 0
       )
       select event_id, webhook_id from picked order by event_id, webhook_id`,
        [accountId, webhookId, now, events.value, last.event_id, last.webhook_id],
      ),
    )
    queued += rows.length
    core.wakeDeliveries()
    const end = rows.at(-1)
    if (!end || rows.length < RESEND_BATCH) break
    last = end
  }
  return queued
}

// One statement of some 0.1 s. Whoever has more waiting asks again.
const MAX_RETRIED = 10_000

/**
 * Makes deliveries that wait for their next attempt due now: one event's, or up to MAX_RETRIED. They stay the same
 * rows, and one that is being sent is left alone, so nothing is sent twice. Returns how many.
 */
export async function retryNow(
  core: Core,
  accountId: string,
  webhookId: string,
  eventName: string | null,
): Promise<number> {
  await findWebhook(core, accountId, webhookId)
  const eventId = eventName === null ? null : (await requireEvent(core, accountId, eventName)).id
  const moved = await transact(core.pool, (tx) =>
    tx.run(
      `with picked as (
         select event_id from deliveries
         where webhook_id = $1 and ($2::uuid is null or event_id = $2) and due_at > $3
           and (leased_until is null or leased_until <= $3)
         order by due_at limit ${MAX_RETRIED} for update skip locked
       )
       update deliveries d set due_at = $3 from picked p where d.event_id = p.event_id and d.webhook_id = $1`,
      [webhookId, eventId, core.now()],
    ),
  )
  core.wakeDeliveries()
  return moved
}
