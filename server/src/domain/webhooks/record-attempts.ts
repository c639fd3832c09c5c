import { isUniqueViolation, query, type Tx } from '../../db/tx.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { disableFailingWebhook } from './webhooks.ts'
import type { Core } from '../core/core.ts'

/** One event on its way to one webhook. */
export type Delivery = {
  eventId: string
  webhookId: string
  /** This attempt's number, from 1. */
  attempt: number
  body: string
  receiver: Receiver
}

/** From the queue, and this process's until its lease ends. */
export type Claimed = Delivery & {
  leasedUntil: Date
  /** Where its row lies: PostgreSQL's ctid. */
  place: string
}

/** What a webhook's row said when the delivery was claimed. */
export type Receiver = {
  url: string
  /** None when they cannot be opened. */
  secrets: string[]
  authorization: string | null
  isDisabled: boolean
}

/** What became of one attempt; without an answer, the webhook was disabled and nothing was sent. */
export type Attempt<Of extends Delivery = Claimed> = { delivery: Of; at: Date; answer: WebhookAnswer | undefined }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

// After the first attempt, ten more over three days; then the account holder resends by hand.
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
// So that a receiver that comes back is not met by everything that failed in the same second.
const JITTER = 0.2
// What a receiver may ask for by Retry-After.
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS
const FAILING_UNTIL_DISABLED_MS = 5 * 24 * HOUR_MS

const GONE = makeReason('receiver_gone', 'the receiver answered 410 Gone')
const FAILED_FOR_DAYS = makeReason('failed_for_days', 'every delivery failed for 5 days')

export type Verdict = { kind: 'delivered' } | { kind: 'retry'; afterMs: number } | { kind: 'failed' } | { kind: 'gone' }

/** Pure: `random` is in [0, 1). */
export function judge(attempt: Attempt, random: number): Verdict {
  const { delivery, answer } = attempt
  if (!answer) return { kind: 'failed' }
  if (isDelivered(attempt)) return { kind: 'delivered' }
  if (answer.kind === 'answered' && answer.status === 410) return { kind: 'gone' }
  const scheduledMs = RETRY_AFTER_MS[delivery.attempt - 1]
  if (scheduledMs === undefined) return { kind: 'failed' }
  const jitteredMs = Math.round(scheduledMs * (1 + JITTER * (2 * random - 1)))
  const askedMs = answer.kind === 'answered' ? Math.min(answer.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
  return { kind: 'retry', afterMs: Math.max(jitteredMs, askedMs) }
}

/** Nearly all of them. */
export function isDelivered({ answer }: Attempt): boolean {
  return answer?.kind === 'answered' && answer.status >= 200 && answer.status < 300
}

/** Many at once: the log, what leaves the queue, what is tried again, and how its webhooks fare. */
export async function recordTroubled(tx: Tx, now: Date, attempts: Attempt[], random: () => number): Promise<void> {
  const judged = attempts.map((attempt) => ({ ...attempt, verdict: judge(attempt, random()) }))
  await insertAttempts(tx, judged)
  await endDeliveries(tx, now, judged)
  await postponeDeliveries(tx, judged)
  await markFailing(tx, now, judged)
}

/**
 * The same for deliveries that succeeded, in one statement and so one trip to the database: at thousands a second its
 * trips are what counts.
 */
export async function recordDelivered(core: Core, now: Date, delivered: Attempt[]): Promise<void> {
  const onPool = (sql: string, params: unknown[]) => query(core.pool, sql, params)
  try {
    await recordTogether(onPool, now, delivered, '')
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    // One was delivered a second time, because its lease ran out or it was resent while under way: the later outcome
    // holds.
    for (const once of eachOnce(delivered)) await recordTogether(onPool, now, once, OVERWRITE_OUTCOME)
  }
}

/** The same in a transaction of the caller's, and each delivery once. */
export function recordDeliveredIn(tx: Tx, now: Date, delivered: Attempt[]): Promise<void> {
  return recordTogether(tx.run, now, delivered, OVERWRITE_OUTCOME)
}

const OVERWRITE_OUTCOME = `on conflict (event_id, webhook_id) do update
  set outcome = excluded.outcome, attempts = excluded.attempts, ended_at = excluded.ended_at`

/** In lists in which no delivery stands twice, as a statement can write an outcome once. */
function eachOnce(delivered: Attempt[]): Attempt[][] {
  const lists: Attempt[][] = []
  const seen = new Map<string, number>()
  for (const one of delivered) {
    const key = `${one.delivery.eventId} ${one.delivery.webhookId}`
    const times = seen.get(key) ?? 0
    seen.set(key, times + 1)
    ;(lists[times] ??= []).push(one)
  }
  return lists
}

/**
 * Each row of the queue is looked up where it lay: joined, PostgreSQL would rather read the whole queue for each batch.
 * And only while the lease is ours: one that was resent meanwhile has moved, and stays.
 */
async function recordTogether(
  run: (sql: string, params: unknown[]) => Promise<unknown>,
  now: Date,
  delivered: Attempt[],
  onConflict: string,
): Promise<void> {
  await run(
    `with n as materialized (
       select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::timestamptz[], $5::int[], $6::int[], $7::text[], $8::tid[])
         as n (event_id, webhook_id, number, at, status, latency_ms, excerpt, place)
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
      ...attemptColumns(delivered),
      `{"${delivered.map((one) => one.delivery.place).join('","')}"}`,
      [...new Set(delivered.map((one) => one.delivery.leasedUntil))],
      [...new Set(delivered.map((one) => one.delivery.webhookId))],
      now,
    ],
  )
}

type Judged = Attempt & { verdict: Verdict }

export async function insertAttempts(tx: Tx, attempts: Attempt<Delivery>[]): Promise<void> {
  const made = attempts.filter((attempt) => attempt.answer)
  if (made.length === 0) return
  const reasons = made.map(({ answer }) => (answer?.kind === 'failed' ? answer.reason : undefined))
  await tx.run(
    `insert into attempts (event_id, webhook_id, number, at, status, latency_ms, excerpt, error, error_code, error_detail)
     select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::timestamptz[], $5::int[], $6::int[], $7::text[], $8::text[], $9::text[],
       $10::text[])`,
    [
      ...attemptColumns(made),
      reasons.map((reason) => reason?.text ?? null),
      reasons.map((reason) => reason?.code ?? null),
      reasons.map((reason) => reason?.detail ?? null),
    ],
  )
}

function attemptColumns(made: Attempt<Delivery>[]): unknown[] {
  const answers = made.map((one) => one.answer!)
  return [
    arrayText(made.map((one) => one.delivery.eventId)),
    arrayText(made.map((one) => one.delivery.webhookId)),
    arrayText(made.map((one) => one.delivery.attempt)),
    timesText(made.map((one) => one.at)),
    arrayText(answers.map((answer) => (answer.kind === 'answered' ? answer.status : 'null'))),
    arrayText(answers.map((answer) => Math.round(answer.latencyMs))),
    excerptsText(answers.map((answer) => (answer.kind === 'answered' ? answer.excerpt : ''))),
  ]
}

// The driver quotes and escapes each element, which at thousands a second is a tenth of the work; numbers, ids and
// times need none of it.
function arrayText(values: (string | number)[]): string {
  return `{${values.join(',')}}`
}

/** Many in a row are of the same millisecond, and writing one out is not cheap. */
function timesText(times: Date[]): string {
  let lastMs = NaN
  let text = ''
  return arrayText(
    times.map((time) => {
      const ms = time.getTime()
      if (ms !== lastMs) text = time.toISOString()
      lastMs = ms
      return text
    }),
  )
}

/** Most receivers say nothing, and then there is nothing to escape. */
function excerptsText(excerpts: string[]): string | string[] {
  return excerpts.some(Boolean) ? excerpts : arrayText(excerpts.map(() => '""'))
}

async function endDeliveries(tx: Tx, now: Date, judged: Judged[]): Promise<void> {
  const ended = judged.filter((one) => one.verdict.kind !== 'retry')
  if (ended.length === 0) return
  await tx.run(
    `with n as (
       select * from unnest($1::uuid[], $2::uuid[], $3::int[], $5::timestamptz[]) as n (event_id, webhook_id, attempts, leased_until)
     ), gone as (
       delete from deliveries d using n
       where d.event_id = n.event_id and d.webhook_id = n.webhook_id and d.leased_until = n.leased_until
     )
     insert into delivery_outcomes as o (event_id, webhook_id, outcome, attempts, ended_at)
     select event_id, webhook_id, 'failed', attempts, $4 from n
     on conflict (event_id, webhook_id) do update
     set outcome = excluded.outcome, attempts = excluded.attempts, ended_at = excluded.ended_at`,
    [
      ended.map((one) => one.delivery.eventId),
      ended.map((one) => one.delivery.webhookId),
      ended.map((one) => one.delivery.attempt),
      now,
      ended.map((one) => one.delivery.leasedUntil),
    ],
  )
}

async function postponeDeliveries(tx: Tx, judged: Judged[]): Promise<void> {
  const again = judged.flatMap((one) =>
    one.verdict.kind === 'retry' ? [{ ...one, afterMs: one.verdict.afterMs }] : [],
  )
  if (again.length === 0) return
  // Only while the lease is ours: somebody may have resent it meanwhile, and that is due sooner.
  await tx.run(
    `update deliveries d set due_at = n.next_due_at, leased_until = null, attempts = n.attempts
     from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::int[])
       as n (event_id, webhook_id, leased_until, next_due_at, attempts)
     where d.event_id = n.event_id and d.webhook_id = n.webhook_id and d.leased_until = n.leased_until`,
    [
      again.map((one) => one.delivery.eventId),
      again.map((one) => one.delivery.webhookId),
      again.map((one) => one.delivery.leasedUntil),
      again.map((one) => new Date(one.at.getTime() + one.afterMs)),
      again.map((one) => one.delivery.attempt),
    ],
  )
}

/** A webhook that answers 410, or has failed for five days without one success, is disabled, with the reason. */
async function markFailing(tx: Tx, now: Date, troubled: Judged[]): Promise<void> {
  const tried = troubled.filter((one) => one.answer)
  const failing = [...new Set(tried.map((one) => one.delivery.webhookId))].toSorted()
  if (failing.length === 0) return
  await tx.run('update webhooks set failing_since = $2 where id = any($1) and failing_since is null', [failing, now])
  const gone = new Set(tried.filter((one) => one.verdict.kind === 'gone').map((one) => one.delivery.webhookId))
  for (const id of gone) await disableFailingWebhook(tx, now, id, GONE)
  const tired = await tx.rows<{ id: string }>(
    'select id from webhooks where id = any($1) and failing_since <= $2 and disabled_at is null',
    [failing, new Date(now.getTime() - FAILING_UNTIL_DISABLED_MS)],
  )
  for (const { id } of tired) await disableFailingWebhook(tx, now, id, FAILED_FOR_DAYS)
}
