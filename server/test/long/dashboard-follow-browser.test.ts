import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useChromium } from '../chromium.ts'
import { LONG_AGO_MS, QUIET_MS, signedIn } from '../followed-account.ts'
import { until } from '../world.ts'

// The dashboard follows the history of its account: pages change when something happened, and ask for nothing
// meanwhile.

useChromium()

/** How long a page waits for a broken stream, and then for a silent one. */
const RECONNECT_WITHIN_MS = 10_000
/** While there is no stream, a deposit's page asks so often. */
const POLL_MS = 5_000

const TIMELINE = /\/timeline$/
const STATEMENT = '/dashboard/api/statement'
const DEPOSITS = '/dashboard/api/deposits'

test('a deposit’s page asks for nothing while nothing happens, and says paid without asking for it', async () => {
  const { w, page, open, paid, asked, streams } = await signedIn()
  const { charge, settle } = await paid()
  await open(`/deposits/${charge.paymentLinkId}`)
  await page.getByText('Status: Pending').waitFor({ state: 'attached' })
  expect(asked(TIMELINE)).toBe(1)
  await page.clock.runFor(40_000)
  expect(asked(TIMELINE)).toBe(1)

  await settle()
  await page.getByText('Status: Paid').waitFor({ state: 'attached' })
  expect(asked(TIMELINE)).toBe(2)
  expect(streams).toHaveLength(1)
  expect(await w.count('charges', `status = 'COMPLETED'`)).toBe(1)
})

test('lists ask for nothing while nothing happens', async () => {
  const { w, page, open, paid, asked } = await signedIn()
  const { settle } = await paid()
  await settle()
  // Of a deposit that was made a moment ago, a page that opens is told once more.
  w.clock.advance(LONG_AGO_MS)
  for (const [path, list] of [
    ['/statement', STATEMENT],
    ['/deposits', DEPOSITS],
  ] as const) {
    await open(path)
    await page.locator('tbody tr').filter({ hasText: /R\$/ }).first().waitFor()
    const before = asked(list)
    await page.clock.runFor(QUIET_MS)
    expect(asked(list)).toBe(before)
  }
})

test('a hundred payments at once are one look at each list', async () => {
  const { w, page, open, account, asked } = await signedIn()
  const made = []
  for (let count = 0; count < 100; count++) made.push(await w.paidCharge({ account }))
  await open('/statement')
  await page.getByText('R$0.00').first().waitFor()
  const before = asked(STATEMENT)
  await w.ctx.settlements.add(made.map(({ payment }) => payment))
  await page.getByText('R$4,950.00').first().waitFor()
  // The first event may come a moment before the others.
  expect(asked(STATEMENT) - before).toBeLessThanOrEqual(2)
})

test('every tab shows what happened', async () => {
  const { page, open, paid, streams } = await signedIn()
  const { charge, settle } = await paid()
  await open(`/deposits/${charge.paymentLinkId}`)
  const second = await page.context().newPage()
  await second.clock.install()
  await open('/', second)
  await second.getByText('0 of 1 paid').first().waitFor()
  await settle()
  await page.getByText('Status: Paid').waitFor({ state: 'attached' })
  await second.getByText('1 of 1 paid').first().waitFor()
  expect(streams).toHaveLength(2)
})

test('a stream that is cut goes on from its position, and shows what was paid meanwhile', async () => {
  const { app, page, open, paid, streams, asked } = await signedIn()
  const { settle } = await paid()
  await open('/statement')
  await page.getByText('R$0.00').first().waitFor()
  const before = asked(STATEMENT)
  const [first] = streams
  // Its timers wait, so that nothing but the stream can tell of the payment.
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 1_000)
  const held = await holdStream(page)
  app.server.closeAllConnections()
  await held.arrived
  await settle()
  held.letGo()
  await until('it goes on', async () => streams.length === 2)
  expect(streams[1]).toEqual({ after: first!.after, lastEventId: first!.after })
  await page.clock.resume()
  await page.getByRole('cell', { name: '+R$49.50' }).last().waitFor()
  expect(asked(STATEMENT)).toBe(before + 1)
})

test('after a position that is lost everything is read once, and followed from there', async () => {
  const { app, page, open, streams, asked } = await signedIn()
  await open('/statement')
  await page.getByText('R$0.00').first().waitFor()
  const before = asked(STATEMENT)
  let refusals = 0
  await page.route('**/events/stream*', async (route) => {
    if (refusals++ > 0) return route.fallback()
    await route.fulfill({ status: 409, json: { success: false, error: 'x', code: 'history_changed' } })
  })
  app.server.closeAllConnections()
  await until('its position is refused', async () => refusals === 1)
  await page.clock.runFor(RECONNECT_WITHIN_MS)
  await until('it follows again', async () => streams.length === 2)
  expect(streams[1]!.lastEventId).toBeUndefined()
  await until('the list was read', async () => asked(STATEMENT) > before)
  expect(asked(STATEMENT)).toBe(before + 1)
})

test('a service that cannot be reached is not taken for one that has nothing to tell', async () => {
  const { app, page, open, streams } = await signedIn()
  await open('/statement')
  await page.getByText('R$0.00').first().waitFor()
  await page.route('**/dashboard/api/**', (route) => route.abort())
  app.server.closeAllConnections()
  await until('the stream is known to be lost', async () => {
    await page.clock.runFor(RECONNECT_WITHIN_MS)
    return page.getByText('No connection, data from').isVisible()
  })
  await page.unroute('**/dashboard/api/**')
  await until('it follows again', async () => streams.length >= 2)
  await page.getByText('No connection').waitFor({ state: 'detached' })
  expect(await page.getByText('R$0.00').first().isVisible()).toBe(true)
})

test('without a place for a stream a deposit’s page asks by itself', async () => {
  const { page, paid, asked } = await signedIn({ maxStreamsPerAccount: 0 })
  const { charge, settle } = await paid()
  await page.goto(`/deposits/${charge.paymentLinkId}`)
  await page.getByText('Status: Pending').waitFor({ state: 'attached' })
  await settle()
  expect(asked(TIMELINE)).toBe(1)
  await page.clock.runFor(POLL_MS)
  await page.getByText('Status: Paid').waitFor({ state: 'attached' })
})

/** Holds the next request for the stream back. */
async function holdStream(page: Page) {
  let letGo = () => {}
  let arrive = () => {}
  const gate = new Promise<void>((resolve) => (letGo = resolve))
  const arrived = new Promise<void>((resolve) => (arrive = resolve))
  await page.route('**/events/stream*', async (route) => {
    arrive()
    await gate
    await route.continue()
  })
  return { arrived, letGo }
}
