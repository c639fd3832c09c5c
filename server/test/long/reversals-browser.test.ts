import { expect, test } from 'vitest'
import { payPayout, requestPayout } from '../../src/domain/payouts/payouts.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { makeOperator } from '../operators-client.ts'
import { completedCharge, hearOf, OPERATOR } from '../refund-steps.ts'

// What a bank returned by itself, in a browser: account holder and operator read who bears it and why.

useChromium()

const PHONE = { width: 390, height: 844 }
const NBSP = '\u{a0}'

/** A deposit of R$ 50,00 that was paid out but for R$ 9,50, and then returned by the bank. */
async function reversed() {
  const { w, url } = await serve()
  const { account, charge, payment } = await completedCharge(w)
  const wanted = { accountId: account.accountId, valueCents: 40_00, note: null, idempotencyKey: null }
  const { payout } = await requestPayout(w.ctx, OPERATOR, wanted)
  await payPayout(w.ctx, OPERATOR, payout.id, { reference: 'E1' })
  await w.sandbox.reverse({ endToEndId: payment.endToEndId })
  w.clock.advance(200)
  await hearOf(w, payment.endToEndId)
  return { w, url, account, charge }
}

test('an account holder reads what the bank returned, why, and what is owed', async () => {
  const { w, url, account, charge } = await reversed()
  const { page, errors } = await visit({ locale: 'pt-BR', viewport: { width: 1280, height: 900 } })
  await enter(page, await w.session(account))
  await page.goto(`${url}/`)
  await page.getByText(`Você deve R$${NBSP}40,50, que os próximos valores pagam`).waitFor()
  await expectAccessible(page, 'the overview')
  await page.goto(`${url}/statement?period=own&from=2026-03-01&to=2026-03-03`)
  await page.getByText('Pagamento devolvido pelo banco').locator('visible=true').first().waitFor()
  await page.getByText(`R$${NBSP}40,50 devidos, que os próximos valores pagam`).waitFor()
  await page.goto(`${url}/deposits/${charge.paymentLinkId}`)
  await page.getByText(`O banco devolveu R$${NBSP}50,00 ao pagador, sem pedido`).waitFor()
  await page.getByText('Fraude relatada pelo pagador').locator('visible=true').first().waitFor()
  await expectAccessible(page, 'the deposit')
  expect(errors).toEqual([])
})

test('an operator lists reversals by nature and account, and reads what an account owes', async () => {
  const { w, url, account } = await reversed()
  const { page, errors } = await visit({ locale: 'pt-BR', viewport: { width: 1280, height: 900 } })
  await enter(page, await w.session(await makeOperator(w)))
  await page.goto(`${url}/operator/reversals`)
  await page.getByText(`Saldo: R$${NBSP}9,50 · ficou devido: R$${NBSP}40,50`).locator('visible=true').waitFor()
  await expectAccessible(page, 'reversals')
  await page.getByRole('button', { name: account.email }).click()
  await page.getByText('Só as de uma conta.').waitFor()
  await page.goto(`${url}/operator/reversals?nature=operational`)
  await page.getByText('Nenhuma devolução encontrada').waitFor()
  await page.setViewportSize(PHONE)
  await page.goto(`${url}/operator/reversals`)
  await page.getByText('Fraude relatada pelo pagador').locator('visible=true').first().waitFor()
  expect(await overflowPx(page)).toBe(0)
  await page.goto(`${url}/operator/accounts/${account.accountId}`)
  await page.getByText(`Deve R$${NBSP}40,50 por devoluções do banco`).waitFor()
  expect(errors).toEqual([])
})
