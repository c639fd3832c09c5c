import type { PaymentData, PaymentTexts } from '../contract/types.ts'
import type { Answer } from '../deposits/follow-payment.ts'

// Makes elements one by one: a page whose policy demands Trusted Types refuses markup, and a text stays a text.

export type Drawing = {
  card: HTMLElement
  /** What has changed, for those who do not see it. */
  news: string
  /** Where the time left is written. Undefined if nothing can be paid. */
  timer: HTMLElement | undefined
}

export function drawPayment({ payment, texts }: Answer, say: (news: string) => void): Drawing {
  const { state, emv, qr, payee, description } = payment
  const timer = emv === null ? undefined : make('span', { part: 'timer', role: 'timer', 'aria-label': texts.timeLeft })
  const card = make(
    'div',
    { ...CARD, 'data-state': state, 'aria-label': texts.name, lang: texts.language },
    texts.sandbox && make('p', { part: 'sandbox' }, texts.sandbox),
    make('p', { part: 'state' }, icon(ICONS[state]), make('strong', {}, texts.state), timer),
    make('p', { part: 'payee' }, `${texts.payTo} `, make('b', { dir: 'auto' }, payee)),
    make('p', { part: 'amount' }, texts.amount),
    description && make('p', { part: 'description', dir: 'auto' }, description),
    ...texts.notes.map((note) => make('p', { part: 'note' }, note)),
    ...(emv !== null && qr ? [drawCode({ emv, qr }, texts, say)] : []),
  )
  return { card, news: `${texts.state} · ${texts.amount}`, timer }
}

/** What is said while there is no payment to show. */
export function drawMessage(text: string): HTMLElement {
  return make('div', CARD, make('p', { part: 'note' }, text))
}

const CARD = { part: 'card', role: 'group', tabindex: '-1' }

/** In the order of a phone: who reads this on one cannot point its camera at the code. */
function drawCode(
  { emv, qr }: { emv: string; qr: QrModules },
  texts: PaymentTexts,
  say: (news: string) => void,
): HTMLElement {
  const code = make('input', { id: 'code', part: 'code', readonly: '', spellcheck: 'false', autocomplete: 'off' })
  code.value = emv
  code.addEventListener('focus', () => code.select())
  const button = make('button', { part: 'button', type: 'button' }, texts.copy)
  let forgetting: ReturnType<typeof setTimeout>
  button.addEventListener('click', () => void copy())

  async function copy(): Promise<void> {
    const isCopied = await write(code)
    button.textContent = isCopied ? texts.copied : texts.notCopied
    say(button.textContent)
    // The old way of copying took the focus.
    if (isCopied) button.focus()
    clearTimeout(forgetting)
    forgetting = setTimeout(() => (button.textContent = texts.copy), COPIED_MS)
  }

  const label = make('label', { for: 'code', part: 'label' }, texts.codeLabel)
  const picture = make('div', { part: 'qr' }, qrPicture(qr, texts.qrLabel))
  return make('div', { class: 'pay' }, make('div', { class: 'copy' }, label, code, button), picture)
}

const COPIED_MS = 3_000

/** Without https the clipboard API is not available, but the old command is. */
async function write(code: HTMLInputElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.value)
    return true
  } catch {
    code.focus()
    code.select()
    // oxlint-disable-next-line typescript/no-deprecated -- There is no other way without https.
    return document.execCommand('copy')
  }
}

type QrModules = { size: number; modules: string }

function qrPicture({ size, modules }: QrModules, label: string): Element {
  const bytes = atob(modules)
  let dark = ''
  for (let at = 0; at < size * size; at++)
    if (bytes.charCodeAt(at >> 3) & (0x80 >> (at & 7))) dark += `M${at % size} ${Math.floor(at / size)}h1v1h-1z`
  const attributes = { viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': label }
  return makeSvg(attributes, { d: dark, 'shape-rendering': 'crispEdges' })
}

const CLOCK = 'M12 6.5V12l3.5 2'
// Each begins with an absolute move: it continues the path of the circle.
const ICONS: Record<PaymentData['state'], string> = {
  PENDING: CLOCK,
  CLOSING: CLOCK,
  HELD: CLOCK,
  KEPT: 'M12 11v6M12 7.5v.1',
  COMPLETED: 'M7.5 12.5l3 3 6-6.5',
  REFUNDED: 'M16 12H8m3-3-3 3 3 3',
  EXPIRED: 'M12 7v6M12 16.5v.1',
  CANCELED: 'M8.5 8.5l7 7m0-7-7 7',
}

function icon(shape: string): Element {
  const circle = 'M12 2a10 10 0 1 0 0 20 10 10 0 1 0 0-20'
  return makeSvg({ viewBox: '0 0 24 24', 'aria-hidden': 'true', class: 'icon' }, { d: circle + shape })
}

type Child = Node | string | null | false | undefined

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string>,
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children.filter((child) => child !== null && child !== false && child !== undefined))
  return element
}

function makeSvg(attributes: Record<string, string>, path: Record<string, string>): Element {
  const svg = document.createElementNS(SVG, 'svg')
  const shape = document.createElementNS(SVG, 'path')
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value)
  for (const [name, value] of Object.entries(path)) shape.setAttribute(name, value)
  svg.append(shape)
  return svg
}

const SVG = 'http://www.w3.org/2000/svg'
