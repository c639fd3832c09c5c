import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { makeNumberingMemory, numberPending } from '../../src/domain/history/number-pending.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { join as joinAccount } from '../members-client.ts'
import { makeOperator } from '../operators-client.ts'
import { completedCharge, strayPayment } from '../refund-steps.ts'
import { until, type TestSession, type World } from '../world.ts'

// One box finds everything, keys go to pages, and operators see each charge and account.

useChromium()

const PICTURES = process.env['PICTURES']
const WIDE = { width: 1440, height: 900 }
const PHONE = { width: 360, height: 740 }

test('an account holder finds a deposit, a page and an action from the keyboard, and comes back to where they were', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const { paymentLinkId } = await w.deposit(account, { externalId: 'pedido-7', description: 'Ingresso de sábado' })
  await w.deposit(account, { externalId: 'outro' })
  const { page, errors, requests } = await signedIn(w, url, await w.session(account), 'en')
  await page.goto('/settings')
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  const opener = page.getByRole('button', { name: 'Search', exact: false }).first()
  await opener.focus()
  await page.keyboard.press('Control+k')
  const field = box(page)
  await isFocused(page, 'combobox')
  await page.getByRole('option', { name: 'New deposit' }).waitFor()
  await expectAccessible(page, 'the box')
  await picture(page, 'find-empty-en')

  await field.fill('sabado')
  await page.getByRole('option', { name: /^pedido-7/ }).waitFor()
  await picture(page, 'find-results-en')
  await expectAccessible(page, 'results')
  expect(await page.getByRole('option').count()).toBe(2)
  await field.press('ArrowDown')
  expect(await active(page)).toMatch(/^Show all deposits with “sabado”/)
  await field.press('ArrowDown')
  expect(await active(page)).toMatch(/^pedido-7/)
  await field.press('Enter')
  await page.waitForURL(`**/deposits/${paymentLinkId}`)
  expect(await page.getByRole('dialog').count()).toBe(0)

  // What was opened last comes first.
  await page.keyboard.press('Control+k')
  await page
    .getByRole('group', { name: 'Opened lately' })
    .getByRole('option', { name: /^pedido-7/ })
    .waitFor()
  await field.fill('settings')
  await page.getByRole('option', { name: 'Settings', exact: true }).waitFor()
  await field.press('Enter')
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  await opener.click()
  await field.fill('deposito novo')
  await page.getByRole('option', { name: 'New deposit' }).waitFor()
  await field.press('Enter')
  await page.getByRole('dialog', { name: 'New deposit' }).waitFor()
  expect(new URL(page.url()).search).toBe('')
  await page.keyboard.press('Escape')

  await page.keyboard.press('Control+k')
  await field.fill('pedido')
  await page.getByRole('option', { name: /^pedido-7/ }).waitFor()
  await page.getByRole('option', { name: /^Show all deposits/ }).click()
  await page.waitForURL('**/deposits?search=pedido')
  await page.getByRole('heading', { name: 'Deposits' }).waitFor()
  await opener.focus()
  await page.keyboard.press('Control+k')
  await field.fill('nothing like it')
  await page.getByText('Nothing found for “nothing like it”').waitFor()
  await expectAccessible(page, 'nothing found')
  await picture(page, 'find-none-en')
  await page.keyboard.press('Escape')
  await until('the focus is back', () =>
    page.evaluate<boolean>(`document.activeElement?.getAttribute('aria-keyshortcuts') === 'Control+K'`),
  )
  // While one types, only what they stop at is asked for.
  expect(requests.filter((path) => path === '/dashboard/api/search').length).toBeLessThan(8)
  expect(errors).toEqual([])
})

test('the box fits a phone, in the dark, and a viewer finds there what a viewer may', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  await w.deposit(account, { externalId: 'balcao-1', valueCents: 1_234_56 })
  const viewer = await joinAccount(w, account.accountId, 'viewer', 'rosa@example.com')
  const { page, errors } = await signedIn(w, url, await w.session(viewer), 'pt-BR')
  await page.setViewportSize(PHONE)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto('/deposits')
  await page.getByRole('banner').getByRole('button', { name: 'Buscar' }).click()
  await page.getByRole('option', { name: 'Exportar extrato' }).waitFor()
  for (const name of ['Pedir repasse', 'Nova chave de API', 'Novo depósito'])
    expect(await page.getByRole('option', { name }).count()).toBe(0)
  await box(page).fill('1.234,56')
  await page.getByRole('option', { name: /^balcao-1/ }).waitFor()
  expect(await overflowPx(page)).toBe(0)
  await expectAccessible(page, 'the box on a phone, dark')
  await picture(page, 'find-phone-pt')
  await box(page).fill('minha loja')
  await page.getByText('Nada encontrado para “minha loja”').waitFor()
  expect(errors).toEqual([])
})

test('a search that fails says so, and can be sent again', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  await w.deposit(account, { externalId: 'pedido-7' })
  const { page } = await signedIn(w, url, await w.session(account), 'en')
  await page.goto('/deposits')
  await page.getByText('pedido-7').last().waitFor()
  await page.keyboard.press('Control+k')
  await box(page).waitFor()
  await page.route('**/dashboard/api/search?*', (route) => route.abort())
  await box(page).fill('pedido')
  const alert = page.getByRole('dialog').getByRole('alert')
  await alert.getByText('No response from the server.').waitFor()
  await expectAccessible(page, 'a failed search')
  await page.unroute('**/dashboard/api/search?*')
  await alert.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('option', { name: /^pedido-7/ }).waitFor()
  expect(await alert.count()).toBe(0)
})

test('keys go to pages and through the deposits of a list, but not while one types, nor when they are turned off', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const links: string[] = []
  for (const externalId of ['alfa-1', 'beta-1', 'alfa-2', 'beta-2', 'alfa-3']) {
    links.push((await w.deposit(account, { externalId })).paymentLinkId)
    w.clock.advance(60_000)
  }
  const { page, errors } = await signedIn(w, url, await w.session(account), 'en')
  await page.goto('/')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.keyboard.press('?')
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await sheet.getByText('Go to the statement').waitFor()
  await expectAccessible(page, 'the sheet of shortcuts')
  await picture(page, 'shortcuts-en')
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await page.keyboard.press('g')
  await page.keyboard.press('d')
  await page.getByRole('heading', { name: 'Deposits' }).waitFor()
  await page.getByRole('searchbox').press('g')
  await page.getByRole('searchbox').press('s')
  expect(new URL(page.url()).pathname).toBe('/deposits')

  // Through the list as it is filtered: only those of alfa.
  await page.getByRole('searchbox').fill('alfa')
  await until('three', async () => (await page.locator('tbody tr').count()) === 3)
  await page.locator('tbody tr').nth(1).getByRole('link').last().click()
  await page.waitForURL(`**/deposits/${links[2]}`)
  await page.getByRole('link', { name: 'Next deposit' }).waitFor()
  await page.keyboard.press('j')
  await page.waitForURL(`**/deposits/${links[0]}`)
  await page.getByRole('link', { name: 'Previous deposit' }).waitFor()
  expect(await page.getByRole('button', { name: 'Next deposit' }).isDisabled()).toBe(true)
  await page.keyboard.press('ArrowLeft')
  await page.waitForURL(`**/deposits/${links[2]}`)
  await page.getByRole('link', { name: 'Previous deposit' }).click()
  await page.waitForURL(`**/deposits/${links[4]}`)
  await page.getByRole('link', { name: 'Deposits', exact: true }).last().click()
  await page.waitForURL('**/deposits?search=alfa*')

  // From elsewhere, all of them by creation.
  await page.goto(`/deposits/${links[2]}`)
  await page.getByRole('link', { name: 'Next deposit' }).waitFor()
  await page.keyboard.press('k')
  await page.waitForURL(`**/deposits/${links[3]}`)

  await page.goto('/settings')
  await page.getByLabel('Shortcuts of a single key').uncheck()
  await page.getByRole('heading', { name: 'Settings' }).focus()
  await page.keyboard.press('?')
  await page.keyboard.press('n')
  expect([await sheet.count(), new URL(page.url()).pathname]).toEqual([0, '/settings'])
  await page.keyboard.press('Control+k')
  await box(page).waitFor()
  expect(errors).toEqual([])
})

test('an operator finds an account, a charge by a part of its E2E id, and held money, and reads each', async () => {
  const { w, url } = await serve()
  const account = await w.account()
  const { charge, payment } = await completedCharge(w, { account, valueCents: 75_00 })
  await strayPayment(w, 7_00)
  const memory = makeNumberingMemory()
  await until('events have positions', async () => (await numberPending(w.ctx, memory)) === 'idle')
  const { page, errors } = await signedIn(w, url, await w.session(await makeOperator(w)), 'pt-BR')
  await page.goto('/operator')
  await page.getByRole('heading', { name: 'Visão geral' }).waitFor()
  const search = async (text: string, option: RegExp) => {
    await page.keyboard.press('Control+k')
    await box(page).fill(text)
    await page.getByRole('option', { name: option }).first().waitFor()
  }
  await search('7,00', /Cobrança desconhecida/)
  await expectAccessible(page, 'results of an operator')
  await picture(page, 'find-operator-pt')
  await page.getByRole('option', { name: /Cobrança desconhecida/ }).click()
  await page.waitForURL('**/operator/exceptions/*')

  await search(payment.endToEndId.slice(-8), new RegExp(payment.endToEndId))
  await page.getByRole('group', { name: 'Pix recebidos' }).getByRole('option').click()
  await page.waitForURL(`**/operator/deposits/${charge.paymentLinkId}`)
  const ledger = page.getByRole('table', { name: 'No livro-razão' })
  await ledger.getByRole('row', { name: /Caixa \(sandbox\) → Saldo da conta/ }).waitFor()
  await ledger.getByRole('row', { name: /Caixa \(sandbox\) → Tarifas/ }).waitFor()
  await page.getByRole('table', { name: 'Lugar no histórico da conta' }).getByText('Depósito pago').waitFor()
  await inAllStates(page, 'charge-pt')

  await search(account.email, /^Loja/)
  await page.getByRole('group', { name: 'Contas' }).getByRole('option').click()
  await page.waitForURL(`**/operator/accounts/${account.accountId}`)
  await page.getByText('1 de 1 pagas').first().waitFor()
  for (const [tab, shown] of [
    ['Chaves', 'Último uso'],
    ['Membros', account.email],
    ['Histórico', 'DEPOSIT_ASSET_SUCCESS'],
    ['Webhooks', 'Nenhum webhook'],
    ['Cobranças', 'R$ 75,00'],
  ]) {
    await page.getByRole('tab', { name: tab! }).click()
    await page.getByRole('tabpanel').getByText(shown!).filter({ visible: true }).first().waitFor()
    await inAllStates(page, `account-${tab!.toLowerCase()}-pt`)
  }
  await page.locator('tbody tr').first().getByRole('link').last().click()
  await page.waitForURL(`**/operator/deposits/${charge.paymentLinkId}`)
  await page.getByRole('link', { name: 'Conta', exact: true }).click()
  await page.waitForURL(`**/operator/accounts/${account.accountId}?tab=deposits`)
  expect(errors).toEqual([])
})

test('an operator lists the charges of all accounts, and filters them', async () => {
  const { w, url } = await serve()
  const [one, other] = [await w.account(), await w.account()]
  const { charge } = await completedCharge(w, { account: one, valueCents: 75_00 })
  await w.deposit(other, { externalId: 'pedido-9' })
  const { page, errors } = await signedIn(w, url, await w.session(await makeOperator(w)), 'pt-BR')
  await page.goto('/operator/deposits')
  await until('both', async () => (await page.locator('tbody tr').count()) === 2)
  await inAllStates(page, 'charges-pt')
  await page.getByLabel('Todas as situações').selectOption('Paga')
  await until('the one', async () => (await page.locator('tbody tr').count()) === 1)
  await page.locator('tbody tr').first().getByRole('link').first().click()
  await page.waitForURL(`**/operator/deposits/${charge.paymentLinkId}`)
  await page.getByText('Evento “Depósito pago” criado').waitFor()
  for (const text of await page.getByText(/depósito/i).allTextContents()) expect(text).toContain('Depósito pago')
  expect(errors).toEqual([])
})

async function signedIn(w: World, baseURL: string, session: Pick<TestSession, 'cookie'>, locale: string) {
  const { page, errors, requests } = await visit({ baseURL, locale, viewport: WIDE })
  await enter(page, session)
  await page.clock.setFixedTime(w.clock.now())
  return { page, errors, requests }
}

/** The field to type into. */
function box(page: Page) {
  return page.getByRole('dialog').getByRole('combobox')
}

/** What Enter would open. */
function active(page: Page): Promise<string | null> {
  return page.getByRole('option', { selected: true }).textContent()
}

async function isFocused(page: Page, role: string): Promise<void> {
  await until(`the ${role} has the focus`, () =>
    page.evaluate<boolean>(`document.activeElement?.getAttribute('role') === '${role}'`),
  )
}

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.png`) })
}

/** Looks at the page wide and light, and on a phone in the dark. */
async function inAllStates(page: Page, name: string): Promise<void> {
  for (const { size, colorScheme } of [
    { size: WIDE, colorScheme: 'light' },
    { size: { width: 1024, height: 768 }, colorScheme: 'light' },
    { size: PHONE, colorScheme: 'dark' },
  ] as const) {
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme })
    await until('it has loaded', () =>
      page.evaluate<boolean>('!document.querySelector(".animate-sheen, [aria-busy=true]")'),
    )
    if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}-${size.width}.png`), fullPage: true })
    if (size.width !== 1024) await expectAccessible(page, `${name} at ${size.width}`)
    expect([name, size.width, await overflowPx(page)]).toEqual([name, size.width, 0])
  }
  await page.setViewportSize(WIDE)
  await page.emulateMedia({ colorScheme: 'light' })
}
