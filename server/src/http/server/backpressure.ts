import type { FastifyInstance } from 'fastify'
import { Fault } from '../../base/fault.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The response stays open, and does not count as a request in flight. */
    isStream?: boolean
  }
}

/** Leaving: /readyz says not ready, and requests are still served. Draining: new requests are refused. */
export type Load = { inFlight: number; isLeaving: boolean; isDraining: boolean }

// Four seconds of work at a thousand requests per second. Callers do not wait longer.
export const MAX_IN_FLIGHT = 4_000
// About the time that a load balancer needs to notice.
const DRAIN_RETRY_SECONDS = 2

export function limitInFlight(app: FastifyInstance, load: Load, maxInFlight: number): void {
  const leave = () => void (load.inFlight -= 1)
  app.addHook('onRequest', (request, reply, done) => {
    const { url, config } = request.routeOptions
    // Health checks must work when nothing else does.
    if (url === '/livez' || url === '/readyz') return done()
    if (load.isDraining)
      return done(
        new Fault('unavailable', 'The service is restarting, please try again', {
          retryAfterSeconds: DRAIN_RETRY_SECONDS,
        }),
      )
    // Streams stay open for hours and do little; pay/events.ts has a limit of its own.
    if (config.isStream) return done()
    if (load.inFlight >= maxInFlight)
      return done(new Fault('unavailable', 'The service is overloaded, please try again'))
    load.inFlight += 1
    // Not onResponse, which does not run for a caller who hangs up: the count would never go down.
    reply.raw.on('close', leave)
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (load.isDraining) reply.header('connection', 'close')
    done()
  })
  app.addHook('preClose', async () => void (load.isDraining = true))
}
