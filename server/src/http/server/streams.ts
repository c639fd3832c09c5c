import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { Fault } from '../../base/fault.ts'

/** Counts the answers that stay open, also for each owner, and ends them when the service stops. */
export type Streams = {
  /** The place is free again when the response ends, for whatever reason. The signal is aborted then, or at a stop. */
  admit(raw: ServerResponse, owner: string): AbortSignal
  endAll(): void
}

const RETRY_AFTER_SECONDS = 10
const CLOSE_WITHIN_MS = 500

export function makeStreams({ max, maxPerOwner }: { max: number; maxPerOwner: number }): Streams {
  const open = new Map<ServerResponse, AbortController>()
  const perOwner = new Map<string, number>()
  const retryAfterSeconds = RETRY_AFTER_SECONDS
  let isEnding = false

  return {
    admit(raw, owner) {
      const ofOwner = perOwner.get(owner) ?? 0
      if (ofOwner >= maxPerOwner) throw new Fault('rate_limited', 'Too many open streams', { retryAfterSeconds })
      if (isEnding || open.size >= max)
        throw new Fault('unavailable', 'The service is overloaded, please try again', { retryAfterSeconds })
      const ending = new AbortController()
      open.set(raw, ending)
      perOwner.set(owner, ofOwner + 1)
      raw.once('close', () => {
        open.delete(raw)
        const left = (perOwner.get(owner) ?? 0) - 1
        if (left > 0) perOwner.set(owner, left)
        else perOwner.delete(owner)
        ending.abort()
      })
      return ending.signal
    },
    endAll() {
      isEnding = true
      for (const [raw, ending] of open) {
        ending.abort()
        setTimeout(() => raw.destroy(), CLOSE_WITHIN_MS).unref()
      }
    },
  }
}

/** Begins server-sent events. False if the caller hung up or the service stopped meanwhile. */
export function beginEvents(reply: FastifyReply, ending: AbortSignal): boolean {
  const { raw } = reply
  reply.hijack()
  // A caller who hangs up causes an error here, which would end the process if unhandled.
  raw.on('error', () => {})
  if (ending.aborted) {
    raw.destroy()
    return false
  }
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    // No compression on the way: a proxy that buffers for it would delay the events.
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    // The connection is not reused, and an idle one would delay a shutdown.
    connection: 'close',
  })
  raw.write(`retry: ${reconnectMs()}\n`)
  ending.addEventListener('abort', () => raw.end())
  return true
}

// How long a client waits before it reconnects. Spread, so that not all clients of a stopped process come at once.
const RECONNECT_MS = { min: 1_000, max: 5_000 }

function reconnectMs(): number {
  return Math.round(RECONNECT_MS.min + Math.random() * (RECONNECT_MS.max - RECONNECT_MS.min))
}
