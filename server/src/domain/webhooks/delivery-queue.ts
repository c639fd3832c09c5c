import { unnest } from '../../db/insert-rows.ts'
import { prepared } from '../../db/prepared.ts'
import { query, queryInOrder } from '../../db/tx.ts'
import type { Claimed, Delivery } from './record-attempts.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { nameInBody } from './events.ts'
import { signWithKeys } from './signature.ts'
import { targetsFromRows, targetsSql, type TargetRow, type WebhookTarget } from './targets.ts'
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

/** A place in the queue of a webhook: after this event, or after all that are due at this time. */
export type Cursor = { dueAtMs: number; eventId: string | null }

/** A claimed delivery, with its place in the queue. */
export type FoundDelivery = Claimed & { dueAtMs: number }

/** The part of the queue that a claim reads, see workers/queue-cursors.ts. */
export type Reading = {
  nowMs: number
  /** Looks for webhooks with something due after this time. Infinity: only for those of `behind`. */
  fromMs: number
  /** By webhook, where to go on. */
  behind: ReadonlyMap<string, Cursor>
}

const IS_FREE = '(leased_until is null or leased_until <= $1)'
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

// The recursive query steps through the index from webhook to webhook. So its cost grows neither with their queues, nor
// with the delivered rows that PostgreSQL keeps in the index for an old snapshot. That needs a plan without sorting.
const CLAIM = prepared(`
  with recursive pending as (
    (select webhook_id from deliveries where due_at > $2 and due_at <= $1 order by webhook_id limit 1)
    union all
    select n.webhook_id from pending p cross join lateral (
      select webhook_id from deliveries
      where webhook_id > p.webhook_id and due_at > $2 and due_at <= $1 order by webhook_id limit 1
    ) n
  ), named as (
    select * from ${unnest(['uuid', 'int', 'timestamptz', 'uuid'], 5)} as n (webhook_id, places, since, after)
  ), allowed as (
    select webhook_id, places, since, after from named where since is not null
    union all
    select webhook_id, coalesce(n.places, $4), $2, '${LAST_UUID}'
    from pending left join named n using (webhook_id) where n.since is null
  ), picked as (
    select free.ctid
    from (select * from allowed where places > 0 order by random()) a
    cross join lateral (
      select ctid from deliveries
      where webhook_id = a.webhook_id and (due_at, event_id) > (a.since, a.after) and due_at <= $1 and ${IS_FREE}
      order by due_at, event_id limit a.places for update skip locked
    ) free
    limit $9
  ), no_sync as materialized (
    -- A lease that a crash loses has only run out sooner, so nothing needs to wait for the disk.
    select set_config('synchronous_commit', 'off', true) as off
  ), claimed as (
    update deliveries d set leased_until = $3
    from no_sync, picked p
    where d.ctid = p.ctid and no_sync.off is not null
    returning d.event_id, d.webhook_id, d.ctid as place, d.attempts + 1 as attempt, d.due_at
  )
  select event_id as "eventId", webhook_id as "webhookId", place, attempt,
    round(date_part('epoch', due_at) * 1000) as "dueAtMs",
    (select v.body from events v where v.id = c.event_id) as body,
    case when row_number() over () = 1 then (
      select jsonb_agg(t) from (${targetsSql('array(select distinct webhook_id from claimed)', '$1')}) t
    ) end as targets
  from claimed c`)

type ClaimRow = Omit<FoundDelivery, 'leasedUntil' | 'target'> & {
  /** In the first row: all webhooks of the claim. */
  targets: TargetRow[] | null
}

/**
 * Claims a few deliveries of each webhook, so that one with a long queue takes no place from another. Many deliveries
 * go to few webhooks, so each webhook is read, and its secrets opened, once.
 */
export async function claimDeliveries(
  core: Core,
  allowances: Allowances,
  { nowMs, fromMs, behind }: Reading = { nowMs: core.now().getTime(), fromMs: 0, behind: new Map() },
): Promise<FoundDelivery[]> {
  const leasedUntil = new Date(nowMs + LEASE_MS)
  const named = [...new Set([...allowances.named.keys(), ...behind.keys()])]
  const placesOf = (id: string) => allowances.named.get(id) ?? allowances.default
  const isNeeded = fromMs < nowMs || [...behind.keys()].some((id) => placesOf(id) > 0)
  if (!isNeeded || allowances.total === 0) return []
  const cursors = named.map((id) => behind.get(id))
  const rows = await queryInOrder<ClaimRow>(core.pool, CLAIM, [
    new Date(nowMs),
    fromMs < nowMs ? new Date(fromMs) : null,
    leasedUntil,
    allowances.default,
    named,
    named.map(placesOf),
    cursors.map((cursor) => cursor && new Date(cursor.dueAtMs)),
    cursors.map((cursor) => cursor?.eventId ?? LAST_UUID),
    allowances.total,
  ])
  const targets = targetsFromRows(core, rows[0]?.targets ?? [])
  return rows.map((row) => Object.assign(row, { leasedUntil, target: targets.get(row.webhookId)! }))
}

/** By webhook, since when something is due that nobody has claimed or whose lease has ended, wherever claims are. */
export async function findUnclaimed(core: Core): Promise<{ webhookId: string; since: Date }[]> {
  return query(core.pool, FIND_UNCLAIMED, [core.now()])
}

const FIND_UNCLAIMED = `
  with recursive first as (
    (select webhook_id, due_at from deliveries where due_at <= $1 and ${IS_FREE} order by webhook_id, due_at limit 1)
    union all
    select n.webhook_id, n.due_at from first f cross join lateral (
      select webhook_id, due_at from deliveries
      where webhook_id > f.webhook_id and due_at <= $1 and ${IS_FREE} order by webhook_id, due_at limit 1
    ) n
  )
  select webhook_id as "webhookId", due_at as since from first`

/** One attempt. Failures are returned, not thrown. */
export function sendDelivery(ctx: Context, delivery: Delivery, at: Date): Promise<WebhookAnswer> {
  const { body, target } = delivery
  const { url, keys, authorization } = target
  // The account holder reads this reason. The log tells the operator what to fix.
  if (keys.length === 0) return Promise.resolve({ kind: 'failed', latencyMs: 0, reason: SECRETS_UNREADABLE })
  // An account whose URL hangs must not block others on the same host.
  const connectionGroup = delivery.webhookId
  const headers = headersOf({ body, keys, authorization }, at)
  return ctx.webhookSender.send({ url, headers, body, deadlineMs: DEADLINE_MS, connectionGroup })
}

/** All attempts have the same id, so that receivers recognize a repetition, and each has its own timestamp. */
export function headersOf(
  message: { body: string } & Pick<WebhookTarget, 'keys' | 'authorization'>,
  now: Date,
): Record<string, string> {
  const { body, keys, authorization } = message
  const id = nameInBody(body)
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'guiche',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signWithKeys(keys, { id, timestamp, body }),
  }
  if (authorization !== null) headers['authorization'] = authorization
  return headers
}
