import { z } from 'zod'
import { accountScopeOf, actorOf } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { WebhookAnswer } from '../../domain/ports/webhook-sender.ts'
import { sendSample, testWebhook, withTestPlace } from '../../domain/webhooks/test-webhook.ts'
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts'
import {
  AUTHORIZATION_RULE,
  AUTHORIZATION_SHAPE,
  createWebhook,
  DEFAULT_EVENT_KINDS,
  DEFAULT_OVERLAP_SECONDS,
  deleteWebhook,
  EVENTS_RULE,
  findWebhook,
  listWebhooks,
  MAX_NAME_LENGTH,
  MAX_OVERLAP_SECONDS,
  NAME_RULE,
  nameFromUrl,
  rotateSecret,
  updateWebhook,
  type Webhook,
} from '../../domain/webhooks/webhooks.ts'
import { refuseTooMany, type SharedLimiter } from '../server/rate-limit.ts'
import {
  BODY_ERROR,
  describeOperations,
  NEEDLESS_BODY_ERRORS,
  oneOf,
  response,
  text,
  time,
  type Api,
} from '../server/schemas.ts'
import { EVENT_EXAMPLES } from './event-examples.ts'

export function webhookRoutes(app: Api, ctx: Context, limitByHand: SharedLimiter): void {
  const config = { scope: 'webhooks:write' } as const
  const reading = { ...config, orScope: 'webhooks:read' } as const
  // Controlling where events go, and with which signature, is as powerful as holding a key.
  const fresh = { ...config, fresh: true } as const
  const path = '/api/webhooks/:webhookId'

  app.get('/api/webhooks', { schema: routes.listWebhooks, config: reading }, async (request) => {
    const webhooks = await listWebhooks(ctx, accountScopeOf(request.caller))
    // Only the console gets `account`: the schema leaves it out.
    const presented = webhooks.map((webhook) => ({ account: webhook.email, ...presentWebhook(webhook) }))
    return { success: true as const, webhooks: presented }
  })

  app.post('/api/webhooks', { schema: routes.createWebhook, config: fresh }, async (request, reply) => {
    const { url, name = nameFromUrl(url), events = DEFAULT_EVENT_KINDS, authorization = null } = request.body
    const { accountId } = request.caller
    const wanted = { url, name, eventKinds: events, authorization }
    const { webhook, secret, test } = await withTestPlace(ctx, accountId, async () => {
      const created = await createWebhook(ctx, accountId, wanted, actorOf(request.caller))
      return { ...created, test: await testWebhook(ctx, accountId, created.webhook.webhookId) }
    })
    reply.code(201).header('location', `/api/webhooks/${webhook.webhookId}`)
    return { success: true as const, webhook: presentWebhook(webhook), secret, test: presentTest(test) }
  })

  app.get(path, { schema: routes.getWebhook, config: reading }, async (request) => {
    const webhook = await findWebhook(ctx, request.caller.accountId, request.params.webhookId)
    return { success: true as const, webhook: presentWebhook(webhook) }
  })

  app.patch(path, { schema: routes.updateWebhook, config: fresh }, async (request) => {
    const { events, ...fields } = request.body
    const { accountId } = request.caller
    const patch = { ...fields, ...(events && { eventKinds: events }) }
    const { webhookId } = request.params
    const update = () => updateWebhook(ctx, accountId, webhookId, patch, actorOf(request.caller))
    if (fields.url === undefined) return { success: true as const, webhook: presentWebhook(await update()), test: null }
    const { webhook, test } = await withTestPlace(ctx, accountId, async () => {
      const updated = await update()
      return { webhook: updated, test: await testWebhook(ctx, accountId, webhookId) }
    })
    return { success: true as const, webhook: presentWebhook(webhook), test: presentTest(test) }
  })

  app.delete(path, { schema: routes.deleteWebhook, config: fresh }, async (request) => {
    await deleteWebhook(ctx, request.caller.accountId, request.params.webhookId, actorOf(request.caller))
    return { success: true as const }
  })

  const testing = { ...config, fresh: false } as const
  app.post(`${path}/test`, { schema: routes.testWebhook, config: testing }, async (request) => {
    const { accountId } = request.caller
    const { webhookId } = request.params
    const kind = request.body?.event
    if (kind) await refuseTooMany(limitByHand, accountId)
    const test = await withTestPlace(ctx, accountId, () =>
      kind
        ? sendSample(ctx, accountId, webhookId, { kind, data: EVENT_EXAMPLES[kind]!.data })
        : testWebhook(ctx, accountId, webhookId),
    )
    return { success: true as const, test: presentTest(test) }
  })

  app.post(`${path}/rotate-secret`, { schema: routes.rotateWebhookSecret, config: fresh }, async (request) => {
    const { accountId } = request.caller
    const overlapSeconds = request.body?.overlapSeconds ?? DEFAULT_OVERLAP_SECONDS
    const actor = actorOf(request.caller)
    const { webhook, secret } = await rotateSecret(ctx, accountId, request.params.webhookId, overlapSeconds, actor)
    return { success: true as const, webhook: presentWebhook(webhook), secret }
  })
}

const webhookParams = z.object({ webhookId: z.string().meta({ description: 'The id of the webhook.' }) })

const URL_ERROR = 'url must be an https URL of at most 2048 characters'
const name = text({ min: 1, max: MAX_NAME_LENGTH }, NAME_RULE)
const url = z.string({ error: URL_ERROR }).min(1, { error: URL_ERROR }).max(2048, { error: URL_ERROR })
const events = z
  .array(z.enum(EVENT_KINDS, { error: EVENTS_RULE }), { error: EVENTS_RULE })
  .min(1, { error: EVENTS_RULE })
const authorization = z.string({ error: AUTHORIZATION_RULE }).regex(AUTHORIZATION_SHAPE, { error: AUTHORIZATION_RULE })

const newWebhookBody = z.object(
  {
    url: url.meta({
      description: 'Where to post events: an https URL on a public address.',
      examples: ['https://shop.example.com/guiche'],
    }),
    name: name.exactOptional().meta({ description: 'A label for lists. The default is the host of the URL.' }),
    events: events
      .exactOptional()
      .meta({ description: 'Which kinds of events to send. The default is `DEPOSIT_ASSET_SUCCESS` only.' }),
    authorization: authorization
      .nullish()
      .meta({ description: 'Sent as the `Authorization` header of each delivery.' }),
  },
  { error: URL_ERROR },
)

const webhookPatchBody = z.object(
  {
    name: name.exactOptional(),
    url: url.exactOptional(),
    events: events.exactOptional(),
    authorization: authorization.nullable().exactOptional().meta({ description: 'null removes it.' }),
    enabled: z
      .boolean({ error: 'enabled must be true or false' })
      .exactOptional()
      .meta({ description: 'Enabling resets the record of failures.' }),
  },
  { error: BODY_ERROR },
)

const OVERLAP_ERROR = `overlapSeconds must be an integer from 0 to ${MAX_OVERLAP_SECONDS}`
const overlapSeconds = z
  .int({ error: OVERLAP_ERROR })
  .min(0, { error: OVERLAP_ERROR })
  .max(MAX_OVERLAP_SECONDS, { error: OVERLAP_ERROR })
  .default(DEFAULT_OVERLAP_SECONDS)
  .meta({ description: 'How long the old secret signs too. Send 0 if the old secret has leaked.' })

const rotateSecretBody = z.object({ overlapSeconds }, { error: BODY_ERROR }).nullish()

const testBody = z
  .object(
    {
      event: oneOf('event', EVENT_KINDS).exactOptional().meta({
        description:
          'Sends the example of this kind instead. It is marked as a test: `event` is `TEST_` and the kind, `id` begins with `evt_test_`, `test` is true, and the header `Guiche-Test` is set. Nothing happened, and it is in no history.',
      }),
    },
    { error: BODY_ERROR },
  )
  .nullish()

const webhookSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    url: z.string(),
    events: z.array(z.enum(EVENT_KINDS)),
    hasAuthorization: z
      .boolean()
      .meta({ description: 'Whether an `Authorization` value is sent. The value itself is never shown.' }),
    createdAt: time,
    enabled: z.boolean().meta({ description: 'False: it gets no events until you enable it again.' }),
    disabledAt: time.nullable().meta({ description: 'When it was disabled. Resend `since` this time to catch up.' }),
    disabledReason: z.string().nullable().meta({ description: 'Why it was disabled, for humans.' }),
    disabledCode: z.string().nullable().meta({ description: 'The same as a code, for programs.' }),
    failingSince: time.nullable().meta({
      description: 'The first failure since the last success. After 5 days of failures the webhook is disabled.',
    }),
    previousSecretUntil: time.nullable().meta({ description: 'Until when the previous secret signs too.' }),
  })
  .meta({ id: 'Webhook' })

function presentWebhook(webhook: Webhook) {
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

const secret = z.string().meta({ description: 'The signing secret, `whsec_…`. Shown only once.' })

export const attemptOutcome = {
  status: z.int().nullable().meta({ description: 'The status of the receiver’s response. Null if there was none.' }),
  error: z.string().nullable().meta({ description: 'Why there was no response, for humans.' }),
  errorCode: z.string().nullable().meta({ description: 'The same as a code, for programs.' }),
  errorDetail: z.string().nullable().meta({ description: 'What the code refers to, such as an address or a time.' }),
  latencyMs: z.int(),
  excerpt: z.string().meta({ description: 'The first 2 kB of the response; empty if it came from a private network.' }),
}

const testSchema = z
  .object({
    delivered: z.boolean().meta({ description: 'True if the receiver answered with a 2xx status.' }),
    ...attemptOutcome,
  })
  .meta({ id: 'WebhookTest' })

function presentTest(answer: WebhookAnswer) {
  const latencyMs = Math.round(answer.latencyMs)
  if (answer.kind !== 'answered') {
    const { text, code, detail } = answer.reason
    const failure = { error: text, errorCode: code, errorDetail: detail }
    return { delivered: false, status: null, ...failure, latencyMs, excerpt: '' }
  }
  const { status, excerpt } = answer
  const delivered = status >= 200 && status < 300
  return { delivered, status, error: null, errorCode: null, errorDetail: null, latencyMs, excerpt }
}

export const ofWebhook = {
  params: webhookParams,
  errors: { 404: '`Webhook not found`: the id is unknown, malformed, or belongs to another account.' },
}

const routes = describeOperations('Webhooks', {
  listWebhooks: {
    summary: 'List webhooks',
    description: 'The URLs that events are sent to. Needs the scope `webhooks:write`.',
    response: { 200: response('All webhooks, oldest first.', { webhooks: webhookSchema.array() }) },
  },
  createWebhook: {
    summary: 'Create a webhook',
    description:
      'Events are posted to `url`, signed as Standard Webhooks specifies. guiche sends a `WEBHOOK_TEST` at once and returns its outcome; the webhook is saved either way. Needs the scope `webhooks:write`.',
    body: newWebhookBody,
    response: {
      201: response('The webhook, its signing secret (shown only once), and the outcome of the test.', {
        webhook: webhookSchema,
        secret,
        test: testSchema,
      }),
    },
    errors: { 409: 'The account already has 100 webhooks, the maximum.' },
  },
  getWebhook: {
    summary: 'Get a webhook',
    description: 'Needs the scope `webhooks:write`.',
    ...ofWebhook,
    response: { 200: response('The webhook.', { webhook: webhookSchema }) },
  },
  updateWebhook: {
    summary: 'Update a webhook',
    description:
      'Changes only the fields given. A new `url` is tested at once. A new host or path gets no `authorization` unless you send it again. `enabled: false` stops deliveries, and queued ones count as failed. `enabled: true` resets the record of failures; what the webhook missed can be resent. Needs the scope `webhooks:write`.',
    ...ofWebhook,
    body: webhookPatchBody,
    response: {
      200: response('The webhook, and the outcome of the test if the URL changed.', {
        webhook: webhookSchema,
        test: testSchema.nullable(),
      }),
    },
  },
  deleteWebhook: {
    summary: 'Delete a webhook',
    description:
      'Stops deliveries; queued ones count as failed. Its events remain readable. Needs the scope `webhooks:write`.',
    ...ofWebhook,
    response: { 200: response('Deleted.', {}) },
    errors: { ...ofWebhook.errors, ...NEEDLESS_BODY_ERRORS },
  },
  testWebhook: {
    summary: 'Send a test event',
    description:
      'Sends a `WEBHOOK_TEST` now, or the example of a kind, even to a disabled webhook, and returns the outcome. It is not retried. An account may send 20 examples a minute. Needs the scope `webhooks:write`.',
    ...ofWebhook,
    body: testBody,
    response: { 200: response('The outcome.', { test: testSchema }) },
  },
  rotateWebhookSecret: {
    summary: 'Rotate the signing secret',
    description:
      'For `overlapSeconds` (default a day, at most a week) both secrets sign, so that receivers can switch. A secret replaced earlier stops signing at once. Needs the scope `webhooks:write`.',
    ...ofWebhook,
    body: rotateSecretBody,
    response: { 200: response('The new secret, shown only once.', { webhook: webhookSchema, secret }) },
  },
})
