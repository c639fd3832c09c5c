import { expect, test } from 'vitest'
import { payPayout, requestPayout } from '../../src/domain/payouts/payouts.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { makeOperator } from '../operators-client.ts'
import { completedCharge, holdings, OPERATOR } from '../refund-steps.ts'
import type { TestAccount, World } from '../world.ts'

// Payouts in a browser: what account holder and operator read about money is what the ledger says.

useChromium()

const PHONE = { width: 390, height: 844 }
const NBSP = '\u{a0}'

/** A service with an account that has R$ 99,00 available. */
async function funded() {
  const { w, url } = await serve()
  const { account } = await completedCharge(w, { valueCents: 100_00 })
  return { w, url, account }
}

async function ask(w: World, { accountId, email }: TestAccount, valueCents: number) {
  const wanted = { accountId, valueCents, note: 'March', idempotencyKey: null }
  return (await requestPayout(w.ctx, { kind: 'account', name: email }, wanted)).payout
}

test('an account holder asks for a payout, sees what stays available, and later by which reference it was paid', async () => {
  const { w, url, account } = await funded()
  const { page, errors } = await visit({ locale: 'pt-BR', viewport: PHONE })
  await enter(page, await w.session(account))
  await page.goto(url)
  await page.getByText('Saldo disponível').waitFor()
  await page.getByRole('main').getByRole('link', { name: 'Ver repasses' }).click()
  await page.getByText('Nenhum repasse ainda').waitFor()
  await expectAccessible(page, 'no payouts')

  await page.getByRole('button', { name: 'Pedir repasse' }).click()
  const dialog = page.getByRole('dialog', { name: 'Pedir repasse' })
  await dialog.getByLabel('Valor').fill('99,01')
  await dialog.getByRole('button', { name: 'Pedir repasse' }).click()
  await dialog.getByText(`Informe um valor de até R$${NBSP}99,00`).waitFor()
  await dialog.getByLabel('Valor').fill('40,00')
  await dialog.getByText(`Você pede R$${NBSP}40,00, e R$${NBSP}59,00 continuam disponíveis.`).waitFor()
  await dialog.getByLabel('Observação').fill('março')
  await expectAccessible(page, 'the dialog')
  expect(await overflowPx(page)).toBe(0)
  await dialog.getByRole('button', { name: `Pedir R$${NBSP}40,00` }).click()

  // The page is right at once, before it is read again by itself.
  await page
    .getByRole('row')
    .filter({ hasText: `R$${NBSP}40,00` })
    .filter({ hasText: 'Pedido' })
    .waitFor()
  await page.getByText(`R$${NBSP}59,00`).waitFor()
  expect(await holdings(w)).toMatchObject({ balance: 59_00, reserved: 40_00 })
  await expectAccessible(page, 'a payout')
  expect(await overflowPx(page)).toBe(0)

  const { rows } = await w.pool.query('select id from payouts')
  await payPayout(w.ctx, OPERATOR, rows[0].id, { reference: 'E123' })
  await page.reload()
  await page.getByText('· E123').locator('visible=true').waitFor()
  await page.goto(`${url}/statement?period=own&from=2026-03-01&to=2026-03-03`)
  await page.getByText('· E123').locator('visible=true').waitFor()
  expect(await overflowPx(page)).toBe(0)
  await expectAccessible(page, 'the statement')
  expect(errors).toEqual([])
})

test('an operator finds open payouts in the overview, pays one and rejects the other', async () => {
  const { w, url, account } = await funded()
  await ask(w, account, 40_00)
  await ask(w, account, 9_00)
  const { page, errors } = await visit({ locale: 'pt-BR', viewport: { width: 1280, height: 900 } })
  await enter(page, await w.session(await makeOperator(w)))
  await page.goto(`${url}/operator`)
  await page.getByRole('link', { name: '2 repasses em aberto' }).click()
  await page.getByRole('button', { name: `Registrar o pagamento de R$${NBSP}40,00 a ${account.email}` }).click()
  const paying = page.getByRole('dialog', { name: `Você pagou R$${NBSP}40,00?` })
  const pay = paying.getByRole('button', { name: 'Registrar pagamento' })
  expect(await pay.isDisabled()).toBe(true)
  await paying.getByLabel('Referência bancária').fill('E123')
  // The browser's clock is not that of the test.
  await paying.getByLabel('Pago em').fill('2026-03-02')
  await expectAccessible(page, 'the dialog')
  await pay.click()
  await page.getByText('Pagamento registrado.').waitFor()
  expect(await holdings(w)).toMatchObject({ balance: 50_00, reserved: 9_00, paid_out: 40_00 })

  await page.getByRole('button', { name: `Recusar R$${NBSP}9,00 a ${account.email}` }).click()
  const rejecting = page.getByRole('dialog', { name: `Recusar o repasse de R$${NBSP}9,00?` })
  await rejecting.getByLabel('Motivo').fill('conta encerrada')
  await rejecting.getByRole('button', { name: 'Recusar repasse' }).click()
  await page.getByText('Nenhum repasse em aberto').waitFor()
  expect(await holdings(w)).toMatchObject({ balance: 59_00, paid_out: 40_00 })

  await page.goto(`${url}/operator/payouts?status=all`)
  await page.getByText('conta encerrada').waitFor()
  await page.getByText('· E123').waitFor()
  await expectAccessible(page, 'all payouts')
  await page.setViewportSize(PHONE)
  expect(await overflowPx(page)).toBe(0)
  expect(await w.differences()).toEqual([])
  expect(errors).toEqual([])
})
