import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { queryDeposit } from '../../src/domain/deposits/query-deposit.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { join } from '../members-client.ts'
import { until, type World } from '../world.ts'

// The counter in a browser, as a cashier holds it: on a phone and on a tablet, over a network that fails at each step.

useChromium()

// Saves pictures for people: `PICTURES=/tmp/pages npx vitest run test/long/counter-browser.test.ts`.
const PICTURES = process.env['PICTURES']
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, locale: 'pt-BR' }
const TABLET = { viewport: { width: 1024, height: 768 }, locale: 'en-US' }

test('on a phone, a cashier asks for an amount, shows the code, sees it paid and goes on, without a reload', async () => {
  const { w, url, page, errors } = await counter(PHONE)
  await type(page, '1234')
  await take(page, 'keypad')
  expect(await page.getByRole('status', { name: 'Valor' }).textContent()).toBe('R$\u{a0}12,34')
  await page.getByRole('button', { name: 'Cobrar R$ 12,34' }).click()
  await page.getByRole('img', { name: 'QR code para pagar' }).waitFor()
  await take(page, 'code')
  await pay(w)
  await page.getByRole('heading', { name: 'Pago' }).waitFor()
  await take(page, 'paid')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Cobrar R$ 0,00' }).waitFor()
  expect(errors).toEqual([])
})

async function counter(options: Parameters<typeof visit>[0]) {
  const { w, url } = await serve()
  const account = await w.account()
  const cashier = await w.session(await join(w, account.accountId, 'cashier'))
  const visited = await visit(options)
  await enter(visited.page, cashier)
  await visited.page.goto(`${url}/counter`)
  return { w, url, account, cashier, ...visited }
}

async function type(page: Page, keys: string): Promise<void> {
  for (const key of keys) await page.getByRole('button', { name: key, exact: true }).click()
}

/** The only open charge, and the notification of its bank. */
async function pay(w: World): Promise<void> {
  const { rows } = await w.pool.query(`select account_id as "accountId", payment_link_id as link, emv from charges`)
  await w.sandbox.pay({ emv: rows[0].emv })
  await queryDeposit(w.ctx, rows[0].accountId, rows[0].link)
}

async function take(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png` })
}
