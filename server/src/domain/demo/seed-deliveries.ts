import type { Tx } from '../../db/tx.ts'
import { insertAttempts, RETRY_AFTER_MS, type Delivery } from '../webhooks/record-attempts.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import type { NewEvent } from '../webhooks/events.ts'

// What became of the events of a seeded history at the account's webhooks: nearly all were delivered at once.

type PastEvent = NewEvent & { id: string }
type PastDelivery = { event: PastEvent; webhookId: string; attempts: { at: Date; answer: WebhookAnswer }[] }

// As long as attempts are kept, see attempt-parts.ts.
const ATTEMPTS_KEPT_MS = 30 * 24 * 3_600_000
const FIRST_ATTEMPT_MS = 120

/** Without chance of its own: what an event's number ends with decides, so that the seed alone decides in the end. */
export async function writeDeliveries(
  tx: Tx,
  { webhookIds, now }: { webhookIds: string[]; now: Date },
  events: PastEvent[],
): Promise<void> {
  const deliveries = events.flatMap((event, index) =>
    webhookIds.map((webhookId): PastDelivery => ({ event, webhookId, attempts: attemptsOf(event, index, now) })),
  )
  const outcomeOf = ({ attempts }: PastDelivery) => (isGood(attempts.at(-1)!.answer) ? 'delivered' : 'failed')
  await tx.run(
    `insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at)
     select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::timestamptz[])`,
    [
      deliveries.map((one) => one.event.id),
      deliveries.map((one) => one.webhookId),
      deliveries.map(outcomeOf),
      deliveries.map((one) => one.attempts.length),
      deliveries.map((one) => one.attempts.at(-1)!.at),
    ],
  )
  const keptSince = now.getTime() - ATTEMPTS_KEPT_MS
  const attempts = deliveries.flatMap((delivery) =>
    delivery.attempts.map((attempt, index) => ({ ...attempt, delivery: deliveryOf(delivery, index + 1) })),
  )
  await insertAttempts(
    tx,
    attempts.filter((attempt) => attempt.at.getTime() >= keptSince),
  )
}

function attemptsOf(event: PastEvent, index: number, now: Date): PastDelivery['attempts'] {
  const firstAt = event.createdAt.getTime() + FIRST_ATTEMPT_MS
  const at = (number: number) =>
    new Date(firstAt + RETRY_AFTER_MS.slice(0, number - 1).reduce((sum, afterMs) => sum + afterMs, 0))
  const last = RETRY_AFTER_MS.length + 1
  const lasts = index % 211 === 0 && at(last) < now ? last : index % 67 === 0 ? 2 : 1
  return Array.from({ length: lasts }, (_, place) => {
    const isLast = place + 1 === lasts && lasts < last
    return { at: at(place + 1), answer: isLast ? answered(200, 40 + (index % 90)) : answered(503, 900) }
  })
}

function answered(status: number, latencyMs: number): WebhookAnswer {
  const excerpt = status === 200 ? '{"received":true}' : 'Service Unavailable'
  return { kind: 'answered', status, latencyMs, retryAfterMs: null, excerpt }
}

function isGood(answer: WebhookAnswer): boolean {
  return answer.kind === 'answered' && answer.status === 200
}

function deliveryOf({ event, webhookId }: PastDelivery, attempt: number): Delivery {
  const receiver = { url: '', secrets: [], authorization: null, isDisabled: false }
  return { eventId: event.id, webhookId, attempt, body: '', receiver }
}
