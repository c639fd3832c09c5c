import { expect, test } from 'vitest'
import { actorOf } from '../../src/domain/accounts/callers.ts'
import { ensureCode } from '../../src/domain/deposits/codes.ts'
import { reconcileDue } from '../../src/workers/reconcile.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'

// Lasting codes in a browser: the account holder makes and closes one, and a payer sees what may be paid.

useChromium()

const NBSP = '\u{a0}'
const SMALL = { width: 360, height: 740 }

test('an account holder makes a code, sees its deposits, changes it and closes it', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const { page, errors } = await visit({ locale: 'pt-BR', viewport: SMALL })
  await enter(page, await w.session(account))
  await page.goto(`${url}/codes`)
  await page.getByText('Nenhum código ainda').waitFor()
  await expectAccessible(page, 'no codes')

  await page.getByRole('button', { name: 'Novo código' }).click()
  const dialog = page.getByRole('dialog', { name: 'Novo código' })
  await dialog.getByLabel('Sua referência').fill('loja/7')
  await dialog.getByLabel('Valor mínimo').fill('10,00')
  await dialog.getByLabel('Valor máximo').fill('5,00')
  await dialog.getByRole('button', { name: 'Criar código' }).click()
  await dialog.getByText('O mínimo não pode passar do máximo').waitFor()
  await expectAccessible(page, 'the dialog')
  expect(await overflowPx(page)).toBe(0)
  await dialog.getByLabel('Valor máximo').fill('')
  await dialog.getByRole('button', { name: 'Criar código' }).click()
  await page.getByRole('heading', { name: 'loja/7' }).waitFor()
  await page.getByRole('img', { name: 'QR code deste código' }).waitFor()
  await page.getByText(`A partir de R$${NBSP}10,00`).waitFor()
  await page.getByText('Nenhum depósito ainda').waitFor()

  const { rows } = await w.pool.query('select emv from codes')
  await w.sandbox.pay({ emv: rows[0].emv, amountCents: 43_21 })
  w.clock.advance(60_000)
  await reconcileDue(w.ctx, w.ctx.providers[0]!)
  await page.reload()
  await page.getByText(`R$${NBSP}43,21`).locator('visible=true').first().waitFor()
  await expectAccessible(page, 'a code')
  expect(await overflowPx(page)).toBe(0)

  await page.getByRole('button', { name: 'Alterar' }).click()
  await page.getByLabel('Descrição').fill('Loja 7')
  await page.getByRole('button', { name: 'Salvar' }).click()
  await page.getByRole('main').getByText('Loja 7', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Encerrar', exact: true }).click()
  await page.getByRole('button', { name: 'Encerrar código' }).click()
  await page.getByText('fica em análise.').waitFor()
  await page.getByRole('button', { name: 'Abrir de novo' }).waitFor()
  await page.getByRole('link', { name: 'Códigos' }).first().click()
  await page.getByText('Encerrado').locator('visible=true').first().waitFor()
  expect(await overflowPx(page)).toBe(0)
  expect(errors).toEqual([])
})

test('money that a code does not take is under review on its page, in the list and in the overview', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const limits = { description: null, minValueCents: null, maxValueCents: 10_00 }
  const made = { ...limits, accountId: account.accountId, externalId: 'loja/7' }
  const { code } = await ensureCode(w.ctx, actorOf(account.caller), made)
  await w.sandbox.pay({ emv: code.emv, amountCents: 43_21 })
  w.clock.advance(60_000)
  await reconcileDue(w.ctx, w.ctx.providers[0]!)
  const { page, errors } = await visit({ locale: 'en-US', viewport: SMALL })
  await enter(page, await w.session(account))
  await page.goto(url)
  await page.getByText('loja/7: The amount is outside of the limits of its code.').waitFor()
  await expectAccessible(page, 'the overview')
  await page.getByRole('link', { name: /R\$43\.21 received by a code, under review/ }).click()
  await page.getByRole('heading', { name: 'loja/7' }).waitFor()
  await page.getByText('R$43.21 under review').waitFor()
  await expectAccessible(page, 'a code with held money')
  expect(await overflowPx(page)).toBe(0)
  await page.getByRole('link', { name: 'Codes' }).first().click()
  await page.getByText('Under review').locator('visible=true').first().waitFor()
  expect(await overflowPx(page)).toBe(0)
  expect(errors).toEqual([])
})

test('a payer reads who is paid and how much, and copies the code; without scripts it can be selected', async () => {
  const { w, url } = await serve()
  const { caller } = await w.account()
  const wanted = { description: 'Mensalidade', minValueCents: 5_00, maxValueCents: null }
  const made = { ...wanted, accountId: caller.accountId, externalId: 'cliente-17' }
  const { code } = await ensureCode(w.ctx, actorOf(caller), made)
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, errors } = await visit({ locale: 'pt-BR', viewport: SMALL, colorScheme })
    await page.goto(`${url}/code/${code.txid}`)
    await page.getByText(caller.accountName).waitFor()
    await page.getByText(`Você escolhe o valor, a partir de R$${NBSP}5,00.`).waitFor()
    await page.getByRole('button', { name: 'Copiar código Pix' }).click()
    await page.getByRole('button', { name: 'Código copiado' }).waitFor()
    await expectAccessible(page, `the page of a code, ${colorScheme}`)
    expect(await overflowPx(page)).toBe(0)
    expect(errors).toEqual([])
  }
  const { page } = await visit({ locale: 'en', javaScriptEnabled: false, viewport: SMALL })
  await page.goto(`${url}/code/${code.txid}`)
  expect(await page.getByLabel('Pix copy and paste').inputValue()).toBe(code.emv)
  await page.getByRole('img', { name: 'Pix QR code' }).waitFor()
})
