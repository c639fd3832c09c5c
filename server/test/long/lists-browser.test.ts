import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { cancelDeposit } from '../../src/domain/deposits/query-deposit.ts'
import { enter, expectAccessible, serve, useChromium, visit } from '../chromium.ts'
import { until, type TestAccount, type World } from '../world.ts'

useChromium()

/** How often the list of deposits is read again. */
const REFRESH_MS = 15_000

test('a deposit made by API appears in the list without a reload', async () => {
  const { w, account, page } = await signedIn()
  await w.deposit(account, { externalId: 'first' })
  await page.goto('/deposits')
  await page.getByText('first').last().waitFor()
  await w.deposit(account, { externalId: 'second' })
  await page.clock.runFor(REFRESH_MS)
  await page.getByText('second').last().waitFor()
  expect(await page.locator('tbody tr').count()).toBe(2)
})

test('the page of a list survives a reload and the way back from a row, and another filter begins at the first page', async () => {
  const { w, account, page } = await signedIn()
  for (let number = 1; number <= 60; number++) {
    await w.deposit(account, { externalId: `order-${String(number).padStart(2, '0')}` })
    w.clock.advance(1_000)
  }
  const first = () => page.locator('tbody tr').first()
  await page.goto('/deposits?status=PENDING')
  await until('the first page', async () => (await first().textContent())?.includes('order-60'))
  for (const name of ['order-35', 'order-10']) {
    await page.getByRole('button', { name: 'Next' }).click()
    await until(name, async () => (await first().textContent())?.includes(name))
  }
  await page.reload()
  await until('the third page again', async () => (await first().textContent())?.includes('order-10'))
  await page.getByText('Page 3').waitFor()

  await page.getByRole('button', { name: 'Previous' }).click()
  await until('the second page', async () => (await first().textContent())?.includes('order-35'))
  await first().getByRole('link').last().click()
  await page.waitForURL('**/deposits/*')
  await page.goBack()
  await until('the second page again', async () => (await first().textContent())?.includes('order-35'))
  await page.getByText('Page 2').waitFor()

  await page.getByRole('searchbox').fill('ORDER-5')
  await until('what was searched for', async () => (await first().textContent())?.includes('order-59'))
  expect(new URL(page.url()).searchParams.get('cursor')).toBeNull()
})

test('without a network a click on the menu keeps the frame, and the page comes when the network is back', async () => {
  const { page } = await signedIn()
  await page.goto('/')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.context().setOffline(true)
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByText('Unable to load').waitFor()
  await page.getByRole('link', { name: 'Statement' }).waitFor()
  await page.context().setOffline(false)
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/settings')
})

test('an address that does not exist keeps the navigation', async () => {
  const { page } = await signedIn()
  for (const path of ['/deposits/nope/nope', '/nope']) {
    await page.goto(path)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.getByRole('link', { name: 'Statement' }).waitFor()
  }
  await page.getByRole('link', { name: /^Go to the / }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/')
})

test('without a network a list says how old it is, a new deposit says where one looks why not, and both come back', async () => {
  const { w, account, page } = await signedIn()
  await w.deposit(account, { externalId: 'before' })
  await page.goto('/deposits')
  await page.getByText('before').last().waitFor()
  await page.context().setOffline(true)
  await page.getByText('No connection, data from 09:00').waitFor()
  await page.getByRole('button', { name: 'New deposit' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Opening failed' })
  await dialog.getByText('No response from the server.').waitFor()
  await expectAccessible(page, 'without a network')
  await dialog.getByRole('button', { name: 'Close' }).click()
  await dialog.waitFor({ state: 'detached' })

  await w.deposit(account, { externalId: 'meanwhile' })
  await page.getByRole('button', { name: 'New deposit' }).first().click()
  await dialog.getByRole('button', { name: 'Try again' }).waitFor()
  await page.context().setOffline(false)
  await page.getByRole('dialog', { name: 'New deposit' }).getByLabel('Amount').waitFor()
  expect(await page.getByText('No connection').count()).toBe(0)
  await page.getByText('meanwhile').last().waitFor()
})

test('what is sent without a network is refused beside its button, and can be sent again', async () => {
  const { w, page } = await signedIn()
  await page.goto('/deposits')
  await page.getByRole('button', { name: 'New deposit' }).first().click()
  await page.getByRole('dialog').getByLabel('Amount').fill('12.34')
  await page.context().setOffline(true)
  const create = page.getByRole('button', { name: 'Create deposit' })
  await create.click()
  await page.getByRole('dialog').getByRole('alert').getByText('Check your connection').waitFor()
  await page.context().setOffline(false)
  await create.click()
  await page.getByRole('dialog', { name: 'Deposit of R$12.34 created' }).waitFor()
  expect(await w.count('charges')).toBe(1)
})

test('a suspended account is told that it can make no deposit before it fills in the form', async () => {
  const { w, page } = await signedIn()
  await w.pool.query(`update accounts set suspended_at = $1, suspended_reason = 'papers'`, [w.clock.now()])
  for (const path of ['/', '/deposits']) {
    await page.goto(path)
    await page.getByText('This account is suspended: papers').waitFor()
    await page.getByText('Unavailable: account suspended').first().waitFor()
    const create = page.getByRole('button', { name: 'New deposit' })
    for (const button of await create.all()) expect(await button.isDisabled()).toBe(true)
    await expectAccessible(page, `${path} of a suspended account`)
  }
})

test('a new deposit says how long it is valid unless another time is chosen', async () => {
  const { page } = await signedIn()
  await page.goto('/deposits')
  await page.getByRole('button', { name: 'New deposit' }).first().click()
  await page.getByLabel('Expires after').waitFor()
  expect(await page.getByLabel('Expires after').locator('option').allTextContents()).toEqual([
    'Default (1 hour)',
    '5 minutes',
    '15 minutes',
    '30 minutes',
    '1 hour',
    '6 hours',
    '24 hours',
    '3 days',
    '7 days',
    '15 days',
    '30 days',
  ])
})

test('the cells of a table stand below their headers', async () => {
  const { w, account, page } = await signedIn()
  await w.deposit(account)
  await page.goto('/deposits')
  const left = async (selector: string) => {
    const place = 'cell => cell.getBoundingClientRect().left + parseFloat(getComputedStyle(cell).paddingLeft)'
    return page.locator(selector).first().evaluate(place)
  }
  await page.locator('tbody td:visible').first().waitFor()
  expect(await left('tbody td:visible')).toBe(await left('thead th'))
})

test('a list names its time zone, and its days are those of the books in a browser elsewhere', async () => {
  const { w, account, page } = await signedIn({ timezoneId: 'Asia/Tokyo' })
  await w.deposit(account, { externalId: 'today' })
  await page.goto('/deposits?from=2026-03-02&to=2026-03-02')
  await page.getByText(/Brasilia.* \(GMT-3\)$/).waitFor()
  await page.getByText('2 Mar 2026, 09:00').last().waitFor()
  await page.goto('/deposits?from=2026-03-03')
  await page.getByText('No deposits found').waitFor()
  expect(await page.locator('tbody tr').count()).toBe(0)
})

test('on a phone the filters are in a sheet, and a row has two lines and a short date', async () => {
  const { w, account, page } = await signedIn({ viewport: { width: 390, height: 844 } })
  const { paymentLinkId } = await w.deposit(account, { externalId: 'kept' })
  w.clock.advance(60_000)
  await cancelDeposit(w.ctx, account.accountId, paymentLinkId)
  await w.deposit(account, { externalId: 'other' })
  await page.goto('/deposits')
  await page.getByText('2 Mar, 09:01').waitFor()
  expect(await page.getByText('2026').filter({ visible: true }).count()).toBe(0)
  const row = await page.locator('tbody tr').first().boundingBox()
  expect(row!.height).toBeLessThan(90)
  const filters = await page.getByRole('search').boundingBox()
  expect(filters!.height).toBeLessThan(140)

  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  const sheet = page.getByRole('dialog', { name: 'Filters' })
  await sheet.getByLabel('All statuses').selectOption('Canceled')
  const answered = page.waitForResponse(/\/deposits\?.*from=/)
  await sheet.getByLabel('Period').selectOption('Today')
  await answered
  // The rows behind the sheet are dimmed until the new ones have loaded.
  const isStill = '!document.querySelector("[aria-busy=true]") && document.getAnimations().length === 0'
  await until('the list has turned', () => page.evaluate<boolean>(isStill))
  await expectAccessible(page, 'the sheet of filters')
  await sheet.getByRole('button', { name: 'Show results' }).click()
  await page.getByRole('button', { name: 'Filters (2)' }).waitFor()
  await until('what was asked for', async () => (await page.locator('tbody tr').count()) === 1)
  await page.getByText('kept').first().waitFor()

  // What is active is told below, and can be taken away there.
  expect(await page.getByRole('list', { name: 'Active filters' }).getByRole('listitem').allTextContents()).toEqual([
    'Canceled',
    'Today',
  ])
  await page.getByRole('button', { name: 'Remove the filter: Canceled' }).click()
  await until('both', async () => (await page.locator('tbody tr').count()) === 2)
  await page.getByRole('button', { name: 'Filters (1)' }).waitFor()
})

test('a period is chosen by its name, which the URL keeps, or by days, which begin with those that are shown', async () => {
  const { w, account, page } = await signedIn()
  await w.deposit(account, { externalId: 'earlier' })
  w.clock.advance(24 * 3_600_000)
  await page.clock.setSystemTime(w.clock.now())
  await w.deposit(account, { externalId: 'later' })
  await page.goto('/deposits?period=yesterday')
  await page.getByText('earlier').last().waitFor()
  expect(await page.locator('tbody tr').count()).toBe(1)
  await page.getByLabel('Period').selectOption('Choose days')
  expect(await page.getByLabel('From').inputValue()).toBe('2026-03-02')
  await page.getByLabel('To', { exact: true }).fill('2026-03-03')
  await page.getByText('later').last().waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  expect(new URL(page.url()).search).toBe('')
})

async function signedIn(
  options: { timezoneId?: string; viewport?: { width: number; height: number } } = {},
): Promise<{ w: World; account: TestAccount; page: Page; errors: string[] }> {
  const { w, url: baseURL } = await serve()
  const account = await w.account()
  const viewport = { width: 1280, height: 900 }
  const { page, errors } = await visit({ baseURL, locale: 'en', viewport, ...options })
  await enter(page, await w.session(account))
  // The page's clock follows the world's, so both mean the same days.
  await page.clock.install({ time: w.clock.now() })
  return { w, account, page, errors }
}
