import { z } from 'zod'
import type { Context } from '../../domain/context.ts'
import { retryNow } from '../../domain/webhooks/resend.ts'
import { readWebhookStats, type Waiting, type WebhookStats } from '../../domain/webhooks/webhook-stats.ts'
import { refuseTooMany, type SharedLimiter } from '../server/rate-limit.ts'
import { BODY_ERROR, describeOperations, response, time, toApi, type Api } from '../server/schemas.ts'
import { ofWebhook } from './webhooks.ts'

/** How a webhook fares, and what waits for it. */
export function webhookStatsRoutes(app: Api, ctx: Context, limitByHand: SharedLimiter): void {
  const reading = { scope: 'webhooks:write', orScope: 'webhooks:read' } as const
  const retrying = { scope: 'webhooks:write', fresh: false } as const

  app.get('/api/webhooks/:webhookId/stats', { schema: routes.getWebhookStats, config: reading }, async (request) => {
    const { stats, waiting } = await readWebhookStats(ctx, request.caller.accountId, request.params.webhookId)
    return { success: true as const, stats: presentStats(stats), waiting: presentWaiting(waiting) }
  })

  app.post('/api/webhooks/:webhookId/retry', { schema: routes.retryWebhook, config: retrying }, async (request) => {
    const { accountId } = request.caller
    await refuseTooMany(limitByHand, accountId)
    const queued = await retryNow(ctx, accountId, request.params.webhookId, request.body?.eventId ?? null)
    return { success: true as const, queued }
  })
}

function presentStats({ sampledSince, day, week, hours }: WebhookStats) {
  return { sampledSince: sampledSince?.toISOString() ?? null, day, week, hours: hours.map(toApi) }
}

function presentWaiting({ lastFailure, ...waiting }: Waiting) {
  return { ...toApi(waiting), lastFailure: lastFailure && toApi(lastFailure) }
}

const figuresSchema = z.object({
  attempts: z.int(),
  delivered: z.int().meta({ description: 'Attempts that were answered with a 2xx status.' }),
  latencyP50Ms: z.int().nullable().meta({ description: 'Half of the answers came within this time. Null: none came.' }),
  latencyP95Ms: z.int().nullable().meta({ description: '95 of 100 answers came within this time.' }),
})

const statsSchema = z
  .object({
    sampledSince: time.nullable().meta({
      description:
        'If the account had more than 2,000 events in the last 7 days: the oldest that was looked at. The numbers are about the attempts to deliver events since then. Null: all events of the week were looked at.',
    }),
    day: figuresSchema.meta({ description: 'The last 24 hours.' }),
    week: figuresSchema.meta({ description: 'The last 7 days.' }),
    hours: z
      .object({ hour: time, delivered: z.int(), failed: z.int() })
      .array()
      .meta({ description: 'Attempts in each of the last 24 hours, oldest first. The last hour is under way.' }),
  })
  .meta({ id: 'WebhookStats' })

const waitingSchema = z
  .object({
    count: z.int().meta({ description: 'Deliveries that wait for an attempt, up to 10,000.' }),
    isMore: z.boolean().meta({ description: 'True: there are more than `count`.' }),
    nextAttemptAt: time.nullable().meta({ description: 'When the first of them is due.' }),
    lastFailure: z
      .object({
        at: time,
        status: z.int().nullable(),
        error: z.string().nullable(),
        errorCode: z.string().nullable(),
        errorDetail: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'Why one of them failed last. Null: none has failed yet.' }),
  })
  .meta({ id: 'WebhookWaiting' })

const EVENT_ID_ERROR = 'eventId must be the id of an event, evt_…'
const retryBody = z
  .object(
    {
      eventId: z
        .string({ error: EVENT_ID_ERROR })
        .max(100, { error: EVENT_ID_ERROR })
        .exactOptional()
        .meta({ description: 'Only the delivery of this event.' }),
    },
    { error: BODY_ERROR },
  )
  .nullish()

const routes = describeOperations('Webhooks', {
  getWebhookStats: {
    summary: 'Get how a webhook fares',
    description: 'The attempts of the last 24 hours and 7 days, and what waits. Needs the scope `webhooks:write`.',
    ...ofWebhook,
    response: { 200: response('The numbers.', { stats: statsSchema, waiting: waitingSchema }) },
  },
  retryWebhook: {
    summary: 'Retry waiting deliveries now',
    description:
      'Makes the deliveries that wait for their next attempt due now, up to 10,000 at a time; ask again for more. Each counts as the next attempt of its delivery. One that is being sent is left alone, so nothing is sent twice. An account may ask 20 times a minute. A webhook that keeps failing is probed again within five minutes. Needs the scope `webhooks:write`.',
    ...ofWebhook,
    body: retryBody,
    response: {
      200: response('How many are due now.', {
        queued: z.int().meta({ description: 'Deliveries that were waiting, and are due now.' }),
      }),
    },
    errors: { 404: '`Webhook not found`, or `Event not found`: no event of this account has this id.' },
  },
})
