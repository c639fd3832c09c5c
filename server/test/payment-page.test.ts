import { createHash } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { decodeQR } from 'qr/decode.js'
import { expect, test } from 'vitest'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits.ts'
import { html, htmlText } from '../src/http/html.ts'
import { languageOf } from '../src/http/language.ts'
import { qrMatrix, qrPng } from '../src/http/qr-image.ts'
import { UNKNOWN_ID } from './requests.ts'
import { world, type World } from './world.ts'

const PT = { 'accept-language': 'pt-BR,pt;q=0.9,en;q=0.8' }
const EN = { 'accept-language': 'en-GB,en;q=0.9' }

test('a pending charge shows amount, payee, description, code and QR, and until when it can be paid', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 1_234_56, description: 'Pedido 1042' })
  const page = await open(w, charge.paymentLinkId, PT)

  expect(page.status).toBe(200)
  expect(page.state).toBe('PENDING')
  expect(page.text).toContain('R$ 1.234,56')
  expect(page.text).toContain(account.caller.accountName)
  expect(page.text).toContain('Pedido 1042')
  expect(page.text).toContain('Aguardando pagamento')
  expect(page.text).toContain('02/03/2026, 10:00 (Brasília)')
  expect(page.body).toContain(`<input id="code" value="${charge.emv}" readonly`)
  expect(page.body).toContain('<html lang="pt-BR">')
  expect(page.headers['content-language']).toBe('pt-BR')
  expect(page.headers['cache-control']).toBe('no-store')
  expect(page.headers['x-robots-tag']).toContain('noindex')
})

test('each state is unmistakable, and only a pending charge can be paid from its page', async () => {
  const w = await world()
  const account = await w.account()
  const [pending, paid, canceled, expired] = [
    await w.deposit(account),
    await w.deposit(account),
    await w.deposit(account),
    await w.deposit(account, { expiresInSeconds: 300 }),
  ]
  await w.sandbox.pay({ emv: paid.emv })
  await queryDeposit(w.ctx, account.accountId, paid.paymentLinkId)
  await cancelDeposit(w.ctx, account.accountId, canceled.paymentLinkId)
  w.clock.advance(301_000)
  const closing = await open(w, expired.paymentLinkId, EN)
  w.clock.advance(60_000)
  await queryDeposit(w.ctx, account.accountId, expired.paymentLinkId)

  const pages = {
    PENDING: await open(w, pending.paymentLinkId, EN),
    CLOSING: closing,
    COMPLETED: await open(w, paid.paymentLinkId, EN),
    CANCELED: await open(w, canceled.paymentLinkId, EN),
    EXPIRED: await open(w, expired.paymentLinkId, EN),
  }
  const titles = {
    PENDING: 'Waiting for payment',
    CLOSING: 'Time is over',
    COMPLETED: 'Payment confirmed',
    CANCELED: 'Charge canceled',
    EXPIRED: 'Charge expired',
  }
  for (const [state, title] of Object.entries(titles)) {
    const page = pages[state as keyof typeof pages]
    expect([state, page.state, page.text.includes(title)]).toEqual([state, state, true])
    const isPayable = state === 'PENDING'
    expect([state, page.body.includes('br.gov.bcb.pix'), page.body.includes('class="qr"')]).toEqual([
      state,
      isPayable,
      isPayable,
    ])
    expect([state, page.text.includes('Do not pay this code any more')]).toEqual([
      state,
      !isPayable && state !== 'COMPLETED',
    ])
    // Only a page whose state may still change looks again, by script or without.
    const isOpen = state === 'PENDING' || state === 'CLOSING'
    expect([state, page.body.includes('<script>'), page.body.includes('http-equiv="refresh"')]).toEqual([
      state,
      isOpen,
      isOpen,
    ])
  }
  expect(pages.COMPLETED.text).toContain('2 Mar 2026, 09:00 (Brasília)')
})

test('whatever an account writes is text and never markup', async () => {
  const w = await world()
  const account = await w.account()
  const hostile = `</title><script>alert(1)</script><img src=x onerror='a'>"&`
  await w.pool.query('update accounts set name = $2 where id = $1', [account.accountId, hostile])
  const charge = await w.deposit(account, { description: hostile })
  const page = await open(w, charge.paymentLinkId, PT)

  expect(page.body.match(/<script>/g)).toHaveLength(1)
  expect(page.body).not.toContain('<img')
  expect(
    page.body.split(
      '&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&#39;a&#39;&gt;&quot;&amp;',
    ),
  ).toHaveLength(3)
})

test('a template escapes every value, so that reading the page gives the value back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const markup = htmlText(html`<p title="${value}">${[value, html`<b>${value}</b>`, null, false, undefined]}</p>`)
      const escaped = /^<p title="([^<>"']*)">([^<>"']*)<b>([^<>"']*)<\/b><\/p>$/.exec(markup)
      expect(escaped?.slice(1).map(unescape)).toEqual([value, value, value])
    }),
  )
})

test('the policy lets exactly the page’s own style and script run, and nothing from elsewhere', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  for (const [name, page] of [
    ['charge', await open(w, charge.paymentLinkId, PT)],
    ['missing', await open(w, 'x', PT)],
    ['home', pageOf(await w.app.inject('/'))],
    ['not found', pageOf(await w.app.inject({ url: '/nothing', headers: { accept: 'text/html' } }))],
  ] as const) {
    const policy = String(page.headers['content-security-policy'])
    expect([name, policy]).toEqual([
      name,
      expect.stringContaining("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ])
    expect([name, policy]).toEqual([name, expect.not.stringMatching(/unsafe|https?:|\*/)])
    for (const [, tag, source] of page.body.matchAll(/<(style|script)>([^]*?)<\/\1>/g)) {
      expect([name, policy]).toEqual([
        name,
        expect.stringContaining(`${tag}-src 'sha256-${createHash('sha256').update(source!).digest('base64')}'`),
      ])
    }
    expect([name, page.body]).toEqual([name, expect.not.stringMatching(/ style="| on\w+="|src="http|href="http/)])
  }
})

test('the sandbox is marked on the page, and a live page is not', async () => {
  for (const [mode, isMarked] of [
    ['test', true],
    ['live', false],
  ] as const) {
    const w = await world({ settings: { mode } })
    const charge = await w.deposit(await w.account())
    expect((await open(w, charge.paymentLinkId, PT)).text.includes('Ambiente de testes: sem dinheiro real')).toBe(
      isMarked,
    )
    expect((await open(w, charge.paymentLinkId, EN)).text.includes('Sandbox: no real money')).toBe(isMarked)
    expect(pageOf(await w.app.inject('/')).text.includes('Sandbox: no real money')).toBe(isMarked)
  }
})

test('a link that leads nowhere gets a friendly page, and so does any other address in a browser', async () => {
  const w = await world()
  for (const id of [UNKNOWN_ID, 'x', '%zz', '%00', 'x'.repeat(3000)]) {
    const page = await open(w, id, PT)
    expect([id, page.status, page.text.includes('Cobrança não encontrada')]).toEqual([id, 404, true])
  }
  const nowhere = await w.app.inject({ url: '/nothing', headers: { accept: 'text/html,*/*;q=0.8', ...EN } })
  expect([nowhere.statusCode, pageOf(nowhere).text.includes('Page not found')]).toEqual([404, true])
  const program = await w.app.inject('/nothing')
  expect(program.json()).toEqual({ success: false, error: 'Not found' })
  const api = await w.app.inject({ url: '/api/nothing', headers: { accept: 'text/html' } })
  expect(api.json()).toEqual({ success: false, error: 'Not found' })
})

test('the reader’s language decides, Portuguese when there is no wish and English when there are only others', () => {
  for (const [wish, language] of [
    [undefined, 'pt-BR'],
    ['', 'pt-BR'],
    ['*', 'pt-BR'],
    ['pt-PT', 'pt-BR'],
    ['en', 'en'],
    ['en-US,en;q=0.9,pt;q=0.8', 'en'],
    ['en;q=0.5, pt;q=0.7', 'pt-BR'],
    ['pt;q=0, en;q=0.1', 'en'],
    ['de, fr;q=0.9', 'en'],
    ['de, pt;q=0.2', 'pt-BR'],
    [',;q=;;,', 'pt-BR'],
  ] as const) {
    expect([wish, languageOf(wish)]).toEqual([wish, language])
  }
})

test('the QR code of a charge is read back as its copy-and-paste code, in every size and as it stands on the page', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  for (const [query, width] of [
    ['', 512],
    ['?size=128', 128],
    ['?size=1024', 1024],
    ['?size=333', 333],
  ] as const) {
    const answer = await w.app.inject(`/qr/${charge.paymentLinkId}.png${query}`)
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'image/png'])
    expect(answer.headers['cache-control']).toBe('public, max-age=86400, immutable')
    expect(answer.headers['cross-origin-resource-policy']).toBe('cross-origin')
    const image = readPng(answer.rawPayload)
    expect([image.width, image.height, decodeQR(image)]).toEqual([width, width, charge.emv])
  }
  const svg = await w.app.inject(`/qr/${charge.paymentLinkId}.svg`)
  expect([svg.statusCode, svg.headers['content-type']]).toEqual([200, 'image/svg+xml; charset=utf-8'])
  expect(decodeQR(drawSvg(svg.body))).toBe(charge.emv)
  expect(decodeQR(drawSvg((await open(w, charge.paymentLinkId, PT)).body.split('class="qr"')[1]!))).toBe(charge.emv)
})

test('a QR code keeps a quiet zone of four modules on all sides', () => {
  const matrix = qrMatrix('x'.repeat(512))
  const size = matrix.length
  for (let at = 0; at < size; at++) {
    for (const edge of [0, 1, 2, 3, size - 4, size - 3, size - 2, size - 1]) {
      expect(matrix[edge]![at] || matrix[at]![edge]).toBe(false)
    }
  }
  // The longest code that a provider may send still has whole pixels in the smallest image.
  expect(decodeQR(readPng(qrPng(matrix, 128)))).toBe('x'.repeat(512))
})

test('a QR code that cannot be drawn is refused in the envelope', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  for (const [url, status, error] of [
    [`/qr/${UNKNOWN_ID}.png`, 404, 'Charge not found'],
    ['/qr/x.svg', 404, 'Charge not found'],
    [`/qr/${charge.paymentLinkId}.gif`, 404, 'Not found'],
    [`/qr/${charge.paymentLinkId}`, 404, 'Not found'],
    ...['127', '1025', '-1', '1e3', 'x', '', '200&size=300'].map(
      (size) =>
        [`/qr/${charge.paymentLinkId}.png?size=${size}`, 400, 'size must be an integer from 128 to 1024'] as const,
    ),
  ] as const) {
    const answer = await w.app.inject(url)
    expect([url, answer.statusCode, answer.json()]).toEqual([url, status, { success: false, error }])
    expect([url, answer.headers['cache-control']]).not.toContain('immutable')
  }
})

// ---- Reading pages and pictures ----

type Answer = Awaited<ReturnType<World['app']['inject']>>

async function open(w: World, paymentLinkId: string, headers: Record<string, string>) {
  return pageOf(await w.app.inject({ url: `/payment-link/${paymentLinkId}`, headers }))
}

function pageOf(answer: Answer) {
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
  const { body, headers } = answer
  const text = unescape(body.replace(/<(style|script)>[^]*?<\/\1>/g, '').replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ')
  return { status: answer.statusCode, headers, body, text, state: /data-state="(\w+)"/.exec(body)?.[1] }
}

function unescape(text: string): string {
  const characters: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' }
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (entity) => characters[entity]!)
}

/** Just enough of a PNG reader for one bit a pixel, and strict about everything else. */
function readPng(png: Buffer) {
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND'])
  const [width, height] = [chunks.get('IHDR')!.readUInt32BE(0), chunks.get('IHDR')!.readUInt32BE(4)]
  const rows = inflateSync(chunks.get('IDAT')!)
  const stride = 1 + Math.ceil(width / 8)
  expect(rows).toHaveLength(stride * height)
  return draw(width, height, (x, y) => (rows[y * stride + 1 + (x >> 3)]! & (0x80 >> (x & 7))) === 0)
}

function drawSvg(svg: string) {
  const size = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)![1])
  const dark = new Set<string>()
  for (const [, x, y, length] of /fill="#000" d="([^"]*)"/.exec(svg)![1]!.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    for (let step = 0; step < Number(length); step++) dark.add(`${Number(x) + step} ${y}`)
  }
  const scale = 4
  return draw(size * scale, size * scale, (x, y) => dark.has(`${Math.floor(x / scale)} ${Math.floor(y / scale)}`))
}

function draw(width: number, height: number, isDark: (x: number, y: number) => boolean) {
  const data = new Uint8Array(width * height * 4).fill(255)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) if (isDark(x, y)) data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3)
  return { width, height, data }
}
