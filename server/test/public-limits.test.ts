import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { keptPng, keptSvg } from '../src/http/pay/qr-image.ts'
import { appWith, get } from './requests.ts'
import { world } from './world.ts'

// What anybody may ask for without a key must be cheap, and bounded for each network.

async function limited() {
  const w = await world({ settings: { publicRateLimit: { perSecond: 2, burst: 6 } } })
  const app = await appWith(w.ctx, { trustProxy: true })
  const account = await w.account()
  const { paymentLinkId } = await w.deposit(account)
  const urls = [
    `/payment-link/${paymentLinkId}`,
    `/qr/${paymentLinkId}.png`,
    `/qr/${paymentLinkId}.svg`,
    '/openapi.json',
    '/docs/json',
    '/docs',
  ]
  const ask = (url: string, address = '203.0.113.9', headers: Record<string, string> = {}) =>
    app.inject({ url, headers: { 'x-forwarded-for': address, ...headers } })
  return { w, app, account, urls, ask }
}

test('a network has one rate for all that is public, and is told when to come again', async () => {
  const { w, urls, ask } = await limited()
  for (const url of urls) expect([url, (await ask(url)).statusCode]).toEqual([url, 200])
  for (const url of [...urls, '/docs/yaml', '/docs/webhooks', '/docs/webhooks.md', '/llms.txt']) {
    const refused = await ask(url)
    expect([url, refused.statusCode, refused.headers['retry-after']]).toEqual([url, 429, '1'])
    expect(refused.json()).toEqual({ success: false, error: 'Too many requests' })
  }
  w.clock.advance(500)
  expect((await ask(urls[0]!)).statusCode).toBe(200)
  expect((await ask(urls[0]!)).statusCode).toBe(429)
})

test('a payer who is refused gets a page', async () => {
  const { urls, ask } = await limited()
  for (const url of urls) await ask(url)
  const refused = await ask(urls[0]!, '203.0.113.9', { accept: 'text/html' })
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1'])
  expect(refused.headers['content-type']).toBe('text/html; charset=utf-8')
})

test('the rate of one network costs others nothing, nor the API, nor those who watch over the service', async () => {
  const { app, account, urls, ask } = await limited()
  for (const url of [...urls, ...urls]) await ask(url)
  expect((await ask(urls[0]!, '203.0.113.10')).statusCode).toBe(200)
  for (const url of ['/livez', '/readyz']) expect((await ask(url)).statusCode).toBe(200)
  const balance = { ...get(account.key, '/api/balance'), remoteAddress: '203.0.113.9' }
  expect((await app.inject(balance)).statusCode).toBe(200)
})

test('a rate of 0 is no limit', async () => {
  const w = await world()
  for (let i = 0; i < 150; i++) expect((await w.app.inject({ url: '/openapi.json' })).statusCode).toBe(200)
})

test('the description of the API is sent compressed to whoever takes that, and not at all to whoever has it', async () => {
  const w = await world()
  const ask = (headers: Record<string, string> = {}) => w.app.inject({ url: '/openapi.json', headers })
  const plain = await ask()
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.headers.vary).toBe('accept-encoding')
  for (const [accepted, encoding, unpack] of [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip;q=0.8, br;q=0', 'gzip', gunzipSync],
    ['GZIP', 'gzip', gunzipSync],
    ['deflate', undefined, (body: Buffer) => body],
    ['gzip;q=0.000', undefined, (body: Buffer) => body],
  ] as const) {
    const answer = await ask({ 'accept-encoding': accepted })
    expect([accepted, answer.headers['content-encoding']]).toEqual([accepted, encoding])
    expect(unpack(answer.rawPayload).equals(plain.rawPayload)).toBe(true)
    expect(answer.headers.etag).toBe(plain.headers.etag)
  }
  const etag = String(plain.headers.etag)
  for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
    const answer = await ask({ 'if-none-match': known, 'accept-encoding': 'br' })
    expect([known, answer.statusCode, answer.body, answer.headers.etag]).toEqual([known, 304, '', etag])
  }
  expect((await ask({ 'if-none-match': '"other"' })).statusCode).toBe(200)
})

test('the document has two addresses and one text', async () => {
  const w = await world()
  const document = await w.app.inject({ url: '/openapi.json' })
  const ofPage = await w.app.inject({ url: '/docs/json' })
  expect(ofPage.headers.etag).toBe(document.headers.etag)
  expect(ofPage.body).toBe(document.body)
})

test('a QR code is drawn once, and drawn anew when many others came in between', () => {
  const [png, svg] = [keptPng('a code', 256), keptSvg('a code', 'label')]
  expect(keptPng('a code', 256)).toBe(png)
  expect(keptSvg('a code', 'label')).toBe(svg)
  expect(keptPng('a code', 512)).not.toBe(png)
  expect(keptSvg('a code', 'rótulo')).not.toBe(svg)
  for (let i = 0; i < 1_000; i++) keptPng(`another ${i}`, 128)
  expect(keptPng('a code', 256)).not.toBe(png)
  expect(keptPng('a code', 256).equals(png)).toBe(true)
})
