import { Fault } from '../../base/fault.ts'
import { newUuid7 } from '../../base/ids.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { transact } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { DEADLINE_MS, isDelivered, readTargets, sendDelivery } from './delivery-queue.ts'
import { WEBHOOK_TEST } from './account-event-kinds.ts'
import { dataOf } from './event-fields.ts'
import type { EventKind } from './event-kinds.ts'
import { insertEvents, sampleBody, type NewEvent } from './events.ts'
import { insertAttempts } from './attempts.ts'
import { sealOutcome } from './outcomes.ts'
import { findWebhook } from './webhooks.ts'

// A person tests one webhook at a time, a deployment script a few. A silent receiver holds each test for DEADLINE_MS.
const MAX_TESTS_AT_ONCE = 3

/** A few at a time for each account: the wait for a receiver must not keep the service from others. */
export async function withTestPlace<Result>(
  { webhookTests }: Context,
  accountId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const underWay = webhookTests.get(accountId) ?? 0
  if (underWay >= MAX_TESTS_AT_ONCE)
    throw new Fault('rate_limited', `At most ${MAX_TESTS_AT_ONCE} webhook tests of an account run at a time`, {
      retryAfterSeconds: DEADLINE_MS / 1000,
    })
  webhookTests.set(accountId, underWay + 1)
  try {
    return await work()
  } finally {
    const left = webhookTests.get(accountId)! - 1
    if (left > 0) webhookTests.set(accountId, left)
    else webhookTests.delete(accountId)
  }
}

/** Sends WEBHOOK_TEST at once and returns the answer. The history lists it like any other event. */
export async function testWebhook(ctx: Context, accountId: string, webhookId: string): Promise<WebhookAnswer> {
  await findWebhook(ctx, accountId, webhookId)
  const createdAt = ctx.now()
  const data = dataOf(WEBHOOK_TEST, null)
  const event: NewEvent = { kind: 'WEBHOOK_TEST', accountId, subjectId: newUuid7(createdAt), createdAt, data }
  const [stored] = await transact(ctx.pool, (tx) => insertEvents(tx, createdAt, [event]))
  const { id: eventId, body } = stored!
  const target = (await readTargets(ctx, [webhookId])).get(webhookId)!
  const delivery = { eventId, webhookId, attempt: 1, body, target }
  const at = ctx.now()
  const answer = await sendDelivery(ctx, delivery, at)
  const attempt = { delivery, at, answer }
  await transact(ctx.pool, async (tx) => {
    await insertAttempts(tx, [attempt])
    const outcome = isDelivered(answer) ? 'delivered' : 'failed'
    const endedAt = ctx.now()
    await insertRow(tx, 'delivery_outcomes', {
      event_id: eventId,
      webhook_id: webhookId,
      outcome,
      attempts: 1,
      ended_at: endedAt,
      seal: sealOutcome(tx, endedAt, delivery, outcome),
    })
  })
  return answer
}

/**
 * Sends an example at once and returns the answer. It is no event, and nothing of it is stored: neither the history nor
 * the attempts may hold what did not happen.
 */
export async function sendSample(
  ctx: Context,
  accountId: string,
  webhookId: string,
  sample: { kind: EventKind; data: object },
): Promise<WebhookAnswer> {
  await findWebhook(ctx, accountId, webhookId)
  const createdAt = ctx.now()
  const body = sampleBody({ ...sample, subjectId: newUuid7(createdAt), createdAt })
  const target = (await readTargets(ctx, [webhookId])).get(webhookId)!
  return sendDelivery(ctx, { webhookId, body, target }, createdAt)
}
