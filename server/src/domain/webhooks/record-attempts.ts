import { columnsOf, insertRows } from '../../db/insert-rows.ts'
import { isUniqueViolation, query, type Tx } from '../../db/tx.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { disableFailingWebhook } from './webhooks.ts'
import type { Core } from '../core/core.ts'

/** One event for one webhook. */
export type Delivery = {
  eventId: string
  webhookId: string
  /** The number of this attempt, from 1. */
  attempt: number
  body: string
  target: WebhookTarget
}

/** Leased by this process. */
export type Claimed = Delivery & {
  leasedUntil: Date
  /** PostgreSQL's ctid of its row. */
  place: string
}

/** The webhook as it was when the delivery was claimed. */
export type WebhookTarget = {
  url: string
  /** Empty if they cannot be opened. */
  secrets: string[]
  authorization: string | null
  isDisabled: boolean
}

/** Without an answer, the webhook was disabled and nothing was sent. */
export type Attempt<Of extends Delivery = Claimed> = { delivery: Of; at: Date; answer: WebhookAnswer | undefined }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

// Ten more attempts over three days. After that, the account holder resends by hand.
export const RETRY_AFTER_MS = [
  5_000,
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]
// Spreads the retries of deliveries that failed in the same second.
const JITTER = 0.2
// The longest Retry-After that is honoured.
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS
const FAILING_UNTIL_DISABLED_MS = 5 * 24 * HOUR_MS

const GONE = makeReason('receiver_gone', 'the receiver answered 410 Gone')
const FAILED_FOR_DAYS = makeReason('failed_for_days', 'every delivery failed for 5 days')

export type Outcome = { kind: 'delivered' } | { kind: 'retry'; afterMs: number } | { kind: 'failed' } | { kind: 'gone' }

/** Pure: `random` is in [0, 1). */
export function outcomeOf({ delivery, answer }: Attempt, random: number): Outcome {
  if (!answer) return { kind: 'failed' }
  if (isDelivered(answer)) return { kind: 'delivered' }
  if (answer.kind === 'answered' && answer.status === 410) return { kind: 'gone' }
  const scheduledMs = RETRY_AFTER_MS[delivery.attempt - 1]
  if (scheduledMs === undefined) return { kind: 'failed' }
  const jitteredMs = Math.round(scheduledMs * (1 + JITTER * (2 * random - 1)))
  const requestedMs = answer.kind === 'answered' ? Math.min(answer.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
  return { kind: 'retry', afterMs: Math.max(jitteredMs, requestedMs) }
}

export function isDelivered(answer: WebhookAnswer | undefined): boolean {
  return answer?.kind === 'answered' && answer.status >= 200 && answer.status < 300
}

/** Attempts that did not deliver: logs them, ends or postpones their deliveries, marks their webhooks as failing. */
export async function recordFailed(tx: Tx, now: Date, attempts: Attempt[], random: () => number): Promise<void> {
  const failed = attempts.map((attempt) => ({ ...attempt, outcome: outcomeOf(attempt, random()) }))
  await insertAttempts(tx, failed)
  await endDeliveries(tx, now, failed)
  await postponeDeliveries(tx, failed)
  await markFailing(tx, now, failed)
}

/** The common case, in one statement: at thousands per second, round trips dominate the cost. */
export async function recordDelivered(core: Core, delivered: Attempt[]): Promise<void> {
  const onPool = (sql: string, params: unknown[]) => query(core.pool, sql, params)
  const now = core.now()
  try {
    await recordTogether(onPool, now, delivered, '')
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    // A delivery was made twice: its lease ran out, or it was resent meanwhile. The later outcome holds.
    for (const once of withoutRepeats(delivered)) await recordTogether(onPool, now, once, OVERWRITE_OUTCOME)
  }
}

/** The same in the caller's transaction. No delivery may be in the list twice. */
export function recordDeliveredIn(tx: Tx, now: Date, delivered: Attempt[]): Promise<void> {
  return recordTogether(tx.run, now, delivered, OVERWRITE_OUTCOME)
}

const OVERWRITE_OUTCOME = `on conflict (event_id, webhook_id) do update
  set outcome = excluded.outcome, attempts = excluded.attempts, ended_at = excluded.ended_at`

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

/**
 * Rows of the queue are found by ctid: with a join, PostgreSQL would read the whole queue for each batch. A delivery
 * that was resent meanwhile has another ctid and lease, and stays queued.
 */
async function recordTogether(
  run: (sql: string, params: unknown[]) => Promise<unknown>,
  now: Date,
  delivered: Attempt[],
  onConflict: string,
): Promise<void> {
  await run(
    `with n as materialized (
       select * from unnest(${ATTEMPT_TYPES}) as n (${ATTEMPT_NAMES})
     ), logged as (
       insert into attempts (event_id, webhook_id, number, at, status, latency_ms, excerpt)
       select event_id, webhook_id, number, at, status, latency_ms, excerpt from n
     ), gone as (
       delete from deliveries where ctid = any(array(
         select d.ctid from n cross join lateral (
           select ctid from deliveries
           where ctid = n.place and event_id = n.event_id and webhook_id = n.webhook_id and leased_until = any($9) offset 0
         ) d
       ))
     ), healed as (
       update webhooks set failing_since = null where id = any($10) and failing_since is not null
     )
     insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at)
     select event_id, webhook_id, 'delivered', number, $11 from n
     ${onConflict}`,
    [
      ...Object.values(ATTEMPT_COLUMNS).map(([, valueOf]) => arrayText(delivered.map(valueOf))),
      [...new Set(delivered.map(({ delivery }) => delivery.leasedUntil))],
      [...new Set(delivered.map(({ delivery }) => delivery.webhookId))],
      now,
    ],
  )
}

/** $1 to $8. */
const ATTEMPT_COLUMNS: Record<string, readonly [type: string, valueOf: (attempt: Attempt) => string | number]> = {
  event_id: ['uuid', ({ delivery }) => delivery.eventId],
  webhook_id: ['uuid', ({ delivery }) => delivery.webhookId],
  number: ['int', ({ delivery }) => delivery.attempt],
  at: ['timestamptz', ({ at }) => at.toISOString()],
  status: ['int', ({ answer }) => (answer?.kind === 'answered' ? answer.status : 'null')],
  latency_ms: ['int', ({ answer }) => Math.round(answer?.latencyMs ?? 0)],
  excerpt: ['text', ({ answer }) => quoted(answer?.kind === 'answered' ? answer.excerpt : '')],
  place: ['tid', ({ delivery }) => `"${delivery.place}"`],
}
const ATTEMPT_NAMES = Object.keys(ATTEMPT_COLUMNS).join(', ')
const ATTEMPT_TYPES = Object.values(ATTEMPT_COLUMNS)
  .map(([type], index) => `$${index + 1}::${type}[]`)
  .join(', ')

// The driver quotes and escapes each element, which at thousands per second is a tenth of the work. Numbers, ids and
// times need none of it.
function arrayText(values: (string | number)[]): string {
  return `{${values.join(',')}}`
}

/** Most receivers answer without a body. */
function quoted(text: string): string {
  return text === '' ? '""' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

type Failed = Attempt & { outcome: Outcome }

export async function insertAttempts(tx: Tx, attempts: Attempt<Delivery>[]): Promise<void> {
  const made = attempts.flatMap(({ delivery, at, answer }) => {
    if (!answer) return []
    const { latencyMs } = answer
    const { status, excerpt, reason } = { status: null, excerpt: '', reason: null, ...answer }
    return [{ ...delivery, at, latencyMs, status, excerpt, reason }]
  })
  await insertRows(tx, 'attempts', made, {
    event_id: ['uuid', ({ eventId }) => eventId],
    webhook_id: ['uuid', ({ webhookId }) => webhookId],
    number: ['int', ({ attempt }) => attempt],
    at: ['timestamptz', ({ at }) => at],
    status: ['int', ({ status }) => status],
    latency_ms: ['int', ({ latencyMs }) => Math.round(latencyMs)],
    excerpt: ['text', ({ excerpt }) => excerpt],
    error: ['text', ({ reason }) => reason?.text],
    error_code: ['text', ({ reason }) => reason?.code],
    error_detail: ['text', ({ reason }) => reason?.detail],
  })
}

async function endDeliveries(tx: Tx, now: Date, failed: Failed[]): Promise<void> {
  const ended = failed.filter(({ outcome }) => outcome.kind !== 'retry').map(({ delivery }) => delivery)
  if (ended.length === 0) return
  await tx.run(
    `with n as (
       select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::timestamptz[])
         as n (event_id, webhook_id, attempts, leased_until)
     ), gone as (
       delete from deliveries d using n
       where d.event_id = n.event_id and d.webhook_id = n.webhook_id and d.leased_until = n.leased_until
     )
     insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at)
     select event_id, webhook_id, 'failed', attempts, $5 from n ${OVERWRITE_OUTCOME}`,
    [...columnsOf(ended, 'eventId', 'webhookId', 'attempt', 'leasedUntil'), now],
  )
}

async function postponeDeliveries(tx: Tx, failed: Failed[]): Promise<void> {
  const retried = failed.flatMap(({ delivery, at, outcome }) =>
    outcome.kind === 'retry' ? [{ ...delivery, dueAt: new Date(at.getTime() + outcome.afterMs) }] : [],
  )
  if (retried.length === 0) return
  // Only while the lease is ours: a delivery that was resent meanwhile is due sooner.
  await tx.run(
    `update deliveries d set due_at = n.next_due_at, leased_until = null, attempts = n.attempts
     from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::int[])
       as n (event_id, webhook_id, leased_until, next_due_at, attempts)
     where d.event_id = n.event_id and d.webhook_id = n.webhook_id and d.leased_until = n.leased_until`,
    columnsOf(retried, 'eventId', 'webhookId', 'leasedUntil', 'dueAt', 'attempt'),
  )
}

/** Disables a webhook that answered 410 or has failed for five days without a success. */
async function markFailing(tx: Tx, now: Date, failed: Failed[]): Promise<void> {
  const sent = failed.filter(({ answer }) => answer)
  const failing = [...new Set(sent.map(({ delivery }) => delivery.webhookId))].toSorted()
  if (failing.length === 0) return
  await tx.run('update webhooks set failing_since = $2 where id = any($1) and failing_since is null', [failing, now])
  const gone = new Set(sent.filter(({ outcome }) => outcome.kind === 'gone').map(({ delivery }) => delivery.webhookId))
  for (const id of gone) await disableFailingWebhook(tx, now, id, GONE)
  const failedForDays = await tx.rows<{ id: string }>(
    'select id from webhooks where id = any($1) and failing_since <= $2 and disabled_at is null',
    [failing, new Date(now.getTime() - FAILING_UNTIL_DISABLED_MS)],
  )
  for (const { id } of failedForDays) await disableFailingWebhook(tx, now, id, FAILED_FOR_DAYS)
}
