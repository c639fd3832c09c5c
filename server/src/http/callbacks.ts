import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Fault } from '../base/fault.ts'
import { enqueueChecks } from '../domain/deposits/checks.ts'
import type { Context } from '../domain/context.ts'
import { providerNamed } from '../domain/ports/provider.ts'
import { makeNotificationLog } from '../domain/deposits/notifications.ts'
import type { Hint, NotificationRequest } from '../domain/ports/provider.ts'
import { isNestedDeeper, readBytes } from './server/body.ts'

// A thousand Pix of the largest shape that API Pix allows are well below this.
const BODY_LIMIT_BYTES = 1024 * 1024
// Several times what any provider nests.
const MAX_DEPTH = 32

/**
 * Where providers tell us that a Pix arrived. Whatever they say is a hint: it is stored as a question to ask them, and nothing in the
 * body is believed. So a 200 promises only that we will ask. A notification that its provider did not sign, where it signs, is 403: nothing that
 * could be corrected and sent again.
 */
export function callbackRoutes(app: FastifyInstance, ctx: Context): void {
  const notifications = makeNotificationLog(ctx)
  readBytes(app, { limitBytes: BODY_LIMIT_BYTES })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    checkSecret(ctx, request.params as CallbackParams)
  })

  // API Pix says that providers append /pix; some do not, and some open the address once to see whether it is there.
  for (const url of ['/callbacks/:provider/:secret', '/callbacks/:provider/:secret/pix']) {
    app.get(url, { schema: { hide: true } }, async () => ({ success: true }))
    app.post(url, { schema: { hide: true }, bodyLimit: BODY_LIMIT_BYTES }, async (request) => {
      const { provider } = request.params as CallbackParams
      const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
      if (isNestedDeeper(body, MAX_DEPTH)) throw new Fault('bad_request', 'Request body is nested too deeply')
      const hints = await readHints(ctx, provider, { headers: request.headers, body })
      if (hints.length > 0) await enqueueChecks(ctx, provider, hints)
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
  throw new Fault('signature_wrong', 'The signature is not of this provider')
}

type CallbackParams = { provider: string; secret: string }

/** A wrong secret looks exactly like a route that does not exist. */
function checkSecret(ctx: Context, { provider, secret }: CallbackParams): void {
  const isKnown = ctx.providers.some((candidate) => candidate.name === provider)
  if (!isKnown || !ctx.settings.callbackSecrets(provider).some((known) => isSame(secret, known))) {
    if (isKnown) ctx.metrics.notifications.inc({ provider, result: 'wrong_secret' })
    throw new Fault('not_found', 'Not found')
  }
}

// Digests have one length whatever was sent, which the comparison needs, and say nothing about how much of it was right.
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
