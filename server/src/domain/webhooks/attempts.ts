import { insertRows, unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import { prepared } from '../../db/prepared.ts'
import type { Tx } from '../../db/tx.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { makeReason } from '../ports/delivery-reasons.ts'
import { OVERWRITE_OUTCOME, sealOutcome } from './outcomes.ts'
import type { SigningKey } from './signature.ts'
import { disableFailingWebhook } from './webhooks.ts'

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
export type Claimed = Delivery & { leasedUntil: Date }

/** Where a webhook's deliveries go, and how they are signed, as it was when they were claimed. */
export type WebhookTarget = {
  url: string
  /** Empty if the secrets cannot be opened. */
  keys: SigningKey[]
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

const GONE = makeReason('receiver_gone', 'The receiver answered 410 Gone')
const FAILED_FOR_DAYS = makeReason('failed_for_days', 'Every delivery failed for 5 days')

export type Outcome = { kind: 'retry'; afterMs: number } | { kind: 'failed' } | { kind: 'gone' }

/** What follows an attempt that did not deliver. `random` is in [0, 1). */
export function outcomeOf({ delivery, answer }: Attempt, random: number): Outcome {
  if (!answer) return { kind: 'failed' }
  if (answer.kind === 'answered' && answer.status === 410) return { kind: 'gone' }
  const scheduledMs = RETRY_AFTER_MS[delivery.attempt - 1]
  if (scheduledMs === undefined) return { kind: 'failed' }
  const jitteredMs = Math.round(scheduledMs * (1 + JITTER * (2 * random - 1)))
  const requestedMs = answer.kind === 'answered' ? Math.min(answer.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
  return { kind: 'retry', afterMs: Math.max(jitteredMs, requestedMs) }
}

type Failed = Attempt & { outcome: Outcome; seal: Buffer }

/** Attempts that did not deliver: logs them, ends or postpones their deliveries, marks their webhooks as failing. */
export async function recordFailed(tx: Tx, now: Date, attempts: Attempt[], random: () => number): Promise<void> {
  const failed = attempts.map((attempt) => ({
    ...attempt,
    outcome: outcomeOf(attempt, random()),
    seal: sealOutcome(tx, now, attempt.delivery, 'failed'),
  }))
  const sent = failed.filter(({ answer }) => answer)
  const failing = [...new Set(sent.map(({ delivery }) => delivery.webhookId))].toSorted()
  const failedForDays = await tx.rows<{ id: string }>(RECORD_FAILED, [
    ...valuesOf(FAILED_COLUMNS, failed),
    failing,
    now,
    new Date(now.getTime() - FAILING_UNTIL_DISABLED_MS),
  ])
  const gone = new Set(sent.filter(({ outcome }) => outcome.kind === 'gone').map(({ delivery }) => delivery.webhookId))
  for (const id of gone) await disableFailingWebhook(tx, now, id, GONE)
  for (const { id } of failedForDays) if (!gone.has(id)) await disableFailingWebhook(tx, now, id, FAILED_FOR_DAYS)
}

const ATTEMPT_COLUMNS: Columns<Attempt<Delivery>> = {
  event_id: ['uuid', ({ delivery }) => delivery.eventId],
  webhook_id: ['uuid', ({ delivery }) => delivery.webhookId],
  number: ['int', ({ delivery }) => delivery.attempt],
  at: ['timestamptz', ({ at }) => at],
  status: ['int', ({ answer }) => (answer?.kind === 'answered' ? answer.status : null)],
  latency_ms: ['int', ({ answer }) => answer && Math.round(answer.latencyMs)],
  excerpt: ['text', ({ answer }) => (answer?.kind === 'answered' ? answer.excerpt : '')],
  error: ['text', ({ answer }) => reasonOf(answer)?.text],
  error_code: ['text', ({ answer }) => reasonOf(answer)?.code],
  error_detail: ['text', ({ answer }) => reasonOf(answer)?.detail],
}

const FAILED_COLUMNS: Columns<Failed> = {
  ...ATTEMPT_COLUMNS,
  leased_until: ['timestamptz', ({ delivery }) => delivery.leasedUntil],
  due_again_at: [
    'timestamptz',
    ({ at, outcome }) => (outcome.kind === 'retry' ? new Date(at.getTime() + outcome.afterMs) : null),
  ],
  seal: ['bytea', ({ seal }) => seal],
}

function reasonOf(answer: WebhookAnswer | undefined) {
  return answer?.kind === 'failed' ? answer.reason : undefined
}

export async function insertAttempts(tx: Tx, attempts: Attempt<Delivery>[]): Promise<void> {
  await insertRows(tx, 'attempts', attempts, ATTEMPT_COLUMNS)
}

/** In SQL, the lease of n still holds. A delivery that was resent meanwhile has another lease, and stays queued. */
export const MINE = 'd.event_id = n.event_id and d.webhook_id = n.webhook_id and d.leased_until = n.leased_until'

// Without a latency nothing was sent. Returns the webhooks that have failed for too long.
const RECORD_FAILED = prepared(`
  with n as materialized (
    select * from ${unnestOf(FAILED_COLUMNS)}
  ), logged as (
    insert into attempts (${Object.keys(ATTEMPT_COLUMNS).join(', ')})
    select ${Object.keys(ATTEMPT_COLUMNS).join(', ')} from n where latency_ms is not null
  ), gone as (
    delete from deliveries d using n
    where n.due_again_at is null and ${MINE}
  ), ended as (
    insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at, seal)
    select event_id, webhook_id, 'failed', number, $15, seal from n where due_again_at is null ${OVERWRITE_OUTCOME}
  ), postponed as (
    update deliveries d set due_at = n.due_again_at, leased_until = null, attempts = n.number from n
    where n.due_again_at is not null and ${MINE}
  ), marked as (
    update webhooks set failing_since = $15 where id = any($14) and failing_since is null
  )
  select id from webhooks where id = any($14) and failing_since <= $16 and disabled_at is null`)
