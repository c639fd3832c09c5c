import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Fault } from '../base/fault.ts'
import { currentSpan } from '../base/tracing.ts'
import type { Context } from '../domain/context.ts'
import { recordDisputeHints } from '../domain/disputes/dispute-checks.ts'
import { providerNamed, type Hint, type NotificationRequest } from '../domain/ports/provider.ts'
import { makeNotificationLog } from '../domain/deposits/notifications.ts'
import { isNestedDeeper, readBytes } from './server/body.ts'

// A thousand Pix of the largest size that API Pix allows are well below this.
const BODY_LIMIT_BYTES = 1024 * 1024
const MAX_DEPTH = 32

/**
 * Where providers notify us that a Pix arrived. A notification is only a hint to ask the provider; its content is never
 * trusted, and a 200 means only that we will ask. A wrong signature gets 403, because retrying cannot correct it.
 */
export function callbackRoutes(app: FastifyInstance, ctx: Context): void {
  const notifications = makeNotificationLog(ctx)
  readBytes(app, { limitBytes: BODY_LIMIT_BYTES })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    checkSecret(ctx, request.params as CallbackParams)
  })

  // API Pix says that providers append /pix. Some do not, and some first send a GET to check the URL.
  for (const url of ['/callbacks/:provider/:secret', '/callbacks/:provider/:secret/pix']) {
    app.get(url, { schema: { hide: true } }, async () => ({ success: true }))
    app.post(url, { schema: { hide: true }, bodyLimit: BODY_LIMIT_BYTES }, async (request) => {
      const { provider } = request.params as CallbackParams
      const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
      if (isNestedDeeper(body, MAX_DEPTH)) throw new Fault('bad_request', 'Request body is nested too deeply')
      const hints = await readHints(ctx, provider, { headers: request.headers, body })
      const contested = hints.flatMap(({ isDispute, endToEndId }) => (isDispute && endToEndId ? [endToEndId] : []))
      const paid = hints.filter(({ isDispute }) => !isDispute)
      if (paid.length > 0) await ctx.hints.add({ provider, hints: paid, cause: currentSpan() })
      if (contested.length > 0) await recordDisputeHints(ctx, provider, contested)
      ctx.metrics.notifications.inc({ provider, result: 'accepted' })
      notifications.received(provider)
      return { success: true }
    })
  }
}

async function readHints(ctx: Context, provider: string, request: NotificationRequest): Promise<Hint[]> {
  const count = (result: 'wrong_signature' | 'unreadable') => ctx.metrics.notifications.inc({ provider, result })
  const hints = await providerNamed(ctx, provider)
    .readNotification(request)
    .catch((error: unknown) => {
      count('unreadable')
      throw error
    })
  if (hints !== 'refused') return hints
  count('wrong_signature')
  throw new Fault('signature_wrong', 'Invalid notification signature')
}

type CallbackParams = { provider: string; secret: string }

/** A wrong secret gets the same response as an unknown route. */
function checkSecret(ctx: Context, { provider, secret }: CallbackParams): void {
  const isKnown = ctx.providers.some((candidate) => candidate.name === provider)
  const given = digestOf(secret)
  if (isKnown && ctx.settings.callbackSecrets(provider).some((one) => timingSafeEqual(given, digestOf(one)))) return
  if (isKnown) ctx.metrics.notifications.inc({ provider, result: 'wrong_secret' })
  throw new Fault('not_found', 'Not found')
}

// The comparison needs equal lengths, which digests have, and they reveal nothing about partial matches.
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
