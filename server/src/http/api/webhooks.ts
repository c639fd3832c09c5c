import type { Context } from '../../domain/context.ts'
import { testWebhook } from '../../domain/webhooks/event-log.ts'
import { actorOf } from '../../domain/accounts/callers.ts'
import {
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  nameFromUrl,
  rotateSecret,
  updateWebhook,
  DEFAULT_EVENT_KINDS,
  DEFAULT_OVERLAP_SECONDS,
} from '../../domain/webhooks/webhooks.ts'
import type { Api } from '../server/typed-app.ts'
import { answer, bodyErrors, commonErrors, errorAnswer } from '../server/schemas.ts'
import {
  newWebhookBody,
  presentTest,
  presentWebhook,
  rotateBody,
  secretField,
  testShape,
  webhookParams,
  webhookPatchBody,
  webhookShape,
} from './webhook-schemas.ts'

export function webhookRoutes(app: Api, ctx: Context): void {
  const config = { scope: 'webhooks:write' } as const
  // Where events go and who can sign them is as good as a key.
  const fresh = { ...config, fresh: true } as const

  app.get('/api/webhooks', { schema: listSchema, config }, async (request) => {
    const webhooks = await listWebhooks(ctx, request.caller.accountId)
    return { success: true as const, webhooks: webhooks.map(presentWebhook) }
  })

  app.post('/api/webhooks', { schema: createSchema, config: fresh }, async (request, reply) => {
    const { url, name, events, authorization } = request.body
    const { webhook, secret } = await createWebhook(
      ctx,
      request.caller.accountId,
      {
        url,
        name: name ?? nameFromUrl(url),
        eventKinds: events ?? DEFAULT_EVENT_KINDS,
        authorization: authorization ?? null,
      },
      actorOf(request.caller),
    )
    const test = await testWebhook(ctx, request.caller.accountId, webhook.webhookId)
    reply.code(201).header('location', `/api/webhooks/${webhook.webhookId}`)
    return { success: true as const, webhook: presentWebhook(webhook), secret, test: presentTest(test) }
  })

  app.get('/api/webhooks/:webhookId', { schema: readSchema, config }, async (request) => {
    const webhook = await findWebhook(ctx, request.caller.accountId, request.params.webhookId)
    return { success: true as const, webhook: presentWebhook(webhook) }
  })

  app.patch('/api/webhooks/:webhookId', { schema: patchSchema, config: fresh }, async (request) => {
    const { events, ...fields } = request.body
    const { accountId } = request.caller
    const patch = { ...fields, ...(events && { eventKinds: events }) }
    const webhook = await updateWebhook(ctx, accountId, request.params.webhookId, patch, actorOf(request.caller))
    // A new address is tried at once, as on creating; other changes have nothing to try.
    const test = fields.url === undefined ? null : presentTest(await testWebhook(ctx, accountId, webhook.webhookId))
    return { success: true as const, webhook: presentWebhook(webhook), test }
  })

  app.delete('/api/webhooks/:webhookId', { schema: deleteSchema, config: fresh }, async (request) => {
    await deleteWebhook(ctx, request.caller.accountId, request.params.webhookId, actorOf(request.caller))
    return { success: true as const }
  })

  app.post(
    '/api/webhooks/:webhookId/test',
    { schema: testSchema, config: { ...config, fresh: false } },
    async (request) => {
      const test = await testWebhook(ctx, request.caller.accountId, request.params.webhookId)
      return { success: true as const, test: presentTest(test) }
    },
  )

  app.post('/api/webhooks/:webhookId/rotate-secret', { schema: rotateSchema, config: fresh }, async (request) => {
    const overlapSeconds = request.body?.overlapSeconds ?? DEFAULT_OVERLAP_SECONDS
    const { webhook, secret } = await rotateSecret(
      ctx,
      request.caller.accountId,
      request.params.webhookId,
      overlapSeconds,
      actorOf(request.caller),
    )
    return { success: true as const, webhook: presentWebhook(webhook), secret }
  })
}

const NOT_FOUND = errorAnswer('`Webhook not found`: unknown, malformed, or another account’s.')
const tags = ['Webhooks']

const listSchema = {
  tags,
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description: 'Where events are sent. Needs the scope `webhooks:write`.',
  response: { 200: answer('All webhooks, oldest first.', { webhooks: webhookShape.array() }), ...commonErrors },
}

const createSchema = {
  tags,
  operationId: 'createWebhook',
  summary: 'Add a webhook',
  description:
    'Events are posted to `url`, signed as Standard Webhooks says. A `WEBHOOK_TEST` is sent at once and the answer tells what came of it; the webhook is kept either way. Needs the scope `webhooks:write`.',
  body: newWebhookBody,
  response: {
    201: answer('The webhook, its signing secret (shown this once), and the outcome of the test.', {
      webhook: webhookShape,
      secret: secretField,
      test: testShape,
    }),
    ...bodyErrors,
    409: errorAnswer('The account has 100 webhooks, and may have no more.'),
    ...commonErrors,
  },
}

const readSchema = {
  tags,
  operationId: 'getWebhook',
  summary: 'Read a webhook',
  description: 'Needs the scope `webhooks:write`.',
  params: webhookParams,
  response: { 200: answer('The webhook.', { webhook: webhookShape }), 404: NOT_FOUND, ...commonErrors },
}

const patchSchema = {
  tags,
  operationId: 'updateWebhook',
  summary: 'Change a webhook',
  description:
    'Only the fields given change. A new `url` is tested at once, as on creating; on another host it goes without the `authorization` of the old one, unless that is given again. With `enabled: false` it gets no events, and what was still to be sent counts as failed; with `enabled: true` its record of failures starts anew, and what it missed can be resent. Needs the scope `webhooks:write`.',
  params: webhookParams,
  body: webhookPatchBody,
  response: {
    200: answer('The webhook, and the outcome of the test if the address changed.', {
      webhook: webhookShape,
      test: testShape.nullable(),
    }),
    ...bodyErrors,
    404: NOT_FOUND,
    ...commonErrors,
  },
}

const deleteSchema = {
  tags,
  operationId: 'deleteWebhook',
  summary: 'Remove a webhook',
  description:
    'Nothing more is sent to it, and what was still to be sent counts as failed. Its events stay readable. Needs the scope `webhooks:write`.',
  params: webhookParams,
  response: { 200: answer('Removed.', {}), 404: NOT_FOUND, ...commonErrors },
}

const testSchema = {
  tags,
  operationId: 'testWebhook',
  summary: 'Send a test event',
  description:
    'Sends `WEBHOOK_TEST` now, to a disabled webhook too, and tells what came of it. It is not tried again. Takes no body. Needs the scope `webhooks:write`.',
  params: webhookParams,
  response: { 200: answer('What came of it.', { test: testShape }), 404: NOT_FOUND, ...commonErrors },
}

const rotateSchema = {
  tags,
  operationId: 'rotateWebhookSecret',
  summary: 'Replace the signing secret',
  description:
    'For `overlapSeconds` (a day unless given, a week at most) both secrets sign, so that receivers can change over; of a secret replaced before that, nothing is left. Needs the scope `webhooks:write`.',
  params: webhookParams,
  body: rotateBody,
  response: {
    200: answer('The new secret, shown this once.', { webhook: webhookShape, secret: secretField }),
    ...bodyErrors,
    404: NOT_FOUND,
    ...commonErrors,
  },
}
