import { expect, test } from 'vitest'
import { queryDeposit } from '../../src/domain/deposits/query-deposit.ts'
import { makeNumberingMemory, numberPending } from '../../src/domain/history/number-pending.ts'
import { mail, tell } from '../../src/workers/tell.ts'
import { enter, expectAccessible, serve, signIn, useChromium, visit } from '../chromium.ts'
import { makeOperator } from '../operators-client.ts'
import type { World } from '../world.ts'

// The bell, the page of notices, and what comes by e-mail.

useChromium()

const EMAIL = 'ops@example.com'

test('held money rings the bell of the shop and of the operator, until they have seen it', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  await makeOperator(w, EMAIL)
  await tell(w.ctx)
  await underpaid(w, account)

  const { page: shop, errors } = await visit({ locale: 'pt-BR' })
  await enter(shop, await w.session(account))
  await shop.goto(`${url}/`)
  await shop.getByRole('link', { name: 'Avisos: 1 não lido' }).click()
  await shop.getByRole('link', { name: /Chegaram R\$ 90,00 para o depósito/ }).waitFor()
  await expectAccessible(shop, 'notices')
  await shop.getByRole('link', { name: 'Avisos', exact: true }).waitFor()
  await shop.reload()
  await shop.getByRole('link', { name: 'Avisos', exact: true }).waitFor()
  await shop.getByRole('link', { name: /Chegaram R\$ 90,00/ }).click()
  await shop.getByText('Recebemos R$ 90,00 para este depósito').waitFor()

  const { page: desk } = await visit({ locale: 'pt-BR', viewport: { width: 390, height: 844 } })
  await desk.goto(`${url}/notices`)
  await signIn(desk, EMAIL)
  await desk.getByRole('link', { name: /Uma exceção espera por uma decisão: R\$ 90,00/ }).waitFor()
  await expectAccessible(desk, 'notices of operators on a phone')
  expect(errors).toEqual([])
})

test('what a person switches off stays off, and e-mails come in the language of the page', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const { page, errors } = await visit({ locale: 'en-US' })
  await enter(page, await w.session(account))
  await page.goto(`${url}/settings`)
  await page.getByLabel('New API keys').uncheck()
  await page.getByText('Notices saved.').waitFor()
  await page.reload()
  expect(await page.getByLabel('New API keys').isChecked()).toBe(false)
  expect(await page.getByLabel('Payments under review').isChecked()).toBe(true)

  await tell(w.ctx)
  await underpaid(w, account)
  w.clock.advance(11_000)
  await mail(w.ctx)
  expect(w.letters.map(({ subject }) => subject)).toEqual(['guiche: Payments under review'])
  await page.getByLabel('Language of e-mails').selectOption('Português')
  await page.getByText('Notices saved.').waitFor()
  await page.reload()
  expect(await page.getByLabel('Language of e-mails').inputValue()).toBe('pt-BR')
  await underpaid(w, account)
  w.clock.advance(60 * 60_000)
  await mail(w.ctx)
  expect(w.letters.map(({ subject }) => subject).slice(1)).toEqual(['guiche: Pagamentos em análise'])

  for (const colorScheme of ['light', 'dark'] as const) {
    const { page: mailbox } = await visit({ colorScheme, viewport: { width: 390, height: 844 } })
    await mailbox.setContent(w.letters[1]!.html)
    await expectAccessible(mailbox, `an e-mail with a notice, ${colorScheme}`)
  }
  expect(errors).toEqual([])
})

async function underpaid(w: World, account: Awaited<ReturnType<World['account']>>): Promise<void> {
  const charge = await w.deposit(account, { valueCents: 100_00 })
  await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const memory = makeNumberingMemory()
  while ((await numberPending(w.ctx, memory)) !== 'idle');
  // States are looked at once a minute.
  w.clock.advance(60_000)
  await tell(w.ctx)
}
