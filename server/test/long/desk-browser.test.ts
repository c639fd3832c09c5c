import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { makeOperator } from '../operators-client.ts'
import { completedCharge, holdings, settleAll, strayPayment } from '../refund-steps.ts'
import type { TestAccount, World } from '../world.ts'

// The operators' desk: what waits, how it is worked off, and whether the service is in order.

useChromium()

test('several exceptions are decided in one dialog, which says the sum, and then what became of each', async () => {
  const { w, url, page, errors } = await desk()
  await underpaid(w, await w.account())
  for (const cents of [7_00, 8_00]) await strayPayment(w, cents)
  await page.goto(`${url}/operator/exceptions`)
  await page.getByText('pedido-7 · Duas cadeiras').filter({ visible: true }).waitFor()
  await page.getByText('de R$ 75,00 (-R$ 1,50)').filter({ visible: true }).waitFor()
  await page.getByRole('checkbox', { name: 'Selecionar R$ 7,00, Cobrança desconhecida' }).check()
  await page.getByText('1 selecionada, R$ 7,00').waitFor()
  await page.getByRole('button', { name: 'Selecionar as desta página' }).click()
  await page.getByText('3 selecionadas, R$ 88,50').waitFor()
  await phone(page, 'the list with a selection')
  await page.getByRole('button', { name: 'Resolver…' }).click()

  const dialog = page.getByRole('dialog', { name: 'Resolver 3 exceções' })
  await dialog.getByText('1 de 3, R$ 73,50').first().waitFor()
  await dialog.getByLabel('Dar baixa').check()
  await dialog.getByText('Baixa de R$ 88,50').waitFor()
  await dialog.getByText('Encerrar as cobranças ainda abertas').waitFor()
  await phone(page, 'the dialog')
  const act = dialog.getByRole('button', { name: 'Dar baixa' })
  expect(await act.isDisabled()).toBe(true)
  await dialog.getByLabel('Motivo').fill('ninguém reclamou')
  await act.click()
  const outcome = page.getByRole('dialog', { name: 'Resultado' })
  await outcome.getByText('3 de 3 decididas.').waitFor()
  expect(await outcome.getByText('Resolvida', { exact: true }).count()).toBe(3)
  await outcome.getByRole('button', { name: 'Pronto' }).click()
  await page.getByText('Nenhuma exceção pendente').waitFor()
  expect(await holdings(w)).toEqual({ cash: 88_50, written_off: 88_50 })
  expect(await w.differences()).toEqual([])
  expect(errors).toEqual([])
})

test('the navigation says how much is open, and one exception leads to the next, with notes', async () => {
  const { w, url, page, errors } = await desk()
  for (const cents of [7_00, 8_00]) {
    w.clock.advance(1_000)
    await strayPayment(w, cents)
  }
  await page.goto(`${url}/operator`)
  await page.getByRole('link', { name: 'Exceções, 2 abertas' }).click()
  await page.getByRole('row').filter({ hasText: 'R$ 8,00' }).getByRole('link').filter({ visible: true }).click()
  await page.getByText('1 de 2 pendentes').waitFor()
  await page.getByLabel('Nova nota').fill('O pagador ligou.')
  await page.getByRole('button', { name: 'Salvar nota' }).click()
  await page
    .getByRole('listitem')
    .filter({ hasText: 'O pagador ligou.' })
    .filter({ hasText: 'ops@example.com' })
    .waitFor()
  expect(await page.getByLabel('Nova nota').inputValue()).toBe('')
  await page.getByRole('link', { name: 'Próxima', exact: true }).click()
  await page.getByText('2 de 2 pendentes').waitFor()
  expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
  await page.getByLabel('Dar baixa').check()
  await page.getByRole('button', { name: 'Revisar e confirmar' }).click()
  await page.getByLabel('Motivo').fill('ninguém reclamou')
  await page.getByRole('dialog').getByRole('button', { name: 'Dar baixa' }).click()
  await page.getByRole('link', { name: 'Abrir a próxima exceção' }).click()
  await page.getByText('1 de 1 pendentes').waitFor()
  await page.getByText('O pagador ligou.').waitFor()
  await page.getByRole('link', { name: 'Exceções, 1 aberta' }).waitFor()
  expect(errors).toEqual([])
})

test('the page of health says in words what is wrong and what to do, and the navigation counts it', async () => {
  const { w, url, page, errors } = await desk()
  const account = await w.account()
  await page.goto(`${url}/operator/providers`)
  await page.getByText('Tudo em ordem').waitFor()
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  while (w.ctx.providers[0]!.health().breaker !== 'open') await w.deposit(account).catch(() => {})
  await page.reload()
  await page.getByText('Algo precisa de ação agora').waitFor()
  const line = page.getByRole('listitem').filter({ hasText: 'sandbox: Processos que pausaram as chamadas' })
  for (const text of ['Agir agora', 'Rode guiche doctor', 'Alerta GuicheProviderDown'])
    await line.getByText(text).waitFor()
  await page.getByRole('link', { name: /^Saúde, \d pede/ }).waitFor()
  await page.goto(`${url}/operator`)
  await page.getByRole('link', { name: 'sandbox: Processos que pausaram as chamadas' }).waitFor()
  expect(await page.getByText('Tudo em ordem').count()).toBe(0)
  expect(errors).toEqual([])
})

test('an operator asks for a payout in the name of an account, from its page and from the list', async () => {
  const { w, url, page } = await desk()
  const { account } = await completedCharge(w, { valueCents: 50_00 })
  await page.goto(`${url}/operator/accounts/${account.accountId}`)
  await page.getByRole('button', { name: 'Registrar repasse' }).click()
  const dialog = page.getByRole('dialog', { name: 'Registrar um repasse' })
  await dialog.getByLabel('Valor').fill('60,00')
  await dialog.getByRole('button', { name: 'Reservar R$ 60,00' }).click()
  await dialog.getByText('Só R$ 49,50 estão disponíveis nesta conta.').waitFor()
  await dialog.getByLabel('Valor').fill('20,00')
  await dialog.getByRole('button', { name: 'Reservar R$ 20,00' }).click()
  await page.getByText('Repasse registrado. O valor está reservado.').waitFor()
  await page.getByRole('link', { name: 'Repasses, 1 aberto' }).click()
  await page.getByRole('row').filter({ hasText: 'R$ 20,00' }).waitFor()

  await page.getByRole('button', { name: 'Registrar repasse' }).click()
  await dialog.getByLabel('Buscar conta').fill(account.email)
  await dialog.getByRole('radio').check()
  await dialog.getByLabel('Valor').fill('5')
  await dialog.getByRole('button', { name: 'Reservar R$ 5,00' }).click()
  await page.getByRole('row').filter({ hasText: 'R$ 5,00' }).waitFor()
  expect(await holdings(w)).toMatchObject({ reserved: 25_00 })
})

test('an account holder sees in the navigation how many deposits are under review', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  await underpaid(w, account)
  const { page } = await visit({ locale: 'en', viewport: { width: 1280, height: 900 } })
  await enter(page, await w.session(account))
  await page.goto(`${url}/settings`)
  const deposits = page.getByRole('link', { name: 'Deposits, 1 under review' })
  await deposits.waitFor()
  expect(await deposits.getAttribute('href')).toBe('/deposits')
})

// ---- The service and its operator ----

async function desk() {
  const { w, url } = await serve()
  const { page, errors } = await visit({ locale: 'pt-BR', viewport: { width: 1280, height: 900 } })
  await enter(page, await w.session(await makeOperator(w)))
  return { w, url, page, errors }
}

/** Looks at the page on a small phone in the dark, and leaves it as it was. */
async function phone(page: Page, what: string): Promise<void> {
  const before = page.viewportSize()!
  await page.setViewportSize({ width: 360, height: 740 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.locator('html[data-theme="dark"]').waitFor()
  await expectAccessible(page, what)
  expect([what, await overflowPx(page)]).toEqual([what, 0])
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(before)
}

async function underpaid(w: World, account: TestAccount): Promise<void> {
  const charge = await w.deposit(account, { valueCents: 75_00, externalId: 'pedido-7', description: 'Duas cadeiras' })
  const { pix } = await w.sandbox.pay({ txid: charge.id, amountCents: 73_50 })
  const { endToEndId, horario } = pix[0]!
  const payment = { provider: 'sandbox', endToEndId, txid: charge.id, amountCents: 73_50 }
  await settleAll(w, [{ ...payment, occurredAt: new Date(horario) }])
}
