import { readFileSync } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Fault } from '../../base/fault.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The response stays open, and does not count as a request in flight. */
    isStream?: boolean
    /** Answered also while all places are taken, within RESERVED. */
    isReserved?: boolean
  }
  interface FastifyRequest {
    /** For an answer that waits for something to happen: it does not count as in flight any more. */
    leaveInFlight: () => void
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
const DRAIN_RETRY_SECONDS = 2

// Half of them are for open payment pages, which must not displace the API. Each takes about 10 kB of memory.
const MAX_CONNECTIONS = 20_000
// The rest is for the database, providers, webhooks and files.
const SHARE_OF_DESCRIPTORS = 0.5

export function limitInFlight(app: FastifyInstance, load: Load, { openResponses, closeIdle }: Connections): void {
  app.decorateRequest('leaveInFlight', () => {})
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
    // Streams stay open for hours and do little; streams.ts has limits of its own.
    if (config.isStream) return done()
    if (load.inFlight >= load.maxInFlight + (config.isReserved ? RESERVED : 0))
      return done(new Fault('unavailable', 'The service is overloaded, please try again'))
    load.inFlight += 1
    let isCounted = true
    request.leaveInFlight = () => {
      if (isCounted) load.inFlight -= 1
      isCounted = false
    }
    // Not onResponse, which does not run for a caller who hangs up: the count would never go down.
    reply.raw.once('close', request.leaveInFlight)
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

export type Connections = {
  /** Counts the responses that a connection waits for, the new one included. */
  openResponses(socket: Socket, response: ServerResponse): number
  /** Closes those that wait for no response. Node keeps those that sent nothing yet, or a part of their headers. */
  closeIdle(): void
}

/** Keeps fewer than `max` open: the one that has been idle for the longest time makes room for the next. */
export function limitConnections(server: Server, max: number): Connections {
  const bySocket = new WeakMap<Socket, Set<ServerResponse>>()
  const open = new Set<Socket>()
  // In the order in which they became idle.
  const idle = new Set<Socket>()
  const forget = (socket: Socket) => {
    open.delete(socket)
    idle.delete(socket)
  }
  server.maxConnections = max
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    idle.add(socket)
    socket.once('close', () => forget(socket))
    if (open.size < max) return
    // While all others are busy, this is the new one.
    const [oldest = socket] = idle
    forget(oldest.destroy())
  })

  // When a connection breaks, Node emits no 'close' for the responses that wait behind the one it is sending.
  function begin(socket: Socket): Set<ServerResponse> {
    const responses = new Set<ServerResponse>()
    bySocket.set(socket, responses)
    socket.once('close', () => {
      for (const response of responses) if (isWaiting(response)) response.destroy().emit('close')
    })
    return responses
  }

  return {
    openResponses(socket, response) {
      const responses = bySocket.get(socket) ?? begin(socket)
      responses.add(response)
      idle.delete(socket)
      response.once('close', () => {
        responses.delete(response)
        if (responses.size === 0 && open.has(socket)) idle.add(socket)
      })
      return responses.size
    },
    closeIdle() {
      for (const socket of idle) socket.destroy()
    },
  }
}

/** As many as the process has file descriptors for. */
export function maxConnections(): number {
  return Math.min(MAX_CONNECTIONS, Math.floor(openFilesLimit() * SHARE_OF_DESCRIPTORS))
}

/** Node has no getrlimit(). Elsewhere than on Linux the limit is unknown. */
function openFilesLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? Infinity : Number(limit)
  } catch {
    return Infinity
  }
}

/** Node gives a response its socket when its turn comes, and takes it away when all is sent. */
function isWaiting({ socket, writableFinished }: ServerResponse): boolean {
  return socket === null && !writableFinished
}
