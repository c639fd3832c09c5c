import { decodeQR } from 'qr/decode.js'
import { expect, test } from 'vitest'
import { qrMatrix, qrPng } from '../src/http/pay/qr-image.ts'
import { drawSvg, hasZbar, openPage, readPng, readWithZbar } from './pages.ts'
import { bearer, UNKNOWN_ID } from './requests.ts'
import { world } from './world.ts'

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
    const image = readPng(answer.rawPayload)
    expect([image.width, image.height, decodeQR(image)]).toEqual([width, width, charge.emv])
  }
  const svg = await w.app.inject(`/qr/${charge.paymentLinkId}.svg`)
  expect([svg.statusCode, svg.headers['content-type']]).toEqual([200, 'image/svg+xml; charset=utf-8'])
  expect(decodeQR(drawSvg(svg.body))).toBe(charge.emv)
  const page = await openPage(w, charge.paymentLinkId, {})
  expect(decodeQR(drawSvg(page.body.split('class="qr"')[1]!))).toBe(charge.emv)
})

// This needs zbar-tools. The test above reads the same images with the library that drew them.
test.skipIf(!hasZbar)('a reader that we did not write agrees', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  for (const size of [128, 256, 512, 1024]) {
    const { rawPayload } = await w.app.inject(`/qr/${charge.paymentLinkId}.png?size=${size}`)
    expect([size, readWithZbar(rawPayload)]).toEqual([size, charge.emv])
  }
})

test('an image may be kept by anybody and shown on any site, and says nothing but the code', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { description: 'Pedido 1042', externalId: 'order-7' })
  const secrets = [account.accountId, account.email, account.caller.accountName, charge.id, 'Pedido', 'order-7']
  for (const type of ['png', 'svg']) {
    const { headers, rawPayload } = await w.app.inject(`/qr/${charge.paymentLinkId}.${type}`)
    expect(Object.keys(headers).toSorted()).toEqual([
      'cache-control',
      'connection',
      'content-length',
      'content-security-policy',
      'content-type',
      'cross-origin-opener-policy',
      'cross-origin-resource-policy',
      'date',
      'referrer-policy',
      'strict-transport-security',
      'x-content-type-options',
      'x-frame-options',
      'x-request-id',
    ])
    expect(headers['cache-control']).toBe('public, max-age=86400, immutable')
    expect(headers['cross-origin-resource-policy']).toBe('cross-origin')
    const said = JSON.stringify(headers) + rawPayload.toString('latin1')
    for (const secret of secrets) expect([type, said.includes(secret)]).toEqual([type, false])
  }
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

test('only a paid charge may lack its code, and then no page and no image shows an empty one', async () => {
  const w = await world()
  const account = await w.account()
  const { charge, payment } = await w.paidCharge({ account })
  await expect(w.pool.query('update charges set emv = null')).rejects.toThrow('violates check constraint')
  // As if the answer to the creation had been lost, and the payment had arrived.
  await w.pool.query(`update charges set status = 'OPENING', emv = null`)
  await w.ctx.settlements.add([payment])
  const api = { headers: bearer(account.key) }
  const queried = await w.app.inject({ url: `/api/deposit/${charge.paymentLinkId}`, ...api })
  expect(queried.json().charge).toMatchObject({ status: 'COMPLETED', emv: '' })

  const page = await openPage(w, charge.paymentLinkId, {})
  expect([page.status, page.state, /class="qr"|id="code"/.test(page.body)]).toEqual([200, 'COMPLETED', false])
  for (const type of ['png', 'svg']) {
    const image = await w.app.inject(`/qr/${charge.paymentLinkId}.${type}`)
    expect([type, image.statusCode]).toEqual([type, 404])
  }
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
