import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { ChargeNews } from '../../domain/deposits/charge-watch.ts'
import type { Charge } from '../../domain/deposits/charge-states.ts'
import type { Context } from '../../domain/context.ts'
import { findPublicCharge } from '../../domain/deposits/deposits.ts'
import { NOTHING_HELD, readHeld, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import type { Api } from '../server/schemas.ts'
import { networkOf } from '../server/client-address.ts'
import { errorResponse, paymentLinkParams } from '../server/schemas.ts'

// Each costs some 10 kB of memory; the server takes twice as many connections, see app.ts.
export const MAX_STREAMS = 10_000
// An office or a carrier may put some dozens of payers behind one address; the pages of those beyond it ask now and then instead.
const MAX_STREAMS_PER_ADDRESS = 50
const RETRY_AFTER_SECONDS = 10
// Shorter than the 30 s after which impatient proxies drop a silent connection.
const HEARTBEAT_MS = 15_000
// How long a page waits before it connects again. Spread, so that those of a stopped process do not all arrive at the next one at once.
const RECONNECT_MS = { min: 1_000, max: 5_000 }
// A reader who is gone without a word must not hold up the end of the process, which has five seconds in all.
const FAREWELL_MS = 500

/** The news for open payment pages, as server-sent events: the status now, again as a heartbeat, and the one that ends it. */
export function paymentEventRoutes(app: Api, ctx: Context, maxStreams = MAX_STREAMS): void {
  const streams = makeStreams(maxStreams)
  app.addHook('preClose', async () => streams.endAll())

  app.get(
    '/payment-link/:paymentLinkId/events',
    // No HEAD, which would hold a stream open that carries nothing.
    { schema: eventsSchema, exposeHeadRoute: false, config: { isStream: true } },
    async (request, reply) => {
      streams.admit(reply.raw, networkOf(request.ip))
      const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
      if (!charge) throw new Fault('not_found', 'Charge not found')
      const held = (await readHeld(ctx, [charge.id])).get(charge.id) ?? NOTHING_HELD
      reply.hijack()
      // Whoever hung up during the query has left already, and at a stop the answer is over.
      if (!reply.raw.destroyed && !reply.raw.writableEnded) sendEvents(ctx, reply, charge, held)
    },
  )
}

const eventsSchema = {
  tags: ['Payers'],
  operationId: 'watchPayment',
  security: [],
  summary: 'Status of a charge, as it changes',
  description:
    'Server-sent events. Each is `{ "status" }`: the first at once, then the same again every 15 seconds while nothing happens. A PENDING charge that received another amount also has `heldValue`, in cents, while the operator decides on it, and `keptValue` once it was credited or written off. The stream ends after a status other than `PENDING`. Needs no key; the number of streams is limited per address.',
  params: paymentLinkParams,
  response: {
    200: { description: 'The stream', content: { 'text/event-stream': { schema: z.string() } } },
    404: errorResponse('Nothing matches'),
    429: errorResponse('Too many open streams or requests from this address'),
    503: errorResponse('Too many open streams, or the service is restarting'),
  },
}

function sendEvents(ctx: Context, reply: FastifyReply, charge: Charge, held: HeldMoney): void {
  const { raw } = reply
  // Of a reader who hangs up while something is said to them; unheard, it would end the process.
  raw.on('error', () => {})
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    // Not even compressed on its way: a proxy that gathers bytes for that keeps the news.
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    // After its end the connection is of no more use, and an idle one would hold up the end of the process.
    connection: 'close',
  })
  let news: ChargeNews = { status: charge.status, held }
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

function presentNews({ status, held: { heldCents, keptCents } }: ChargeNews) {
  if (status !== 'PENDING') return { status }
  return { status, ...(heldCents > 0 && { heldValue: heldCents }), ...(keptCents > 0 && { keptValue: keptCents }) }
}

function reconnectMs(): number {
  return Math.round(RECONNECT_MS.min + Math.random() * (RECONNECT_MS.max - RECONNECT_MS.min))
}

/** Counts the open streams, by address too, and knows them for the day's end. */
function makeStreams(maxStreams: number) {
  const open = new Set<ServerResponse>()
  const perAddress = new Map<string, number>()

  return {
    /** Its place is free again when the answer is over, however it ends. */
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
        const left = perAddress.get(address)! - 1
        if (left > 0) perAddress.set(address, left)
        else perAddress.delete(address)
      })
    },
    endAll(): void {
      for (const raw of open) {
        raw.end()
        setTimeout(() => raw.destroy(), FAREWELL_MS).unref()
      }
    },
  }
}
