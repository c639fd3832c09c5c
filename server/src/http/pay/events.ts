import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { ChargeUpdate } from '../../domain/deposits/charge-watch.ts'
import { findPublicCharge, type Charge } from '../../domain/deposits/charge-reads.ts'
import type { Context } from '../../domain/context.ts'
import { NOTHING_HELD, readHeld, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import { addressOf, networkOf } from '../server/rate-limit.ts'
import { errorResponse, paymentLinkParams, type Api } from '../server/schemas.ts'

// Enough for an office or a carrier behind one address. Pages beyond the limit poll instead.
const MAX_STREAMS_PER_ADDRESS = 50
const RETRY_AFTER_SECONDS = 10
// Shorter than the 30 s after which some proxies drop a silent connection.
const HEARTBEAT_MS = 15_000
// How long a page waits before it reconnects. Spread, so that not all pages of a stopped process reconnect at once.
const RECONNECT_MS = { min: 1_000, max: 5_000 }
const CLOSE_WITHIN_MS = 500

/** Server-sent events for open payment pages: the current status, the same as heartbeats, and the final one. */
export function paymentEventRoutes(app: Api, ctx: Context, maxStreams: number): void {
  const streams = makeStreams(maxStreams)
  app.addHook('preClose', async () => streams.endAll())

  app.get(
    '/payment-link/:paymentLinkId/events',
    // No HEAD, which would hold an empty stream open.
    { schema: eventsSchema, exposeHeadRoute: false, config: { isStream: true } },
    async (request, reply) => {
      // It needs no key and reads no cookie, so the checkout of any shop may follow it.
      reply.header('access-control-allow-origin', '*')
      streams.admit(reply.raw, networkOf(addressOf(request)))
      const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
      if (!charge) throw new Fault('not_found', 'Charge not found')
      const held = (await readHeld(ctx, [charge.id])).get(charge.id) ?? NOTHING_HELD
      reply.hijack()
      // The caller may have hung up during the query, and a shutdown ends the response.
      if (!reply.raw.destroyed && !reply.raw.writableEnded) sendEvents(ctx, reply, charge, held)
    },
  )
}

const eventsSchema = {
  tags: ['Payers'],
  operationId: 'watchPayment',
  security: [],
  summary: 'Watch the status of a charge',
  description:
    'Server-sent events with `{ "status" }`: the first at once, then the same every 15 seconds until it changes. A PENDING charge that received a wrong amount also has `heldValue`, in cents, until the operator decides, and `keptValue` once it was credited or written off. The stream ends after a status other than `PENDING`. Needs no key, and pages of any origin may read it. The number of streams per address is limited.',
  params: paymentLinkParams,
  response: {
    200: { description: 'The stream', content: { 'text/event-stream': { schema: z.string() } } },
    404: errorResponse('The charge was not found'),
    429: errorResponse('Too many open streams or requests from this address'),
    503: errorResponse('Too many open streams, or the service is restarting'),
  },
}

function sendEvents(ctx: Context, reply: FastifyReply, charge: Charge, held: HeldMoney): void {
  const { raw } = reply
  // A caller who hangs up causes an error here, which would end the process if unhandled.
  raw.on('error', () => {})
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    // No compression on the way: a proxy that buffers for it would delay the events.
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    // The connection is not reused, and an idle one would delay a shutdown.
    connection: 'close',
  })
  let news: ChargeUpdate = { status: charge.status, held }
  const say = () => raw.write(`data: ${JSON.stringify(presentNews(news))}\n\n`)
  raw.write(`retry: ${reconnectMs()}\n`)
  say()
  if (charge.status !== 'PENDING') return void raw.end()

  const heartbeat = setInterval(say, HEARTBEAT_MS).unref()
  const unwatch = ctx.chargeWatch.watch(charge.id, held, (latest) => {
    news = latest
    say()
    if (news.status === 'PENDING') return
    clearInterval(heartbeat)
    raw.end()
  })
  raw.once('close', () => {
    clearInterval(heartbeat)
    unwatch()
  })
}

function presentNews({ status, held: { heldCents, keptCents } }: ChargeUpdate) {
  if (status !== 'PENDING') return { status }
  return { status, ...(heldCents > 0 && { heldValue: heldCents }), ...(keptCents > 0 && { keptValue: keptCents }) }
}

function reconnectMs(): number {
  return Math.round(RECONNECT_MS.min + Math.random() * (RECONNECT_MS.max - RECONNECT_MS.min))
}

/** Counts the open streams, also per address, and closes them on shutdown. */
function makeStreams(maxStreams: number) {
  const open = new Set<ServerResponse>()
  const perAddress = new Map<string, number>()

  return {
    /** The place is free again when the response ends, for whatever reason. */
    admit(raw: ServerResponse, address: string): void {
      const ofAddress = perAddress.get(address) ?? 0
      const retryAfterSeconds = RETRY_AFTER_SECONDS
      if (ofAddress >= MAX_STREAMS_PER_ADDRESS)
        throw new Fault('rate_limited', 'Too many open payment pages', { retryAfterSeconds })
      if (open.size >= maxStreams)
        throw new Fault('unavailable', 'The service is overloaded, please try again', { retryAfterSeconds })
      open.add(raw)
      perAddress.set(address, ofAddress + 1)
      raw.once('close', () => {
        open.delete(raw)
        const left = (perAddress.get(address) ?? 0) - 1
        if (left > 0) perAddress.set(address, left)
        else perAddress.delete(address)
      })
    },
    endAll(): void {
      for (const raw of open) {
        raw.end()
        setTimeout(() => raw.destroy(), CLOSE_WITHIN_MS).unref()
      }
    },
  }
}
