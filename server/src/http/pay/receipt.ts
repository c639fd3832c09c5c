import type { FastifyReply } from 'fastify'
import { formatCnpj } from '../../base/cnpj.ts'
import { html, type Html } from '../../base/html.ts'
import type { Context } from '../../domain/context.ts'
import { findPublicCharge, paidCents } from '../../domain/deposits/charge-reads.ts'
import { chosenLanguage, readerOf } from '../server/language.ts'
import { sendPage } from '../server/page-layout.ts'
import { paymentLinkParams, type Api } from '../server/schemas.ts'
import { brandStyle, logoImage, payeeName } from './brand.ts'
import { moneyText } from './format.ts'
import { footer, heldAdvice, langQuery, pageAnswer, sendMissing, timeText, viewOf, type View } from './page.ts'

/** What a payer keeps. It can be read without a script, and prints on a sheet or a roll. */
export function receiptRoutes(app: Api, ctx: Context): void {
  app.get('/payment-link/:paymentLinkId/receipt', { schema: receiptSchema }, async (request, reply) => {
    const reader = readerOf(request)
    const chosen = chosenLanguage(request.query)
    reply.header('x-robots-tag', 'noindex, nofollow')
    const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
    if (!charge) return sendMissing(reply.code(404), reader.language)
    // Relative, in case a proxy serves the service under a path.
    if (charge.status !== 'COMPLETED')
      return reply.redirect(`../${charge.paymentLinkId}${chosen ? `?lang=${chosen}` : ''}`, 303)
    return sendReceipt(reply, await viewOf(ctx, charge, { reader, chosen }))
  })
}

const receiptSchema = {
  tags: ['Payers'],
  operationId: 'getPaymentReceipt',
  security: [],
  summary: 'Receipt of a paid charge',
  description:
    'A page to print: amount, payee, time, `endToEndId` and id of the charge, and what was refunded. Until the charge is COMPLETED it leads to the payment page. Needs no key.',
  params: paymentLinkParams,
  querystring: langQuery,
  response: {
    200: pageAnswer('The page'),
    404: pageAnswer('A page that says that the charge was not found'),
    429: pageAnswer('A page that says that this address sent too many requests'),
  },
}

// A roll of 80 mm leaves about 70 mm, too little for a name and its value beside each other.
const RECEIPT_STYLE =
  '.facts div{display:block;break-inside:avoid}.facts dd{text-align:left;overflow-wrap:anywhere}@page{margin:5mm}' +
  '@media print{main{max-width:none;padding:0}.card{border:0;padding:0}.logo{height:2.5rem}}'

// The dashboard opens it to print it. Nothing else needs a script.
const RECEIPT_SCRIPT = `if (location.hash === '#print') print()`

function sendReceipt(reply: FastifyReply, view: View): FastifyReply {
  const { charge, brand, texts, reader } = view
  const heldText = heldAdvice(view)
  return sendPage(reply, {
    language: reader.language,
    title: `${texts.receipt.title} · ${moneyText(reader.locale, paidCents(charge))}`,
    style: brandStyle(brand) + RECEIPT_STYLE,
    script: RECEIPT_SCRIPT,
    main: html`${view.isSandbox && html`<header class="sandbox">${texts.sandbox}</header>`}
      <main>
        ${logoImage(brand)}
        <article class="card COMPLETED">
          <h1>${texts.receipt.title}</h1>
          <p class="amount long">${moneyText(reader.locale, paidCents(charge))}</p>
          <dl class="facts">
            ${factsOf(view).map(
              ([name, value]) =>
                html`<div>
                  <dt>${name}</dt>
                  <dd>${value}</dd>
                </div>`,
            )}
          </dl>
          ${heldText && html`<p class="note held">${heldText}</p>`}
          <p class="note small">${texts.receipt.about}</p>
        </article>
        ${footer(brand, texts, reader.language)}
      </main>`,
  })
}

function factsOf({ charge, brand, texts, reader }: View): [name: string, value: Html | string][] {
  const money = (cents: number) => moneyText(reader.locale, cents)
  const { paidAt, refundedCents, description, endToEndId } = charge
  const facts: [string, Html | string | null][] = [
    [texts.receipt.payee, html`<bdi>${payeeName(brand, charge)}</bdi>`],
    ['CNPJ', brand.cnpj && formatCnpj(brand.cnpj)],
    [texts.receipt.description, description && html`<bdi>${description}</bdi>`],
    [texts.paidAt, paidAt && timeText(paidAt, texts, reader)],
    [texts.receipt.endToEndId, endToEndId],
    [texts.receipt.chargeId, charge.id],
    [texts.refunded, refundedCents > 0 ? money(refundedCents) : null],
    [texts.receipt.left, refundedCents > 0 ? money(paidCents(charge) - refundedCents) : null],
  ]
  return facts.flatMap(([name, value]) => (value ? [[name, value] as [string, Html | string]] : []))
}
