import { newUuid7 } from '../../base/ids.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { transact } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { WebhookAnswer } from '../ports/webhook-sender.ts'
import { sendDelivery } from './delivery-queue.ts'
import { insertEvents, type NewEvent } from './events.ts'
import { insertAttempts, isDelivered } from './record-attempts.ts'
import { readTargets } from './targets.ts'
import { findWebhook } from './webhooks.ts'

/** Sends WEBHOOK_TEST at once and returns the answer. The history lists it like any other event. */
export async function testWebhook(ctx: Context, accountId: string, webhookId: string): Promise<WebhookAnswer> {
  await findWebhook(ctx, accountId, webhookId)
  const createdAt = ctx.now()
  const data = { message: 'guiche can reach this address. Nothing was paid.' }
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
    await insertRow(tx, 'delivery_outcomes', {
      event_id: eventId,
      webhook_id: webhookId,
      outcome: isDelivered(answer) ? 'delivered' : 'failed',
      attempts: 1,
      ended_at: ctx.now(),
    })
  })
  return answer
}
