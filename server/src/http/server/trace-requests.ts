import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readTraceparent } from '../../base/trace-context.ts'
import type { Span, Tracer } from '../../base/tracer.ts'

// Requests of programs: those that are logged too.
const TRACED = /^\/(?:api|dashboard\/api|callbacks)\//

/** Each request is a span, which continues the trace of its caller. Calls to providers become its parts. */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  const spans = new WeakMap<FastifyRequest, Span>()

  app.addHook('onRequest', (request, _reply, done) => {
    const { method, headers, routeOptions } = request
    // The route pattern, never the URL: URLs contain keys, callback secrets and payment links.
    const route = routeOptions.url
    if (route !== undefined && TRACED.test(route))
      spans.set(
        request,
        tracer.begin({
          name: `${method} ${route}`,
          kind: 'server',
          parent: readTraceparent(headers.traceparent) ?? null,
          attributes: { 'http.request.method': method, 'http.route': route, 'guiche.request_id': request.id },
        }),
      )
    done()
  })

  // Not earlier: what runs after the body has arrived belongs to the events of the socket, and not to the first hook.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request)
    if (span) tracer.within(span, () => done())
    else done()
  })

  app.addHook('onResponse', (request, { statusCode }, done) => {
    const span = spans.get(request)
    const keyId = (request.caller ?? request.operator)?.keyId
    span?.set({ 'http.response.status_code': statusCode, 'guiche.key_id': keyId })
    if (statusCode >= 500) span?.fail(String(statusCode))
    span?.end()
    done()
  })
}
