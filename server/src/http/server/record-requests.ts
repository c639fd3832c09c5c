import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiRequest } from '../../domain/accounts/request-log.ts'
import type { Context } from '../../domain/context.ts'
import { addressOf, regionOf } from './rate-limit.ts'

// Paths hold ids; longer ones are no ids of ours.
const MAX_PATH = 300
const MAX_ERROR = 300
const MAX_PARAMETERS = 20
// Whoever sends another name typed something that may be personal.
const PARAMETER = /^[A-Za-z0-9_.-]{1,40}$/
const SECRET = /(gk_(?:test|live)_|whsec_)[^/]*/gi

/** Records each request by a key of an account once it is answered, without what it held. */
export function recordRequests(app: FastifyInstance, { requestLog }: Pick<Context, 'requestLog'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { accountId, keyId } = request.identity ?? {}
    if (accountId !== undefined && keyId)
      requestLog.record(accountId, reply.statusCode >= 400, () => describe(request, reply, { accountId, keyId }))
    done()
  })
}

function describe(
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Pick<ApiRequest, 'accountId' | 'keyId'>,
): ApiRequest {
  const { method, url, refusal } = request
  return {
    ...caller,
    requestId: request.id,
    method,
    route: request.routeOptions.url ?? 'none',
    path: pathOf(url),
    parameters: parametersOf(request.query),
    status: reply.statusCode,
    errorCode: refusal?.code ?? null,
    error: refusal?.error.slice(0, MAX_ERROR) ?? null,
    ms: Math.round(reply.elapsedTime),
    hasIdempotencyKey: request.headers['idempotency-key'] !== undefined,
    network: regionOf(addressOf(request)),
  }
}

/** A key or a secret in the wrong place is not kept. */
function pathOf(url: string): string {
  const end = url.indexOf('?')
  return (end < 0 ? url : url.slice(0, end)).replace(SECRET, '$1…').slice(0, MAX_PATH)
}

function parametersOf(query: unknown): string {
  const names = Object.keys(query ?? {})
  if (names.length === 0) return ''
  return names
    .slice(0, MAX_PARAMETERS)
    .map((name) => (PARAMETER.test(name) ? name : '?'))
    .join(',')
}
