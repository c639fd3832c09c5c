import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Cents } from '../../base/money.ts'
import { paidCents, findPublicCharge, type Charge } from '../../domain/deposits/charge-reads.ts'
import type { Context } from '../../domain/context.ts'
import { NO_BRAND, readBrand, type Brand } from '../../domain/accounts/brands.ts'
import { returnLink } from '../../domain/accounts/return-urls.ts'
import { payerLabel, policyOf } from '../../domain/core/payers.ts'
import { NOTHING_HELD, readHeld, type HeldMoney } from '../../domain/deposits/held-payments.ts'
import { paymentLinkParams, type Api } from '../server/schemas.ts'
import { html, type Html } from '../../base/html.ts'
import { chosenLanguage, LANGUAGES, readerOf, type Language, type Reader } from '../server/language.ts'
import { sendPage } from '../server/page-layout.ts'
import { brandStyle, cnpjText, contactLine, logoImage, payeeName, receiverName } from './brand.ts'
import { momentText, moneyText } from './format.ts'
import { isSandboxCharge } from './sandbox-pay.ts'
import { PAYMENT_SCRIPT } from './script.ts'
import { LANGUAGE_NAMES, pageStateOf, TEXTS, type PageState, type Texts } from './texts.ts'
import { keptSvg } from './qr-image.ts'

/** The page behind `paymentLinkUrl`. It shows the stored state and never asks the provider. */
export function paymentPageRoutes(app: Api, ctx: Context): void {
  app.get('/payment-link/:paymentLinkId', { schema: pageSchema }, async (request, reply) => {
    const reader = readerOf(request)
    reply.header('x-robots-tag', 'noindex, nofollow')
    const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
    if (!charge) return sendMissing(reply.code(404), reader.language)
    const view = await viewOf(ctx, charge, { reader, chosen: chosenLanguage(request.query) })
    return sendCharge(reply, view)
  })
}

/** What a page about this charge shows to this reader. */
export async function viewOf(
  ctx: Context,
  charge: Charge,
  { reader, chosen }: Pick<View, 'reader' | 'chosen'>,
): Promise<View> {
  const [helds, brand] = await Promise.all([readHeld(ctx, [charge.id]), readBrand(ctx, charge.accountId)])
  const held = helds.get(charge.id) ?? NOTHING_HELD
  const state = pageStateOf(charge, held, ctx.now())
  const isSandbox = ctx.settings.mode === 'test'
  const isPayableHere = state === 'PENDING' && isSandboxCharge(ctx, charge)
  return {
    charge,
    held,
    brand,
    state,
    now: ctx.now(),
    isSandbox,
    isPayableHere,
    reader,
    chosen,
    texts: TEXTS[reader.language],
  }
}

export const langQuery = z.object({
  lang: z
    .string()
    .optional()
    // An unknown language is no reason to refuse a payer.
    .catch(undefined)
    .meta({ description: 'One of pt-BR, en, es. The default is the browser’s preference.', examples: ['pt-BR'] }),
})

const pageSchema = {
  tags: ['Payers'],
  operationId: 'getPaymentPage',
  security: [],
  summary: 'Payment page of a charge',
  description:
    'The page behind `paymentLinkUrl`, with amount, QR code and copy-and-paste code. It shows when the payment arrives. Needs no key.',
  params: paymentLinkParams,
  querystring: langQuery,
  response: {
    200: pageAnswer('The page'),
    404: pageAnswer('A page that says that the charge was not found'),
    429: pageAnswer('A page that says that this address sent too many requests'),
  },
}

export function pageAnswer(description: string) {
  return { description, content: { 'text/html': { schema: z.string() } } }
}

export type View = {
  charge: Charge
  held: HeldMoney
  brand: Brand
  state: PageState
  now: Date
  isSandbox: boolean
  isPayableHere: boolean
  reader: Reader
  chosen: Language | undefined
  texts: Texts
}

// Without scripts the whole page reloads. This leaves time to select the code by hand.
const RELOAD_SECONDS = 10

function sendCharge(reply: FastifyReply, view: View): FastifyReply {
  const { charge, state, texts, reader } = view
  return sendPage(reply, {
    language: reader.language,
    title: `${texts.states[state].title} · ${moneyText(reader.locale, shownCents(view))}`,
    style: brandStyle(view.brand),
    isForm: view.isPayableHere,
    ...(charge.status === 'PENDING' && {
      script: PAYMENT_SCRIPT,
      head: html`<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}" /></noscript>`,
    }),
    main: chargeMain(view),
  })
}

export function chargeMain(view: View): Html {
  const { charge, state, texts, reader } = view
  const isOpen = charge.status === 'PENDING'
  return html`${view.isSandbox && html`<header class="sandbox">${texts.sandbox}</header>`}
    <p id="news" class="unseen" role="status"></p>
    <main${state === 'PENDING' && html` class="pay"`}>
      ${logoImage(view.brand)}
      <article
        class="card ${state}"
        data-state="${state}"
        data-held="${view.held.heldCents} ${view.held.keptCents}"
        ${isOpen && html`data-events="${charge.paymentLinkId}/events" data-left-ms="${charge.expiresAt.getTime() - view.now.getTime()}"`}
      >
        ${stateBanner(view)}
        <div class="sum">${summary(view)} ${charge.status === 'COMPLETED' && afterPayment(view)}</div>
        ${state === 'PENDING' && payment(view)} ${view.isPayableHere && sandboxPayment(view)}
      </article>
      ${footer(view.brand, texts, reader.language)}
    </main>`
}

function stateBanner({ charge, state, now, texts, reader }: View): Html {
  const isPending = state === 'PENDING'
  return html`<div class="state">
    ${ICONS[state]}
    <div>
      <h1>${texts.states[state].title}</h1>
      ${isPending && html`<p>${texts.payUntil} ${timeText(charge.expiresAt, texts, reader, now)}</p>`}
    </div>
    ${isPending && html`<p class="left js" id="left" role="timer" aria-label="${texts.timeLeft}"></p>`}
  </div>`
}

function summary(view: View): Html {
  const { charge, state, texts, reader } = view
  const amount = moneyText(reader.locale, shownCents(view))
  const advice = stateAdvice(view)
  const heldText = heldAdvice(view)
  const payerText = payerAdvice(view)
  const facts: [string, Html | string][] = [
    ...(charge.paidAt ? [[texts.paidAt, timeText(charge.paidAt, texts, reader)] as [string, Html]] : []),
    ...(state === 'EXPIRED' ? [[texts.expiredAt, timeText(charge.expiresAt, texts, reader)] as [string, Html]] : []),
    ...(charge.refundedCents > 0
      ? [[texts.refunded, moneyText(reader.locale, charge.refundedCents)] as [string, string]]
      : []),
  ]
  return html`${payee({ ...view, showsReceiver: state === 'PENDING' })}
    <p class="amount${amount.length > LONG_AMOUNT && ' long'}">${amount}</p>
    ${charge.description && html`<p class="about"><bdi>${charge.description}</bdi></p>`}
    ${payerText && html`<p class="note">${payerText}</p>`} ${advice && html`<p class="note">${advice}</p>`}
    ${heldText && html`<p class="note held">${heldText}</p>`}
    ${
      facts.length > 0 &&
      html`<dl class="facts">
        ${facts.map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div>`,
        )}
      </dl>`
    }`
}

/** Who is paid, and under which name the payer's bank shows it. */
export function payee({
  charge,
  brand,
  texts,
  showsReceiver,
}: Pick<View, 'brand' | 'texts'> & { charge: Pick<Charge, 'accountName' | 'emv'>; showsReceiver: boolean }): Html {
  const cnpj = cnpjText(brand)
  const receiver = showsReceiver ? receiverName(charge.emv) : null
  return html`<p class="payee">
      ${texts.payTo} <b><bdi>${payeeName(brand, charge)}</bdi></b>
    </p>
    ${cnpj && html`<p class="payee small">${cnpj}</p>`}
    ${receiver && html`<p class="payee small">${texts.bankShows} <b>${receiver}</b></p>`}`
}

/** Where to go from here. The link back is a courtesy: what it says proves nothing to the shop. */
function afterPayment({ charge, brand, texts, chosen }: View): Html {
  const { paymentLinkId, returnUrl } = charge
  const back = returnUrl === null ? undefined : returnLink(returnUrl, brand.returnOrigins, paymentLinkId)
  return html`${
      back !== undefined &&
      html`<a class="go" href="${back}" rel="noreferrer">${texts.backTo} <bdi>${payeeName(brand, charge)}</bdi></a>`
    }
    <p class="note"><a href="${paymentLinkId}/receipt${chosen && `?lang=${chosen}`}">${texts.receipt.link}</a></p>`
}

/** The amount received if the page is about it, otherwise the amount of the charge. */
export function shownCents({ charge, held, state }: Pick<View, 'charge' | 'held' | 'state'>): Cents {
  if (state === 'HELD') return held.heldCents
  return state === 'KEPT' ? held.keptCents : paidCents(charge)
}

/** "All done" would be wrong while more money waits for a decision. */
export function stateAdvice({ charge, held, state, texts }: View): string | null {
  if (held.heldCents > 0) return null
  // Nobody canceled it but guiche, because its code was used by another person.
  const isOfOther = state === 'CANCELED' && requiredPayer(charge) !== null && charge.payerMatch === 'mismatched'
  return texts.states[isOfOther ? 'EXPIRED' : state].advice
}

function requiredPayer({ payer }: Charge): string | null {
  return payer !== null && policyOf({ payer }) === 'require' ? payerLabel(payer) : null
}

export function payerAdvice({ charge, state, texts }: View): string | undefined {
  const payer = state === 'PENDING' ? requiredPayer(charge) : null
  return payer === null ? undefined : texts.payer.only(payer)
}

/** About money that did not complete the charge. Of several kinds, the one that matters most to the payer. */
export function heldAdvice({ charge, held, texts, reader }: View): string | undefined {
  const kind = (['held', 'kept', 'returned'] as const).find((name) => held[`${name}Cents`] > 0)
  if (!kind) return undefined
  const receivedCents = held[`${kind}Cents`]
  const received = moneyText(reader.locale, receivedCents)
  if (charge.status === 'COMPLETED') return texts.besides[kind](received)
  const payer = requiredPayer(charge)
  if (payer !== null && kind !== 'kept') {
    if (charge.payerMatch === 'unknown' && kind === 'held') return texts.payer.checking(received)
    if (charge.payerMatch === 'mismatched') return texts.payer.other(received, payer, kind === 'returned')
  }
  if (kind === 'returned') return texts.returned(received, receivedCents !== charge.valueCents)
  return texts[kind](received, moneyText(reader.locale, charge.valueCents))
}

export function payment(
  { charge, texts }: { charge: Pick<Charge, 'emv'>; texts: Texts },
  steps: string[] = texts.steps,
): Html {
  // Copying comes first: on a phone nobody can scan its own screen. Wide pages show the QR code above it.
  return html`<div class="code">
      <label for="code">${texts.codeLabel}</label>
      <input id="code" value="${charge.emv}" readonly spellcheck="false" autocomplete="off" />
      <p class="paper">${charge.emv}</p>
      <button id="copy" class="js" type="button" data-done="${texts.copied}" data-failed="${texts.notCopied}">
        ${texts.copy}
      </button>
      <div class="qr">${keptSvg(charge.emv, texts.qrLabel)}</div>
    </div>
    <div class="steps">
      <h2>${texts.howTo}</h2>
      <ol>
        ${steps.map((step) => html`<li>${step}</li>`)}
      </ol>
    </div>`
}

function sandboxPayment({ charge, texts, chosen }: View): Html {
  return html`<form
    class="bank"
    method="post"
    action="${charge.paymentLinkId}/sandbox-payment${chosen && `?lang=${chosen}`}"
  >
    <p>${texts.sandboxPay.about}</p>
    <button>${texts.sandboxPay.button}</button>
  </form>`
}

export function footer(brand: Brand, texts: Texts, current: Language): Html {
  return html`<footer>
    ${contactLine(brand, texts)}
    <p>${texts.footer}</p>
    <nav aria-label="${texts.languages}">
      ${LANGUAGES.map((language) => {
        const name = LANGUAGE_NAMES[language]
        return language === current
          ? html`<b aria-current="true">${name}</b> `
          : html`<a href="?lang=${language}" lang="${language}" hreflang="${language}">${name}</a> `
      })}
    </nav>
  </footer>`
}

export function timeText(time: Date, texts: Texts, { locale }: Reader, now?: Date): Html {
  return html`<time datetime="${time.toISOString()}">${momentText(locale, time, now)}</time> (${texts.zone})`
}

export function sendMissing(reply: FastifyReply, language: Language): FastifyReply {
  const texts = TEXTS[language]
  return sendPage(reply, {
    language,
    title: texts.missing.title,
    main: html`<main>
      <article class="card MISSING">
        <div class="state">
          ${ICONS.EXPIRED}
          <h1>${texts.missing.title}</h1>
        </div>
        <p class="note">${texts.missing.advice}</p>
      </article>
      ${footer(NO_BRAND, texts, language)}
    </main>`,
  })
}

// Longer amounts need a smaller font to fit a phone: "R$ 9.999.999.999,99".
const LONG_AMOUNT = 13

const icon = (shape: Html) =>
  html`<svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <circle cx="12" cy="12" r="10" />
    ${shape}
  </svg>`

const CLOCK = icon(html`<path d="M12 6.5V12l3.5 2" />`)
export const ICONS: Record<PageState, Html> = {
  PENDING: CLOCK,
  CLOSING: CLOCK,
  HELD: CLOCK,
  KEPT: icon(html`<path d="M12 11v6M12 7.5v.1" />`),
  COMPLETED: icon(html`<path d="m7.5 12.5 3 3 6-6.5" />`),
  REFUNDED: icon(html`<path d="M16 12H8m3-3-3 3 3 3" />`),
  EXPIRED: icon(html`<path d="M12 7v6M12 16.5v.1" />`),
  CANCELED: icon(html`<path d="m8.5 8.5 7 7m0-7-7 7" />`),
}
