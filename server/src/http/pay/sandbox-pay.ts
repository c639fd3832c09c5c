import type { FastifyRequest } from 'fastify'
import { request as exchange } from 'undici'
import { Fault } from '../../base/fault.ts'
import type { Charge } from '../../domain/deposits/charge-states.ts'
import type { Context } from '../../domain/context.ts'
import { findPublicCharge } from '../../domain/deposits/deposits.ts'
import type { Api } from '../server/schemas.ts'
import { readBytes } from '../server/body.ts'
import { chosenLanguage } from '../server/language.ts'
import { paymentLinkParams } from '../server/schemas.ts'

// A form without fields.
const BODY_LIMIT_BYTES = 1024
const PAY_TIMEOUT_MS = 10_000

/** True when it is paid with play money, at a bank whose other side we know. */
export function isSandboxCharge(ctx: Context, charge: Charge): boolean {
  return Boolean(ctx.settings.sandboxBankUrl) && charge.provider === 'sandbox'
}

/**
 * "Pay as the bank would", for those who try guiche out. A form, so that it works without scripts. A live service has no such route.
 * Whoever has the link may press the button; the page of another site may not do it for them.
 */
export function sandboxPaymentRoutes(app: Api, ctx: Context): void {
  const bankUrl = ctx.settings.sandboxBankUrl
  if (!bankUrl) return
  readBytes(app, { limitBytes: BODY_LIMIT_BYTES })

  app.post('/payment-link/:paymentLinkId/sandbox-payment', { schema }, async (request, reply) => {
    if (isFromElsewhere(request)) throw new Fault('bad_request', 'Press the button on the payment page itself')
    const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
    if (!charge || !isSandboxCharge(ctx, charge)) throw new Fault('not_found', 'Charge not found')
    if (charge.status === 'PENDING') await payAtBank(bankUrl, charge.id)
    const lang = chosenLanguage(request.query)
    // Relative, for a service that a proxy serves under a path of its own.
    return reply.redirect(`../${charge.paymentLinkId}${lang ? `?lang=${lang}` : ''}`, 303)
  })
}

const schema = { hide: true, params: paymentLinkParams }

/** Browsers that send this header send it always; the others are let through, for it is play money. */
function isFromElsewhere(request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin'
}

/** Refusals are left to the page, which shows what became of the charge: it was paid, has expired or was withdrawn meanwhile. */
async function payAtBank(bankUrl: string, txid: string): Promise<void> {
  try {
    const { statusCode, body } = await exchange(`${bankUrl}/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ txid }),
      headersTimeout: PAY_TIMEOUT_MS,
      bodyTimeout: PAY_TIMEOUT_MS,
    })
    await body.dump()
    if (statusCode < 500) return
    throw new Error(`the sandbox bank answered ${statusCode}`)
  } catch (error) {
    throw new Fault('provider_unavailable', 'The sandbox bank did not answer, please try again', { cause: error })
  }
}
