import type { FastifyInstance } from 'fastify'
import { Fault } from '../../base/fault.ts'
import type { Connections } from './connections.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The response stays open, and does not count as a request in flight. */
    isStream?: boolean
    /** Answered also while all places are taken, within RESERVED. */
    isReserved?: boolean
  }
}

export type Load = {
  inFlight: number
  maxInFlight: number
  /** /readyz says not ready, and requests are still served. */
  isLeaving: boolean
  /** New requests are refused. */
  isDraining: boolean
}

// Four seconds of work at a thousand requests per second. Callers do not wait longer.
export const MAX_IN_FLIGHT = 4_000
// Places for scrapes: the metrics of an overloaded process are what its operator needs.
const RESERVED = 10
// Hardly any client sends requests ahead of their answers, and one connection must not take the places of others.
const MAX_PER_CONNECTION = 32
// About the time that a load balancer needs to notice.
const DRAIN_RETRY_SECONDS = 2

export function limitInFlight(app: FastifyInstance, load: Load, { openResponses, closeIdle }: Connections): void {
  const leave = () => void (load.inFlight -= 1)
  app.addHook('onRequest', (request, reply, done) => {
    const { url, config } = request.routeOptions
    const excess = openResponses(request.raw.socket, reply.raw) - MAX_PER_CONNECTION
    // The connection closes after the first refusal, so a response to the others would never be sent.
    if (excess > 1) return
    if (excess === 1) {
      reply.header('connection', 'close')
      return done(new Fault('rate_limited', 'Too many requests at once on one connection', { retryAfterSeconds: 1 }))
    }
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
    if (load.inFlight >= load.maxInFlight + (config.isReserved ? RESERVED : 0))
      return done(new Fault('unavailable', 'The service is overloaded, please try again'))
    load.inFlight += 1
    // Not onResponse, which does not run for a caller who hangs up: the count would never go down.
    reply.raw.once('close', leave)
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (load.isDraining) reply.header('connection', 'close')
    done()
  })
  app.addHook('preClose', async () => {
    load.isDraining = true
    closeIdle()
  })
}

export function isSaturated({ inFlight, maxInFlight }: Load): boolean {
  return inFlight >= maxInFlight
}
