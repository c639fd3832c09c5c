import type { FastifyInstance, FastifyRequest } from 'fastify'
import { makeCollapsedLog } from '../base/collapsed-log.ts'
import { Fault } from '../base/fault.ts'
import { DatabaseUnavailable } from '../db/failure.ts'
import type { Context } from '../domain/context.ts'
import { addressOf } from './server/client-address.ts'
import type { RefusalLog } from './server/envelope.ts'

// Each request is one line, by its route pattern and never by its URL, which may contain a key or a secret.

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, as far as it is known. Set before the request can be refused because of who it is. */
    identity: Identity | undefined
    /** Its line is written, or it is counted in another one. */
    isLogged: boolean
  }
}

export type Identity = { keyId?: string | null; accountId?: string; operatorId?: string; userId?: string }

/** Whoever looks for an attack looks for these: who may not, who is nobody, who comes too often. */
const REFUSED = new Set([401, 403, 429])

export function logRequests(app: FastifyInstance, { log, metrics }: Pick<Context, 'log' | 'metrics'>): RefusalLog {
  const overload = makeCollapsedLog(
    log,
    { began: 'requests refused: the service is overloaded or restarting', ended: 'no request is refused any more' },
    Date.now,
  )
  app.decorateRequest('identity')
  app.decorateRequest('isLogged', false)
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request
    const { statusCode: status, elapsedTime } = reply
    const route = routeOptions.url ?? 'none'
    metrics.httpSeconds.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, elapsedTime / 1000)
    if (status < 500) overload.worked()
    if (!request.isLogged) {
      const fields = { ...lineOf(request, status), ms: Math.round(elapsedTime), keyId: request.identity?.keyId }
      if (/^\/(?:api|dashboard\/api|callbacks)\//.test(route)) log.info(fields, 'request completed')
      else log.debug(fields, 'request completed')
    }
    done()
  })

  return {
    refused(request, reply, { status, code }) {
      if (!REFUSED.has(status) || request.isLogged) return
      request.isLogged = true
      const { keyId, accountId, operatorId, userId } = request.identity ?? {}
      log.info(
        {
          ...lineOf(request, status),
          ms: Math.round(reply.elapsedTime),
          code,
          address: addressOf(request),
          keyId: keyId ?? undefined,
          accountId,
          operatorId,
          userId,
        },
        'request refused',
      )
    },
    failed(request, error, { status, code }) {
      if (isOverload(error)) {
        request.isLogged = true
        overload.failed(error.message, { code, reason: error.message })
        return
      }
      const fields = { ...lineOf(request, status), err: error }
      if (status === 500) log.error(fields, 'internal error while handling a request')
      else log.warn(fields, 'request refused: the service or a provider is unavailable')
    },
  }
}

function lineOf({ id, method, routeOptions }: FastifyRequest, status: number) {
  return { requestId: id, method, route: routeOptions.url ?? 'none', status }
}

/** The database has a log of its outages itself. */
function isOverload(error: unknown): error is Fault {
  return error instanceof Fault && error.code === 'unavailable' && !(error instanceof DatabaseUnavailable)
}
