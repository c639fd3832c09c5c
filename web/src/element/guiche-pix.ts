import type { PaymentData } from '../contract/types.ts'
import { drawMessage, drawPayment, make, type Drawing } from './draw.ts'
import { followPayment, type Answer, type Following } from '../deposits/follow-payment.ts'
import { languageOf, ownTexts } from './own-texts.ts'
import { applyStyle } from './style.ts'

/**
 * The payment of one deposit on a page of a shop: `<guiche-pix payment-link="<paymentLinkUrl>">`. It is the only file
 * of `/elements/guiche-pix.js`; docs/element.md describes it.
 *
 * Its events are news for the page, and never a proof of payment: anybody can dispatch them in their own browser. Goods
 * are delivered by webhooks or by the API.
 */
class GuichePix extends HTMLElement {
  static observedAttributes = ['payment-link', 'lang']

  readonly #root = this.attachShadow({ mode: 'open' })
  readonly #place = make('div', {})
  readonly #trouble = make('p', { class: 'trouble', part: 'trouble', hidden: '' })
  readonly #news = make('p', { class: 'unseen', role: 'status' })
  #isPlaced = false
  #following: Following | undefined
  #ticking: ReturnType<typeof setInterval> | undefined
  #shown: Answer | undefined
  #drawing: Drawing | undefined
  #endsAt = 0
  /** The names of events that were dispatched for the present link. */
  #dispatched = new Set<string>()

  constructor() {
    super()
    applyStyle(this.#root)
    this.#root.append(this.#place, this.#trouble, this.#news)
  }

  get paymentLink(): string | null {
    return this.getAttribute('payment-link')
  }

  set paymentLink(link: string | null) {
    if (link === null) this.removeAttribute('payment-link')
    else this.setAttribute('payment-link', link)
  }

  connectedCallback(): void {
    // A framework may have set the property before this script was there.
    if (Object.hasOwn(this, 'paymentLink')) {
      const early = this.paymentLink
      Reflect.deleteProperty(this, 'paymentLink')
      this.paymentLink = early
    }
    this.#isPlaced = true
    this.#follow()
  }

  disconnectedCallback(): void {
    this.#isPlaced = false
    this.#stop()
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return
    if (name === 'payment-link') {
      this.#shown = this.#drawing = undefined
      this.#dispatched.clear()
      this.#news.textContent = ''
    }
    // An element that was on the page before this script gets its attributes first, and is connected then.
    if (this.#isPlaced) this.#follow()
  }

  #follow(): void {
    this.#stop()
    const { paymentLink } = this
    if (paymentLink === null) return this.#place.replaceChildren()
    const lang = languageOf(this)
    const { retrying, refused } = ownTexts(lang)
    const link = followable(paymentLink)
    if (link === undefined) {
      // oxlint-disable-next-line no-console -- The developer of the page is the one who can mend it.
      console.error(`<guiche-pix>: payment-link must be the paymentLinkUrl of a deposit at ${SERVICE}`)
      return this.#say(refused)
    }
    if (!this.#shown) this.#say('…')
    this.#following = followPayment(link, lang, {
      told: (answer) => this.#told(answer),
      missing: () => this.#say(refused),
      failed: () => {
        this.#trouble.textContent = retrying
        this.#trouble.hidden = false
      },
    })
  }

  #stop(): void {
    this.#following?.stop()
    clearInterval(this.#ticking)
    this.#trouble.hidden = true
  }

  #say(text: string): void {
    this.#trouble.hidden = true
    this.#place.replaceChildren(drawMessage(text))
  }

  #told(answer: Answer): void {
    const { payment } = answer
    this.#trouble.hidden = true
    this.#endsAt = Date.now() + Date.parse(payment.expiresAt) - Date.parse(payment.serverNow)
    const before = this.#shown
    this.#shown = answer
    if (!before || textOf(before) !== textOf(answer)) this.#draw(answer)
    else this.#countDown()
    if (before && before.payment.state !== payment.state) this.#news.textContent = this.#drawing?.news ?? ''
    this.#dispatch(payment)
  }

  #draw(answer: Answer): void {
    const hadFocus = this.#root.activeElement !== null
    this.#drawing = drawPayment(answer, (news) => (this.#news.textContent = news))
    this.#place.replaceChildren(this.#drawing.card)
    // What had the focus is gone, and a reader by keyboard would be thrown back to the top of the page.
    if (hadFocus) this.#drawing.card.focus()
    this.#countDown()
  }

  #countDown(): void {
    clearInterval(this.#ticking)
    if (!this.#drawing?.timer) return
    this.#ticking = setInterval(() => this.#tick(), TICK_MS)
    this.#tick()
  }

  #tick(): void {
    const seconds = Math.max(0, Math.ceil((this.#endsAt - Date.now()) / TICK_MS))
    if (this.#drawing?.timer) this.#drawing.timer.textContent = leftText(seconds)
    if (seconds === 0) void this.#following?.look()
  }

  #dispatch({ state, status, paymentLinkId }: PaymentData): void {
    const name = EVENTS[state]
    if (!name || this.#dispatched.has(name)) return
    this.#dispatched.add(name)
    const detail = { paymentLinkId, status }
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }))
  }
}

const TICK_MS = 1_000

/** Each once for a link. Nothing is dispatched for a payment that was given back. */
const EVENTS: Partial<Record<PaymentData['state'], string>> = {
  COMPLETED: 'guiche-paid',
  EXPIRED: 'guiche-expired',
  CANCELED: 'guiche-expired',
  HELD: 'guiche-held',
  KEPT: 'guiche-held',
}

/** Where this script came from is the service. A link to another origin could show another one's code to pay. */
const SERVICE = new URL(import.meta.url).origin

function followable(paymentLink: string): string | undefined {
  try {
    const { origin, protocol, pathname } = new URL(paymentLink, document.baseURI)
    const isPayment = /^https?:$/.test(protocol) && /\/payment-link\/[\w-]+$/.test(pathname)
    return isPayment && origin === SERVICE ? origin + pathname : undefined
  } catch {
    return undefined
  }
}

/** All that is drawn: the time moves on by itself. */
function textOf({ payment, texts }: Answer): string {
  return JSON.stringify([{ ...payment, serverNow: '' }, texts])
}

/** `1:05:09`, or `05:09`. */
function leftText(seconds: number): string {
  const two = (part: number) => String(part).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  return `${hours > 0 ? `${hours}:` : ''}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

// A page may contain the script twice.
if (!customElements.get('guiche-pix')) customElements.define('guiche-pix', GuichePix)
