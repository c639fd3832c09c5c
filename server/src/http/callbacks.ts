import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Fault } from '../base/fault.ts'
import { takeHints, type Hint } from '../domain/checks.ts'
import type { Context } from '../domain/context.ts'
import { readJsonOnly } from './body.ts'

// A thousand Pix of the largest shape that API Pix allows are well below this.
const BODY_LIMIT_BYTES = 1024 * 1024
// The largest page of API Pix, and so the largest list a provider has reason to send.
const MAX_HINTS = 1_000

/**
 * Where providers tell us that a Pix arrived. Whatever they say is a hint: it is stored as a question to ask them, and nothing in the
 * body is believed. So a 200 promises only that we will ask.
 */
export function callbackRoutes(app: FastifyInstance, ctx: Context): void {
  readJsonOnly(app, { anyType: true, limitBytes: BODY_LIMIT_BYTES })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    checkSecret(ctx, request.params as CallbackParams)
  })

  // API Pix says that providers append /pix; some do not, and some open the address once to see whether it is there.
  for (const url of ['/callbacks/:provider/:secret', '/callbacks/:provider/:secret/pix']) {
    app.get(url, { schema: { hide: true } }, async () => ({ success: true }))
    app.post(url, { schema: { hide: true }, bodyLimit: BODY_LIMIT_BYTES }, async (request) => {
      const hints = readHints(request.body)
      if (hints.length > 0) await takeHints(ctx, providerOf(request), hints)
      return { success: true }
    })
  }
}

type CallbackParams = { provider: string; secret: string }

/** A wrong secret looks exactly like a route that does not exist. */
function checkSecret(ctx: Context, { provider, secret }: CallbackParams): void {
  const isKnown = ctx.providers.some((candidate) => candidate.name === provider)
  if (!isKnown || !isSame(secret, ctx.settings.callbackSecret(provider))) throw new Fault('not_found', 'Not found')
}

// Digests have one length whatever was sent, which the comparison needs, and say nothing about how much of it was right.
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

function providerOf(request: FastifyRequest): string {
  return (request.params as CallbackParams).provider
}

/** Pure. A body without `pix` is a provider's test, or news of something else: fine, and nothing to do. */
export function readHints(body: unknown): Hint[] {
  if (body === undefined) return []
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badBody('Request body must be a JSON object')
  const { pix } = body as { pix?: unknown }
  if (pix === undefined) return []
  if (!Array.isArray(pix)) throw badBody('pix must be a list')
  if (pix.length > MAX_HINTS) throw badBody(`pix must hold at most ${MAX_HINTS} items`)
  return pix.map(readHint).filter((hint) => hint.txid !== null || hint.endToEndId !== null)
}

function readHint(item: unknown): Hint {
  const { txid, endToEndId } = typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : {}
  return { txid: shaped(txid, /^[A-Za-z0-9]{1,35}$/), endToEndId: shaped(endToEndId, /^[A-Za-z0-9]{32}$/) }
}

function shaped(value: unknown, shape: RegExp): string | null {
  return typeof value === 'string' && shape.test(value) ? value : null
}

function badBody(text: string): Fault {
  return new Fault('bad_request', text)
}
