import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import { findPublicCharge } from '../../domain/deposits/charge-reads.ts'
import { htmlText } from '../../base/html.ts'
import { errorResponse, integerParameter, paymentLinkParams, type Api } from '../server/schemas.ts'
import { keptPng, keptSvg } from './qr-image.ts'

// The largest is enough for a poster and takes a few milliseconds. The smallest has whole pixels for any code.
const SIZE = { min: 128, max: 1024, default: 512 }
// The code of a charge never changes.
const CACHE_CONTROL = 'public, max-age=86400, immutable'

const binary = (description: string, type: string) => ({
  description,
  content: { [type]: { schema: z.string().meta({ format: 'binary' }) } },
})

/** The images behind `qrCodeLink`. Public, because other sites show them to payers. */
export function qrRoutes(app: Api, ctx: Context): void {
  app.get('/qr/:paymentLinkId.png', { schema: pngSchema }, async (request, reply) => {
    const code = await codeOf(ctx, request.params.paymentLinkId)
    return sendImage(reply, 'image/png', keptPng(code, request.query.size))
  })
  app.get('/qr/:paymentLinkId.svg', { schema: svgSchema }, async (request, reply) => {
    const code = await codeOf(ctx, request.params.paymentLinkId)
    return sendImage(reply, 'image/svg+xml; charset=utf-8', htmlText(keptSvg(code, 'Pix QR code')))
  })
}

export const sizeQuery = z.object({
  size: integerParameter('size', {
    ...SIZE,
    description: `Width and height in pixels, from ${SIZE.min} to ${SIZE.max}.`,
  }),
})

export function imageOf(type: string) {
  return { 200: binary('The image', type), 429: errorResponse('Too many requests from this address') }
}

const pngSchema = {
  tags: ['Payers'],
  operationId: 'getQrPng',
  security: [],
  summary: 'QR code of a charge as PNG',
  description: 'The image behind `qrCodeLink`. Needs no key, and any site can embed it with `<img src="…">`.',
  params: paymentLinkParams,
  querystring: sizeQuery,
  response: {
    ...imageOf('image/png'),
    400: errorResponse('`size` is out of bounds'),
    404: errorResponse('The charge was not found'),
  },
}

const svgSchema = {
  tags: ['Payers'],
  operationId: 'getQrSvg',
  security: [],
  summary: 'QR code of a charge as SVG',
  description: 'The same code, sharp at any size. Needs no key.',
  params: paymentLinkParams,
  response: {
    ...imageOf('image/svg+xml'),
    404: errorResponse('The charge was not found'),
  },
}

async function codeOf(ctx: Context, paymentLinkId: string): Promise<string> {
  const charge = await findPublicCharge(ctx, paymentLinkId)
  if (!charge || charge.emv === '') throw new Fault('not_found', 'Charge not found')
  return charge.emv
}

export function sendImage(reply: FastifyReply, type: string, image: Buffer | string): FastifyReply {
  return reply
    .type(type)
    .headers({ 'cache-control': CACHE_CONTROL, 'cross-origin-resource-policy': 'cross-origin' })
    .send(image)
}
