import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from './chromium.ts'
import { completedCharge, refund } from './refund-steps.ts'
import { get } from './requests.ts'

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
  await page.getByRole('button', { name: 'Mês passado' }).click()
  await page.getByText('Nenhum lançamento neste período').waitFor()
  await page.getByRole('button', { name: 'Tudo' }).click()

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

test('the zone of the account is chosen in the settings, and named on every list', async () => {
  const { page } = await signedIn('en')
  await page.goto('/settings')
  await page.getByLabel('Time zone').selectOption('America/Manaus')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Time zone changed.').waitFor()
  await expectAccessible(page, 'the settings')
  await page.getByRole('link', { name: 'Statement' }).click()
  await page.getByRole('heading', { name: 'Statement', exact: true }).waitFor()
  if (PICTURES) await page.screenshot({ path: join(PICTURES, 'statement-zone.png') })
  await page.getByText('(GMT-4)').waitFor()
  expect(await page.getByText('(GMT-3)').count()).toBe(0)
})
