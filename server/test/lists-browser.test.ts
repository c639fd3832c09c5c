import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { enter, serve, useChromium, visit } from './chromium.ts'
import { until, type TestAccount, type World } from './world.ts'

// Lists of the dashboard as account holders use them.

useChromium()

/** How often the list of deposits is read again. */
const REFRESH_MS = 5_000

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
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/settings')
})

test('an address that does not exist keeps the navigation, or leads to the start', async () => {
  const { page } = await signedIn()
  await page.goto('/deposits/nope/nope')
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await page.getByRole('link', { name: 'Statement' }).waitFor()
  await page.goto('/nope')
  await page.getByRole('link', { name: /^Go to the / }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/')
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

async function signedIn(
  options: { timezoneId?: string } = {},
): Promise<{ w: World; account: TestAccount; page: Page; errors: string[] }> {
  const { w, url: baseURL } = await serve()
  const account = await w.account()
  const viewport = { width: 1280, height: 900 }
  const { page, errors } = await visit({ baseURL, locale: 'en', viewport, ...options })
  await enter(page, await w.session(account))
  // The days that the pages ask for are those of the world.
  await page.clock.install({ time: w.clock.now() })
  return { w, account, page, errors }
}
