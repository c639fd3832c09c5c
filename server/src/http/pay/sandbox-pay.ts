import type { FastifyRequest } from 'fastify'
import { request as exchange } from 'undici'
import { Fault } from '../../base/fault.ts'
import { findPublicCharge, type Charge } from '../../domain/deposits/charge-reads.ts'
import { readPayerNumber } from '../../domain/deposits/payer-numbers.ts'
import type { Context } from '../../domain/context.ts'
import { readBytes } from '../server/body.ts'
import { chosenLanguage } from '../server/language.ts'
import { paymentLinkParams, type Api } from '../server/schemas.ts'

const BODY_LIMIT_BYTES = 1024
const PAY_TIMEOUT_MS = 10_000

export function isSandboxCharge(ctx: Context, charge: Charge): boolean {
  return Boolean(ctx.settings.sandboxBankUrl) && charge.provider === 'sandbox'
}

/** The button "Simulate payment", in the sandbox only. A page of another site may not press it. */
export function sandboxPaymentRoutes(app: Api, ctx: Context): void {
  const bankUrl = ctx.settings.sandboxBankUrl
  if (!bankUrl) return
  readBytes(app, { limitBytes: BODY_LIMIT_BYTES })

  app.post('/payment-link/:paymentLinkId/sandbox-payment', { schema }, async (request, reply) => {
    if (isFromElsewhere(request)) throw new Fault('bad_request', 'Use the button on the payment page')
    const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
    if (!charge || !isSandboxCharge(ctx, charge)) throw new Fault('not_found', 'Charge not found')
    // Who presses the button is the right person.
    if (charge.status === 'PENDING')
      await payAtBank(bankUrl, { txid: charge.id, payer: (await readPayerNumber(ctx, charge.id))?.number })
    const lang = chosenLanguage(request.query)
    // Relative, in case a proxy serves the service under a path.
    return reply.redirect(`../${charge.paymentLinkId}${lang ? `?lang=${lang}` : ''}`, 303)
  })
}

const schema = { hide: true, params: paymentLinkParams }

/** Browsers that know this header always send it. Others are let through, since no real money moves. */
function isFromElsewhere(request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin'
}

/** Ignores refusals: the page then shows that the charge was paid, has expired or was canceled meanwhile. */
async function payAtBank(bankUrl: string, order: { txid: string; payer?: string | undefined }): Promise<void> {
  try {
    const { statusCode, body } = await exchange(`${bankUrl}/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
      headersTimeout: PAY_TIMEOUT_MS,
      bodyTimeout: PAY_TIMEOUT_MS,
    })
    await body.dump()
    if (statusCode < 500) return
    throw new Error(`the sandbox bank answered ${statusCode}`)
  } catch (error) {
    throw new Fault('provider_unavailable', 'The sandbox bank did not respond, please try again', { cause: error })
  }
}
