import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import type { Charge } from '../../src/domain/deposits/charge-reads.ts'
import { cancelDeposit, queryDeposit } from '../../src/domain/deposits/query-deposit.ts'
import { overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { hasZbar, readWithZbar } from '../pages.ts'
import { appWith, portOf, UNKNOWN_ID } from '../requests.ts'
import { until, type TestAccount, type World } from '../world.ts'

// These tests use the element as payers do: on the page of a shop, at another origin, under the strictest policy that
// its document promises.

useChromium()

// Saves pictures for people: `PICTURES=/tmp/pages npx vitest run test/long/element-browser.test.ts`.
const PICTURES = process.env['PICTURES']
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, locale: 'pt-BR' }

test('on a shop’s page under a strict policy it shows the code, turns when it is paid, and tells the page once', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account, { description: 'Pedido 1042' })
  const shop = await startShop(url)
  const { page, errors, requests } = await visit(PHONE)
  await openListening(page, shop(charge))
  await page.getByText('Aguardando pagamento').waitFor()
  expect(await page.getByText('R$ 50,00', { exact: true }).isVisible()).toBe(true)
  expect(await page.getByText('Pedido 1042').isVisible()).toBe(true)
  expect(await page.getByLabel('Pix copia e cola').inputValue()).toBe(charge.emv)
  // On a phone the code to copy comes before the picture, which its own camera cannot read.
  const top = async (selector: string) => (await page.locator(selector).boundingBox())!.y
  expect(await top('[part=button]')).toBeLessThan(await top('[part=qr]'))

  await settled(w, account, charge)
  await page.getByText('Pagamento confirmado').first().waitFor()
  expect(await page.locator('[role=status]').textContent()).toBe('Pagamento confirmado · R$\u{a0}50,00')
  expect(await page.locator('[part=qr], [part=code], [part=button]').count()).toBe(0)
  expect(await toldTo(page)).toEqual([told('guiche-paid', charge, 'COMPLETED')])
  // Moving it about in the page tells nothing anew.
  await page.evaluate(`document.body.append(document.querySelector('guiche-pix'))`)
  await until('it asks again', async () => requests.filter((path) => path.endsWith('/data')).length === 3)
  expect(await toldTo(page)).toHaveLength(1)
  expect(errors).toEqual([])
})

test('expiry, cancellation and held money each are told once, as what the API says', async () => {
  const { w, account, url } = await service()
  const shop = await startShop(url)
  const [canceled, held] = [await w.deposit(account), await w.deposit(account, { valueCents: 100_00 })]
  const expired = await w.deposit(account, { expiresInSeconds: 300 })
  const pages: Page[] = []
  for (const charge of [canceled, held, expired]) {
    const { page } = await visit(PHONE)
    await openListening(page, shop(charge))
    pages.push(page)
  }
  await cancelDeposit(w.ctx, account.accountId, canceled.paymentLinkId)
  await w.sandbox.pay({ emv: held.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, held.paymentLinkId)
  w.clock.advance(361_000)
  await queryDeposit(w.ctx, account.accountId, expired.paymentLinkId)

  const [onCanceled, onHeld, onExpired] = pages as [Page, Page, Page]
  await onCanceled.getByText('Cobrança cancelada').first().waitFor()
  await onHeld.getByText('Recebemos R$ 90,00, mas esta cobrança é de R$ 100,00.').waitFor()
  await onExpired.getByText('Cobrança expirada').first().waitFor()
  expect(await toldTo(onCanceled)).toEqual([told('guiche-expired', canceled, 'CANCELED')])
  expect(await toldTo(onHeld)).toEqual([told('guiche-held', held, 'PENDING')])
  expect(await toldTo(onExpired)).toEqual([told('guiche-expired', expired, 'EXPIRED')])
})

test('an element that is moved within the page goes on counting down', async () => {
  const { w, account, url } = await service()
  const { page } = await visit(PHONE)
  await page.goto((await startShop(url))(await w.deposit(account)))
  const left = page.getByRole('timer', { name: 'Tempo restante' })
  await left.waitFor()
  const again = page.waitForResponse((response) => response.url().includes('/data?'))
  await page.evaluate(`document.body.append(document.querySelector('guiche-pix'))`)
  await again
  const before = await left.textContent()
  await until('a second has passed', async () => (await left.textContent()) !== before)
  expect(await page.locator('[part=timer]').count()).toBe(1)
})

test('a payment that was given back is no news of a payment', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  await settled(w, account, charge)
  await w.pool.query('update charges set refunded_cents = value_cents')
  const { page } = await visit(PHONE)
  await page.goto((await startShop(url))(charge))
  await page.getByText('Pagamento devolvido').first().waitFor()
  expect(await toldTo(page)).toEqual([])
})

test('it refuses links that are not of the service that the script came from, and asks nobody', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const shop = await startShop(url)
  const other = new URL(shop(charge)).origin
  for (const link of [
    `${other}/payment-link/${charge.paymentLinkId}`,
    `//127.0.0.1:1/payment-link/${charge.paymentLinkId}`,
    `/payment-link/${charge.paymentLinkId}`,
    'javascript:alert(1)',
    'data:application/json,{}',
    `${url}/qr/${charge.paymentLinkId}.png`,
    `${url}/payment-link/${charge.paymentLinkId}/../../api/balance`,
    'http://[',
    '',
  ]) {
    const { page, errors, requests } = await visit(PHONE)
    await page.goto(shop(link))
    await page.getByText('Este pagamento não pode ser exibido aqui.').waitFor()
    expect([link, errors]).toEqual([link, [expect.stringContaining(`paymentLinkUrl of a deposit at ${url}`)]])
    expect(requests.filter((path) => /data|events/.test(path))).toEqual([])
    await page.context().close()
  }
  const { page } = await visit(PHONE)
  await page.goto(shop(`${url}/payment-link/${UNKNOWN_ID}`))
  await page.getByText('Este pagamento não pode ser exibido aqui.').waitFor()
})

test('another link shows another payment, and an element that is removed lets go of its stream', async () => {
  const { w, account, url } = await service()
  const [first, second] = [await w.deposit(account), await w.deposit(account, { valueCents: 70_00 })]
  const { page } = await visit(PHONE)
  await openListening(page, (await startShop(url))(first))
  await page.getByText('R$ 50,00', { exact: true }).waitFor()
  const change = async (script: string) => {
    const letGo = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/events'))
    await page.evaluate(script)
    await letGo
  }
  await change(`document.querySelector('guiche-pix').paymentLink = '${url}/payment-link/${second.paymentLinkId}'`)
  await page.getByText('R$ 70,00', { exact: true }).waitFor()
  await settled(w, account, first)
  await settled(w, account, second)
  await page.getByText('Pagamento confirmado').first().waitFor()
  expect(await toldTo(page)).toEqual([told('guiche-paid', second, 'COMPLETED')])

  const third = await w.deposit(account)
  const listening = page.waitForResponse((response) => response.url().endsWith('/events') && response.ok())
  await page.evaluate(
    `document.querySelector('guiche-pix').setAttribute('payment-link', '${url}/payment-link/${third.paymentLinkId}')`,
  )
  await listening
  await change(`document.querySelector('guiche-pix').remove()`)
})

test('where no stream comes through it asks by itself', async () => {
  const { w, account } = await service()
  const app = await appWith(w.ctx, { maxStreams: 0 })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${portOf(app)}`
  const charge = await w.deposit(account)
  const { page, requests } = await visit(PHONE)
  await page.clock.install()
  const refused = page.waitForResponse((response) => response.url().endsWith('/events') && response.status() === 503)
  await page.goto((await startShop(url))(`${url}/payment-link/${charge.paymentLinkId}`))
  await refused
  await page.getByText('Aguardando pagamento').waitFor()
  await settled(w, account, charge)
  await page.clock.runFor(6_000)
  await page.getByText('Pagamento confirmado').first().waitFor()
  expect(requests.filter((path) => path.endsWith('/events'))).toHaveLength(1)
})

test('offline it says so and keeps the code, and looks as soon as there is a network again', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit(PHONE)
  await openListening(page, (await startShop(url))(charge))
  await page.getByText('Aguardando pagamento').waitFor()
  await page.context().setOffline(true)
  // The stream may outlive the network in the emulation, so the element is made to look.
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
  await page.getByText('O serviço de pagamento não responde. Tentando de novo…').waitFor()
  expect(await page.getByLabel('Pix copia e cola').inputValue()).toBe(charge.emv)
  await settled(w, account, charge)
  await page.context().setOffline(false)
  await page.getByText('Pagamento confirmado').first().waitFor()
  expect(await page.getByText('Tentando de novo').isVisible()).toBe(false)
})

test('out of sight it lets go of its stream, and a device that slept looks when it wakes', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit(PHONE)
  await openListening(page, (await startShop(url))(charge))
  await page.getByText('Aguardando pagamento').waitFor()
  const show = (isHidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
    )
  const letGo = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/events'))
  await show(true)
  await letGo
  await settled(w, account, charge)
  expect(await page.getByText('Aguardando pagamento').isVisible()).toBe(true)
  await page.route('**/events', (route) => route.abort())
  await show(false)
  await page.getByText('Pagamento confirmado').first().waitFor()
})

test('the time left goes by the clock of the server, and ends in "do not pay"', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit(PHONE)
  await page.clock.install({ time: new Date('2020-01-01T00:00:00Z') })
  await page.goto((await startShop(url))(charge))
  const left = page.getByRole('timer', { name: 'Tempo restante' })
  await until('it shows an hour', async () => /^(1:00:00|59:5\d)$/.test((await left.textContent()) ?? ''))
  w.clock.advance(3_600_000)
  await page.clock.fastForward(3_600_000)
  await page.getByText('Prazo encerrado').first().waitFor()
  expect(await page.locator('[part=code], [part=timer]').count()).toBe(0)
})

test('one tap copies the code and says so, also where the clipboard is closed to the page', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const shop = await startShop(url)
  for (const script of ['', 'Object.defineProperty(navigator, "clipboard", { value: undefined })']) {
    const { page, errors } = await visit({ ...PHONE, permissions: ['clipboard-read', 'clipboard-write'] })
    await page.clock.install()
    await page.goto(shop(charge))
    await page.evaluate('navigator.clipboard.writeText("before")')
    await page.evaluate(script)
    const button = page.locator('[part=button]')
    await button.tap()
    await until('the button says so', async () => (await button.textContent()) === 'Código copiado')
    expect(await page.locator('[role=status]').textContent()).toBe('Código copiado')
    await page.clock.runFor(3_000)
    expect(await button.textContent()).toBe('Copiar código Pix')
    const other = await page.context().newPage()
    await other.goto(`${url}/livez`)
    await other.bringToFront()
    expect([await other.evaluate('navigator.clipboard.readText()'), errors]).toEqual([charge.emv, []])
  }
})

test('its language is that of the nearest lang, else the browser’s, and it follows a change', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const shop = await startShop(url)
  for (const [lang, locale, text] of [
    ['', 'pt-BR', 'Aguardando pagamento'],
    ['', 'de-DE', 'Waiting for payment'],
    ['es', 'pt-BR', 'Esperando el pago'],
    ['en-GB', 'pt-BR', 'Waiting for payment'],
    ['fr', 'es-MX', 'Esperando el pago'],
    ['not a language', 'en-US', 'Waiting for payment'],
  ] as const) {
    const { page, errors } = await visit({ ...PHONE, locale })
    await page.goto(`${shop(charge)}&lang=${lang}`)
    await page.getByText(text).first().waitFor()
    await page.evaluate(`document.querySelector('guiche-pix').lang = 'pt'`)
    await page.getByText('Aguardando pagamento').first().waitFor()
    expect([lang, locale, errors]).toEqual([lang, locale, []])
    await page.context().close()
  }
})

test('every state is accessible and fits, light and dark, in forced colours, and at twice the size', async () => {
  const { w, account, url } = await service()
  const shop = await startShop(url)
  const states = await oneOfEach(w, account)
  for (const [look, options, theme] of [
    ['light', { colorScheme: 'light' }, ''],
    ['dark', { colorScheme: 'dark' }, ''],
    ['dark by choice', { colorScheme: 'light' }, 'dark'],
    ['forced', { forcedColors: 'active' }, ''],
  ] as const) {
    const { page } = await visit({ ...PHONE, ...options })
    for (const [state, charge] of states) {
      await page.setViewportSize({ width: 390, height: 844 })
      await page.goto(`${shop(charge)}&lang=pt-BR&theme=${theme}`)
      await page.locator(`[data-state=${state}]`).waitFor()
      await expectElementAccessible(page, `${state} ${look}`)
      // 195 pixels are what a phone of 390 shows at twice the size.
      for (const width of [195, 390, 1024]) {
        await page.setViewportSize({ width, height: 844 })
        expect([state, look, width, await overflowPx(page)]).toEqual([state, look, width, 0])
        if (PICTURES) await takePicture(page, `element-${state}-${look}-${width}`)
      }
    }
  }
})

test('a page sets colours and shape by custom properties and parts', async () => {
  const { w, account, url } = await service()
  const { page } = await visit(PHONE)
  await page.goto(`${(await startShop(url))(await w.deposit(account))}&themed=1`)
  await page.locator('[part=button]').waitFor()
  const button = `document.querySelector('guiche-pix').shadowRoot.querySelector('[part=button]')`
  const { backgroundColor, textTransform } = await page.evaluate<Record<string, string>>(
    `(({ backgroundColor, textTransform }) => ({ backgroundColor, textTransform }))(getComputedStyle(${button}))`,
  )
  expect([backgroundColor, textTransform]).toEqual(['rgb(106, 13, 173)', 'uppercase'])
})

test('it can be used by keyboard alone, and who had the focus in it keeps a place when it turns', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit({ locale: 'pt-BR' })
  await openListening(page, (await startShop(url))(charge))
  await page.locator('[part=button]').waitFor()
  const focused = () => page.evaluate(`document.activeElement.shadowRoot?.activeElement?.getAttribute('part')`)
  for (const part of ['code', 'button']) {
    await page.keyboard.press('Tab')
    expect(await focused()).toBe(part)
  }
  await settled(w, account, charge)
  await page.getByText('Pagamento confirmado').first().waitFor()
  expect(await focused()).toBe('card')
})

test('phones read the code from the screen, light and dark', async ({ skip }) => {
  // Most machines lack zbar; payment-data.test.ts reads the same modules without it.
  skip(!hasZbar, 'zbarimg is not installed')
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const shop = await startShop(url)
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await visit({ ...PHONE, colorScheme })
    await page.goto(shop(charge))
    await page.locator('[part=qr]').waitFor()
    expect(readWithZbar(await page.screenshot({ fullPage: true }))).toBe(charge.emv)
  }
})

// ---- The shop ----

/** Pages of another origin with one element. `link` is a charge, or what stands in the attribute. */
async function startShop(serviceUrl: string): Promise<(link: Charge | string) => string> {
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${serviceUrl}`,
    "style-src 'self'",
    `connect-src ${serviceUrl}`,
    "img-src 'self'",
    "require-trusted-types-for 'script'",
  ].join('; ')
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://shop')
    const send = (type: string, text: string) =>
      response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': policy }).end(text)
    if (pathname === '/shop.js') return send('text/javascript', SHOP_SCRIPT)
    if (pathname === '/shop.css') return send('text/css', SHOP_STYLE)
    if (pathname !== '/') return response.writeHead(204).end()
    const attribute = (name: string) => {
      const value = searchParams.get(name)
      return value ? ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"` : ''
    }
    const themed = searchParams.has('themed') ? '<link rel="stylesheet" href="/shop.css">' : ''
    return send(
      'text/html',
      `<!doctype html><html${attribute('lang')}><head><meta name="viewport" content="width=device-width">
       <meta name="color-scheme" content="light dark"><title>Loja</title>${themed}<script src="/shop.js"></script>
       <script type="module" src="${serviceUrl}/elements/guiche-pix.js"></script></head><body><main><h1>Loja</h1>
       <guiche-pix payment-link="${searchParams.get('link')}"${attribute('theme')}></guiche-pix></main></body></html>`,
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const shop = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?link=`
  const linkOf = (charge: Charge) => `${serviceUrl}/payment-link/${charge.paymentLinkId}`
  return (link) => shop + encodeURIComponent(typeof link === 'string' ? link : linkOf(link))
}

const SHOP_SCRIPT = `
window.told = []
for (const name of ['guiche-paid', 'guiche-expired', 'guiche-held'])
  document.addEventListener(name, ({ type, target, detail }) => told.push([type, target.localName, detail]))
`
const SHOP_STYLE = `
guiche-pix { --guiche-accent: #6a0dad; --guiche-accent-text: #fff; --guiche-radius: 0; }
guiche-pix::part(button) { text-transform: uppercase; }
`

const toldTo = (page: Page) => page.evaluate('told')
const told = (name: string, { paymentLinkId }: Charge, status: string) => [
  name,
  'guiche-pix',
  { paymentLinkId, status },
]

/** Opens the page, and resolves when the stream of its element is connected. */
async function openListening(page: Page, url: string): Promise<void> {
  const listening = page.waitForResponse((response) => response.url().endsWith('/events') && response.ok())
  await page.goto(url)
  await listening
}

/** As expectAccessible() of chromium.ts, but for every text: those in a shadow are not marked. */
async function expectElementAccessible(page: Page, what: string): Promise<void> {
  await page.evaluate(axe.source)
  const violations = await page.evaluate<AxeResults['violations']>(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  )
  const found = violations.map((one) => `${one.id}: ${one.help} (${one.nodes.map((node) => node.html).join(' | ')})`)
  expect([what, found]).toEqual([what, []])
}

// ---- The service ----

async function service(): Promise<{ w: World; account: TestAccount; url: string }> {
  const { w, url } = await serve()
  const account = await w.account()
  await w.pool.query('update accounts set name = $1', ['Padaria Dois Irmãos'])
  return { w, account, url }
}

/** Pays and settles a charge without a notification. */
async function settled(w: World, account: TestAccount, charge: Charge): Promise<void> {
  await w.sandbox.pay({ emv: charge.emv })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
}

async function oneOfEach(w: World, account: TestAccount): Promise<[string, Charge][]> {
  const make = (request = {}) =>
    w.deposit(account, { valueCents: 1_234_56, description: 'Pedido 1042: duas cadeiras', ...request })
  const [paid, canceled, held] = [await make(), await make(), await make()]
  await settled(w, account, paid)
  await cancelDeposit(w.ctx, account.accountId, canceled.paymentLinkId)
  await w.sandbox.pay({ emv: held.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, held.paymentLinkId)
  const expired = await make({ expiresInSeconds: 300 })
  w.clock.advance(361_000)
  await queryDeposit(w.ctx, account.accountId, expired.paymentLinkId)
  const closing = await make({ expiresInSeconds: 300 })
  w.clock.advance(301_000)
  const pending = await make({ valueCents: 999_999_999_999, description: 'Recibo'.repeat(23) })
  return [
    ['PENDING', pending],
    ['CLOSING', closing],
    ['HELD', held],
    ['COMPLETED', paid],
    ['EXPIRED', expired],
    ['CANCELED', canceled],
  ]
}

async function takePicture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES!, { recursive: true })
  await page.screenshot({ path: join(PICTURES!, `${name.replaceAll(' ', '-')}.png`), fullPage: true })
}
