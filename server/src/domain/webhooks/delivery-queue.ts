import { query } from '../../db/tx.ts'
import type { Claimed, Delivery, WebhookTarget } from './record-attempts.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { eventName } from './events.ts'
import { signMessage } from './signature.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

// For the whole exchange: DNS, connection, request, answer.
export const DEADLINE_MS = 15_000
// An exchange, and as long again to record it.
const LEASE_MS = 30_000
const SECRETS_UNREADABLE = makeReason(
  'secrets_unreadable',
  'this service cannot open the webhook’s secrets: tell its operator',
)

export type Allowances = {
  /** The most for a webhook that is not in `named`. */
  default: number
  named: Map<string, number>
  total: number
}

/**
 * Claims due deliveries, a few of each webhook, so that a webhook with a long queue takes no place from another. The
 * recursive query steps through an index from webhook to webhook, so its cost does not grow with their queues.
 */
export async function claimDeliveries(core: Core, allowances: Allowances): Promise<Claimed[]> {
  const now = core.now()
  const leasedUntil = new Date(now.getTime() + LEASE_MS)
  const rows = await query<Omit<Claimed, 'leasedUntil' | 'target'>>(
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
       ), no_sync as materialized (
         -- A lease that a crash loses has only run out sooner, so nothing needs to wait for the disk.
         select set_config('synchronous_commit', 'off', true) as off
       )
       update deliveries d set leased_until = $2
       from no_sync, picked p join events v on v.id = p.event_id
       where d.ctid = p.ctid and no_sync.off is not null
       returning d.event_id as "eventId", d.webhook_id as "webhookId", d.ctid as place, d.attempts + 1 as attempt,
         v.body`,
    [
      now,
      leasedUntil,
      allowances.default,
      [...allowances.named.keys()],
      [...allowances.named.values()],
      allowances.total,
    ],
  )
  const targets = await readTargets(core, [...new Set(rows.map(({ webhookId }) => webhookId))])
  return rows.map((row) => ({ ...row, leasedUntil, target: targets.get(row.webhookId)! }))
}

/** Many deliveries go to few webhooks, so each webhook is read, and its secrets opened, once. */
export async function readTargets(core: Core, webhookIds: string[]): Promise<Map<string, WebhookTarget>> {
  if (webhookIds.length === 0) return new Map()
  const rows = await query<TargetRow>(
    core.pool,
    `select id, url, secret_box, authorization_box, disabled_at,
       case when previous_secret_until > $2 then previous_secret_box end as previous_secret_box
     from webhooks where id = any($1)`,
    [webhookIds, core.now()],
  )
  return new Map(rows.map((row) => [row.id, targetFromRow(core, row)]))
}

type TargetRow = {
  id: string
  url: string
  secret_box: string
  previous_secret_box: string | null
  authorization_box: string | null
  disabled_at: Date | null
}

/** Without secrets if they cannot be opened: then only the deliveries of this webhook fail. */
function targetFromRow(core: Core, row: TargetRow): WebhookTarget {
  const opened = (box: string | null): string[] => {
    if (box === null) return []
    try {
      return [core.settings.secretBox.open(box, row.id)]
    } catch (error) {
      core.log.error({ err: error, webhookId: row.id }, 'the secret of a webhook cannot be opened: check SECRET_KEY')
      return []
    }
  }
  const [authorization = null] = opened(row.authorization_box)
  const isWhole = (authorization !== null) === (row.authorization_box !== null)
  return {
    url: row.url,
    // During a rotation one of the two is enough: receivers accept either.
    secrets: isWhole ? [row.secret_box, row.previous_secret_box].flatMap(opened) : [],
    authorization,
    isDisabled: row.disabled_at !== null,
  }
}

/** One attempt. Failures are returned, not thrown. */
export function sendDelivery(ctx: Context, delivery: Delivery, at: Date): Promise<WebhookAnswer> {
  const { eventId, body, target } = delivery
  const { url, secrets, authorization } = target
  // The account holder reads this reason. The log tells the operator what to fix.
  if (secrets.length === 0) return Promise.resolve({ kind: 'failed', latencyMs: 0, reason: SECRETS_UNREADABLE })
  // An account whose URL hangs must not block others on the same host.
  const connectionGroup = delivery.webhookId
  const headers = headersOf({ eventId, body, secrets, authorization }, at)
  return ctx.webhookSender.send({ url, headers, body, deadlineMs: DEADLINE_MS, connectionGroup })
}

/** All attempts have the same id, so that receivers recognize a repetition, and each has its own timestamp. */
export function headersOf(
  message: { eventId: string; body: string } & Pick<WebhookTarget, 'secrets' | 'authorization'>,
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
