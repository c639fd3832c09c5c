import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { ChargeUpdate } from '../../domain/deposits/charge-watch.ts'
import { findPublicCharge, type Charge } from '../../domain/deposits/charge-reads.ts'
import type { Context } from '../../domain/context.ts'
import { NOTHING_HELD, readHeld, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import { addressOf, networkOf } from '../server/rate-limit.ts'
import { errorResponse, paymentLinkParams, type Api } from '../server/schemas.ts'
import { beginEvents, makeStreams } from '../server/streams.ts'

// Enough for an office or a carrier behind one address. Pages beyond the limit poll instead.
const MAX_STREAMS_PER_ADDRESS = 50
// Shorter than the 30 s after which some proxies drop a silent connection.
const HEARTBEAT_MS = 15_000

/** Server-sent events for open payment pages: the current status, the same as heartbeats, and the final one. */
export function paymentEventRoutes(app: Api, ctx: Context, maxStreams: number): void {
  const streams = makeStreams({ max: maxStreams, maxPerOwner: MAX_STREAMS_PER_ADDRESS })
  app.addHook('preClose', async () => streams.endAll())

  app.get(
    '/payment-link/:paymentLinkId/events',
    // No HEAD, which would hold an empty stream open.
    { schema: eventsSchema, exposeHeadRoute: false, config: { isStream: true } },
    async (request, reply) => {
      // It needs no key and reads no cookie, so the checkout of any shop may follow it.
      reply.header('access-control-allow-origin', '*')
      const ending = streams.admit(reply.raw, networkOf(addressOf(request)))
      const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
      if (!charge) throw new Fault('not_found', 'Charge not found')
      const held = (await readHeld(ctx, [charge.id])).get(charge.id) ?? NOTHING_HELD
      if (beginEvents(reply, ending)) sendEvents(ctx, reply, charge, held)
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
  let news: ChargeUpdate = { status: charge.status, held }
  const say = () => raw.write(`data: ${JSON.stringify(presentNews(news))}\n\n`)
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
