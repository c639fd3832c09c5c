import { expect, onTestFinished, test } from 'vitest'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { startNumberWorker } from '../src/workers/number.ts'
import { enter, expectAccessible, serve, signIn, useChromium, visit } from './chromium.ts'
import { makeOperator } from './operators-client.ts'

// These tests show a payment of another amount to the payer, the account holder and the operator at the same time.

useChromium()

const EMAIL = 'ops@example.com'

test('a payment of another amount is told to payer and shop, and completing it in the console ends it for both', async () => {
  const { w, url } = await serve()
  const worker = startNumberWorker(w.ctx)
  onTestFinished(() => worker.stop())
  const account = await w.account()
  await makeOperator(w, EMAIL)
  const charge = await w.deposit(account, { valueCents: 100_00 })
  const { page: payer } = await visit({ locale: 'pt-BR' })
  const listening = payer.waitForResponse((response) => response.url().endsWith('/events') && response.ok())
  await payer.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  await listening
  await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)

  await payer.getByRole('heading', { name: 'Pagamento em análise' }).waitFor()
  expect(await payer.getByText('Recebemos R$ 90,00, mas esta cobrança é de R$ 100,00.').isVisible()).toBe(true)
  expect(await payer.locator('.qr, #code, #copy, form').count()).toBe(0)
  await expectAccessible(payer, 'held')

  const { page: shop, errors } = await visit({ locale: 'pt-BR' })
  await enter(shop, await w.session(account))
  await shop.goto(`${url}/`)
  await shop.getByRole('link', { name: /R\$ 90,00 recebidos, em análise/ }).click()
  await shop.getByText('Recebemos R$ 90,00 para este depósito').waitFor()
  await shop.getByText('Recebidos R$ 90,00: valor diferente do esperado').waitFor()
  expect(await shop.getByText('Para o pagador').count()).toBe(0)
  await expectAccessible(shop, 'a deposit with held money')

  const { page: console } = await visit({ locale: 'pt-BR' })
  await console.goto(`${url}/operator/exceptions`)
  await signIn(console, EMAIL)
  await console.getByRole('link', { name: 'Valor divergente' }).click()
  // A credited amount must not be asked for again, so the charge is closed with it unless the operator says otherwise.
  await console.getByLabel('Creditar a uma conta').check()
  // The account of the charge is selected at first.
  await console.getByRole('radio', { name: account.caller.accountName, checked: true }).waitFor()
  expect(await console.getByLabel('Encerrar a cobrança').isChecked()).toBe(true)
  await console.getByLabel('Devolver ao pagador').check()
  expect(await console.getByLabel('Encerrar a cobrança').isChecked()).toBe(false)
  await console.getByLabel('Concluir a cobrança com este valor').check()
  expect(await console.getByLabel('Encerrar a cobrança').count()).toBe(0)
  await console.getByRole('button', { name: 'Revisar e confirmar' }).click()
  const dialog = console.getByRole('dialog', { name: 'Concluir a cobrança?' })
  await dialog.getByText('R$ 89,00 entram no saldo').waitFor()
  await dialog.getByLabel('Motivo').fill('o cliente aceita o valor a menos')
  await dialog.getByRole('button', { name: 'Concluir a cobrança com este valor' }).click()

  await payer.getByRole('heading', { name: 'Pagamento confirmado' }).waitFor()
  expect(await payer.locator('.amount').textContent()).toBe('R$\u{a0}90,00')
  await shop.getByText('R$ 90,00 aceitos: depósito concluído').waitFor()
  expect(await w.balanceCents(account.accountId)).toBe(89_00)
  expect(errors).toEqual([])
})

test('without scripts the page tells of held money too', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 100_00 })
  await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const { page } = await visit({ locale: 'en-US', javaScriptEnabled: false })
  await page.goto(`${url}/payment-link/${charge.paymentLinkId}`)
  expect(await page.getByRole('heading').textContent()).toBe('Payment under review')
  expect(await page.getByText('Do not pay again: the sender of this link has been told.').isVisible()).toBe(true)
})

test('a form says in the reader’s language what is missing, and the browser’s bubble says nothing', async () => {
  const { url } = await serve()
  const { page } = await visit({ locale: 'pt-BR' })
  await page.goto(`${url}/sign-in`)
  await page.getByRole('button', { name: 'Entrar', exact: true }).click()
  await page.getByText('Preencha este campo.').first().waitFor()
  const email = page.getByLabel('E-mail')
  expect(await page.locator(':focus').getAttribute('type')).toBe('email')
  expect(await email.getAttribute('aria-invalid')).toBe('true')
  await email.fill('ana')
  await page.getByLabel('Senha', { exact: true }).fill('x')
  await page.getByRole('button', { name: 'Entrar', exact: true }).click()
  await page.getByText('Informe um e-mail válido').waitFor()
  await expectAccessible(page, 'a form with mistakes')
})

test('a refund says what becomes of the fee before it is made, and who may not refund is told whom to ask', async () => {
  for (const [refunds, wanted] of [
    [{ byAccounts: true, returnFee: false }, 'The R$1.00 fee for this deposit is not returned when you refund it.'],
    [
      { byAccounts: true, returnFee: true },
      'The share of the fee for the refunded amount is returned to your balance.',
    ],
  ] as const) {
    const { shop, open } = await paidDeposit(refunds)
    await open()
    await shop.getByRole('button', { name: 'Refund' }).click()
    await shop.getByRole('dialog').getByText(wanted).waitFor()
  }
  const { shop, open } = await paidDeposit({ byAccounts: false, returnFee: false })
  await open()
  await shop.getByText('To refund this deposit to the payer, contact the guiche team').waitFor()
  expect(await shop.getByRole('button', { name: 'Refund' }).count()).toBe(0)
})

async function paidDeposit(refunds: { byAccounts: boolean; returnFee: boolean }) {
  const { w, url } = await serve({ refunds })
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 100_00 })
  await w.sandbox.pay({ emv: charge.emv })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const { page: shop } = await visit({ locale: 'en' })
  await enter(shop, await w.session(account))
  const open = () => shop.goto(`${url}/deposits/${charge.paymentLinkId}`)
  return { shop, open }
}
