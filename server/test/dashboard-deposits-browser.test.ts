import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { query } from '../src/db/tx.ts'
import { markCanceled, markExpired } from '../src/domain/deposits/charge-states.ts'
import { listRefunds } from '../src/domain/refunds/request-refund.ts'
import { seedHistory } from '../src/domain/demo/seed.ts'
import { startCheckWorker } from '../src/workers/check.ts'
import { startNumberWorker } from '../src/workers/number.ts'
import { startRegistration } from '../src/workers/register.ts'
import { enter, expectAccessible, useChromium, visit } from './chromium.ts'
import { followToEnd } from './refund-steps.ts'
import { until, world, type TestAccount, type World } from './world.ts'

// These tests use deposits as account holders do: in a browser, while the payer, the bank and the settlement are real.

useChromium()

const WORDS = {
  'pt-BR': {
    firstSteps: 'Primeiros passos',
    create: 'Novo depósito',
    value: 'Valor',
    typed: '1.234,56',
    submit: 'Criar depósito',
    open: 'Abrir página de pagamento',
    see: 'Ver depósito',
    qrCode: 'QR code para pagar este depósito',
    waiting: 'Situação: Aguardando',
    paid: 'Situação: Pago',
    payerWaits: 'Aguardando pagamento',
    payerPaid: 'Pagamento confirmado',
    credited: /R\$\s1\.222,21 creditados no saldo/,
    statement: 'Extrato',
    movement: /\+R\$\s1\.222,21/,
    overview: 'Visão geral',
    balance: /^R\$\s1\.222,21$/,
    counts: '1 de 1 pagos · 100%',
    refund: 'Devolver',
    refundValue: 'Valor da devolução',
    tooMuch: '1.234,57',
    refused: /Informe um valor de até R\$\s1\.234,56/,
    part: '234,56',
    next: 'Continuar',
    confirm: /^Devolver R\$\s234,56$/,
    underWay: 'Em andamento',
    done: 'Concluída',
    refundDone: 'Devolução concluída.',
    refundLine: /^-R\$\s234,56$/,
  },
  en: {
    firstSteps: 'Get started',
    create: 'New deposit',
    value: 'Amount',
    typed: '1,234.56',
    submit: 'Create deposit',
    open: 'Open payment page',
    see: 'View deposit',
    qrCode: 'QR code to pay this deposit',
    waiting: 'Status: Pending',
    paid: 'Status: Paid',
    payerWaits: 'Waiting for payment',
    payerPaid: 'Payment confirmed',
    credited: 'R$1,222.21 credited to your balance',
    statement: 'Statement',
    movement: '+R$1,222.21',
    overview: 'Overview',
    balance: /^R\$1,222\.21$/,
    counts: '1 of 1 paid · 100%',
    refund: 'Refund',
    refundValue: 'Refund amount',
    tooMuch: '1,234.57',
    refused: 'Enter an amount up to R$1,234.56',
    part: '234.56',
    next: 'Continue',
    confirm: /^Refund R\$234\.56$/,
    underWay: 'Processing',
    done: 'Succeeded',
    refundDone: 'Refund succeeded.',
    refundLine: /^-R\$234\.56$/,
  },
}
type Language = keyof typeof WORDS

test.each(['pt-BR', 'en'] as const)(
  'a deposit made in the dashboard is paid on its page and refunded, and every page turns by itself (%s)',
  async (language) => {
    const { w, account, page, errors } = await signedIn(language)
    const t = WORDS[language]
    await page.goto('/')
    await page.getByRole('heading', { name: t.firstSteps }).waitFor()
    await page.getByRole('button', { name: t.create }).first().click()
    await isFocused(page.getByLabel(t.value))
    await page.getByLabel(t.value).fill(t.typed)
    await page.getByRole('button', { name: t.submit }).click()
    const opened = page.waitForEvent('popup')
    await page.getByRole('link', { name: t.open }).click()
    await expectAccessible(page, 'a new deposit')
    const payer = await opened
    await payer.getByRole('heading', { name: t.payerWaits }).waitFor()
    await page.getByRole('link', { name: t.see }).click()
    await said(page, t.waiting)
    const qrCode = page.getByRole('img', { name: t.qrCode })
    expect(await qrCode.count()).toBe(1)

    const { pix } = await w.sandbox.pay({ emv: await page.locator('code').first().textContent() })
    expect(pix[0]!.amountCents).toBe(1_234_56)
    await payer.getByRole('heading', { name: t.payerPaid }).waitFor()
    await payer.close()
    await said(page, t.paid)
    expect(await qrCode.count()).toBe(0)
    await page.getByText(t.credited).waitFor()
    await page.getByText(pix[0]!.endToEndId).first().waitFor()
    expect(await w.balanceCents(account.accountId)).toBe(1_222_21)
    await page.getByRole('link', { name: t.statement }).click()
    await page.getByRole('cell', { name: t.movement }).last().waitFor()
    await page.getByRole('link', { name: t.overview }).click()
    await page.getByText(t.balance).first().waitFor()
    await page.getByText(t.counts).first().waitFor()

    await page.getByRole('row').nth(1).getByRole('link').click()
    await refundPart(w, page, t)
    await page.getByRole('link', { name: t.statement }).click()
    await page.getByRole('cell', { name: t.refundLine }).last().waitFor()
    expect(await w.balanceCents(account.accountId)).toBe(987_65)
    expect(errors).toEqual([])
  },
)

test('the first load of the dashboard, charts and all, is under 180 kB as it comes over the line', async () => {
  const { w, account, page } = await signedIn('en')
  await w.paidCharge({ account })
  await until('something is there for the charts', async () => (await w.balanceCents(account.accountId)) > 0)
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  const files = new Set<string>()
  let bytes = 0
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (!request.url.includes('/dashboard/api/')) files.add(requestId)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (files.has(requestId)) bytes += encodedDataLength
  })
  await page.goto('/')
  await page.locator('canvas').first().waitFor()
  expect(bytes).toBeGreaterThan(50_000)
  expect(bytes).toBeLessThan(180_000)
})

/**
 * Refunds part of a deposit. The page allows no more than is left, shows the refund once the server has it, and calls
 * it done once the bank made it.
 */
async function refundPart(w: World, page: Page, t: (typeof WORDS)[Language]): Promise<void> {
  await page.getByRole('button', { name: t.refund, exact: true }).click()
  const value = page.getByLabel(t.refundValue)
  await isFocused(value)
  await value.fill(t.tooMuch)
  await page.getByRole('button', { name: t.next }).click()
  await page.getByText(t.refused).waitFor()
  await value.fill(t.part)
  await page.getByRole('button', { name: t.next }).click()

  let letGo = () => {}
  const asked = new Promise<void>((resolve) => {
    void page.route('**/refund', async (route) => {
      resolve()
      await new Promise<void>((release) => (letGo = release))
      await route.continue()
    })
  })
  await page.getByRole('button', { name: t.confirm }).click()
  await asked
  expect(await page.getByRole('dialog').isVisible()).toBe(true)
  expect(await page.getByText(t.underWay).count()).toBe(0)
  letGo()

  const state = page.getByRole('row').nth(1).getByRole('cell').nth(1)
  await state.getByText(t.underWay).waitFor()
  const { refunds } = await listRefunds(w.ctx, { limit: 10 })
  expect(refunds).toMatchObject([{ amountCents: 234_56, requestedBy: { kind: 'account' } }])
  await followToEnd(w, refunds[0]!)
  await state.getByText(t.done).waitFor()
  // The notice of the outcome has replaced the notice of the request.
  expect(await page.locator('[data-toasts] p').allTextContents()).toEqual([t.refundDone])
}

test('the list shows what its address asks for, page by page, and the file holds the same', async () => {
  const { w, account, page, errors } = await signedIn('pt-BR')
  await seedHistory(
    w.ctx,
    { account: { ...account, name: 'Loja' }, provider: 'sandbox', deposits: 80, days: 5, seed: 7 },
    async () => {},
    () => {},
  )
  const paidCount = await w.count('charges', `status = 'COMPLETED'`)
  expect(paidCount).toBeGreaterThan(25)
  await page.goto('/deposits?status=COMPLETED')
  const rows = page.locator('tbody tr')
  await until('a page of them', async () => (await rows.count()) === 25)
  const first = await rows.first().textContent()
  await page.getByRole('button', { name: 'Próxima' }).click()
  await page.getByText('Página 2').waitFor()
  // The rows of the first page stay until the next ones have loaded.
  await until('other rows', async () => (await rows.first().textContent()) !== first)

  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Exportar' }).click()
  await page.getByRole('menuitem', { name: 'CSV para sistemas' }).click()
  const lines = readFileSync(await (await download).path(), 'utf8')
    .trimEnd()
    .split('\r\n')
  expect(lines).toHaveLength(paidCount + 1)

  const [oldest] = await query<{ endToEndId: string; paymentLinkId: string }>(
    w.pool,
    `select end_to_end_id as "endToEndId", payment_link_id as "paymentLinkId" from charges where status = 'COMPLETED' order by id limit 1`,
  )
  const { endToEndId, paymentLinkId } = oldest!
  await page.getByRole('searchbox').fill(` ${endToEndId} `)
  await until('the one', async () => (await rows.count()) === 1)
  expect(new URL(page.url()).search).toBe(`?status=COMPLETED&search=${endToEndId}`)
  await page.reload()
  await until('the one again', async () => (await rows.count()) === 1)
  await rows.first().getByRole('link').click()
  await page.waitForURL(`**/deposits/${paymentLinkId}`)
  await page.getByText('ID da transação Pix (E2E)').waitFor()
  await page.goBack()
  await page.getByRole('searchbox').fill('nada assim')
  await page.getByText('Nenhum depósito encontrado').waitFor()
  expect(errors).toEqual([])
})

test('a deposit that ended unpaid shows no fee, and one that is paid after that tells both, and what was sent', async () => {
  const { w, account, page } = await signedIn('pt-BR')
  await w.sandbox.faults({ dropNotifications: true })
  const expired = await w.deposit(account)
  await markExpired(w.ctx, expired.id)
  const { charge, payment } = await w.paidCharge({ account })
  await markCanceled(w.ctx, charge.id)
  for (const { paymentLinkId } of [expired, charge]) {
    await page.goto(`/deposits/${paymentLinkId}`)
    await page.getByText('não houve pagamento').waitFor()
    expect(await page.getByText('Tarifa').count()).toBe(0)
  }

  w.clock.advance(60_000)
  await w.ctx.settlements.add([{ ...payment, occurredAt: w.clock.now() }])
  await page.reload()
  await page.getByText('Tarifa', { exact: true }).waitFor()
  const history = page.getByRole('listitem')
  for (const text of ['Cancelado', 'Pago depois de cancelado: R$\u{a0}50,00', 'Evento “Depósito pago” criado'])
    await history.filter({ hasText: text }).first().waitFor()
  await page.getByText('depois de cancelado', { exact: true }).waitFor()
  expect(await page.getByText('com atraso').count()).toBe(0)
  expect(await page.locator('code', { hasText: 'DEPOSIT_ASSET_SUCCESS' }).count()).toBe(1)
})

// ---- The service with the workers that make payments arrive, and a signed-in account holder ----

async function signedIn(language: Language): Promise<{ w: World; account: TestAccount; page: Page; errors: string[] }> {
  const port = await freePort()
  const baseURL = `http://127.0.0.1:${port}`
  const w = await world({ settings: { publicUrl: baseURL, refunds: { byAccounts: true, returnFee: false } } })
  const account = await w.account()
  await w.app.listen({ port, host: '127.0.0.1' })
  const workers = [startCheckWorker(w.ctx), startNumberWorker(w.ctx), startRegistration(w.ctx, () => baseURL)]
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
  await until('the bank knows where to notify', async () => (await w.sandbox.stats()).calls['PUT /webhook/:chave'])

  const viewport = { width: 1280, height: 900 }
  const { page, errors } = await visit({ baseURL, locale: language, viewport })
  await enter(page, await w.session(account))
  // The page's clock follows the world's, so both mean the same days.
  await page.clock.install({ time: w.clock.now() })
  return { w, account, page, errors }
}

/** Waits until the first field has the focus: a dialog can be typed into at once. */
async function isFocused(field: Locator): Promise<void> {
  const focused = field.page().locator(':focus')
  await until('the first field has the focus', async () => {
    return (await focused.getAttribute('id')) === (await field.getAttribute('id'))
  })
}

/** Waits until a screen reader is told that the page has turned. */
async function said(page: Page, text: string): Promise<void> {
  await until(text, async () => (await page.getByRole('main').getByRole('status').first().textContent()) === text)
}
