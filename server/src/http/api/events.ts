import { z } from 'zod'
import { accountScopeOf } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { findEvent, listEvents, type AttemptRecord, type EventRecord } from '../../domain/webhooks/delivery-history.ts'
import { DELIVERY_STATES } from '../../domain/webhooks/event-search.ts'
import { SENT_KINDS } from '../../domain/webhooks/event-kinds.ts'
import { resendEvent, resendMany } from '../../domain/webhooks/resend.ts'
import {
  BODY_ERROR,
  describeOperations,
  idField,
  listQuery,
  nextCursor,
  oneOf,
  response,
  sendText,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'
import type { Streams } from '../server/streams.ts'
import { afterField, historyPage, readPage, timeLimit, waitField } from './history.ts'
import { attemptOutcome } from './webhooks.ts'

export function eventRoutes(app: Api, ctx: Context, streams: Streams): void {
  const reading = { scope: 'events:read' } as const
  const resending = { scope: 'webhooks:write', fresh: false } as const

  app.get('/api/events', { schema: routes.listEvents, config: reading }, async (request, reply) => {
    const { webhookId, event, after, wait, ...filter } = request.query
    if (after !== undefined) {
      const { accountId } = request.caller
      const page = { accountId, after, limit: filter.limit, waitSeconds: wait }
      const text = await readPage(ctx, page, () => {
        request.leaveInFlight()
        return timeLimit(wait * 1000, streams.admit(reply.raw, accountId))
      })
      return sendText(reply, text)
    }
    const { events, nextCursor } = await listEvents(ctx, accountScopeOf(request.caller), {
      ...filter,
      ...(event && { kind: event }),
      ...(webhookId && { webhookId }),
    })
    return { success: true as const, events: events.map(presentEvent), nextCursor }
  })

  app.get('/api/events/:eventId', { schema: routes.getEvent, config: reading }, async (request) => {
    const { event, attempts } = await findEvent(ctx, accountScopeOf(request.caller), request.params.eventId)
    return { success: true as const, event: presentEvent(event), attempts: attempts.map(presentAttempt) }
  })

  app.post('/api/events/:eventId/resend', { schema: routes.resendEvent, config: resending }, async (request) => {
    const webhookId = request.body?.webhookId ?? null
    const queued = await resendEvent(ctx, accountScopeOf(request.caller), request.params.eventId, webhookId)
    return { success: true as const, queued }
  })

  app.post('/api/events/resend', { schema: routes.resendEvents, config: resending }, async (request) => {
    const { since, webhookId = null } = request.body
    const which = since ? { since } : { failed: true as const }
    return { success: true as const, queued: await resendMany(ctx, accountScopeOf(request.caller), which, webhookId) }
  })
}

// ---- Requests ----

const eventParams = z.object({ eventId: z.string().meta({ description: 'The id of the event, `evt_…`.' }) })
const webhookId = idField('webhookId', 'a webhook')

const eventsQuery = z.object({
  event: oneOf('event', SENT_KINDS).exactOptional().meta({ description: 'Only events of this kind.' }),
  state: oneOf('state', DELIVERY_STATES).exactOptional().meta({
    description:
      'Only events with a delivery in this state. pending: not tried yet. retrying: failed, and will be tried again. failed: given up.',
  }),
  webhookId: webhookId.exactOptional().meta({ description: 'Only events with a delivery to this webhook.' }),
  after: afterField.exactOptional().meta({
    description:
      'Events after this position, oldest first, without their deliveries: `0`, a position, or the `next` of an earlier answer. Only `limit` and `wait` go with it.',
  }),
  wait: waitField,
  order: oneOf('order', ['desc', 'asc'])
    .exactOptional()
    .meta({ description: '`desc`: newest first, the default. `asc`: oldest first, to catch up from a time on.' }),
  ...listQuery,
})

const onlyTo = webhookId.exactOptional().meta({ description: 'Only to this webhook.' })
const resendBody = z.object({ webhookId: onlyTo }, { error: BODY_ERROR }).nullish()

const WHICH_ERROR =
  'Give either failed: true, or since: an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z'
const resendManyBody = z
  .object(
    {
      failed: z
        .literal(true, { error: WHICH_ERROR })
        .exactOptional()
        .meta({ description: 'All deliveries that failed, given up or still being retried.' }),
      since: z.iso
        .datetime({ offset: true, error: WHICH_ERROR })
        .transform((text) => new Date(text))
        .exactOptional()
        .meta({ description: 'All events from this time on.' }),
      webhookId: onlyTo,
    },
    { error: WHICH_ERROR },
  )
  .refine((body) => (body.failed === undefined) !== (body.since === undefined), { error: WHICH_ERROR })

// ---- Responses ----

const deliverySchema = z.object({
  webhookId: z.string(),
  state: z.enum(DELIVERY_STATES).meta({
    description:
      'pending: waiting for the first attempt. retrying: the last attempt failed, and the next is at `nextAttemptAt`. failed: given up.',
  }),
  attempts: z.int().meta({ description: 'Attempts since it was last queued.' }),
  nextAttemptAt: time.nullable().meta({ description: 'Null unless pending or retrying.' }),
  endedAt: time.nullable().meta({ description: 'When it was delivered or given up.' }),
})

const eventSchema = z
  .object({
    id: z.string().meta({ description: '`evt_…`. Receivers also get it as `webhook-id`.' }),
    event: z.string().meta({ description: 'The kind of event.' }),
    createdAt: time,
    data: z.looseObject({}).meta({ description: 'The data as delivered.' }),
    deliveries: deliverySchema
      .array()
      .meta({ description: 'One for each webhook that the event was meant for, including deleted ones.' }),
  })
  .meta({ id: 'Event' })

function presentEvent(event: EventRecord) {
  return {
    // Only the console gets `account`: the schema leaves it out.
    account: event.email,
    id: event.id,
    event: event.kind,
    createdAt: event.createdAt.toISOString(),
    data: (JSON.parse(event.body) as { data: Record<string, unknown> }).data,
    deliveries: event.deliveries.map(({ webhookId, state, attempts, nextAttemptAt, endedAt }) =>
      toApi({ webhookId, state, attempts, nextAttemptAt, endedAt }),
    ),
  }
}

const attemptSchema = z
  .object({
    webhookId: z.string(),
    number: z.int().meta({ description: 'Counts from 1, and from 1 again after a resend.' }),
    at: time,
    ...attemptOutcome,
  })
  .meta({ id: 'DeliveryAttempt' })

function presentAttempt({ webhookId, ...attempt }: AttemptRecord) {
  return { webhookId, ...toApi(attempt) }
}

const queued = z.int().meta({
  description:
    'Number of deliveries queued. 0 if no enabled webhook subscribes to these events. A `WEBHOOK_TEST` is never resent.',
})

// ---- Routes ----

const eventsAnswer = {
  description: 'A page of events.',
  content: {
    'application/json': {
      schema: z.union([z.object({ success: z.literal(true), events: eventSchema.array(), nextCursor }), historyPage]),
    },
  },
}

const NOT_FOUND = '`Event not found`, or `Webhook not found`: unknown, malformed, or of another account.'

const routes = describeOperations('Events', {
  listEvents: {
    summary: 'List events',
    description:
      'With `after`, the history of the account: oldest first, numbered without a gap, and waiting for the next event if `wait` is given. To catch up after downtime, store `next` and read on from it. Without `after`, newest first unless `order` is `asc`, each with the state of its deliveries. Needs the scope `events:read`.',
    querystring: eventsQuery,
    response: { 200: eventsAnswer },
    errors: {
      409: 'With `after`: the position is not in the history, because the service was restored from an older backup.',
    },
  },
  getEvent: {
    summary: 'Get an event',
    description:
      'With all delivery attempts that are kept, newest first: 30 days, unless the operator chose otherwise. Needs the scope `webhooks:write`.',
    params: eventParams,
    response: { 200: response('The event and its attempts.', { event: eventSchema, attempts: attemptSchema.array() }) },
    errors: { 404: NOT_FOUND },
  },
  resendEvent: {
    summary: 'Resend an event',
    description:
      'Sends the same id and the same bytes to one webhook, or to every enabled webhook that subscribes to this kind. Needs the scope `webhooks:write`.',
    params: eventParams,
    body: resendBody,
    response: { 200: response('How many deliveries were queued.', { queued }) },
    errors: { 404: NOT_FOUND },
  },
  resendEvents: {
    summary: 'Resend many events',
    description:
      'Resends all failed deliveries (`{"failed": true}`), or all events since a time (`{"since": "2026-01-31T00:00:00Z"}`), delivered or not, oldest first. Receivers recognize a repetition by its id. Needs the scope `webhooks:write`.',
    body: resendManyBody,
    response: { 200: response('How many deliveries were queued.', { queued }) },
    errors: { 404: NOT_FOUND },
  },
})
