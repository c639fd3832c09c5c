import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Context } from '../src/domain/context.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { html, htmlText } from '../src/base/html.ts'
import { readerOf } from '../src/http/server/language.ts'
import { openPage, pageOf, unescape } from './pages.ts'
import { appWith, UNKNOWN_ID } from './requests.ts'
import { world, type World } from './world.ts'

const PT = { 'accept-language': 'pt-BR,pt;q=0.9,en;q=0.8' }
const EN = { 'accept-language': 'en-GB,en;q=0.9' }
const ES = { 'accept-language': 'es-AR,es;q=0.9' }

test('a pending charge shows amount, payee, description, code and QR, and until when it can be paid', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 1_234_56, description: 'Pedido 1042' })
  const page = await openPage(w, charge.paymentLinkId, PT)

  expect(page.status).toBe(200)
  expect(page.state).toBe('PENDING')
  expect(page.text).toContain('R$ 1.234,56')
  expect(page.text).toContain(account.caller.accountName)
  expect(page.text).toContain('Pedido 1042')
  expect(page.text).toContain('Aguardando pagamento')
  expect(page.text).toContain('Pague até 10:00 (Brasília)')
  expect((await openPage(w, charge.paymentLinkId, EN)).text).toContain('Pay by 10:00 (Brasília)')
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
  const closing = await openPage(w, expired.paymentLinkId, EN)
  w.clock.advance(60_000)
  await queryDeposit(w.ctx, account.accountId, expired.paymentLinkId)

  const pages = {
    PENDING: await openPage(w, pending.paymentLinkId, EN),
    CLOSING: closing,
    COMPLETED: await openPage(w, paid.paymentLinkId, EN),
    CANCELED: await openPage(w, canceled.paymentLinkId, EN),
    EXPIRED: await openPage(w, expired.paymentLinkId, EN),
  }
  const titles = {
    PENDING: 'Waiting for payment',
    CLOSING: 'Time is up',
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
    expect([state, page.text.includes('Do not pay this code anymore')]).toEqual([
      state,
      !isPayable && state !== 'COMPLETED',
    ])
    // Only a page whose state may still change asks again, by script or by reloading.
    const isOpen = state === 'PENDING' || state === 'CLOSING'
    expect([state, page.body.includes('<script>'), page.body.includes('http-equiv="refresh"')]).toEqual([
      state,
      isOpen,
      isOpen,
    ])
  }
  expect(pages.COMPLETED.text).toContain('Paid 2 Mar 2026, 09:00 (Brasília)')
})

test('whatever an account writes is text and never markup', async () => {
  const w = await world()
  const account = await w.account()
  const hostile = `</title><script>alert(1)</script><img src=x onerror='a'>"&`
  await w.pool.query('update accounts set name = $2 where id = $1', [account.accountId, hostile])
  const charge = await w.deposit(account, { description: hostile })
  const page = await openPage(w, charge.paymentLinkId, PT)

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
  const live = await appWith(liveContext(w))
  // Only the button of the sandbox is a form.
  for (const [name, page, formTarget] of [
    ['charge', await openPage(w, charge.paymentLinkId, PT), "'self'"],
    ['live charge', pageOf(await live.inject(`/payment-link/${charge.paymentLinkId}`)), "'none'"],
    ['missing', await openPage(w, 'x', PT), "'none'"],
    ['not found', pageOf(await w.app.inject({ url: '/nothing', headers: { accept: 'text/html' } })), "'none'"],
  ] as const) {
    const policy = String(page.headers['content-security-policy'])
    expect([name, policy]).toEqual([
      name,
      expect.stringContaining(`default-src 'none'; base-uri 'none'; form-action ${formTarget}; frame-ancestors 'none'`),
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
  const w = await world()
  const { paymentLinkId } = await w.deposit(await w.account())
  for (const [app, isMarked] of [
    [w.app, true],
    [await appWith(liveContext(w)), false],
  ] as const) {
    const url = `/payment-link/${paymentLinkId}`
    const marks = [
      'Ambiente de testes: sem dinheiro real',
      'Sandbox: no real money',
      'Entorno de pruebas: sin dinero real',
    ]
    for (const [index, headers] of [PT, EN, ES].entries()) {
      expect(pageOf(await app.inject({ url, headers })).text.includes(marks[index]!)).toBe(isMarked)
    }
  }
})

test('a payment that was given back is not shown as a success', async () => {
  const w = await world()
  const { charge, account } = await w.paidCharge()
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const giveBack = (cents: number) => w.pool.query('update charges set refunded_cents = $1', [cents])

  await giveBack(20_00)
  const partly = await openPage(w, charge.paymentLinkId, EN)
  expect([partly.state, partly.text.includes('Returned R$20.00')]).toEqual(['COMPLETED', true])
  await giveBack(50_00)
  const wholly = await openPage(w, charge.paymentLinkId, EN)
  expect([wholly.state, wholly.text.includes('Payment returned'), wholly.text.includes('Payment confirmed')]).toEqual([
    'REFUNDED',
    true,
    false,
  ])
})

// By the central bank's rules, a code has at most 242 characters, with each of its fields at its longest.
test('the whole page is one answer of less than 20 kB, also with the longest code and texts that there can be', async () => {
  const w = await world()
  const account = await w.account()
  const usual = await w.deposit(account, { description: 'Pedido 1042' })
  expect((await openPage(w, usual.paymentLinkId, PT)).body.length).toBeLessThan(17_000)

  const charge = await w.deposit(account, { valueCents: 999_999_999_999, description: '😀'.repeat(140) })
  await w.pool.query('update accounts set name = $1', ['&'.repeat(100)])
  await w.pool.query('update charges set emv = $2, code_seal = null where payment_link_id = $1', [
    charge.paymentLinkId,
    'x'.repeat(242),
  ])
  for (const headers of [PT, EN, ES]) {
    const { body } = await openPage(w, charge.paymentLinkId, headers, '?lang=es')
    expect(body).toContain('😀'.repeat(140))
    expect(Buffer.byteLength(body)).toBeLessThan(20_000)
  }
})

test('a link that leads nowhere gets a friendly page, and so does any other address in a browser', async () => {
  const w = await world()
  for (const id of [UNKNOWN_ID, 'x', '%zz', '%00', 'x'.repeat(3000)]) {
    const page = await openPage(w, id, PT)
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
    ['es-UY', 'es'],
    ['es-419,es;q=0.9,en;q=0.8', 'es'],
    ['en-US,en;q=0.9,pt;q=0.8', 'en'],
    ['en;q=0.5, pt;q=0.7', 'pt-BR'],
    ['pt;q=0, en;q=0.1', 'en'],
    ['de, fr;q=0.9', 'en'],
    ['de, pt;q=0.2', 'pt-BR'],
    ['est, eng;q=0.9', 'en'],
    [',;q=;;,', 'pt-BR'],
  ] as const) {
    expect([wish, readerOf({ headers: { 'accept-language': wish }, query: {} }).language]).toEqual([wish, language])
  }
})

test('the switch on the page is stronger than the browser’s wish, and nonsense in it is not heard', async () => {
  const w = await world()
  const { paymentLinkId } = await w.deposit(await w.account())
  for (const [query, language] of [
    ['', 'en'],
    ['?lang=es', 'es'],
    ['?lang=pt-BR', 'pt-BR'],
    ['?lang=xx', 'en'],
    ['?lang=es&lang=es', 'en'],
    ['?lang=%22%3E', 'en'],
  ] as const) {
    const page = await openPage(w, paymentLinkId, EN, query)
    expect([query, page.headers['content-language'], page.body.includes(`<html lang="${language}">`)]).toEqual([
      query,
      language,
      true,
    ])
    // The page links to each of the other languages.
    const links = [...page.body.matchAll(/<a href="\?lang=([\w-]+)" lang="\1"/g)].map(([, to]) => to)
    expect(links).toEqual(['pt-BR', 'en', 'es'].filter((other) => other !== language))
  }
  const lost = await openPage(w, 'x', EN, '?lang=es')
  expect([lost.status, lost.text.includes('Cobro no encontrado')]).toEqual([404, true])
})

test('amounts and times are written in the way of the reader’s region', async () => {
  const w = await world()
  const { paymentLinkId } = await w.deposit(await w.account(), { valueCents: 1_234_567_89, expiresInSeconds: 86_400 })
  for (const [wish, query, amount, time] of [
    ['pt-BR', '', 'R$ 1.234.567,89', '3 de mar. de 2026, 09:00'],
    ['en-US', '', 'R$1,234,567.89', 'Mar 3, 2026, 9:00 AM'],
    ['en-GB', '', 'R$1,234,567.89', '3 Mar 2026, 09:00'],
    ['es-AR', '', 'R$ 1.234.567,89', '3 mar 2026, 9:00'],
    ['es-ES', '', '1.234.567,89 R$', '3 mar 2026, 9:00'],
    // The browser names no region for the chosen language, so the language's default applies.
    ['en-GB', '?lang=es', 'R$ 1.234.567,89', '3 mar 2026, 9:00'],
    // These languages have no region, or one that does not exist.
    ['en', '', 'R$1,234,567.89', 'Mar 3, 2026, 9:00 AM'],
    ['en-x-odd', '', 'R$1,234,567.89', 'Mar 3, 2026, 9:00 AM'],
    ['es-000', '', 'R$', '3 mar 2026'],
  ] as const) {
    const { text } = await openPage(w, paymentLinkId, { 'accept-language': wish }, query)
    expect([wish, query, text]).toEqual([wish, query, expect.stringContaining(amount)])
    expect([wish, query, text]).toEqual([wish, query, expect.stringContaining(time)])
  }
})

function liveContext(w: World): Context {
  return { ...w.ctx, settings: { ...w.ctx.settings, mode: 'live', sandboxBankUrl: null } }
}
