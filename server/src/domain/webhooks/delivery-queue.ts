import { unnest, unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import { prepared } from '../../db/prepared.ts'
import { isUniqueViolation, query, queryInOrder, transact, type Tx } from '../../db/tx.ts'
import type { WebhookAnswer, WebhookSender } from '../ports/webhook-sender.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { nameInBody } from './events.ts'
import {
  outcomeOf,
  OVERWRITE_OUTCOME,
  recordFailed,
  type Attempt,
  type Claimed,
  type Delivery,
  type WebhookTarget,
} from './attempts.ts'
import { signingKey, signWithKeys } from './signature.ts'
import type { Core } from '../core/core.ts'
import { makeLane, type Lane } from '../core/lane.ts'

// For the whole exchange: DNS, connection, request, answer.
export const DEADLINE_MS = 15_000
// An exchange, and as long again to record it.
const LEASE_MS = 30_000
const SECRETS_UNREADABLE = makeReason(
  'secrets_unreadable',
  'This service cannot open the webhook’s secrets: tell its operator',
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

export async function readTargets(core: Core, webhookIds: string[]): Promise<Map<string, WebhookTarget>> {
  return targetsFromRows(core, await query<TargetRow>(core.pool, READ_TARGETS, [webhookIds, core.now()]))
}

const READ_TARGETS = targetsSql('$1', '$2')

/** The columns of TargetRow. `ids` and `now` are SQL. */
function targetsSql(ids: string, now: string): string {
  return `select id, url, secret_box, authorization_box, disabled_at is not null as is_disabled,
      case when previous_secret_until > ${now} then previous_secret_box end as previous_secret_box
    from webhooks where id = any(${ids})`
}

type TargetRow = {
  id: string
  url: string
  secret_box: string
  previous_secret_box: string | null
  authorization_box: string | null
  is_disabled: boolean
}

function targetsFromRows(core: Core, rows: TargetRow[]): Map<string, WebhookTarget> {
  return new Map(rows.map((row) => [row.id, targetFromRow(core, row)]))
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
    keys: isWhole ? [row.secret_box, row.previous_secret_box].flatMap(opened).map(signingKey) : [],
    authorization,
    isDisabled: row.is_disabled,
  }
}

/** One attempt. Failures are returned, not thrown. */
export function sendDelivery(
  { webhookSender }: { webhookSender: WebhookSender },
  delivery: Delivery,
  at: Date,
): Promise<WebhookAnswer> {
  const { body, target } = delivery
  const { url, keys, authorization } = target
  // The account holder reads this reason. The log tells the operator what to fix.
  if (keys.length === 0) return Promise.resolve({ kind: 'failed', latencyMs: 0, reason: SECRETS_UNREADABLE })
  // An account whose URL hangs must not block others on the same host.
  const connectionGroup = delivery.webhookId
  const headers = headersOf({ body, keys, authorization }, at)
  return webhookSender.send({ url, headers, body, deadlineMs: DEADLINE_MS, connectionGroup })
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

export function isDelivered(answer: WebhookAnswer | undefined): boolean {
  return answer?.kind === 'answered' && answer.status >= 200 && answer.status < 300
}

export type WebhookLanes = {
  attempts: Lane<Attempt>
  /** By account, how many tests are under way in this process. */
  webhookTests: Map<string, number>
}

// Nothing waits for the record of an attempt or for its locks, and larger batches cost less.
const DELIVERED = { maxBatch: 500, paceMs: 20 }

export function makeWebhookLanes(core: Core): WebhookLanes {
  const delivered = makeLane<Attempt>(
    core,
    'delivered_attempts',
    (attempts) => recordDelivered(core, attempts),
    DELIVERED,
  )
  const failed = makeLane<Attempt>(core, 'failed_attempts', (attempts) =>
    transact(core.pool, (tx) => recordFailed(tx, core.now(), attempts, Math.random)),
  )
  return {
    webhookTests: new Map(),
    attempts: {
      add(attempt) {
        const isOk = isDelivered(attempt.answer)
        const outcome = isOk ? 'delivered' : outcomeOf(attempt, 0).kind
        core.metrics.webhookSeconds.observe({ outcome }, (attempt.answer?.latencyMs ?? 0) / 1000)
        return (isOk ? delivered : failed).add(attempt)
      },
      async drained() {
        await Promise.all([delivered.drained(), failed.drained()])
      },
    },
  }
}

/** The common case, in one statement: at thousands per second, round trips dominate the cost. */
export async function recordDelivered(core: Core, delivered: Attempt[]): Promise<void> {
  const now = core.now()
  try {
    await query(core.pool, RECORD_DELIVERED, deliveredParams(now, delivered))
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    // A delivery was made twice: its lease ran out, or it was resent meanwhile. The later outcome holds.
    for (const once of withoutRepeats(delivered))
      await query(core.pool, RECORD_DELIVERED_AGAIN, deliveredParams(now, once))
  }
}

/** The same in the caller's transaction. No delivery may be in the list twice. */
export async function recordDeliveredIn(tx: Tx, now: Date, delivered: Attempt[]): Promise<void> {
  await tx.run(RECORD_DELIVERED_AGAIN, deliveredParams(now, delivered))
}

/** Splits the list: a statement can write the outcome of a delivery only once. */
function withoutRepeats(delivered: Attempt[]): Attempt[][] {
  const lists: Attempt[][] = []
  const counts = new Map<string, number>()
  for (const attempt of delivered) {
    const key = `${attempt.delivery.eventId} ${attempt.delivery.webhookId}`
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    ;(lists[count] ??= []).push(attempt)
  }
  return lists
}

// Times are numbers: neither side has to write or read a date.
const DELIVERED_COLUMNS: Columns<Attempt> = {
  event_id: ['uuid', ({ delivery }) => delivery.eventId],
  webhook_id: ['uuid', ({ delivery }) => delivery.webhookId],
  number: ['int', ({ delivery }) => delivery.attempt],
  at_ms: ['float8', ({ at }) => at.getTime()],
  status: ['int', ({ answer }) => (answer?.kind === 'answered' ? answer.status : null)],
  latency_ms: ['int', ({ answer }) => Math.round(answer?.latencyMs ?? 0)],
  excerpt: ['text', ({ answer }) => (answer?.kind === 'answered' ? answer.excerpt : '')],
  tid: ['tid', ({ delivery }) => delivery.place],
}

function deliveredParams(now: Date, delivered: Attempt[]): unknown[] {
  return [
    ...valuesOf(DELIVERED_COLUMNS, delivered),
    [...new Set(delivered.map(({ delivery }) => delivery.leasedUntil))],
    [...new Set(delivered.map(({ delivery }) => delivery.webhookId))],
    now,
  ]
}

/**
 * Rows of the queue are found by ctid: with a join, PostgreSQL would read the whole queue for each batch. A delivery
 * that was resent meanwhile has another ctid and lease, and stays queued.
 */
const RECORD_DELIVERED = prepared(`
  with n as materialized (
    select * from ${unnestOf(DELIVERED_COLUMNS)}
  ), logged as (
    insert into attempts (event_id, webhook_id, number, at, status, latency_ms, excerpt)
    select event_id, webhook_id, number, to_timestamp(at_ms / 1000), status, latency_ms, excerpt from n
  ), gone as (
    delete from deliveries where ctid = any(array(
      select d.ctid from n cross join lateral (
        select ctid from deliveries
        where ctid = n.tid and event_id = n.event_id and webhook_id = n.webhook_id offset 0
      ) d
    )) and leased_until = any($9)
  ), healed as (
    update webhooks set failing_since = null where id = any($10) and failing_since is not null
  )
  insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at)
  select event_id, webhook_id, 'delivered', number, $11 from n`)

const RECORD_DELIVERED_AGAIN = `${RECORD_DELIVERED} ${OVERWRITE_OUTCOME}`
