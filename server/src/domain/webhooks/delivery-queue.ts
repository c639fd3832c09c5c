import { query } from '../../db/tx.ts'
import type { Claimed, Delivery, Receiver } from './record-attempts.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { eventName } from './events.ts'
import { signMessage } from './signature.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

// The whole exchange: name, connection, request, answer.
export const DEADLINE_MS = 15_000
// An exchange, and as long again for writing down what came of it.
const LEASE_MS = 30_000
const UNOPENED = makeReason('secrets_unreadable', 'this service cannot open the webhook’s secrets: tell its operator')

export type Allowances = {
  /** How many a webhook that is not named below may have at most. */
  usual: number
  named: Map<string, number>
  total: number
}

/**
 * Claims what is due, a few of each webhook, so that one with a long queue takes no place from another. The walk over
 * webhooks goes by the index from one webhook to the next, and costs the same however long their queues are.
 */
export async function claimDeliveries(core: Core, allowances: Allowances): Promise<Claimed[]> {
  const now = core.now()
  const leasedUntil = new Date(now.getTime() + LEASE_MS)
  const rows = await query<ClaimedRow>(
    core.pool,
    `with recursive pending (webhook_id) as (
         (select webhook_id from deliveries order by webhook_id limit 1)
         union all
         select (select d.webhook_id from deliveries d where d.webhook_id > w.webhook_id order by d.webhook_id limit 1)
         from pending w where w.webhook_id is not null
       ), allowed as (
         select w.webhook_id, coalesce(n.allowed, $3::int) as places
         from pending w left join unnest($4::uuid[], $5::int[]) as n (webhook_id, allowed) using (webhook_id)
         where w.webhook_id is not null
       ), picked as (
         select due.ctid, due.event_id
         from (select * from allowed where places > 0 order by random()) a
         cross join lateral (
           select ctid, event_id from deliveries
           where webhook_id = a.webhook_id and due_at <= $1 and (leased_until is null or leased_until <= $1)
           order by due_at limit a.places for update skip locked
         ) due
         limit $6
       ), hurried as materialized (
         -- A lease that a crash forgets has run out sooner, and that is all: nobody needs to wait for the disk.
         select set_config('synchronous_commit', 'off', true) as off
       )
       update deliveries d set leased_until = $2
       from hurried, picked p join events v on v.id = p.event_id
       where d.ctid = p.ctid and hurried.off is not null
       returning d.event_id, d.webhook_id, d.ctid as place, d.attempts + 1 as attempt, v.body`,
    [
      now,
      leasedUntil,
      allowances.usual,
      [...allowances.named.keys()],
      [...allowances.named.values()],
      allowances.total,
    ],
  )
  const receivers = await readReceivers(core, now, [...new Set(rows.map((row) => row.webhook_id))])
  return rows.map((row) => ({
    eventId: row.event_id,
    webhookId: row.webhook_id,
    attempt: row.attempt,
    body: row.body,
    receiver: receivers.get(row.webhook_id)!,
    leasedUntil,
    place: row.place,
  }))
}

type ClaimedRow = { event_id: string; webhook_id: string; place: string; attempt: number; body: string }

/** Of many deliveries to few webhooks, so each is read, and its secrets opened, once for all of them. */
async function readReceivers(core: Core, now: Date, webhookIds: string[]): Promise<Map<string, Receiver>> {
  if (webhookIds.length === 0) return new Map()
  const rows = await query<ReceiverRow>(
    core.pool,
    `select id, url, secret_box, authorization_box, disabled_at,
       case when previous_secret_until > $2 then previous_secret_box end as previous_secret_box
     from webhooks where id = any($1)`,
    [webhookIds, now],
  )
  return new Map(rows.map((row) => [row.id, receiverFromRow(core, row)]))
}

type ReceiverRow = {
  id: string
  url: string
  secret_box: string
  previous_secret_box: string | null
  authorization_box: string | null
  disabled_at: Date | null
}

/**
 * Without secrets when they cannot be opened: that webhook's deliveries fail, and must not take those claimed with them
 * along.
 */
function receiverFromRow(core: Core, row: ReceiverRow): Receiver {
  const opened = (box: string | null): string[] => {
    if (box === null) return []
    try {
      return [core.settings.secretBox.open(box, row.id)]
    } catch (error) {
      core.log.error({ err: error, webhookId: row.id }, 'a secret of a webhook cannot be opened')
      return []
    }
  }
  const [authorization = null] = opened(row.authorization_box)
  const isWhole = (authorization !== null) === (row.authorization_box !== null)
  return {
    url: row.url,
    // While a secret is being replaced one of the two is enough: receivers take either.
    secrets: isWhole ? [row.secret_box, row.previous_secret_box].flatMap(opened) : [],
    authorization,
    isDisabled: row.disabled_at !== null,
  }
}

/** One attempt. Whatever happens comes back as a value. */
export function sendDelivery(ctx: Context, delivery: Delivery, at: Date): Promise<WebhookAnswer> {
  const { eventId, body, receiver } = delivery
  const { url, secrets, authorization } = receiver
  // The account holder reads this; what the operator has to mend stands in the log.
  if (secrets.length === 0) return Promise.resolve({ kind: 'failed', latencyMs: 0, reason: UNOPENED })
  // An account whose URL hangs must not block others on the same host.
  const connectionGroup = delivery.webhookId
  const headers = headersOf({ eventId, body, secrets, authorization }, at)
  return ctx.webhookSender.send({ url, headers, body, deadlineMs: DEADLINE_MS, connectionGroup })
}

/** One that is not in the queue: what a test sends. */
export async function readDelivery(core: Core, eventId: string, webhookId: string): Promise<Delivery> {
  const receivers = await readReceivers(core, core.now(), [webhookId])
  const [row] = await query<{ body: string }>(core.pool, 'select body from events where id = $1', [eventId])
  return { eventId, webhookId, attempt: 1, body: row!.body, receiver: receivers.get(webhookId)! }
}

/**
 * The id stays the same over all attempts, so that receivers can tell a repetition; the timestamp is each attempt's
 * own.
 */
export function headersOf(
  message: { eventId: string; body: string } & Pick<Receiver, 'secrets' | 'authorization'>,
  now: Date,
): Record<string, string> {
  const { body, secrets, authorization } = message
  const id = eventName(message.eventId)
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'guiche',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signMessage(secrets, { id, timestamp, body }),
  }
  if (authorization !== null) headers['authorization'] = authorization
  return headers
}
