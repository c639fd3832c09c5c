import { unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import { prepared } from '../../db/prepared.ts'
import { isUniqueViolation, query, transact, type Tx } from '../../db/tx.ts'
import type { WebhookAnswer, WebhookSender } from '../ports/webhook-sender.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { isSample, nameInBody } from './events.ts'
import {
  MINE,
  outcomeOf,
  recordFailed,
  type Attempt,
  type Claimed,
  type Delivery,
  type WebhookTarget,
} from './attempts.ts'
import { OVERWRITE_OUTCOME, sealOutcome } from './outcomes.ts'
import { signingKey, signWithKeys } from './signature.ts'
import type { Core } from '../core/core.ts'
import { makeLane, type Lane } from '../../base/lane.ts'

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

// A webhook with a long queue must not slow the claims of others, so the recursive query steps from webhook to webhook
// through the index, and each takes a few from the beginning of its own queue.
const CLAIM = prepared(`
  with recursive due as (
    (select webhook_id from deliveries where due_at <= $1 order by webhook_id limit 1)
    union all
    select n.webhook_id from due d cross join lateral (
      select webhook_id from deliveries where webhook_id > d.webhook_id and due_at <= $1 order by webhook_id limit 1
    ) n
  ), allowed as (
    select webhook_id, coalesce(n.places, $3) as places
    from due left join unnest($4::uuid[], $5::int[]) as n (webhook_id, places) using (webhook_id)
    order by random()
  ), picked as (
    select free.* from allowed a cross join lateral (
      select event_id, webhook_id from deliveries
      where webhook_id = a.webhook_id and due_at <= $1 and (leased_until is null or leased_until <= $1)
      order by due_at limit a.places for update skip locked
    ) free
    limit $6
  ), claimed as (
    update deliveries d set leased_until = $2
    from picked p where d.event_id = p.event_id and d.webhook_id = p.webhook_id
    returning d.event_id, d.webhook_id, d.attempts + 1 as attempt
  )
  select event_id as "eventId", webhook_id as "webhookId", attempt,
    (select body from events where id = c.event_id) as body
  from claimed c`)

/** Claims a few deliveries of each webhook, so that one with a long queue takes no place from another. */
export async function claimDeliveries(core: Core, allowances: Allowances): Promise<Claimed[]> {
  if (allowances.total === 0) return []
  const now = core.now()
  const leasedUntil = new Date(now.getTime() + LEASE_MS)
  const named = [...allowances.named]
  const rows = await query<Omit<Claimed, 'leasedUntil' | 'target'>>(core.pool, CLAIM, [
    now,
    leasedUntil,
    allowances.default,
    named.map(([webhookId]) => webhookId),
    named.map(([, places]) => places),
    allowances.total,
  ])
  if (rows.length === 0) return []
  const targets = await readTargets(core, [...new Set(rows.map(({ webhookId }) => webhookId))])
  return rows.map((row) => Object.assign(row, { leasedUntil, target: targets.get(row.webhookId)! }))
}

export async function readTargets(core: Core, webhookIds: string[]): Promise<Map<string, WebhookTarget>> {
  const rows = await query<TargetRow>(core.pool, READ_TARGETS, [webhookIds, core.now()])
  return new Map(rows.map((row) => [row.id, targetFromRow(core, row)]))
}

const READ_TARGETS = prepared(`
  select id, url, secret_box, authorization_box, disabled_at is not null as is_disabled,
    case when previous_secret_until > $2 then previous_secret_box end as previous_secret_box
  from webhooks where id = any($1)`)

type TargetRow = {
  id: string
  url: string
  secret_box: string
  previous_secret_box: string | null
  authorization_box: string | null
  is_disabled: boolean
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
  delivery: Pick<Delivery, 'webhookId' | 'body' | 'target'>,
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
  if (isSample(id)) headers['guiche-test'] = 'true'
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
    await query(core.pool, RECORD_DELIVERED, deliveredParams(core.settings, now, delivered))
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    // A delivery was made twice: its lease ran out, or it was resent meanwhile. The later outcome holds.
    for (const once of withoutRepeats(delivered))
      await query(core.pool, RECORD_DELIVERED_AGAIN, deliveredParams(core.settings, now, once))
  }
}

/** The same in the caller's transaction. No delivery may be in the list twice. */
export async function recordDeliveredIn(tx: Tx, now: Date, delivered: Attempt[]): Promise<void> {
  await tx.run(RECORD_DELIVERED_AGAIN, deliveredParams(tx, now, delivered))
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

const DELIVERED_COLUMNS: Columns<Attempt & { seal: Buffer }> = {
  event_id: ['uuid', ({ delivery }) => delivery.eventId],
  webhook_id: ['uuid', ({ delivery }) => delivery.webhookId],
  number: ['int', ({ delivery }) => delivery.attempt],
  at: ['timestamptz', ({ at }) => at],
  status: ['int', ({ answer }) => (answer?.kind === 'answered' ? answer.status : null)],
  latency_ms: ['int', ({ answer }) => Math.round(answer?.latencyMs ?? 0)],
  excerpt: ['text', ({ answer }) => (answer?.kind === 'answered' ? answer.excerpt : '')],
  leased_until: ['timestamptz', ({ delivery }) => delivery.leasedUntil],
  seal: ['bytea', ({ seal }) => seal],
}

function deliveredParams(by: Pick<Tx, 'sealer'>, now: Date, delivered: Attempt[]): unknown[] {
  const sealed = delivered.map((attempt) => ({
    ...attempt,
    seal: sealOutcome(by, now, attempt.delivery, 'delivered'),
  }))
  return [
    ...valuesOf(DELIVERED_COLUMNS, sealed),
    [...new Set(delivered.map(({ delivery }) => delivery.webhookId))],
    now,
  ]
}

const RECORD_DELIVERED = prepared(`
  with n as materialized (
    select * from ${unnestOf(DELIVERED_COLUMNS)}
  ), logged as (
    insert into attempts (event_id, webhook_id, number, at, status, latency_ms, excerpt)
    select event_id, webhook_id, number, at, status, latency_ms, excerpt from n
  ), gone as (
    delete from deliveries d using n where ${MINE}
  ), healed as (
    update webhooks set failing_since = null where id = any($10) and failing_since is not null
  )
  insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at, seal)
  select event_id, webhook_id, 'delivered', number, $11, seal from n`)

const RECORD_DELIVERED_AGAIN = `${RECORD_DELIVERED} ${OVERWRITE_OUTCOME}`
