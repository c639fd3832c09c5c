import { z } from 'zod'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import {
  findDelivery,
  listDeliveries,
  listFailingWebhooks,
  type DeliveryRecord,
  type FailingWebhook,
} from '../../domain/webhooks/delivery-history.ts'
import { DELIVERY_STATES } from '../../domain/webhooks/event-search.ts'
import { SENT_KINDS } from '../../domain/webhooks/event-kinds.ts'
import { attemptOutcome } from '../api/webhooks.ts'
import { idField, toApi, nextCursor, oneOf, paging, response, time, type Api } from '../server/schemas.ts'

export function deliveryRoutes(api: Api, ctx: Context): void {
  const config = { scope: 'deposits:read' } as const

  api.get('/api/deliveries', { schema: listDeliveriesRoute, config }, async (request) => {
    const { status, event, ...filter } = request.query
    const { deliveries, nextCursor } = await listDeliveries(ctx, request.caller.accountId, {
      ...filter,
      ...(status && { state: status }),
      ...(event && { kind: event }),
    })
    return { success: true as const, deliveries: deliveries.map(presentDelivery), nextCursor }
  })

  api.get('/api/deliveries/:eventId/:webhookId', { schema: getDeliveryRoute, config }, async (request) => {
    const { accountId } = request.caller
    const { delivery, request: sent, attempts } = await findDelivery(ctx, accountId, request.params)
    return {
      success: true as const,
      delivery: presentDelivery(delivery),
      request: sent,
      attempts: attempts.map(toApi),
    }
  })

  const operator = { scope: OPERATOR_SCOPE } as const
  api.get('/api/operator/webhook-failures', { schema: listFailingWebhooksRoute, config: operator }, async (request) => {
    const { webhooks, nextCursor } = await listFailingWebhooks(ctx, request.query)
    return { success: true as const, webhooks: webhooks.map(presentFailingWebhook), nextCursor }
  })
}

const deliveriesQuery = z.object({
  status: oneOf('status', DELIVERY_STATES).exactOptional(),
  webhookId: idField('webhookId', 'a webhook').exactOptional(),
  event: oneOf('event', SENT_KINDS).exactOptional(),
  ...paging,
})

const lastAttempt = {
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
  lastErrorCode: z.string().nullable(),
  lastErrorDetail: z.string().nullable(),
}

const deliverySchema = z.object({
  eventId: z.string(),
  event: z.string(),
  subject: z.object({ paymentLinkId: z.string().nullable() }),
  webhookId: z.string(),
  webhookName: z.string(),
  status: z.enum(DELIVERY_STATES),
  attempts: z.int(),
  ...lastAttempt,
  lastAt: time.nullable(),
  nextAt: time.nullable(),
  createdAt: time,
})

function presentDelivery({ kind, state, nextAttemptAt, paymentLinkId, ...delivery }: DeliveryRecord) {
  return { ...toApi({ ...delivery, event: kind, status: state, nextAt: nextAttemptAt }), subject: { paymentLinkId } }
}

const requestSchema = z.object({ url: z.string(), headers: z.record(z.string(), z.string()), body: z.string() })
const attemptSchema = z.object({ number: z.int(), at: time, ...attemptOutcome })

const failingWebhookSchema = z.object({
  webhookId: z.string(),
  accountId: z.string(),
  accountEmail: z.string(),
  name: z.string(),
  url: z.string(),
  failingSince: time.nullable(),
  disabledAt: time.nullable(),
  disabledReason: z.string().nullable(),
  disabledCode: z.string().nullable(),
  ...lastAttempt,
  pending: z.int(),
})

/** Operators see the host only: the path of a webhook URL often holds a token. */
function presentFailingWebhook(webhook: FailingWebhook) {
  return { ...toApi(webhook), url: new URL(webhook.url).host }
}

const listDeliveriesRoute = {
  querystring: deliveriesQuery,
  response: { 200: response('', { deliveries: deliverySchema.array(), nextCursor }) },
}
const getDeliveryRoute = {
  params: z.object({ eventId: z.string(), webhookId: z.string() }),
  response: {
    200: response('', { delivery: deliverySchema, request: requestSchema, attempts: attemptSchema.array() }),
  },
}
const listFailingWebhooksRoute = {
  querystring: z.object(paging),
  response: { 200: response('', { webhooks: failingWebhookSchema.array(), nextCursor }) },
}
