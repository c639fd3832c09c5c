import { expect, test } from 'vitest'
import { transact } from '../../src/db/tx.ts'
import { endDispute } from '../../src/domain/disputes/dispute-states.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { contest } from '../dispute-steps.ts'
import { makeOperator } from '../operators-client.ts'
import { completedCharge } from '../refund-steps.ts'

// Disputes in a browser: what is set aside, until when, and the way of a file to the bank.

useChromium()

const PHONE = { width: 390, height: 844 }
const NBSP = '\u{a0}'
const FILE = { name: 'recibo.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4') }

test('an account holder finds a dispute from the balance, reads its deadline, and gives evidence', async () => {
  const { w, url } = await serve()
  const paid = await completedCharge(w, { valueCents: 50_00 })
  const dispute = await contest(w, paid)
  const { page, errors } = await visit({ locale: 'pt-BR', viewport: PHONE })
  await enter(page, await w.session(paid.account))
  await page.goto(url)
  await page.getByRole('link', { name: `Mais R$${NBSP}49,50 bloqueados por contestações` }).click()
  await page.getByRole('link', { name: /2026/ }).click()
  await page.getByText('Nenhuma prova ainda').waitFor()
  await page.getByText('Provas até').waitFor()
  await expectAccessible(page, 'a dispute')
  expect(await overflowPx(page)).toBe(0)

  await page.getByRole('button', { name: 'Enviar prova' }).click()
  const dialog = page.getByRole('dialog', { name: 'Enviar prova' })
  await dialog.getByRole('button', { name: 'Enviar prova' }).click()
  await dialog.getByText('Escolha um arquivo de até 3 MB').waitFor()
  await dialog.getByLabel('Arquivo').setInputFiles(FILE)
  await dialog.getByText('Escolhido: recibo.pdf').waitFor()
  await dialog.getByLabel('O que ele mostra').fill('recibo assinado')
  await expectAccessible(page, 'the dialog')
  await dialog.getByRole('button', { name: 'Enviar prova' }).click()
  await page.getByText('Prova recebida', { exact: false }).waitFor()
  await page.getByText('recibo assinado').locator('visible=true').waitFor()
  expect(await w.count('dispute_evidence', `status = 'SENDING'`)).toBe(1)

  await transact(w.pool, (tx) => endDispute(tx, w.clock.now(), dispute.id, 'REJECTED'))
  await page.goto(`${url}/deposits/${paid.charge.paymentLinkId}`)
  const section = page.getByRole('table', { name: 'Contestação deste pagamento' })
  await section.getByText('Recusada').locator('visible=true').waitFor()
  expect(await overflowPx(page)).toBe(0)
  expect(errors).toEqual([])
})

test('an operator finds open disputes in the overview, and each with its account', async () => {
  const { w, url } = await serve()
  const paid = await completedCharge(w, { valueCents: 50_00 })
  await contest(w, paid)
  const { page, errors } = await visit({ locale: 'pt-BR', viewport: { width: 1280, height: 900 } })
  await enter(page, await w.session(await makeOperator(w)))
  await page.goto(`${url}/operator`)
  await page.getByText(`Contestação de R$${NBSP}50,00 em análise`).waitFor()
  await page.getByRole('link', { name: '1 contestação em análise' }).click()
  await expectAccessible(page, 'open disputes')
  await page.getByRole('row').filter({ hasText: paid.account.email }).getByRole('link').click()
  await page.getByText('Golpe').waitFor()
  await page.getByText('sandbox').waitFor()
  await page.getByRole('button', { name: 'Enviar prova' }).waitFor()
  await expectAccessible(page, 'a dispute')
  await page.goto(`${url}/operator/disputes?status=REJECTED`)
  await page.getByText('Nenhuma contestação encontrada').waitFor()
  expect(errors).toEqual([])
})
