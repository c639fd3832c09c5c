import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import { findPublicCharge } from '../../domain/deposits/charge-reads.ts'
import { STATUSES } from '../api/deposit-records.ts'
import { LANGUAGES, readerOf } from '../server/language.ts'
import { cents, errorResponse, paymentLinkParams, response, time, type Api } from '../server/schemas.ts'
import { momentText, moneyText } from './format.ts'
import { payeeName } from './brand.ts'
import { heldAdvice, payerAdvice, shownCents, stateAdvice, viewOf, type View } from './page.ts'
import { keptModules } from './qr-image.ts'
import { PAGE_STATES } from './texts.ts'

/** What the payment page shows, as JSON: for the element `<guiche-pix>`, and for checkouts that draw it themselves. */
export function paymentDataRoutes(app: Api, ctx: Context): void {
  app.get('/payment-link/:paymentLinkId/data', { schema }, async (request, reply) => {
    // It needs no key and reads no cookie, so the checkout of any shop may read it.
    reply.headers({ 'access-control-allow-origin': '*', 'cache-control': 'no-store', 'x-robots-tag': 'noindex' })
    const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
    if (!charge) throw new Fault('not_found', 'Charge not found')
    const { lang } = request.query
    // The language of the shop's page comes before those of the browser, which still say the region.
    const accepted = [lang, request.headers['accept-language']].filter(Boolean).join(',')
    const reader = readerOf({ headers: { 'accept-language': accepted }, query: {} })
    const view = await viewOf(ctx, charge, { reader, chosen: undefined })
    const payment = presentPayment(view)
    return { success: true as const, payment, ...(lang !== undefined && { texts: presentTexts(view) }) }
  })
}

const payment = z.object({
  paymentLinkId: z.string(),
  status: z.enum(STATUSES).meta({ description: 'As in the API: `COMPLETED` is paid.' }),
  state: z.enum(PAGE_STATES).meta({
    description:
      'What the payer is told. Like `status`, and `CLOSING` (its time is over, and the provider has not said yet that it is unpaid), `HELD` (other money arrived, and the operator decides), `KEPT` (the operator decided), `REFUNDED` (all of it).',
  }),
  value: cents.meta({ description: 'What the charge asks for, in cents.' }),
  shownValue: cents.meta({ description: 'The amount that the state is about: asked for, paid, held or kept.' }),
  refundedValue: cents,
  heldValue: cents.meta({ description: 'With `keptValue`, as the stream of events says it.' }),
  keptValue: cents,
  payee: z.string().meta({ description: 'The display name of the shop, or the name of the account.' }),
  description: z.string().nullable(),
  emv: z.string().nullable().meta({ description: 'The code to copy. Null unless the state is `PENDING`.' }),
  qr: z.object({ size: z.int(), modules: z.string() }).nullable().meta({
    description:
      'The QR code of `emv`: `size` modules on each side, the quiet zone of four included. `modules` is base64 of one bit for each, row by row, the highest bit first; 1 is dark.',
  }),
  paidAt: time.nullable(),
  expiresAt: time,
  serverNow: time.meta({ description: 'To count down by: the clock of a phone may be wrong.' }),
  isSandbox: z.boolean().meta({ description: 'No real money.' }),
})

const texts = z
  .object({
    language: z.enum(LANGUAGES),
    name: z.string(),
    state: z.string(),
    amount: z.string(),
    payTo: z.string(),
    notes: z.array(z.string()),
    sandbox: z.string().nullable(),
    timeLeft: z.string(),
    qrLabel: z.string(),
    codeLabel: z.string(),
    copy: z.string(),
    copied: z.string(),
    notCopied: z.string(),
  })
  .meta({ description: 'The same in the words of the payment page. Only with `lang`.' })

const schema = {
  tags: ['Payers'],
  operationId: 'getPaymentData',
  security: [],
  summary: 'What the payment page shows, as JSON',
  description:
    'For a checkout on a page of your own; the element `<guiche-pix>` reads it. It has what the payer may see, and neither fee nor metadata nor your references. Needs no key, and pages of any origin may read it. It is never a proof of payment: the payer’s browser may say anything.',
  params: paymentLinkParams,
  querystring: z.object({
    lang: z
      .string()
      .optional()
      // A strange one is no reason to refuse a payer.
      .catch(undefined)
      .meta({
        description: 'Adds `texts` in this language, or in the one that the browser prefers if it is none of ours.',
        examples: ['pt-BR'],
      }),
  }),
  response: {
    200: response('What the payer may see', { payment, texts: texts.exactOptional() }),
    404: errorResponse('The charge was not found'),
    429: errorResponse('Too many requests from this address'),
  },
}

function presentPayment({ charge, held, brand, state, now, isSandbox }: View): z.input<typeof payment> {
  const isPayable = state === 'PENDING'
  return {
    paymentLinkId: charge.paymentLinkId,
    status: charge.status,
    state,
    value: charge.valueCents,
    shownValue: shownCents({ charge, held, state }),
    refundedValue: charge.refundedCents,
    heldValue: held.heldCents,
    keptValue: held.keptCents,
    payee: payeeName(brand, charge),
    description: charge.description,
    emv: isPayable ? charge.emv : null,
    qr: isPayable ? keptModules(charge.emv) : null,
    paidAt: charge.paidAt?.toISOString() ?? null,
    expiresAt: charge.expiresAt.toISOString(),
    serverNow: now.toISOString(),
    isSandbox,
  }
}

function presentTexts(view: View): z.input<typeof texts> {
  const { charge, state, now, isSandbox, reader, texts: words } = view
  const { footer: name, payTo, timeLeft, qrLabel, codeLabel, copy, copied, notCopied } = words
  const at = (label: string, moment: Date, today?: Date) =>
    `${label} ${momentText(reader.locale, moment, today)} (${words.zone})`
  // "You can close this page" is not for a page of a shop.
  const advice = state === 'COMPLETED' ? null : stateAdvice(view)
  const notes = [
    state === 'PENDING' && at(words.payUntil, charge.expiresAt, now),
    payerAdvice(view),
    advice,
    heldAdvice(view),
    charge.paidAt && at(words.paidAt, charge.paidAt),
    state === 'EXPIRED' && at(words.expiredAt, charge.expiresAt),
    charge.refundedCents > 0 && `${words.refunded} ${moneyText(reader.locale, charge.refundedCents)}`,
  ]
  return {
    language: reader.language,
    name,
    state: words.states[state].title,
    amount: moneyText(reader.locale, shownCents(view)),
    payTo,
    notes: notes.filter((note) => typeof note === 'string'),
    sandbox: isSandbox ? words.sandbox : null,
    timeLeft,
    qrLabel,
    codeLabel,
    copy,
    copied,
    notCopied,
  }
}
