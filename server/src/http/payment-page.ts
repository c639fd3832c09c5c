import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { formatReais } from '../base/money.ts'
import type { Charge, ChargeStatus } from '../domain/charges.ts'
import type { Context } from '../domain/context.ts'
import { findPublicCharge } from '../domain/deposits.ts'
import type { Api } from './api.ts'
import { html, type Html } from './html.ts'
import { languageOf, type Language } from './language.ts'
import { sendPage } from './look.ts'
import { WORDS, type Words } from './payment-words.ts'
import { qrMatrix, qrSvg } from './qr-image.ts'
import { paymentLinkParams } from './shapes.ts'

/** CLOSING: its time is over, and the provider has not had its last word yet. Nobody should begin to pay it. */
type State = ChargeStatus | 'CLOSING'

/** The page behind `paymentLinkUrl`, for whoever pays. Shows what is stored: the provider is asked by those who are paid. */
export function paymentPageRoutes(app: Api, ctx: Context): void {
  app.get('/payment-link/:paymentLinkId', { schema: pageSchema }, async (request, reply) => {
    const language = languageOf(request.headers['accept-language'])
    reply.header('x-robots-tag', 'noindex, nofollow')
    const charge = await findPublicCharge(ctx, request.params.paymentLinkId)
    if (!charge) return sendMissing(reply.code(404), language)
    return sendCharge(reply, charge, { language, now: ctx.now(), isSandbox: ctx.settings.mode === 'test' })
  })
}

const pageSchema = {
  tags: ['Payers'],
  operationId: 'getPaymentPage',
  security: [],
  summary: 'Payment page of a charge',
  description:
    'The page behind `paymentLinkUrl`: amount, QR code, copy-and-paste code, and the news that the payment has arrived. Needs no key.',
  params: paymentLinkParams,
  response: { 200: pageAnswer('The page'), 404: pageAnswer('A page that says that nothing matches') },
}

function pageAnswer(description: string) {
  return { description, content: { 'text/html': { schema: z.string() } } }
}

type View = { language: Language; now: Date; isSandbox: boolean }

function sendCharge(reply: FastifyReply, charge: Charge, view: View): FastifyReply {
  const words = WORDS[view.language]
  const state = stateOf(charge, view.now)
  const isOpen = state === 'PENDING' || state === 'CLOSING'
  return sendPage(reply, {
    language: view.language,
    title: `${words.states[state].title} · ${formatReais(charge.valueCents)}`,
    // A page that reloads itself loses what the reader is doing, so with scripts it only asks, and without it must.
    ...(isOpen
      ? { script: SCRIPT, head: html`<noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}" /></noscript>` }
      : {}),
    main: html`${view.isSandbox && html`<p class="sandbox">${words.sandbox}</p>`}
      <main>
        <article
          class="card${state === 'EXPIRED' || state === 'CANCELED' || state === 'CLOSING' ? ' past' : ''}"
          data-state="${state}"
        >
          ${stateBanner(charge, state, view.language)} ${summary(charge, words)}
          ${state === 'PENDING' && payment(charge, words)} ${facts(charge, state, view)}
        </article>
        <footer>${words.footer}</footer>
      </main>`,
  })
}

function stateOf(charge: Charge, now: Date): State {
  return charge.status === 'PENDING' && now >= charge.expiresAt ? 'CLOSING' : charge.status
}

function stateBanner(charge: Charge, state: State, language: Language): Html {
  const words = WORDS[language]
  return html`<p class="state ${state}${state !== 'PENDING' && ' closed'}" role="status">
    ${ICONS[state]}<span
      >${words.states[state].title}
      ${state === 'PENDING' && html`<small>${words.payUntil} ${timeText(charge.expiresAt, language)}</small>`}</span
    >
  </p>`
}

function summary(charge: Charge, words: Words): Html {
  const amount = formatReais(charge.valueCents)
  return html`<h1>
      ${words.payTo} <b><bdi>${charge.accountName}</bdi></b>
    </h1>
    <p class="amount${amount.length > LONG_AMOUNT ? ' long' : ''}">${amount}</p>
    ${charge.description && html`<p class="about"><bdi>${charge.description}</bdi></p>`}`
}

function payment(charge: Charge, words: Words): Html {
  return html`<div class="qr">${qrSvg(qrMatrix(charge.emv), words.qrLabel)}</div>
    <label for="code">${words.codeLabel}</label>
    <input id="code" value="${charge.emv}" readonly spellcheck="false" autocomplete="off" />
    <button id="copy" type="button" data-done="${words.copied}" hidden>${words.copy}</button>
    <p class="note">${words.howTo}</p>`
}

function facts(charge: Charge, state: State, { language }: View): Html {
  const words = WORDS[language]
  const advice = words.states[state].advice
  const rows: [string, Html][] = [
    ...(charge.paidAt ? [[words.paidAt, timeText(charge.paidAt, language)] as [string, Html]] : []),
    ...(state === 'EXPIRED' ? [[words.expiredAt, timeText(charge.expiresAt, language)] as [string, Html]] : []),
  ]
  return html`${advice && html`<p class="note">${advice}</p>`}
  ${
    rows.length > 0 &&
    html`<dl class="facts">
      ${rows.map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>`
  }`
}

/** In the time of Brasília, where Pix and most of its payers live; the page says so. */
function timeText(time: Date, language: Language): Html {
  const text = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : 'pt-BR', {
    timeZone: 'America/Sao_Paulo',
    dateStyle: language === 'en' ? 'medium' : 'short',
    timeStyle: 'short',
  }).format(time)
  return html`<time datetime="${time.toISOString()}">${text} (${WORDS[language].zone})</time>`
}

function sendMissing(reply: FastifyReply, language: Language): FastifyReply {
  const words = WORDS[language]
  return sendPage(reply, {
    language,
    title: words.missing.title,
    main: html`<main>
      <article class="card">
        <p class="state MISSING closed" role="status">${ICONS.EXPIRED}<span>${words.missing.title}</span></p>
        <p class="note">${words.missing.advice}</p>
      </article>
    </main>`,
  })
}

// From here on the amount needs a smaller size to fit a phone: "R$ 9.999.999.999,99".
const LONG_AMOUNT = 13
const RELOAD_SECONDS = 5

const icon = (shape: Html) =>
  html`<svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="2.2"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <circle cx="12" cy="12" r="9.5" />
    ${shape}
  </svg>`

const ICONS: Record<State, Html> = {
  PENDING: icon(html`<path d="M12 6.5V12l3.5 2" />`),
  CLOSING: icon(html`<path d="M12 6.5V12l3.5 2" />`),
  COMPLETED: icon(html`<path d="m7.5 12.5 3 3 6-6.5" />`),
  EXPIRED: icon(html`<path d="M12 7v6M12 16.5v.1" />`),
  CANCELED: icon(html`<path d="m8.5 8.5 7 7m0-7-7 7" />`),
}

// Looks every four seconds whether the state is another one, while somebody is looking at the page. Clipboards are closed to pages
// without https, hence the old way as the second one.
const SCRIPT = `
const card = document.querySelector('[data-state]')
const code = document.getElementById('code')
const copy = document.getElementById('copy')
if (copy) {
  copy.hidden = false
  const label = copy.textContent
  copy.addEventListener('click', async () => {
    try { await navigator.clipboard.writeText(code.value) } catch { code.select(); document.execCommand('copy') }
    copy.textContent = copy.dataset.done
    setTimeout(() => { copy.textContent = label }, 2500)
  })
  code.addEventListener('focus', () => code.select())
}
setInterval(async () => {
  if (document.hidden) return
  try {
    const answer = await fetch(location.href)
    const now = answer.ok && /data-state="([A-Z]+)"/.exec(await answer.text())
    if (now && now[1] !== card.dataset.state) location.reload()
  } catch {}
}, 4000)
`
