import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDeposit } from '../../src/domain/deposits/open-deposit.ts'
import { expectAccessible, overflowPx, useChromium } from '../chromium.ts'
import { LONG_AGO_MS, QUIET_MS, setHidden, signedIn } from '../followed-account.ts'
import { until } from '../world.ts'

// Pages show what happened elsewhere at once, and yet nothing moves below the eyes of a reader.

useChromium()

const OVERVIEW = '/dashboard/api/overview'

type Opened = Awaited<ReturnType<typeof signedIn>>

test('a deposit that somebody else makes, here or in another process, is in the list and the overview at once', async () => {
  const { w, account, page, open, asked } = await signedIn()
  await open('/deposits')
  await page.getByText('No deposits yet').waitFor()
  await w.deposit(account)
  await page.getByRole('row', { name: /R\$50\.00/ }).waitFor()
  const other = await w.anotherProcess()
  await openDeposit(other.ctx, account.caller, { valueCents: 77_00, expiresInSeconds: null }, null)
  await page.getByRole('row', { name: /R\$77\.00/ }).waitFor()
  expect(await page.locator('tbody tr').count()).toBe(2)

  await open('/')
  await page.getByText('0 of 2 paid').first().waitFor()
  // The document asks for the session, and the script takes that answer.
  expect(asked('/dashboard/api/me')).toBe(1)
  await w.deposit(account)
  await page.getByText('0 of 3 paid').first().waitFor()
  await openDeposit(other.ctx, account.caller, { valueCents: 88_00, expiresInSeconds: null }, null)
  await page.getByText('0 of 4 paid').first().waitFor()
  // Nothing asks without a reason, however long the page stands there.
  w.clock.advance(LONG_AGO_MS)
  await settled(page, { asked })
  const before = asked(OVERVIEW)
  await page.clock.runFor(QUIET_MS)
  expect(asked(OVERVIEW)).toBe(before)
})

test('new rows wait while somebody has scrolled down, and a button brings them', async () => {
  const { w, account, page, open } = await signedIn()
  await make(w, account, 30)
  await page.setViewportSize({ width: 1280, height: 500 })
  await open('/deposits')
  const rows = page.locator('tbody tr')
  await rows.nth(24).waitFor()
  await page.mouse.wheel(0, 600)
  await until('it is scrolled', async () => (await page.evaluate<number>('scrollY')) > 300)
  const read = rows.nth(12)
  const [text, box] = [await read.innerText(), await read.boundingBox()]

  await make(w, account, 3, 99_00)
  const button = page.getByRole('button', { name: '3 new items' })
  await button.waitFor()
  expect([await read.innerText(), await read.boundingBox()]).toEqual([text, box])
  await expectAccessible(page, 'the list with new rows')
  const { height } = (await button.boundingBox())!
  expect(height).toBeGreaterThanOrEqual(44)
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 500 })
    expect(await overflowPx(page)).toBe(0)
  }

  await button.click()
  await page
    .getByRole('row', { name: /R\$99\.00/ })
    .nth(2)
    .waitFor()
  expect(await page.evaluate('scrollY')).toBe(0)
  expect(await button.count()).toBe(0)
  // At the top they just appear.
  await make(w, account, 1, 98_00)
  await page.getByRole('row', { name: /R\$98\.00/ }).waitFor()
})

test('new rows wait on a later page, with a filter, and while a row has the focus', async () => {
  const { w, account, page, open } = await signedIn()
  await make(w, account, 30)
  const rows = page.locator('tbody tr')
  const button = page.getByRole('button', { name: '1 new item' })

  await open('/deposits')
  await page.getByRole('button', { name: 'Next', exact: true }).click()
  await page.getByText('Page 2').waitFor()
  await until('the second page is there', async () => (await rows.count()) === 5)
  await make(w, account, 1, 97_00)
  await button.press('Enter')
  await page.getByRole('row', { name: /R\$97\.00/ }).waitFor()
  expect(new URL(page.url()).search).toBe('')

  await rows.nth(2).getByRole('link').first().focus()
  await make(w, account, 1, 96_00)
  await button.waitFor()
  expect(await rows.first().innerText()).toContain('R$97.00')
  await button.click()
  await page.getByRole('row', { name: /R\$96\.00/ }).waitFor()

  await open('/deposits?status=PENDING')
  await rows.nth(24).waitFor()
  await make(w, account, 1, 95_00)
  await button.waitFor()
  expect(await page.getByRole('row', { name: /R\$95\.00/ }).count()).toBe(0)
  await button.click()
  await page.getByRole('row', { name: /R\$95\.00/ }).waitFor()
})

test('the title of a hidden tab counts what was paid, and one hidden tab at a time follows', async () => {
  const { page, open, paid, asked, streams, openStreams } = await signedIn()
  const [first, second, third] = [await paid(), await paid(), await paid()]
  await open('/statement')
  await page.getByText('R$0.00').first().waitFor()
  const another = await page.context().newPage()
  await another.clock.install()
  await open('/deposits', another)
  await setHidden(page, true)
  await until('it follows in its turn', async () => openStreams() === 2)
  await settled(page, { asked })
  const before = asked('/dashboard/api/statement')
  await first.settle()
  await second.settle()
  await titled(page, '(2) Statement · guiche')
  // Nobody looks, so nothing is read.
  expect(asked('/dashboard/api/statement')).toBe(before)

  await setHidden(another, true)
  await until('only one of them follows', async () => openStreams() === 1)
  await setHidden(page, false)
  await until('the other one has its turn', async () => openStreams() === 2)
  await page.getByText('R$99.00').first().waitFor()
  // Each went on from its own position.
  expect(streams.map(({ after }) => after?.replace(/^.*\./, ''))).toEqual(['0', '0', '0', '2'])
  expect(await page.title()).toBe('Statement · guiche')
  await third.settle()
  await titled(another, '(1) Deposits · guiche')
  expect(await page.title()).toBe('Statement · guiche')
})

test('while the network is cut a bar says so, and then everything is caught up without a reload', async () => {
  const { w, app, account, page, open, paid } = await signedIn()
  const { settle } = await paid()
  await open('/deposits')
  await page.getByRole('row', { name: /Pending/ }).waitFor()
  await page.evaluate('globalThis.isSamePage = true')
  await page.context().setOffline(true)
  app.server.closeAllConnections()
  await page.getByText('No connection, data from').waitFor()
  await settle()
  await make(w, account, 1, 94_00)
  // Its code cannot be loaded now.
  await page.getByRole('link', { name: 'Payouts', exact: true }).click()
  await page.getByRole('button', { name: /again/i }).waitFor()
  await page.context().setOffline(false)
  await page.getByText('No connection').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Ask for a payout' }).waitFor()
  await page.getByText('R$49.50').first().waitFor()
  await page.getByRole('link', { name: 'Deposits', exact: true }).click()
  await page.getByRole('row', { name: /R\$94\.00/ }).waitFor()
  await page.getByRole('row', { name: /R\$50\.00 Paid/ }).waitFor()
  // A reload would have lost it.
  expect(await page.evaluate('globalThis.isSamePage')).toBe(true)
})

async function titled(page: Page, title: string): Promise<void> {
  await until(title, async () => (await page.title()) === title)
}

async function make(w: Opened['w'], account: Opened['account'], count: number, valueCents = 50_00): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => w.deposit(account, { valueCents })))
}

/** Runs the page's clock until nothing is asked any more. */
async function settled(page: Page, { asked }: Pick<Opened, 'asked'>): Promise<void> {
  await until('nothing is asked', async () => {
    const before = asked(/^\/dashboard\/api\//)
    await page.clock.runFor(1_500)
    return asked(/^\/dashboard\/api\//) === before
  })
}
