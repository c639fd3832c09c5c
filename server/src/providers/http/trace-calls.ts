import { writeTraceparent } from '../../base/trace-context.ts'
import type { Tracer } from '../../base/tracer.ts'
import type { HttpClient } from './client.ts'
import type { Guard } from './guard.ts'

type Parts = { http: HttpClient; guard: Guard }

/** Each call is a span, its wait for the rate limit included. Providers get its traceparent: no signature covers it. */
export function traceCalls(tracer: Tracer, provider: string, { http, guard }: Parts): Parts {
  return {
    http: {
      ...http,
      send(request) {
        const span = tracer.current()
        if (!span) return http.send(request)
        return http.send({ ...request, headers: { ...request.headers, traceparent: writeTraceparent(span) } })
      },
    },
    guard: {
      ...guard,
      run: (operation, deadline, call) =>
        tracer.span(
          {
            name: `${provider} ${operation}`,
            kind: 'client',
            attributes: { 'guiche.provider': provider, 'guiche.operation': operation },
          },
          async (span) => {
            const reply = await guard.run(operation, deadline, call)
            const outcome = reply.kind === 'failed' && reply.isWithheld ? 'withheld' : reply.kind
            const status = reply.kind === 'refused' ? reply.status : undefined
            span.set({ 'guiche.outcome': outcome, 'http.response.status_code': status })
            if (reply.kind === 'failed') span.fail(outcome)
            return reply
          },
        ),
    },
  }
}
