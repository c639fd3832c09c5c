import { decodeQR } from 'qr/decode.js'
import { expect, test } from 'vitest'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { drawModules, openPage } from './pages.ts'
import { appWith, UNKNOWN_ID } from './requests.ts'
import { world, type World } from './world.ts'

// What the checkout of a shop reads of a payment, as JSON.

test('a shop’s page reads what the payer sees, and nothing that is the account holder’s alone', async () => {
  const w = await world()
  const account = await w.account()
  const metadata = JSON.stringify({ cart: 'cart-7b1f' })
  const charge = await w.deposit(account, { description: 'Pedido 1042', externalId: 'order-7', metadata })
  const { answer, payment } = await read(w, charge.paymentLinkId)
  expect(payment).toEqual({
    paymentLinkId: charge.paymentLinkId,
    status: 'PENDING',
    state: 'PENDING',
    value: 50_00,
    shownValue: 50_00,
    refundedValue: 0,
    payee: account.caller.accountName,
    description: 'Pedido 1042',
    emv: charge.emv,
    qr: { size: expect.any(Number), modules: expect.any(String) },
    paidAt: null,
    expiresAt: '2026-03-02T13:00:00.000Z',
    serverNow: '2026-03-02T12:00:00.000Z',
    heldValue: 0,
    keptValue: 0,
    isSandbox: true,
  })
  expect(decodeQR(drawModules(payment.qr))).toBe(charge.emv)
  const said = JSON.stringify(answer.headers) + answer.body
  for (const secret of ['order-7', 'cart-7b1f', account.accountId, account.email, charge.id, '"fee"'])
    expect([secret, said.includes(secret)]).toEqual([secret, false])
})

test('pages of any origin may read it without cookies, nobody keeps it, and one that is not there is not found', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  const { answer } = await read(w, charge.paymentLinkId)
  expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' })
  expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
  for (const id of [UNKNOWN_ID, 'x', '%zz']) {
    const missing = await w.app.inject(`/payment-link/${id}/data`)
    expect([id, missing.statusCode, missing.json()]).toEqual([id, 404, { success: false, error: 'Charge not found' }])
    expect(missing.headers['access-control-allow-origin']).toBe('*')
  }
})

test('it has a network’s rate together with the payment page', async () => {
  const w = await world({ settings: { publicRateLimit: { perSecond: 1, burst: 2 } } })
  const app = await appWith(w.ctx)
  const { paymentLinkId } = await w.deposit(await w.account())
  const ask = async (path: string) => (await app.inject(`/payment-link/${paymentLinkId}${path}`)).statusCode
  expect([await ask(''), await ask('/data'), await ask('/data')]).toEqual([200, 200, 429])
})

test('each state is the one of the payment page, and only what can be paid has a code', async () => {
  const w = await world()
  const account = await w.account()
  const make = (request = {}) => w.deposit(account, { valueCents: 100_00, ...request })
  const [pending, paid, refunded, canceled, held] = [
    await make(),
    await make(),
    await make(),
    await make(),
    await make(),
  ]
  const expired = await make({ expiresInSeconds: 300 })
  for (const [{ emv, paymentLinkId }, amountCents] of [
    [paid, 100_00],
    [refunded, 100_00],
    [held, 90_00],
  ] as const) {
    await w.sandbox.pay({ emv, amountCents })
    await queryDeposit(w.ctx, account.accountId, paymentLinkId)
  }
  await w.pool.query('update charges set refunded_cents = value_cents where id = $1', [refunded.id])
  await cancelDeposit(w.ctx, account.accountId, canceled.paymentLinkId)
  w.clock.advance(301_000)
  const closing = await read(w, expired.paymentLinkId)
  expect([closing.payment.status, closing.payment.state, closing.payment.emv]).toEqual(['PENDING', 'CLOSING', null])
  w.clock.advance(60_000)
  await queryDeposit(w.ctx, account.accountId, expired.paymentLinkId)

  for (const [charge, state, status, shownValue] of [
    [pending, 'PENDING', 'PENDING', 100_00],
    [paid, 'COMPLETED', 'COMPLETED', 100_00],
    [refunded, 'REFUNDED', 'COMPLETED', 100_00],
    [canceled, 'CANCELED', 'CANCELED', 100_00],
    [expired, 'EXPIRED', 'EXPIRED', 100_00],
    [held, 'HELD', 'PENDING', 90_00],
  ] as const) {
    const { payment } = await read(w, charge.paymentLinkId)
    expect(payment).toMatchObject({ state, status, value: 100_00, shownValue })
    expect([state, payment.emv, payment.qr === null]).toEqual(
      state === 'PENDING' ? [state, charge.emv, false] : [state, null, true],
    )
    expect((await openPage(w, charge.paymentLinkId, {})).state).toBe(state)
  }
  const { payment } = await read(w, held.paymentLinkId)
  expect([payment.heldValue, payment.keptValue]).toEqual([90_00, 0])
})

test('it has the words of the payment page, for who asks in a language, and none for a program', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 100_00 })
  const { paymentLinkId } = charge
  expect((await read(w, paymentLinkId)).texts).toBeUndefined()
  expect((await read(w, paymentLinkId, '?lang=pt-BR')).texts).toMatchObject({
    language: 'pt-BR',
    name: 'Pagamento por Pix',
    state: 'Aguardando pagamento',
    amount: 'R$\u{a0}100,00',
    notes: ['Pague até 10:00 (Brasília)'],
    sandbox: 'Ambiente de testes: sem dinheiro real',
    copy: 'Copiar código Pix',
  })
  await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, paymentLinkId)
  const { texts } = await read(w, paymentLinkId, '?lang=en')
  const page = await openPage(w, paymentLinkId, {}, '?lang=en')
  expect(texts.notes).toEqual([expect.stringContaining('We received R$90.00, but this charge is for R$100.00.')])
  for (const text of [texts.state, texts.amount, ...texts.notes]) expect(page.text).toContain(text)
  for (const secret of ['fee', account.accountId, charge.id]) expect(JSON.stringify(texts)).not.toContain(secret)
})

test('the language is that of the shop’s page, then the browser’s, whose region says how amounts are written', async () => {
  const w = await world()
  const { paymentLinkId } = await w.deposit(await w.account(), { valueCents: 1_234_56 })
  for (const [lang, accepted, language, amount] of [
    ['en', 'pt-BR', 'en', 'R$1,234.56'],
    ['es', 'es-ES,es;q=0.9', 'es', '1234,56\u{a0}R$'],
    ['pt', 'en-US', 'pt-BR', 'R$\u{a0}1.234,56'],
    ['fr', 'es-AR', 'es', 'R$\u{a0}1.234,56'],
    ['', 'en-GB', 'en', 'R$1,234.56'],
    ['', undefined, 'pt-BR', 'R$\u{a0}1.234,56'],
    ['de', 'de', 'en', 'R$1,234.56'],
    ['%22%3E%2C;q=', 'en', 'en', 'R$1,234.56'],
    ['x&lang=y', 'en', undefined, undefined],
  ] as const) {
    const { texts } = await read(w, paymentLinkId, `?lang=${lang}`, accepted && { 'accept-language': accepted })
    expect([lang, accepted, texts?.language, texts?.amount]).toEqual([lang, accepted, language, amount])
  }
})

async function read(w: World, paymentLinkId: string, query = '', headers = {}) {
  const answer = await w.app.inject({ url: `/payment-link/${paymentLinkId}/data${query}`, headers })
  expect([answer.statusCode, answer.json().success]).toEqual([200, true])
  return { answer, payment: answer.json().payment, texts: answer.json().texts }
}
