import { z } from 'zod'
import type { WebhookAnswer } from '../../domain/ports/webhook-sender.ts'
import type { LoggedAttempt, LoggedEvent } from '../../domain/webhooks/event-log.ts'
import { DELIVERY_STATES } from '../../domain/webhooks/find-deliveries.ts'
import { EVENT_KINDS } from '../../domain/webhooks/events.ts'
import type { Webhook } from '../../domain/webhooks/webhook-rows.ts'
import {
  AUTHORIZATION_RULE,
  AUTHORIZATION_SHAPE,
  EVENTS_RULE,
  MAX_NAME_LENGTH,
  MAX_OVERLAP_SECONDS,
  NAME_RULE,
  DEFAULT_OVERLAP_SECONDS,
} from '../../domain/webhooks/webhooks.ts'
import { page, text } from '../server/schemas.ts'

// Requests and answers about webhooks and events, and the functions that make those answers.

const URL_ERROR = 'url must be an https URL of at most 2048 characters'
const ENABLED_ERROR = 'enabled must be true or false'
const OVERLAP_ERROR = `overlapSeconds must be an integer from 0 to ${MAX_OVERLAP_SECONDS}`
const WEBHOOK_ERROR = 'webhookId must be the id of a webhook'
const BODY_ERROR = 'Request body must be a JSON object'

const name = text({ min: 1, max: MAX_NAME_LENGTH }, NAME_RULE)
const url = z.string({ error: URL_ERROR }).min(1, { error: URL_ERROR }).max(2048, { error: URL_ERROR })
const events = z
  .array(z.enum(EVENT_KINDS, { error: EVENTS_RULE }), { error: EVENTS_RULE })
  .min(1, { error: EVENTS_RULE })
const authorization = z.string({ error: AUTHORIZATION_RULE }).regex(AUTHORIZATION_SHAPE, { error: AUTHORIZATION_RULE })

export const newWebhookBody = z.object(
  {
    url: url.meta({
      description: 'Where to post events. https, on a public address.',
      examples: ['https://shop.example.com/guiche'],
    }),
    name: name.exactOptional().meta({ description: 'To tell it from others; the host of the URL unless given.' }),
    events: events
      .exactOptional()
      .meta({ description: 'Which kinds to send; `DEPOSIT_ASSET_SUCCESS` alone unless given.' }),
    authorization: authorization
      .nullish()
      .meta({ description: 'Sent as the `Authorization` header of each delivery.' }),
  },
  { error: URL_ERROR },
)

export const webhookPatchBody = z.object(
  {
    name: name.exactOptional(),
    url: url.exactOptional(),
    events: events.exactOptional(),
    authorization: authorization.nullable().exactOptional().meta({ description: 'null takes it away.' }),
    enabled: z
      .boolean({ error: ENABLED_ERROR })
      .exactOptional()
      .meta({ description: 'Enabling starts the record of failures anew.' }),
  },
  { error: BODY_ERROR },
)

const overlapSeconds = z
  .int({ error: OVERLAP_ERROR })
  .min(0, { error: OVERLAP_ERROR })
  .max(MAX_OVERLAP_SECONDS, { error: OVERLAP_ERROR })
  .default(DEFAULT_OVERLAP_SECONDS)
  .meta({ description: 'How long the old secret signs beside the new one. 0 when the old one has leaked.' })

export const rotateBody = z.object({ overlapSeconds }, { error: BODY_ERROR }).nullish()

export const webhookParams = z.object({ webhookId: z.string().meta({ description: 'The id of the webhook.' }) })
export const eventParams = z.object({ eventId: z.string().meta({ description: 'The id of the event, `evt_…`.' }) })

const KINDS = [...EVENT_KINDS, 'WEBHOOK_TEST'] as const
const webhookId = z.uuid({ error: WEBHOOK_ERROR })

export const eventsQuery = z.object({
  event: z
    .enum(KINDS, { error: `event must be one of ${KINDS.join(', ')}` })
    .exactOptional()
    .meta({ description: 'Only events of this kind.' }),
  state: z
    .enum(DELIVERY_STATES, { error: `state must be one of ${DELIVERY_STATES.join(', ')}` })
    .exactOptional()
    .meta({
      description:
        'Only events with a delivery in this state. pending: not tried yet; retrying: failed, and tried again; failed: given up.',
    }),
  webhookId: webhookId.exactOptional().meta({ description: 'Only events with a delivery to this webhook.' }),
  ...page,
})

export const resendBody = z
  .object(
    { webhookId: webhookId.exactOptional().meta({ description: 'To this webhook only.' }) },
    { error: BODY_ERROR },
  )
  .nullish()

const WHICH_ERROR =
  'Give either failed: true, or since: an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z'
export const resendManyBody = z
  .object(
    {
      failed: z
        .literal(true, { error: WHICH_ERROR })
        .exactOptional()
        .meta({ description: 'Everything that failed, given up or still retried.' }),
      since: z.iso
        .datetime({ offset: true, error: WHICH_ERROR })
        .transform((text) => new Date(text))
        .exactOptional()
        .meta({ description: 'Everything from this time on.' }),
      webhookId: webhookId.exactOptional().meta({ description: 'To this webhook only.' }),
    },
    { error: WHICH_ERROR },
  )
  .refine((body) => (body.failed === undefined) !== (body.since === undefined), { error: WHICH_ERROR })

const time = z.iso.datetime()

export const webhookShape = z
  .object({
    id: z.string(),
    name: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    hasAuthorization: z
      .boolean()
      .meta({ description: 'Whether an `Authorization` value is sent; the value itself is never shown again.' }),
    createdAt: time,
    enabled: z.boolean().meta({ description: 'False: it gets no events until you enable it again.' }),
    disabledAt: time
      .nullable()
      .meta({ description: 'Since when it gets no events: resend `since` this time to catch up.' }),
    disabledReason: z.string().nullable().meta({ description: 'Why it gets no events, in words.' }),
    disabledCode: z.string().nullable().meta({ description: 'The same as a code, to decide by.' }),
    failingSince: time.nullable().meta({
      description: 'The first failure after the last success. After 5 days of nothing but failures it is disabled.',
    }),
    previousSecretUntil: time.nullable().meta({ description: 'Until when the replaced secret signs too.' }),
  })
  .meta({ id: 'Webhook' })

export function presentWebhook(webhook: Webhook) {
  return {
    id: webhook.webhookId,
    name: webhook.name,
    url: webhook.url,
    events: webhook.eventKinds,
    hasAuthorization: webhook.hasAuthorization,
    createdAt: webhook.createdAt.toISOString(),
    enabled: webhook.disabledAt === null,
    disabledAt: webhook.disabledAt?.toISOString() ?? null,
    disabledReason: webhook.disabledReason,
    disabledCode: webhook.disabledCode,
    failingSince: webhook.failingSince?.toISOString() ?? null,
    previousSecretUntil: webhook.previousSecretUntil?.toISOString() ?? null,
  }
}

export const secretField = z.string().meta({ description: 'The signing secret, `whsec_…`. Shown this once.' })

export const testShape = z
  .object({
    delivered: z.boolean().meta({ description: 'True if the receiver answered with a 2xx status.' }),
    status: z.int().nullable().meta({ description: 'What the receiver answered; null when it did not.' }),
    error: z.string().nullable().meta({ description: 'Why there was no answer, in words.' }),
    errorCode: z.string().nullable().meta({ description: 'The same as a code, to decide by.' }),
    errorDetail: z.string().nullable().meta({ description: 'What the code is about: an address, a time.' }),
    latencyMs: z.int(),
    excerpt: z.string().meta({ description: 'The first 2 kB of the answer.' }),
  })
  .meta({ id: 'WebhookTest' })

export function presentTest(answer: WebhookAnswer) {
  const isAnswered = answer.kind === 'answered'
  return {
    delivered: isAnswered && answer.status >= 200 && answer.status < 300,
    status: isAnswered ? answer.status : null,
    error: isAnswered ? null : answer.reason.text,
    errorCode: isAnswered ? null : answer.reason.code,
    errorDetail: isAnswered ? null : answer.reason.detail,
    latencyMs: Math.round(answer.latencyMs),
    excerpt: isAnswered ? answer.excerpt : '',
  }
}

const deliveryShape = z.object({
  webhookId: z.string(),
  state: z.enum(DELIVERY_STATES).meta({
    description:
      'pending: it waits for its first attempt; retrying: the last attempt failed, and the next is at `nextAttemptAt`; failed: it was given up.',
  }),
  attempts: z.int().meta({ description: 'How often it was tried since it was last put in the queue.' }),
  nextAttemptAt: time.nullable().meta({ description: 'Null unless pending or retrying.' }),
  endedAt: time.nullable().meta({ description: 'When it was delivered or given up.' }),
})

export const eventShape = z
  .object({
    id: z.string().meta({ description: '`evt_…`, which receivers also get as `webhook-id`.' }),
    event: z.string().meta({ description: 'Its kind.' }),
    createdAt: time,
    data: z.looseObject({}).meta({ description: 'As it is delivered.' }),
    deliveries: deliveryShape
      .array()
      .meta({ description: 'One for each webhook that it was meant for, removed ones included.' }),
  })
  .meta({ id: 'Event' })

export function presentEvent(event: LoggedEvent) {
  return {
    id: event.id,
    event: event.kind,
    createdAt: event.createdAt.toISOString(),
    data: (JSON.parse(event.body) as { data: Record<string, unknown> }).data,
    deliveries: event.deliveries.map(({ webhookId, nextAttemptAt, endedAt, state, attempts }) => ({
      webhookId,
      state,
      attempts,
      nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
      endedAt: endedAt?.toISOString() ?? null,
    })),
  }
}

export const attemptShape = z
  .object({
    webhookId: z.string(),
    number: z.int().meta({ description: 'From 1, and from 1 again after a resend.' }),
    at: time,
    status: z.int().nullable().meta({ description: 'What the receiver answered; null when it did not.' }),
    error: z.string().nullable().meta({ description: 'Why there was no answer, in words.' }),
    errorCode: z.string().nullable().meta({ description: 'The same as a code, to decide by.' }),
    errorDetail: z.string().nullable().meta({ description: 'What the code is about: an address, a time.' }),
    latencyMs: z.int(),
    excerpt: z.string().meta({ description: 'The first 2 kB of the answer.' }),
  })
  .meta({ id: 'DeliveryAttempt' })

export function presentAttempt({ webhookId, at, ...attempt }: LoggedAttempt) {
  return { webhookId, ...attempt, at: at.toISOString() }
}
