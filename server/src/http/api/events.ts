import { z } from 'zod'
import type { Context } from '../../domain/context.ts'
import { findEvent, listEvents, resendEvent, resendMany } from '../../domain/webhooks/event-log.ts'
import type { Api } from '../server/typed-app.ts'
import { answer, bodyErrors, commonErrors, errorAnswer, nextCursor } from '../server/schemas.ts'
import {
  attemptShape,
  eventParams,
  eventShape,
  eventsQuery,
  presentAttempt,
  presentEvent,
  resendBody,
  resendManyBody,
} from './webhook-schemas.ts'

export function eventRoutes(app: Api, ctx: Context): void {
  const config = { scope: 'webhooks:write' } as const

  app.get('/api/events', { schema: listSchema, config }, async (request) => {
    const { webhookId, event, ...filter } = request.query
    const { events, nextCursor } = await listEvents(ctx, request.caller.accountId, {
      ...filter,
      ...(event && { kind: event }),
      ...(webhookId && { webhookId }),
    })
    return { success: true as const, events: events.map(presentEvent), nextCursor }
  })

  app.get('/api/events/:eventId', { schema: readSchema, config }, async (request) => {
    const { event, attempts } = await findEvent(ctx, request.caller.accountId, request.params.eventId)
    return { success: true as const, event: presentEvent(event), attempts: attempts.map(presentAttempt) }
  })

  app.post(
    '/api/events/:eventId/resend',
    { schema: resendSchema, config: { ...config, fresh: false } },
    async (request) => {
      const queued = await resendEvent(
        ctx,
        request.caller.accountId,
        request.params.eventId,
        request.body?.webhookId ?? null,
      )
      return { success: true as const, queued }
    },
  )

  app.post('/api/events/resend', { schema: resendManySchema, config: { ...config, fresh: false } }, async (request) => {
    const { since, webhookId } = request.body
    const queued = await resendMany(
      ctx,
      request.caller.accountId,
      since ? { since } : { failed: true },
      webhookId ?? null,
    )
    return { success: true as const, queued }
  })
}

const NOT_FOUND = errorAnswer('`Event not found`, or `Webhook not found`: unknown, malformed, or another account’s.')
const queued = z.int().meta({
  description:
    'How many deliveries were put in the queue: 0 when no enabled webhook wants any of it. A `WEBHOOK_TEST` is never resent.',
})
const tags = ['Events']

const listSchema = {
  tags,
  operationId: 'listEvents',
  summary: 'List events',
  description: 'Newest first, each with what became of it at every webhook. Needs the scope `webhooks:write`.',
  querystring: eventsQuery,
  response: {
    200: answer('A page of events.', { events: eventShape.array(), nextCursor }),
    400: errorAnswer('A parameter is wrong; the text says which and what is allowed.'),
    ...commonErrors,
  },
}

const readSchema = {
  tags,
  operationId: 'getEvent',
  summary: 'Read an event',
  description: 'With every attempt to deliver it in the last 30 days, newest first. Needs the scope `webhooks:write`.',
  params: eventParams,
  response: {
    200: answer('The event and its attempts.', { event: eventShape, attempts: attemptShape.array() }),
    404: NOT_FOUND,
    ...commonErrors,
  },
}

const resendSchema = {
  tags,
  operationId: 'resendEvent',
  summary: 'Send an event again',
  description:
    'With the same id and the same bytes, to every enabled webhook that wants its kind or to one of them. Needs the scope `webhooks:write`.',
  params: eventParams,
  body: resendBody,
  response: {
    200: answer('How much of it is in the queue.', { queued }),
    ...bodyErrors,
    404: NOT_FOUND,
    ...commonErrors,
  },
}

const resendManySchema = {
  tags,
  operationId: 'resendEvents',
  summary: 'Send many events again',
  description:
    'Everything that failed (`{"failed": true}`), or everything since a time (`{"since": "2026-01-31T00:00:00Z"}`), delivered or not, oldest first. Receivers tell a repetition by its id. Needs the scope `webhooks:write`.',
  body: resendManyBody,
  response: {
    200: answer('How much of it is in the queue.', { queued }),
    ...bodyErrors,
    404: NOT_FOUND,
    ...commonErrors,
  },
}
