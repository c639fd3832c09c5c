import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { completedCharge, refund } from '../refund-steps.ts'
import { get } from '../requests.ts'
import { until } from '../world.ts'

useChromium()

const PICTURES = process.env['PICTURES']

async function signedIn(locale = 'pt-BR') {
  const { w, url } = await serve({ refunds: { byAccounts: false, returnFee: true } })
  const account = await w.account()
  const order = { valueCents: 100_00, externalId: 'pedido-7', description: 'Ingresso de sábado' }
  const named = await w.deposit(account, order)
  await w.sandbox.pay({ emv: named.emv })
  await w.app.inject(get(account.key, `/api/deposit/${named.paymentLinkId}`))
  for (let count = 0; count < 30; count++) await completedCharge(w, { account, valueCents: 10_00 + count })
  await refund(w, named, { amountCents: 40_00 })
  const { page, errors } = await visit({ locale, viewport: { width: 1280, height: 900 }, baseURL: url })
  await enter(page, await w.session(account))
  await page.clock.setFixedTime(w.clock.now())
  return { w, account, page, errors }
}

test('a statement tells opening and closing balance, totals and lines of a period, and prints all of it on paper', async () => {
  const { w, account, page, errors } = await signedIn()
  const closing = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' }).format(
    (await w.balanceCents(account.accountId)) / 100,
  )
  await page.goto('/statement')
  const totals = page.getByRole('table', { name: 'Totais do período' })
  await totals.getByRole('row', { name: /^Saldo inicial.*R\$\s0,00$/ }).waitFor()
  await totals.getByRole('row', { name: /^Devolução\s+1\s+-R\$\s40,00\s+-R\$\s0,40\s+-R\$\s39,60$/ }).waitFor()
  await totals.getByRole('row', { name: `Saldo final ${closing}` }).waitFor()
  await page.getByRole('cell', { name: 'pedido-7 · Ingresso de sábado' }).first().waitFor()
  await page.getByText('(GMT-3)').waitFor()
  if (PICTURES) await page.screenshot({ path: join(PICTURES, 'statement-filled.png'), fullPage: true })
  await page.getByLabel('Período').selectOption('Mês passado')
  await page.getByText('Nenhum lançamento neste período').waitFor()
  await page.getByLabel('Período').selectOption('Todo o período')

  await page.getByRole('link', { name: 'Imprimir' }).click()
  const lines = page.getByRole('table', { name: 'Lançamentos' })
  await lines.waitFor()
  expect(await lines.getByRole('row').count()).toBe(1 + 32)
  await expectAccessible(page, 'the statement for paper')
  // On paper there is neither navigation nor a button, and no colour of the dark.
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  expect(await page.getByRole('navigation').count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Imprimir' }).count()).toBe(0)
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgba(0, 0, 0, 0)')
  if (PICTURES) {
    await page.pdf({ path: join(PICTURES, 'statement.pdf'), preferCSSPageSize: true })
    await page.setViewportSize({ width: 688, height: 1017 })
    await page.screenshot({ path: join(PICTURES, 'statement-print.png') })
  }
  expect(errors).toEqual([])
})

test('a period is exported in the form that was chosen, and the menu says what each is for', async () => {
  const { page } = await signedIn('en')
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto('/statement?period=month')
  await page.getByText('pedido-7').first().waitFor()
  expect(await overflowPx(page)).toBe(0)
  if (PICTURES) await page.screenshot({ path: join(PICTURES, 'statement-phone.png') })
  await page.getByRole('button', { name: 'Export' }).click()
  const download = page.waitForEvent('download')
  if (PICTURES) await page.screenshot({ path: join(PICTURES, 'statement-menu.png') })
  await page.getByRole('menuitem', { name: 'OFX 1.02 For accounting programs' }).click()
  const file = await download
  expect(file.suggestedFilename()).toMatch(/^extrato-loja-[0-9a-f]{8}-2026-03-01-a-2026-03-02\.ofx$/)
  expect(readFileSync(await file.path(), 'latin1').match(/<STMTTRN>/g)).toHaveLength(32)
})

test('a statement of an amount has its lines and their totals, and no balances that they do not lead to', async () => {
  const { page, errors } = await signedIn('en')
  await page.setViewportSize({ width: 360, height: 740 })
  await page.goto('/statement')
  const totals = page.getByRole('table', { name: 'Totals of the period' })
  await totals.getByRole('row', { name: /^Opening balance/ }).waitFor()
  expect(await page.getByRole('list', { name: 'Active filters' }).textContent()).toBe('This month')
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  const sheet = page.getByRole('dialog', { name: 'Filters' })
  await sheet.getByLabel('Amount from').fill('40')
  await sheet.getByLabel('Amount to').fill('100,00')
  await page.waitForURL(/minValue=4000&maxValue=10000/)
  await sheet.getByRole('button', { name: 'Show results' }).click()
  await page.getByRole('button', { name: 'Filters (1)' }).waitFor()
  await until('the two', async () => (await page.locator('tbody[role=rowgroup] tr').count()) === 2)
  await totals.getByRole('row', { name: /^Refund/ }).waitFor()
  expect(await totals.getByRole('row', { name: /balance/ }).count()).toBe(0)
  expect(await overflowPx(page)).toBe(0)
  await expectAccessible(page, 'a statement of amounts')
  if (PICTURES) await page.screenshot({ path: join(PICTURES, 'statement-amounts.png'), fullPage: true })
  await page.getByRole('button', { name: 'Remove the filter: From R$40.00 to R$100.00' }).click()
  await totals.getByRole('row', { name: /^Closing balance/ }).waitFor()
  expect(errors).toEqual([])
})

test('the zone of the account is chosen under My shop, and named on every list', async () => {
  const { page } = await signedIn('en')
  await page.goto('/shop')
  await page.getByLabel('Time zone').selectOption('America/Manaus')
  await page.getByRole('button', { name: 'Save' }).last().click()
  await page.getByText('Time zone changed.').waitFor()
  await expectAccessible(page, 'the shop')
  await page.getByRole('link', { name: 'Statement' }).click()
  await page.getByRole('heading', { name: 'Statement', exact: true }).waitFor()
  if (PICTURES) await page.screenshot({ path: join(PICTURES, 'statement-zone.png') })
  await page.getByText('(GMT-4)').waitFor()
  expect(await page.getByText('(GMT-3)').count()).toBe(0)
})
