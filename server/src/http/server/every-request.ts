import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { context, propagation, ROOT_CONTEXT, SpanKind, trace, type Span } from '@opentelemetry/api'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { makeCollapsedLog } from '../../base/collapsed-log.ts'
import { Fault } from '../../base/fault.ts'
import { failSpan, isTraced, tracer } from '../../base/tracing.ts'
import { DatabaseUnavailable } from '../../db/failure.ts'
import type { Context } from '../../domain/context.ts'
import { isUnder, placeOf, type RefusalLog } from './envelope.ts'
import { contentSecurityPolicy } from './page-layout.ts'
import { addressOf } from './rate-limit.ts'

// What every request passes before its route, in this order: headers, tracing, log. By its route pattern and never by
// its URL, which may contain a key, a secret of a callback or a payment link.

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined for requests that are not traced. */
    span?: Span
    /** Who asks, as far as it is known. Set before the request can be refused because of who it is. */
    identity: Identity | undefined
    /** Its line is written, or it is counted in another one. */
    isLogged: boolean
  }
}

const OF_PROGRAMS = /^\/(?:api|dashboard\/api|callbacks)\//

export function receiveRequests(app: FastifyInstance, ctx: Context): RefusalLog {
  const headers = everywhereHeaders(ctx.settings)
  app.addHook('onRequest', (request, reply, done) => {
    stamp(headers, request, reply)
    done(protocolFault(request))
  })
  if (isTraced()) traceRequests(app)
  return logRequests(app, ctx)
}

// ---- Address and headers ----

/** Removes scheme and host, which proxies may send. A path with invalid percent-encoding is taken literally. */
export function routable({ url: target = '/' }: { url?: string | undefined }): string {
  if (target.startsWith('/') && !target.includes('%')) return target
  const url = target.replace(/^https?:\/\/[^/?#]*(?=\/)/i, '')
  const path = url.split(/[?#]/, 1)[0]!
  if (!path.includes('%')) return url
  try {
    decodeURIComponent(path)
    return url
  } catch {
    return path.replaceAll('%', '%25') + url.slice(path.length)
  }
}

/** Keeps the caller's id, unless its characters could forge log lines. */
export function requestId(raw: IncomingMessage): string {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID()
}

/** On every response. The policies are the strictest possible; a page that needs more sets a wider one of its own. */
export function everywhereHeaders(settings: {
  publicUrl: string
  hstsIncludesSubdomains: boolean
}): Record<string, string> {
  return {
    'content-security-policy': contentSecurityPolicy({}),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    // A URL may contain an API key or be a payment link. Other sites must see neither.
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(settings.publicUrl.startsWith('https:') ? { 'strict-transport-security': transportSecurity(settings) } : {}),
  }
}

// A year.
function transportSecurity({ hstsIncludesSubdomains }: { hstsIncludesSubdomains: boolean }): string {
  return `max-age=31536000${hstsIncludesSubdomains ? '; includeSubDomains' : ''}`
}

export function stamp(headers: Record<string, string>, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(headers).header('x-request-id', request.id)
  const place = placeOf(request)
  if (isUnder(place, '/api') || isUnder(place, '/dashboard/api')) reply.header('cache-control', 'no-store')
}

// Node's parser accepts a request line without a version, which is HTTP/0.9.
function protocolFault({ raw, headers }: FastifyRequest): Fault | undefined {
  if (raw.httpVersion !== '1.1' && raw.httpVersion !== '1.0')
    return new Fault('bad_request', 'This version of HTTP is not supported: use HTTP/1.1')
  if (raw.httpVersion === '1.1' && headers.host === undefined) return new Fault('bad_request', 'Host header is missing')
  return undefined
}

/** Logged once per process, because strangers may send these headers too. `guiche doctor` says how many came. */
export function noticeForwarded(app: FastifyInstance, { log, metrics }: Pick<Context, 'log' | 'metrics'>): void {
  let isSaid = false
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    if (headers['x-forwarded-for'] !== undefined || headers['forwarded'] !== undefined) {
      metrics.forwardedIgnored.inc()
      if (!isSaid) log.warn({}, FORWARDED_IGNORED)
      isSaid = true
    }
    done()
  })
}

const FORWARDED_IGNORED =
  'a request has X-Forwarded-For or Forwarded, which is ignored: set TRUST_PROXY=true if exactly one proxy is in front'

// ---- Tracing ----

/** Each request is a span, which continues the trace of its caller. Calls to providers become its parts. */
function traceRequests(app: FastifyInstance): void {
  app.decorateRequest('span')

  app.addHook('onRequest', (request, _reply, done) => {
    const { method, headers, routeOptions } = request
    const route = routeOptions.url
    if (route !== undefined && OF_PROGRAMS.test(route)) {
      const attributes = { 'http.request.method': method, 'http.route': route, 'guiche.request_id': request.id }
      // Without `tracestate` and `baggage`: what callers put there is not for banks and receivers.
      const parent = propagation.extract(ROOT_CONTEXT, { traceparent: headers['traceparent'] })
      request.span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent)
    }
    done()
  })

  // Not earlier: what runs after the body has arrived belongs to the events of the socket, and not to the first hook.
  app.addHook('preHandler', ({ span }, _reply, done) => {
    if (span) context.with(trace.setSpan(ROOT_CONTEXT, span), done)
    else done()
  })

  app.addHook('onResponse', (request, { statusCode }, done) => {
    const { span, caller, operator } = request
    span?.setAttributes({
      'http.response.status_code': statusCode,
      'guiche.key_id': (caller ?? operator)?.keyId ?? undefined,
    })
    if (span && statusCode >= 500) failSpan(span, String(statusCode))
    span?.end()
    done()
  })
}

// ---- Log ----

export type Identity = { keyId?: string | null; accountId?: string; operatorId?: string; userId?: string }

const REFUSED = new Set([401, 403, 429])

function logRequests(app: FastifyInstance, { log, metrics }: Pick<Context, 'log' | 'metrics'>): RefusalLog {
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
      if (OF_PROGRAMS.test(route)) log.info(fields, 'request completed')
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

function isOverload(error: unknown): error is Fault {
  return error instanceof Fault && error.code === 'unavailable' && !(error instanceof DatabaseUnavailable)
}
