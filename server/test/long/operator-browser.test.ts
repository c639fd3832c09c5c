import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { query } from '../../src/db/tx.ts'
import { listExceptions } from '../../src/domain/refunds/exceptions.ts'
import { resolveException } from '../../src/domain/refunds/resolve-exception.ts'
import { runDueRefunds } from '../../src/workers/refund.ts'
import { enter, serve, useChromium, visit } from '../chromium.ts'
import { makeOperator } from '../operators-client.ts'
import { holdings, OPERATOR, settleAll, strayPayment, untilMade } from '../refund-steps.ts'
import { PASSWORD } from '../sign-in-client.ts'
import { type TestAccount, type World } from '../world.ts'

// The operator's console in a browser: what it says about money is what the ledger says, before and after.

useChromium()

const EMAIL = 'ops@example.com'
const REASON = 'o cliente aceita o valor a menos'

test('an exception that is credited in the console leaves ledger, list and audit log of one mind', async () => {
  const { w, url, page, errors } = await operatorConsole()
  const account = await w.account()
  await underpaid(w, account)
  await page.goto(`${url}/operator`)
  await page.getByRole('link', { name: '1 exceção pendente' }).click()
  await page.getByRole('link', { name: 'Valor divergente' }).click()
  await page.getByText('R$ 73,50 estão na conta transitória').waitFor()
  expect(await holdings(w)).toEqual({ cash: 73_50, suspense: 73_50 })

  await page.getByLabel('Creditar a uma conta').check()
  // The page offers the account of the charge that the payer meant.
  await page.getByRole('radio', { name: /^Loja/ }).check()
  await page.getByRole('button', { name: 'Revisar e confirmar' }).click()
  const dialog = page.getByRole('dialog', { name: 'Creditar esta conta?' })
  const booking = `R$\u{a0}73,50 saem da conta transitória e entram no saldo de ${await nameOf(w, account)} (${account.email}), sem tarifa.`
  expect(await dialog.getByText('saem da conta').textContent()).toBe(booking)
  const act = dialog.getByRole('button', { name: 'Creditar a uma conta' })
  expect(await act.isDisabled()).toBe(true)
  await dialog.getByLabel('Motivo').fill(REASON)
  // After a while, moving money needs the password again, and then goes on by itself.
  w.clock.advance(16 * 60_000)
  await act.click()
  await page.getByRole('dialog', { name: /senha/ }).getByLabel('Senha', { exact: true }).fill(PASSWORD)
  expect(await holdings(w)).toEqual({ cash: 73_50, suspense: 73_50 })
  await page.keyboard.press('Enter')

  await page.getByRole('heading', { name: 'Resolução' }).waitFor()
  expect(await page.getByText(REASON).isVisible()).toBe(true)
  expect(await holdings(w)).toEqual({ cash: 73_50, balance: 73_50 })
  expect(await w.balanceCents(account.accountId)).toBe(73_50)
  expect(await w.differences()).toEqual([])
  await page.getByRole('link', { name: 'Exceções' }).first().click()
  // The list is right at once, before it is read again by itself.
  await page.getByText('Nenhuma exceção pendente').waitFor()
  await page.goto(`${url}/operator/audit-log?action=exception.resolved`)
  await page.getByRole('row').filter({ hasText: 'Exceção resolvida' }).filter({ hasText: EMAIL }).waitFor()
  expect(await page.getByRole('cell', { name: REASON }).count()).toBe(1)
  expect(errors.filter((error) => !error.includes('403'))).toEqual([])
})

test('a refund is shown as under way until the provider has made it', async () => {
  const { w, url, page } = await operatorConsole()
  const { endToEndId } = await strayPayment(w, 7_00)
  const { id } = await onlyException(w)
  await page.goto(`${url}/operator/exceptions/${id}`)
  await decide(page, 'Devolver ao pagador')
  await page.getByText('O provedor ainda não confirmou').waitFor()
  expect(await page.getByText('foram devolvidos ao pagador').count()).toBe(0)
  expect(await holdings(w)).toEqual({ cash: 7_00, refunding: 7_00 })

  const [refund] = await query<{ id: string }>(w.pool, 'select provider_refund_id as id from refunds')
  await untilMade(w, { endToEndId, refundId: refund!.id })
  w.clock.advance(10 * 60_000)
  await runDueRefunds(w.ctx)
  await page.getByText('R$ 7,00 foram devolvidos ao pagador.').waitFor()
  expect(await holdings(w)).toEqual({})
})

test('a decision that somebody else was faster with books nothing, and the page shows theirs', async () => {
  const { w, url, page } = await operatorConsole()
  await strayPayment(w, 7_00)
  const { id } = await onlyException(w)
  await page.goto(`${url}/operator/exceptions/${id}`)
  await page.getByRole('heading', { name: 'Resolver' }).waitFor()
  await resolveException(w.ctx, OPERATOR, id, { how: 'write_off' }, 'ninguém reclamou')
  await decide(page, 'Devolver ao pagador')
  await page.getByText('Nada foi lançado: esta exceção já foi resolvida.').waitFor()
  await page.getByText('ninguém reclamou').waitFor()
  expect(await w.count('refunds')).toBe(0)
})

test('a fee that is set with a reason stands in the account’s history and the audit log, and prices the next deposit', async () => {
  const { w, url, page, errors } = await operatorConsole()
  const account = await w.account()
  await page.goto(`${url}/operator/accounts`)
  await page.getByRole('link', { name: account.email }).click()
  await page.getByText('Nunca alterado').waitFor()
  await page.getByRole('button', { name: 'Alterar' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.getByLabel('Tarifa percentual').getAttribute('placeholder')).toBe('Padrão: 1%')
  await dialog.getByLabel('Tarifa percentual').fill('0,8')
  await dialog.getByText('Tarifa percentual: Padrão → 0,8%').waitFor()
  const save = dialog.getByRole('button', { name: 'Salvar' })
  expect(await save.isDisabled()).toBe(true)
  await dialog.getByLabel('Motivo').fill('contrato de março')
  await save.click()

  await page.getByText('contrato de março').waitFor()
  expect(await page.getByText('Tarifa percentual: 0,8%').isVisible()).toBe(true)
  await page.getByRole('link', { name: 'Ver na auditoria' }).click()
  await page.getByRole('button', { name: 'Detalhes: Tarifa e limites alterados' }).click()
  const details = page.getByRole('dialog', { name: 'Tarifa e limites alterados' })
  for (const text of [EMAIL, 'contrato de março', 'nada → 0,8%']) await details.getByText(text).first().waitFor()
  const session = await w.session(account)
  const answer = await session.ask('POST', '/dashboard/api/deposit', { value: 100_00 })
  expect(answer.json()).toMatchObject({ charge: { fee: 80 } })
  expect(errors).toEqual([])
})

test('a new account opens from the dialog that shows its password, and an e-mail that is taken makes none', async () => {
  const { w, url, page } = await operatorConsole()
  const { email } = await w.account()
  await page.goto(`${url}/operator/accounts`)
  await page.getByRole('button', { name: 'Criar conta' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Nome').fill('Padaria Sol')
  await dialog.getByLabel('E-mail do titular').fill(email)
  await dialog.getByRole('button', { name: 'Criar conta' }).click()
  await dialog.getByText('Este e-mail já pertence a uma conta ou a um operador.').waitFor()
  await dialog.getByLabel('E-mail do titular').fill('sol@example.com')
  await dialog.getByRole('button', { name: 'Criar conta' }).click()
  await dialog.getByRole('link', { name: 'Abrir a conta' }).click()
  await page.getByRole('heading', { name: 'Padaria Sol' }).waitFor()
  expect(await dialog.count()).toBe(0)
})

test('an account holder who opens the console is sent home, and the server tells them nothing', async () => {
  const { w, url } = await serve()
  const { page, requests } = await visit({ locale: 'pt-BR' })
  await enter(page, await w.session(await w.account()))
  for (const path of ['/operator', '/operator/exceptions', '/operator/audit-log']) {
    await page.goto(url + path)
    await page.waitForURL(`${url}/`)
  }
  expect(requests.filter((path) => path.startsWith('/dashboard/api/operator'))).toEqual([])
  const status = await page.evaluate<number>('fetch("/dashboard/api/operator/exceptions").then(({ status }) => status)')
  expect(status).toBe(403)
})

// ---- The service and its operator ----

async function operatorConsole() {
  const { w, url } = await serve()
  const operator = await makeOperator(w, EMAIL)
  const { page, errors } = await visit({
    locale: 'pt-BR',
    viewport: { width: 1280, height: 900 },
  })
  await enter(page, await w.session(operator))
  return { w, url, page, errors }
}

async function decide(page: Page, resolution: string): Promise<void> {
  await page.getByLabel(resolution).check()
  await page.getByRole('button', { name: 'Revisar e confirmar' }).click()
  await page.getByLabel('Motivo').fill('pedido do pagador')
  await page.getByRole('dialog').getByRole('button', { name: resolution }).click()
}

async function underpaid(w: World, account: TestAccount): Promise<void> {
  const charge = await w.deposit(account, { valueCents: 75_00 })
  const { pix } = await w.sandbox.pay({ txid: charge.id, amountCents: 73_50 })
  const { endToEndId, horario } = pix[0]!
  const payment = { provider: 'sandbox', endToEndId, txid: charge.id, amountCents: 73_50 }
  await settleAll(w, [{ ...payment, occurredAt: new Date(horario) }])
}

async function onlyException(w: World) {
  return (await listExceptions(w.ctx, { limit: 1 })).exceptions[0]!
}

async function nameOf(w: World, { accountId }: TestAccount): Promise<string> {
  return (await query<{ name: string }>(w.pool, 'select name from accounts where id = $1', [accountId]))[0]!.name
}
