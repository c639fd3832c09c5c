import { context, propagation, ROOT_CONTEXT, SpanKind, trace, type Span } from '@opentelemetry/api'
import type { FastifyInstance } from 'fastify'
import { failSpan, tracer } from '../../base/tracing.ts'

// Requests of programs: those that are logged too.
const TRACED = /^\/(?:api|dashboard\/api|callbacks)\//

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined for requests that are not traced. */
    span?: Span
  }
}

/** Each request is a span, which continues the trace of its caller. Calls to providers become its parts. */
export function traceRequests(app: FastifyInstance): void {
  app.decorateRequest('span')

  app.addHook('onRequest', (request, _reply, done) => {
    const { method, headers, routeOptions } = request
    // The route pattern, never the URL: URLs contain keys, callback secrets and payment links.
    const route = routeOptions.url
    if (route !== undefined && TRACED.test(route)) {
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
