import type { FastifyInstance } from 'fastify'
import { Fault } from '../../base/fault.ts'
import { pathOf } from './envelope.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its answer stays open, and is not counted as a request in flight. */
    isStream?: boolean
  }
}

/** How busy this process is, and whether it is on its way out: leaving, it says so in /readyz and still answers; draining, it refuses. */
export type Load = { inFlight: number; isLeaving: boolean; isDraining: boolean }

// At a thousand requests a second this is four seconds of work; whoever would wait longer has given up already.
export const MAX_IN_FLIGHT = 4_000
// A balancer needs about this long to notice that we are leaving.
const DRAIN_RETRY_SECONDS = 2

export function limitInFlight(app: FastifyInstance, load: Load, maxInFlight: number): void {
  app.addHook('onRequest', (request, reply, done) => {
    // Whoever watches over us must get an answer exactly when nobody else does.
    if (isHealthCheck(pathOf(request))) return done()
    if (load.isDraining)
      return done(
        new Fault('unavailable', 'The service is restarting, please try again', {
          retryAfterSeconds: DRAIN_RETRY_SECONDS,
        }),
      )
    // It waits for hours and works for nobody; payment-events.ts has a bound of its own.
    if (request.routeOptions.config.isStream) return done()
    if (load.inFlight >= maxInFlight)
      return done(new Fault('unavailable', 'The service is overloaded, please try again'))
    load.inFlight += 1
    // Not Fastify's onResponse: it does not run for a caller who hangs up, and the count would only ever grow.
    reply.raw.once('close', () => (load.inFlight -= 1))
    done()
  })
  app.addHook('onSend', async (_request, reply) => {
    if (load.isDraining) reply.header('connection', 'close')
  })
  app.addHook('preClose', async () => void (load.isDraining = true))
}

function isHealthCheck(path: string): boolean {
  return path === '/livez' || path === '/readyz'
}
