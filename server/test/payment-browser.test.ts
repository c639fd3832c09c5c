import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import type { Charge } from '../src/domain/deposits/charge-reads.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { LANGUAGES } from '../src/http/server/language.ts'
import { startCheckWorker } from '../src/workers/check.ts'
import { startRegistration } from '../src/workers/register.ts'
import { expectAccessible, overflowPx, useChromium, visit } from './chromium.ts'
import { hasZbar, readWithZbar } from './pages.ts'
import { appWith, portOf, UNKNOWN_ID } from './requests.ts'
import { until, world, type TestAccount, type World } from './world.ts'

// These tests use the payment page as payers do: in a browser, while the bank, the notification and the settlement are
// real.

useChromium()

// Saves pictures for people: `PICTURES=/tmp/pages npx vitest run test/payment-browser.test.ts`.
const PICTURES = process.env['PICTURES']
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: PICTURES ? 2 : 1, locale: 'pt-BR' }

test('a page that is open when its charge is paid turns by itself', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account, { description: 'Pedido 1042' })
  const { page, requests, errors } = await visit(PHONE)
  const link = `/payment-link/${charge.paymentLinkId}`
  await openListening(page, url + link)
  await expectHeading(page, 'Aguardando pagamento')

  const paidAt = performance.now()
  await w.sandbox.pay({ emv: charge.emv })
  await expectHeading(page, 'Pagamento confirmado')
  const turnedMs = Math.round(performance.now() - paidAt)
  if (PICTURES) process.stdout.write(`the page turned ${turnedMs} ms after the bank was told to pay\n`)

  expect(await page.title()).toBe('Pagamento confirmado · R$\u{a0}50,00')
  expect(await page.locator('[role=status]').textContent()).toBe('Pagamento confirmado · R$\u{a0}50,00')
  expect(await page.getByText('Pedido 1042').isVisible()).toBe(true)
  expect(await page.locator('.qr, #code, #copy, form').count()).toBe(0)
  await expectAccessible(page, 'turned by itself')
  // The stream told the page, so it did not poll: it asked for itself, its icon, the stream, and itself in its new
  // state.
  expect(requests.filter((path) => path !== '/icon.svg')).toEqual([link, `${link}/events`, link])
  expect(errors).toEqual([])
})

test('whoever ends the charge, the page turns: another process, the account holder', async () => {
  const { w, account, url } = await service()
  const paid = await w.deposit(account)
  const canceled = await w.deposit(account)
  const { page: onPaid } = await visit(PHONE)
  await openListening(onPaid, `${url}/payment-link/${paid.paymentLinkId}`)
  const { page: onCanceled } = await visit(PHONE)
  await openListening(onCanceled, `${url}/payment-link/${canceled.paymentLinkId}`)

  await w.sandbox.faults({ dropNotifications: true })
  await w.sandbox.pay({ emv: paid.emv })
  const other = await w.anotherProcess()
  await queryDeposit(other.ctx, account.accountId, paid.paymentLinkId)
  await expectHeading(onPaid, 'Pagamento confirmado')

  await cancelDeposit(other.ctx, account.accountId, canceled.paymentLinkId)
  await expectHeading(onCanceled, 'Cobrança cancelada')
  expect(await onCanceled.title()).toBe('Cobrança cancelada · R$\u{a0}50,00')
})

test('the countdown goes by the server, ends in "do not pay", and then in the provider’s last word', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit(PHONE)
  // The phone's clock is years behind.
  await page.clock.install({ time: new Date('2020-01-01T00:00:00Z') })
  await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  const left = page.locator('#left')
  await until('the countdown shows an hour', async () => /^(1:00:00|59:5\d)$/.test((await left.textContent()) ?? ''))
  w.clock.advance(600_000)
  await page.clock.fastForward(600_000)
  expect(await left.textContent()).toMatch(/^(50:00|49:\d\d)$/)

  w.clock.advance(3_000_000)
  await page.clock.fastForward(3_000_000)
  await expectHeading(page, 'Prazo encerrado')
  expect(await page.locator('.qr, #code, #copy, form').count()).toBe(0)

  w.clock.advance(61_000)
  w.ctx.wakeChecks()
  await expectHeading(page, 'Cobrança expirada')
})

test('one tap copies the code and says so, also where the clipboard is closed to the page', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  for (const [way, script] of [
    ['the clipboard', ''],
    ['the old way', 'Object.defineProperty(navigator, "clipboard", { value: undefined })'],
  ] as const) {
    const { page, errors } = await visit({ ...PHONE, permissions: ['clipboard-read', 'clipboard-write'] })
    await page.clock.install()
    await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
    const readClipboard = 'navigator.clipboard.readText()'
    await page.evaluate('navigator.clipboard.writeText("before")')
    await page.evaluate(script)
    const button = page.locator('#copy')
    await button.tap().catch(() => button.click())
    await until('the button says so', async () => (await button.textContent()) === 'Código copiado')
    expect(await page.locator('[role=status]').textContent()).toBe('Código copiado')
    await takePicture(page, 'copied')
    await page.clock.runFor(3_000)
    expect((await button.textContent())?.trim()).toBe('Copiar código Pix')

    const { page: other } = await samePerson(page, url)
    expect([way, await other.evaluate(readClipboard), errors]).toEqual([way, charge.emv, []])
  }
})

test('a code that cannot be copied is selected for the payer’s own hand, and the page says so', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit(PHONE)
  await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  await page.evaluate(
    'Object.defineProperty(navigator, "clipboard", { value: undefined }); document.execCommand = () => false',
  )
  await page.locator('#copy').click()
  expect(await page.locator('#copy').textContent()).toBe('Não foi possível copiar. Selecione o código acima.')
  expect(await page.evaluate('getSelection().toString() || document.activeElement.value')).toBe(charge.emv)
})

test('without scripts the page is whole: it can be paid from, and reloads until it is', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page, errors } = await visit({ ...PHONE, javaScriptEnabled: false })
  await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  await expectHeading(page, 'Aguardando pagamento')
  expect(await page.locator('#code').inputValue()).toBe(charge.emv)
  expect(await page.locator('#copy').isVisible()).toBe(false)
  expect(await page.locator('#left').isVisible()).toBe(false)

  // The same page in another tab reloads every second instead of every ten.
  const other = await page.context().newPage()
  const waits = new Set<string>()
  await other.route(page.url(), async (route) => {
    const response = await route.fetch()
    const body = (await response.text()).replace(/(http-equiv="refresh" content=)"(\d+)"/, (_, start, seconds) => {
      waits.add(seconds)
      return `${start}"1"`
    })
    await route.fulfill({ response, body })
  })
  await other.goto(page.url())
  await expectHeading(other, 'Aguardando pagamento')
  const landed = page.waitForResponse((response) => response.url() === other.url() && response.status() === 200)
  await page.getByRole('button', { name: 'Simular pagamento' }).click()
  await landed
  await expectHeading(other, 'Pagamento confirmado')
  expect([...waits]).toEqual(['10'])
  await page.reload()
  await expectHeading(page, 'Pagamento confirmado')
  expect(new URL(page.url()).pathname).toBe(`/payment-link/${charge.paymentLinkId}`)
  expect(errors).toEqual([])
})

test('a page whose stream is refused looks for itself', async () => {
  const { w, account } = await service()
  const app = await appWith(w.ctx, { maxStreams: 0 })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const charge = await w.deposit(account)
  const { page, requests } = await visit(PHONE)
  await page.clock.install()
  const refused = page.waitForResponse((response) => response.url().endsWith('/events') && response.status() === 503)
  await page.goto(`http://127.0.0.1:${portOf(app)}/payment-link/${charge.paymentLinkId}`)
  await refused

  await settled(w, account, charge)
  await page.clock.runFor(6_000)
  await expectHeading(page, 'Pagamento confirmado')
  expect(requests.filter((path) => path.endsWith('/events'))).toHaveLength(1)
})

test('a page out of sight lets go of its stream, and looks as soon as it is seen again', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit(PHONE)
  await openListening(page, `${url}/payment-link/${charge.paymentLinkId}`)
  const show = (isHidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
    )
  const letGo = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/events'))
  await show(true)
  await letGo
  await settled(w, account, charge)
  await expectHeading(page, 'Aguardando pagamento')
  // The page asks for its state, and does not wait for a stream.
  await page.route('**/events', (route) => route.abort())
  await show(false)
  await expectHeading(page, 'Pagamento confirmado')
  expect(await page.locator('#left').count()).toBe(0)
})

// Each state is shown in both colour schemes, in one language after the other. For pictures, it is shown in all of
// them.
test('every state is accessible and fits, in light and dark, in each language, from 320 pixels up', async () => {
  const { w, account, url } = await service()
  const states = Object.entries(await oneOfEach(w, account))
  for (const [turn, colorScheme] of (['light', 'dark'] as const).entries()) {
    const { page, errors } = await visit({ ...PHONE, colorScheme })
    for (const [index, [name, id]] of states.entries()) {
      for (const lang of PICTURES ? LANGUAGES : [LANGUAGES[(index + turn) % 3]]) {
        const what = `${name} ${colorScheme} ${lang}`
        await page.setViewportSize({ width: 390, height: 844 })
        await page.goto(`${url}/payment-link/${id}?lang=${lang}`)
        // In the dark scheme the elements are the same, and only their colours differ.
        await expectAccessible(page, what, colorScheme === 'dark' ? ['color-contrast'] : undefined)
        for (const width of [320, 390, 1440]) {
          await page.setViewportSize({ width, height: width > 500 ? 900 : 844 })
          expect([what, width, await overflowPx(page)]).toEqual([what, width, 0])
          await takePicture(page, `${name}-${colorScheme}-${lang}-${width}`)
        }
      }
    }
    expect(errors.filter((error) => !error.includes('404'))).toEqual([])
  }
})

test('the page can be used by keyboard alone, from the code to the other languages', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit(PHONE)
  await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  const stops: unknown[] = []
  for (let stop = 0; stop < 5; stop++) {
    await page.keyboard.press('Tab')
    stops.push(await page.evaluate('document.activeElement.id || document.activeElement.textContent.trim()'))
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
  }
  expect(stops).toEqual(['code', 'copy', 'Simular pagamento', 'English', 'Español'])
  await page.keyboard.press('Enter')
  await expectHeading(page, 'Esperando el pago')
  expect(await page.locator('html').getAttribute('lang')).toBe('es')
})

test('on paper there is the whole code, and nothing to press', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  const { page } = await visit({ ...PHONE, colorScheme: 'dark' })
  await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  await page.emulateMedia({ media: 'print' })
  expect(await page.locator('.paper').textContent()).toBe(charge.emv)
  expect(await page.locator('.paper').isVisible()).toBe(true)
  expect(await page.locator('button:visible, input:visible, a:visible').count()).toBe(0)
  await page.setViewportSize({ width: 720, height: 1000 })
  expect(await overflowPx(page)).toBe(0)
  await takePicture(page, 'print')
  const pdf = (await page.pdf({ format: 'A4' })).toString('latin1')
  expect(pdf.match(/\/Type \/Page\b/g)).toHaveLength(1)
})

test('phones read the code from the screen, light and dark, large and small', async () => {
  const { w, account, url } = await service()
  const charge = await w.deposit(account)
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [width, deviceScaleFactor] of [
      [320, 1],
      [390, 3],
      [1440, 1],
    ] as const) {
      const { page } = await visit({ viewport: { width, height: 844 }, deviceScaleFactor, colorScheme })
      await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
      // zbar is not everywhere; qr.test.ts reads the same drawing without it.
      if (hasZbar) expect([width, readWithZbar(await page.screenshot({ fullPage: true }))]).toEqual([width, charge.emv])
      expect(
        await page.locator('.qr').evaluate((qr) => (qr as unknown as { clientWidth: number }).clientWidth),
      ).toBeGreaterThan(200)
    }
  }
})

// ---- The service with the workers that make payments arrive ----

async function service(): Promise<{ w: World; account: TestAccount; url: string }> {
  const w = await world()
  const account = await w.account()
  await w.pool.query('update accounts set name = $2 where id = $1', [account.accountId, 'Padaria Dois Irmãos'])
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${portOf(w.app)}`
  const workers = [startCheckWorker(w.ctx), startRegistration(w.ctx, () => url)]
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
  await until('the bank knows where to notify', async () => (await w.sandbox.stats()).calls['PUT /webhook/:chave'])
  return { w, account, url }
}

/** Pays and settles a charge without a notification. */
async function settled(w: World, account: TestAccount, charge: Charge): Promise<void> {
  await w.sandbox.faults({ dropNotifications: true })
  await w.sandbox.pay({ emv: charge.emv })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
}

/** Opens the page, and resolves when its stream is connected. */
async function openListening(page: Page, url: string): Promise<void> {
  const listening = page.waitForResponse((response) => response.url().endsWith('/events') && response.ok())
  await page.goto(url)
  await listening
}

async function expectHeading(page: Page, text: string, boundMs = 10_000): Promise<void> {
  await page.getByRole('heading', { name: text }).waitFor({ timeout: boundMs })
}

/** Another tab of the same visitor. */
async function samePerson(page: Page, url: string): Promise<{ page: Page }> {
  const other = await page.context().newPage()
  await other.goto(`${url}/livez`)
  await other.bringToFront()
  return { page: other }
}

async function oneOfEach(w: World, account: TestAccount): Promise<Record<string, string>> {
  const about = { description: 'Pedido 1042: duas cadeiras de escritório' }
  const make = (request = {}) => w.deposit(account, { valueCents: 1_234_56, ...about, ...request })
  const [paid, refunded, canceled] = [await make(), await make(), await make()]
  for (const charge of [paid, refunded]) await settled(w, account, charge)
  await w.pool.query('update charges set refunded_cents = value_cents where payment_link_id = $1', [
    refunded.paymentLinkId,
  ])
  await cancelDeposit(w.ctx, account.accountId, canceled.paymentLinkId)
  const expired = await make({ expiresInSeconds: 300 })
  w.clock.advance(361_000)
  await queryDeposit(w.ctx, account.accountId, expired.paymentLinkId)
  const closing = await make({ expiresInSeconds: 300 })
  w.clock.advance(301_000)
  const pending = await make()
  const longest = await make({ valueCents: 999_999_999_999, description: 'Recibo'.repeat(23) })
  return {
    pending: pending.paymentLinkId,
    longest: longest.paymentLinkId,
    closing: closing.paymentLinkId,
    paid: paid.paymentLinkId,
    refunded: refunded.paymentLinkId,
    expired: expired.paymentLinkId,
    canceled: canceled.paymentLinkId,
    missing: UNKNOWN_ID,
  }
}

async function takePicture(page: Page, name: string): Promise<void> {
  if (!PICTURES) return
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
}
