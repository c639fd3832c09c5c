import { expect, test } from 'vitest'
import { decodeBrCode } from '../src/base/brcode.ts'
import { changeShop, NO_BRAND, type Shop } from '../src/domain/accounts/brands.ts'
import type { Actor } from '../src/domain/core/audit-log.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { openPage, pageOf } from './pages.ts'
import { UNKNOWN_ID } from './requests.ts'
import { world, type TestAccount, type World } from './world.ts'

// What payers see of the shop: its brand on the payment page, the way back, and the receipt.

const PT = { 'accept-language': 'pt-BR' }
const EN = { 'accept-language': 'en-GB' }
const ES = { 'accept-language': 'es-AR' }
const OWNER: Actor = { kind: 'account', name: 'owner' }

async function withShop(changes: Partial<Shop>) {
  const w = await world()
  const account = await w.account()
  const { version, logo: _, ...empty } = NO_BRAND
  await changeShop(w.ctx, OWNER, { accountId: account.accountId, version }, { ...empty, ...changes })
  return { w, account }
}

async function paid(w: World, account: TestAccount, fields: { description?: string; returnUrl?: string } = {}) {
  const charge = await w.deposit(account, fields)
  await w.sandbox.pay({ emv: charge.emv })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  return charge
}

async function receipt(w: World, paymentLinkId: string, headers = PT, query = '') {
  return pageOf(await w.app.inject({ url: `/payment-link/${paymentLinkId}/receipt${query}`, headers }))
}

test('the page has the shop’s name, number, contact and colour, and the name that the bank will show', async () => {
  const { w, account } = await withShop({
    displayName: 'Loja Aurora',
    color: '#ffee00',
    cnpj: '12ABC34501DE35',
    supportEmail: 'ajuda@aurora.example',
    supportPhone: '+5511999998888',
    supportUrl: 'https://wa.me/5511999998888',
  })
  const charge = await w.deposit(account)
  const page = await openPage(w, charge.paymentLinkId, PT)
  expect(page.text).toContain('Pagamento para Loja Aurora')
  expect(page.text).not.toContain(account.caller.accountName)
  expect(page.text).toContain('CNPJ 12.ABC.345/01DE-35')
  expect(page.body).toContain('href="mailto:ajuda@aurora.example"')
  expect(page.body).toContain('href="tel:+5511999998888"')
  expect(page.body).toContain('href="https://wa.me/5511999998888" rel="noopener noreferrer"><bdi>WhatsApp</bdi>')
  // Yellow cannot be read on white, so it is not used as it is.
  expect(page.body).toMatch(/:root\{--accent:#[0-9a-f]{6};--on-accent:#ffffff\}@media screen/)
  expect(page.body).not.toContain('--accent:#ffee00;--on-accent:#ffffff')
  for (const [headers, words] of [
    [PT, 'No app do banco aparece:'],
    [EN, 'Your banking app shows:'],
    [ES, 'La aplicación del banco muestra:'],
  ] as const)
    expect((await openPage(w, charge.paymentLinkId, headers)).text).toContain(words)
  expect(page.text).toContain(decodeBrCode(charge.emv).merchantName)
})

test('copying comes before the QR code, which is no use on the phone that shows it', async () => {
  const w = await world()
  const { body } = await openPage(w, (await w.deposit(await w.account())).paymentLinkId, PT)
  expect(body.indexOf('id="copy"')).toBeGreaterThan(0)
  expect(body.indexOf('id="copy"')).toBeLessThan(body.indexOf('class="qr"'))
})

test('a brand that was forged in the database is text and no markup', async () => {
  const { w, account } = await withShop({ displayName: 'Loja' })
  const hostile = '</b><script>alert(1)</script>'
  await w.pool.query('update brands set display_name = $1, support_email = $1', [hostile])
  const charge = await w.deposit(account)
  const { body } = await openPage(w, charge.paymentLinkId, PT)
  expect(body.match(/<script>/g)).toHaveLength(1)
  expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
})

test('after the payment the page leads back to the shop and to the receipt; before it, to neither', async () => {
  const { w, account } = await withShop({ displayName: 'Loja Aurora', returnOrigins: ['https://aurora.example'] })
  const returnUrl = 'https://aurora.example/done?order=1'
  const open = await w.deposit(account, { returnUrl })
  const before = await openPage(w, open.paymentLinkId, PT)
  expect(before.body).not.toMatch(/aurora\.example|\/receipt/)

  const { paymentLinkId } = await paid(w, account, { returnUrl })
  const link = `${returnUrl}&paymentLinkId=${paymentLinkId}&status=COMPLETED`.replaceAll('&', '&amp;')
  for (const [headers, words] of [
    [PT, 'Voltar para Loja Aurora'],
    [EN, 'Back to Loja Aurora'],
    [ES, 'Volver a Loja Aurora'],
  ] as const) {
    const page = await openPage(w, paymentLinkId, headers)
    expect(page.text).toContain(words)
    expect(page.body).toContain(`href="${link}"`)
    expect(page.body).toContain(`href="${paymentLinkId}/receipt"`)
  }
  const kept = await openPage(w, paymentLinkId, PT, '?lang=es')
  expect(kept.body).toContain(`href="${paymentLinkId}/receipt?lang=es"`)

  // An owner who takes an origin off the list means links of older charges too.
  const { version: _, logo: __, ...empty } = NO_BRAND
  await changeShop(w.ctx, OWNER, { accountId: account.accountId, version: 1 }, empty)
  expect((await openPage(w, paymentLinkId, PT)).body).not.toContain('aurora.example')
})

test('a receipt has amount, payee, time and both ids, in three languages', async () => {
  const { w, account } = await withShop({ displayName: 'Loja Aurora', cnpj: '11222333000181' })
  const charge = await paid(w, account, { description: 'Pedido 1042' })
  const { rows } = await w.pool.query('select end_to_end_id as e2e from charges')
  for (const [headers, amount, title] of [
    [PT, 'R$ 50,00', 'Recibo'],
    [EN, 'R$50.00', 'Receipt'],
    [ES, 'R$ 50,00', 'Recibo'],
  ] as const) {
    const page = await receipt(w, charge.paymentLinkId, headers)
    expect(page.status).toBe(200)
    for (const text of [amount, title, 'Loja Aurora', '11.222.333/0001-81', 'Pedido 1042', rows[0].e2e, charge.id])
      expect(page.text).toContain(text)
    expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex, nofollow' })
  }
  expect((await receipt(w, charge.paymentLinkId)).text).toContain('09:00 (Brasília)')
  expect((await receipt(w, charge.paymentLinkId)).text).not.toContain('Devolvido')
})

test('a receipt tells what was refunded, and what is left', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await paid(w, account)
  await w.pool.query('update charges set refunded_cents = 2000')
  const { text } = await receipt(w, charge.paymentLinkId)
  expect(text).toContain('Devolvido R$ 20,00')
  expect(text).toContain('Pago após a devolução R$ 30,00')
})

test('there is no receipt before the payment, and none of nothing', async () => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  const url = `/payment-link/${charge.paymentLinkId}/receipt`
  const early = await w.app.inject({ url: `${url}?lang=es`, headers: PT })
  expect([early.statusCode, early.headers.location]).toEqual([303, `../${charge.paymentLinkId}?lang=es`])
  expect((await receipt(w, UNKNOWN_ID)).status).toBe(404)
})

test('a page with everything of a brand is still less than 20 kB', async () => {
  const { w, account } = await withShop({
    displayName: '&'.repeat(60),
    color: '#c2185b',
    cnpj: '12ABC34501DE35',
    supportEmail: `${'a'.repeat(60)}@aurora.example`,
    supportPhone: '+5511999998888',
    supportUrl: `https://aurora.example/${'x'.repeat(400)}`,
  })
  const charge = await w.deposit(account, { description: '😀'.repeat(140) })
  expect(Buffer.byteLength((await openPage(w, charge.paymentLinkId, PT)).body)).toBeLessThan(20_000)
})
