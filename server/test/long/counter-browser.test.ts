import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { queryDeposit } from '../../src/domain/deposits/query-deposit.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit, type Visit } from '../chromium.ts'
import { join } from '../members-client.ts'
import { DEFAULT_TERMS, until, type TestSession, type World } from '../world.ts'

// The counter in a browser, as a cashier holds it: on a phone and on a tablet, over a network that fails at each step.

useChromium()

// Saves pictures for people: `PICTURES=/tmp/pages npx vitest run test/long/counter-browser.test.ts`.
const PICTURES = process.env['PICTURES']
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, locale: 'pt-BR' }
const TABLET = { viewport: { width: 1024, height: 768 }, locale: 'en-US' }

// Counts what the page asks of the device, and lets a test hide the page.
const DEVICE = `
  window.asked = { locks: 0, notes: 0, vibrations: 0 }
  Object.defineProperty(navigator, 'wakeLock', { value: { request: async () => (asked.locks++, { release: async () => {} }) } })
  navigator.vibrate = () => (asked.vibrations++, true)
  const { createOscillator } = AudioContext.prototype
  AudioContext.prototype.createOscillator = function () { return asked.notes++, createOscillator.call(this) }`

test('on a phone: amount, code, paid, next; with a reload at each step, and each state fit for everybody', async () => {
  const { w, page, errors } = await counter(PHONE)
  await press(page, '1234')
  expect(await page.getByLabel('Valor').textContent()).toBe('R$\u{a0}12,34')
  await check(page, 'keypad')
  await page.getByRole('button', { name: 'Apagar' }).click()
  await press(page, '00')
  await page.getByRole('button', { name: 'Cobrar R$ 123,00' }).click()
  await code(page).waitFor()
  await check(page, 'code')
  await page.reload()
  await code(page).waitFor()
  await page.getByText('R$ 123,00').first().waitFor()
  expect(await page.evaluate('asked.notes')).toBe(0)
  await pay(w)
  await page.getByRole('heading', { name: 'Pago' }).waitFor()
  expect(await page.getByRole('status').filter({ hasText: 'Pago' }).count()).toBe(1)
  expect(await page.evaluate('asked.vibrations')).toBe(1)
  await check(page, 'paid')
  await page.getByText('Recibo').click()
  const print = page.getByRole('link', { name: 'Imprimir' })
  expect(await print.getAttribute('href')).toMatch(/receipt#print$/)
  await check(page, 'receipt')
  await page.reload()
  await page.getByRole('heading', { name: 'Pago' }).waitFor()
  expect(await page.evaluate('asked.vibrations')).toBe(0)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Cobrar R$ 0,00' }).waitFor()
  expect([await w.count('charges'), errors]).toEqual([1, []])
})

test('on a tablet with a keyboard: digits, Backspace, Escape and Enter, and a sound once for each payment', async () => {
  const { w, page, errors } = await counter(TABLET)
  const amount = page.getByLabel('Amount')
  await page.keyboard.type('987')
  await page.keyboard.press('Escape')
  await page.keyboard.type('4259')
  await page.keyboard.press('Backspace')
  expect(await amount.textContent()).toBe('R$4.25')
  await page.getByRole('button', { name: 'Add a description' }).click()
  await page.getByLabel('Description').fill('Table 7')
  await check(page, 'tablet-keypad')
  // In the field, too, Enter charges.
  await page.keyboard.press('Enter')
  await code(page).waitFor()
  await page.getByText('Table 7').waitFor()
  await check(page, 'tablet-code')
  expect((await page.locator('main svg[role=img]').boundingBox())!.width).toBeGreaterThan(400)
  const locks = Number(await page.evaluate('asked.locks'))
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
  await until(
    'it asks again to keep the screen on',
    async () => Number(await page.evaluate('asked.locks')) === locks + 1,
  )
  await pay(w)
  await page.getByRole('heading', { name: 'Paid' }).waitFor()
  expect(await page.evaluate('asked.notes')).toBe(2)
  await check(page, 'tablet-paid')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Turn sound off' }).click()
  await page.keyboard.type('100')
  await page.keyboard.press('Enter')
  await code(page).waitFor()
  await pay(w)
  await page.getByRole('heading', { name: 'Paid' }).waitFor()
  expect([await page.evaluate('asked.notes'), await page.evaluate('asked.vibrations')]).toEqual([2, 2])
  expect(errors).toEqual([])
})

test('the network is cut before the request: it is sent once it is back, and one charge is made', async () => {
  const { w, page } = await counter(PHONE)
  await press(page, '500')
  await cut(w, page)
  await page.getByRole('button', { name: 'Cobrar R$ 5,00' }).click()
  await page.getByText('Sem resposta ainda. Continuamos tentando').waitFor()
  await check(page, 'asking')
  expect(await w.count('charges')).toBe(0)
  await page.context().setOffline(false)
  await code(page).waitFor()
  expect(await w.count('charges')).toBe(1)
})

test('the answer is lost: after a crash the same charge comes back, and no second one is made', async () => {
  const { w, page } = await counter(PHONE)
  let lost = 0
  await page.route('**/dashboard/api/deposit', async (route) => {
    await route.fetch()
    lost++
    await route.abort()
  })
  await press(page, '500')
  await page.getByRole('button', { name: 'Cobrar R$ 5,00' }).click()
  await page.getByText('Sem resposta ainda.').waitFor()
  await until('it asks again by itself', async () => lost > 1)
  expect(await w.count('charges')).toBe(1)
  await page.unroute('**/dashboard/api/deposit')
  await page.reload()
  await code(page).waitFor()
  expect([await w.count('charges'), await w.count('idempotency_keys')]).toEqual([1, 1])
})

test('the payment comes while the network is cut: it is shown once it is back, and after a reload', async () => {
  const { w, url, page } = await counter(PHONE)
  await charge(page, '500')
  await cut(w, page)
  await page.getByText('Sem conexão desde').waitFor()
  await check(page, 'code-offline')
  await pay(w)
  expect(await code(page).isVisible()).toBe(true)
  await page.context().setOffline(false)
  await page.getByRole('heading', { name: 'Pago' }).waitFor()
  await page.getByRole('button', { name: 'Próxima cobrança' }).click()
  await charge(page, '600')
  await page.goto('about:blank')
  await pay(w)
  await page.goto(`${url}/counter`)
  await page.getByRole('heading', { name: 'Pago' }).waitFor()
  expect(await w.count('charges', `status = 'COMPLETED'`)).toBe(2)
})

test('the network is cut while canceling: the page says that the code may be paid, and then what is true', async () => {
  const { w, page } = await counter(PHONE)
  await charge(page, '500')
  await cancel(page)
  await page.getByRole('heading', { name: 'Cobrança cancelada' }).waitFor()
  await check(page, 'canceled')
  await page.getByRole('button', { name: 'Cobrar de novo' }).click()
  await page.getByRole('button', { name: 'Cobrar R$ 5,00' }).click()
  await code(page).waitFor()
  await cut(w, page)
  await cancel(page)
  await page.getByText('o código ainda pode ser pago').waitFor()
  await check(page, 'canceling')
  expect(await code(page).count()).toBe(0)
  // The payer was quicker.
  await pay(w)
  await page.context().setOffline(false)
  await page.getByRole('heading', { name: 'Pago' }).waitFor()
  await page.getByRole('button', { name: 'Próxima cobrança' }).click()

  await charge(page, '700')
  await page.route('**/cancel', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await cancel(page)
  await page.getByText('o código ainda pode ser pago').waitFor()
  await page.unroute('**/cancel')
  await page.reload()
  await page.getByRole('heading', { name: 'Cobrança cancelada' }).waitFor()
  await page.getByRole('button', { name: 'Próxima cobrança' }).click()

  // Nobody pays, and nobody touches anything.
  await charge(page, '800')
  await cut(w, page)
  await cancel(page)
  await page.getByText('o código ainda pode ser pago').waitFor()
  await page.context().setOffline(false)
  await page.getByRole('heading', { name: 'Cobrança cancelada' }).waitFor()
  expect([await w.count('charges', `status = 'CANCELED'`), await w.count('charges')]).toEqual([3, 4])
})

test('held money is never green, a second payment neither, and what expired can be charged again', async () => {
  const { w, page } = await counter(PHONE)
  await charge(page, '1000')
  await pay(w, { amountCents: 900 })
  await page.getByRole('heading', { name: 'Pagamento em análise' }).waitFor()
  await page.getByText('Recebemos R$ 9,00, mas a cobrança é de R$ 10,00').waitFor()
  await check(page, 'held')
  expect(await page.locator('.bg-accent').count()).toBe(0)
  await page.getByRole('button', { name: 'Próxima cobrança' }).click()

  await charge(page, '2000')
  await pay(w, { times: 2 })
  await page.getByRole('heading', { name: 'Pago, e chegou mais dinheiro' }).waitFor()
  await check(page, 'twice')
  await page.getByRole('button', { name: 'Próxima cobrança' }).click()

  await charge(page, '3000')
  w.clock.advance(3_600_000)
  await page.reload()
  await page.getByRole('heading', { name: 'Prazo encerrado' }).waitFor()
  await check(page, 'closing')
  w.clock.advance(61_000)
  await settleNewest(w)
  await page.getByRole('heading', { name: 'Expirou sem pagamento' }).waitFor()
  await check(page, 'expired')
  await page.getByRole('button', { name: 'Cobrar de novo' }).click()
  await page.getByRole('button', { name: 'Cobrar R$ 30,00' }).waitFor()
})

test('two tills of an account count their own shifts, and both see what the day took', async () => {
  const one = await counter(PHONE)
  const other = await counterOf(one, TABLET)
  await one.page.getByRole('button', { name: 'Movimento' }).click()
  await one.page.getByRole('button', { name: 'Começar turno' }).click()
  await one.page.getByRole('button', { name: 'Encerrar turno' }).waitFor()
  await one.page.getByRole('button', { name: 'Voltar' }).click()
  await other.page.getByRole('button', { name: 'Takings' }).click()
  await other.page.getByRole('button', { name: 'Begin shift' }).click()
  await other.page.getByRole('button', { name: 'Back' }).click()
  await charge(one.page, '1000')
  await pay(one.w)
  await one.page.getByRole('button', { name: 'Próxima cobrança' }).click()
  await other.page.keyboard.type('2500')
  await other.page.keyboard.press('Enter')
  await code(other.page).waitFor()
  await pay(one.w)
  await other.page.getByRole('button', { name: 'Next charge' }).click()

  await one.page.getByRole('button', { name: 'Movimento' }).click()
  const sums = (page: Page) =>
    page
      .locator('section', { has: page.locator('dl') })
      .locator('.text-3xl')
      .allTextContents()
  await until('both tills have their own', async () => (await sums(one.page)).join() === 'R$\u{a0}10,00,R$\u{a0}35,00')
  await check(one.page, 'takings')
  await other.page.getByRole('button', { name: 'Takings' }).click()
  await until('the other too', async () => (await sums(other.page)).join() === 'R$25.00,R$35.00')
  await check(other.page, 'tablet-takings')
  await one.page.getByRole('button', { name: 'Encerrar turno' }).click()
  await one.page.getByRole('button', { name: 'Começar outro turno' }).waitFor()
  // A line opens its state again, with the receipt.
  await one.page.getByRole('button', { name: /R\$\s25,00/ }).click()
  await one.page.getByRole('heading', { name: 'Pago' }).waitFor()
  await one.page.getByText('Recibo').waitFor()
  expect(await one.page.evaluate('asked.vibrations')).toBe(1)
  expect([one.errors, other.errors]).toEqual([[], []])
})

test('a cashier has the counter and the own settings; every other page leads back', async () => {
  const { url, page, errors } = await counter(PHONE)
  const refused: string[] = []
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(new URL(answer.url()).pathname)
  })
  for (const path of [
    '/',
    '/deposits',
    '/statement',
    '/team',
    '/developers',
    '/notices',
    '/guide',
    '/operator',
    '/shop',
  ]) {
    await page.goto(url + path)
    await page.getByRole('button', { name: 'Cobrar R$ 0,00' }).waitFor()
    expect([path, new URL(page.url()).pathname]).toEqual([path, '/counter'])
  }
  await page.getByTitle('Menu').click()
  await check(page, 'menu')
  await page.getByRole('link', { name: 'Configurações' }).click()
  await page.getByRole('heading', { name: 'Configurações' }).waitFor()
  expect(await page.getByRole('navigation').getByRole('link').allTextContents()).toEqual(['Balcão', 'Configurações'])
  expect(await page.getByRole('button', { name: 'Buscar' }).count()).toBe(0)
  // The document at / asks for the overview before it is known who reads it.
  expect(refused.filter((path) => path !== '/dashboard/api/overview')).toEqual([])
  expect(errors.filter((text) => !text.includes('403 (Forbidden)'))).toEqual([])
})

test('a refusal is said in words before sending or after, and the amount stays', async () => {
  const terms = { ...DEFAULT_TERMS, valueMaxCents: 100_00, feeFixedCents: 50 }
  const { w, page } = await counter(PHONE, { terms })
  await press(page, '10001')
  await page.getByText('O valor máximo é R$ 100,00').waitFor()
  expect(await page.getByRole('button', { name: 'Cobrar R$ 100,01' }).isDisabled()).toBe(true)
  await page.keyboard.press('Escape')
  // Longer than any amount of Pix.
  await page.keyboard.type('9'.repeat(14))
  expect(await page.getByLabel('Valor').textContent()).toBe('R$\u{a0}9.999.999.999,99')
  await check(page, 'too-large')
  await page.keyboard.press('Escape')
  await press(page, '30')
  await page.getByRole('button', { name: 'Cobrar R$ 0,30' }).click()
  await page.getByText('O valor precisa ser maior que a tarifa, de R$ 0,50.').waitFor()
  expect(await page.getByLabel('Valor').textContent()).toBe('R$\u{a0}0,30')
  await page.getByRole('button', { name: 'Apagar' }).click()
  expect([await page.getByText('O valor precisa').count(), await w.count('charges')]).toEqual([0, 0])
})

// ---- Steps ----

type Device = Parameters<typeof visit>[0]
type Counter = { w: World; url: string; cashier: TestSession } & Visit

async function counter(device: Device, settings: Parameters<typeof serve>[0] = {}): Promise<Counter> {
  const { w, url } = await serve(settings)
  const { accountId } = await w.account()
  return counterOf({ w, url, cashier: await w.session(await join(w, accountId, 'cashier')) }, device)
}

/** Another device of the same cashier. */
async function counterOf({ w, url, cashier }: Omit<Counter, keyof Visit>, device: Device): Promise<Counter> {
  const visited = await visit(device)
  await visited.page.addInitScript(DEVICE)
  await enter(visited.page, cashier)
  await visited.page.goto(`${url}/counter`)
  await visited.page.getByLabel(/^(Valor|Amount)$/).waitFor()
  return { w, url, cashier, ...visited }
}

async function press(page: Page, keys: string): Promise<void> {
  if (keys === '00') return page.getByRole('button', { name: keys, exact: true }).click()
  for (const key of keys) await page.getByRole('button', { name: key, exact: true }).click()
}

/** The browser's switch leaves open connections alone, and what came by one would look like a network. */
async function cut(w: World, page: Page): Promise<void> {
  await page.context().setOffline(true)
  w.app.server.closeAllConnections()
}

async function charge(page: Page, keys: string): Promise<void> {
  await page.keyboard.type(keys)
  await page.keyboard.press('Enter')
  await code(page).waitFor()
}

const code = (page: Page) => page.getByRole('img', { name: /^QR code (para pagar|to pay)$/ })

async function cancel(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Cancelar' }).click()
  await page.getByRole('button', { name: 'Cancelar cobrança' }).click()
}

/** Of the newest charge, and what its bank notifies. */
async function pay(w: World, how: { amountCents?: number; times?: number } = {}): Promise<void> {
  await w.sandbox.pay({ emv: (await newest(w)).emv, ...how })
  await settleNewest(w)
}

async function settleNewest(w: World): Promise<void> {
  const { accountId, link } = await newest(w)
  await queryDeposit(w.ctx, accountId, link)
}

async function newest(w: World): Promise<{ accountId: string; link: string; emv: string }> {
  const sql = 'select account_id as "accountId", payment_link_id as link, emv from charges order by id desc limit 1'
  return (await w.pool.query(sql)).rows[0]
}

const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Fit for everybody in light and dark, no wider than the screen, and with places that a thumb hits. */
async function check(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    await until(
      'it has turned',
      async () => (await page.evaluate('document.documentElement.dataset.theme')) === colorScheme,
    )
    await expectAccessible(page, `${name}, ${colorScheme}`, colorScheme === 'dark' ? COLOUR_RULES : undefined)
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}.png`, fullPage: true })
  }
  expect([name, await overflowPx(page), await page.evaluate(SMALL_TARGETS)]).toEqual([name, 0, []])
}

const SMALL_TARGETS = `[...document.querySelectorAll('button, a, summary, input')]
  .filter((one) => one.checkVisibility() && (one.getBoundingClientRect().height < 44 || one.getBoundingClientRect().width < 44))
  .map((one) => one.textContent)`
