import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { query } from '../../src/db/tx.ts'
import { eventName } from '../../src/domain/webhooks/events.ts'
import { listExceptions } from '../../src/domain/refunds/exceptions.ts'
import { inviteMember } from '../../src/domain/accounts/member-invitations.ts'
import { seedHistory } from '../../src/domain/demo/seed.ts'
import { enter, expectAccessible, overflowPx, useChromium, visit } from '../chromium.ts'
import { contest } from '../dispute-steps.ts'
import { join as joinAccount } from '../members-client.ts'
import { makeOperator } from '../operators-client.ts'
import { sweepAll } from '../reconcile-bank.ts'
import { completedCharge, strayPayment } from '../refund-steps.ts'
import { deposit, get, portOf } from '../requests.ts'
import { until, world } from '../world.ts'

// Visits every page of the dashboard's router, with data in it. The list comes from the router, so no new page can be
// forgotten.

useChromium()

// Saves pictures for people: `PICTURES=/tmp/pages npx vitest run test/long/dashboard-pages-browser.test.ts`.
const PICTURES = process.env['PICTURES']
// Long enough for a busy machine.
const BOUND_MS = 30_000
const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'
/** Table cells that reach out of their card, which hides them. */
const CUT_CELLS = `[...document.querySelectorAll('main table')].flatMap((table) => {
  const { right } = table.closest('section').getBoundingClientRect()
  return [...table.querySelectorAll('th, td')].filter((cell) => cell.getBoundingClientRect().right > right + 1)
}).map((cell) => cell.textContent)`
const ROUTER = new URL('../../../web/src/router.tsx', import.meta.url)
/**
 * The states in which each page is tested. Every second page takes them in reverse, so it opens in the state that the
 * last one ended in. The first one is checked by all rules of axe, the others by those that depend on colours.
 */
const STATES = [
  { size: 'wide', viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  { size: 'tablet', viewport: { width: 1024, height: 768 }, colorScheme: 'light' },
  { size: 'phone', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const
type State = (typeof STATES)[number]
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

type Who = 'nobody' | 'account' | 'operator'
/** The addresses of each route that has parameters or shows more than one thing. */
type Addresses = Record<string, string[]>

test('every page is accessible in light and dark, fits a phone, cuts no table off, and has nothing to complain of', async () => {
  const { url, sessions, addresses } = await filledWorld()
  const routes = routesOf(readFileSync(ROUTER, 'utf8'))
  expect(routes.length).toBeGreaterThan(20)
  const missing = routes.filter(({ path }) => path.includes('$') && !addresses[path]).map(({ path }) => path)
  expect(missing, 'tell this test an address of each route with parameters').toEqual([])

  for (const who of ['nobody', 'account', 'operator'] as const) {
    const { page, errors } = await visit({ locale: 'pt-BR', viewport: STATES[0].viewport })
    const session = sessions[who]
    if (session) await enter(page, session)
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
    })
    const paths = routes.filter((route) => route.who === who).flatMap(({ path }) => addresses[path] ?? [path])
    for (const [index, path] of paths.entries()) {
      await look(page, url, path, index % 2 === 0 ? STATES : STATES.toReversed())
      expect([path, errors, refused]).toEqual([path, [], []])
    }
  }
})

async function look(page: Page, url: string, path: string, states: readonly State[]): Promise<void> {
  await open(page, url, path)
  expect([path, await page.evaluate('location.pathname')]).toEqual([path, new URL(path, url).pathname])
  for (const [index, state] of states.entries()) {
    const { size, colorScheme } = state
    await turn(page, state)
    if (size === 'tablet') expect([path, await page.evaluate(CUT_CELLS)]).toEqual([path, []])
    else await expectAccessible(page, `${path} ${colorScheme}, ${size}`, index === 0 ? undefined : COLOUR_RULES)
    if (size === 'phone') expect([path, await overflowPx(page)]).toEqual([path, 0])
    await takePicture(page, path, size)
  }
}

/** Uses the router if the heading will change, which is faster than loading everything again. */
async function open(page: Page, url: string, path: string): Promise<void> {
  if (page.url().startsWith(url) && !path.startsWith('/developers/')) {
    const leave = 'document.querySelector("h1").dataset.left = ""'
    await page.evaluate(`${leave}; history.pushState(null, '', ${JSON.stringify(path)})`)
  } else await page.goto(url + path)
  // True once the new page, and not the one before it, is there with its data.
  const isThere =
    'document.querySelector("h1:not([data-left])") !== null && !document.querySelector(".animate-sheen, [aria-busy=true]")'
  await until(`${path} is there`, () => page.evaluate<boolean>(isThere), BOUND_MS)
}

async function turn(page: Page, { viewport, colorScheme }: State): Promise<void> {
  await page.setViewportSize(viewport)
  await page.emulateMedia({ colorScheme })
  const isDone = `document.documentElement.dataset.theme === "${colorScheme}" && document.getAnimations().length === 0`
  await until(`it is ${colorScheme}`, async () => (await page.evaluate(TWO_FRAMES), page.evaluate<boolean>(isDone)))
}

async function takePicture(page: Page, path: string, size: string): Promise<void> {
  const name = `${path.slice(1).replaceAll(/[/?=]/g, '-')}-${size}.png`
  if (PICTURES) await page.screenshot({ path: join(PICTURES, name), fullPage: true })
}

/** Reads the routes from the router's source. The branch of a page tells who may see it. */
function routesOf(source: string): { who: Who; path: string }[] {
  const branches: Record<string, Who> = {
    open: 'nobody',
    outside: 'nobody',
    inside: 'account',
    account: 'account',
    counter: 'account',
    operator: 'operator',
  }
  return [...source.matchAll(/\bpage\((\w+), '([^']+)'/g)].map(([, branch, path]) => {
    const who = branches[branch!]
    if (!who) throw new Error(`tell this test who may see the branch ${branch} of the router`)
    return { who, path: path! }
  })
}

async function filledWorld() {
  const w = await world()
  const account = await w.account()
  const operator = await makeOperator(w)
  await seedHistory(
    w.ctx,
    { account: { ...account, name: 'Loja' }, provider: 'sandbox', deposits: 30, days: 10, seed: 7 },
    async () => {},
    () => {},
  )
  // The bank knows none of these payments, so the days are closed with differences.
  await sweepAll(w)
  const dispute = await contest(w, await completedCharge(w, { account }))
  await strayPayment(w)
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 1 })
  const [delivery] = await query<{ kind: string; subjectId: string; webhookId: string }>(
    w.pool,
    `select v.kind, v.subject_id as "subjectId", o.webhook_id as "webhookId"
     from delivery_outcomes o join events v on v.id = o.event_id limit 1`,
  )
  const [charge] = await query<{ id: string }>(
    w.pool,
    `select payment_link_id as id from charges where status = 'COMPLETED' order by refunded_cents desc limit 1`,
  )
  await joinAccount(w, account.accountId, 'cashier', 'rosa@example.com')
  const invited = { accountId: account.accountId, email: 'bia@example.com', role: 'finance' } as const
  await inviteMember(w.ctx, { kind: 'account', name: account.email }, invited)
  const headers = { authorization: `Bearer ${account.key}` }
  await w.app.inject({ method: 'PUT', url: '/api/codes/customer-17', headers, payload: { minValue: 500 } })
  await w.app.inject(get(account.key, '/api/balance'))
  await w.app.inject(deposit(account.key, '{"value":0}', { 'x-request-id': 'order-7' }))
  await w.ctx.requestLog.flush()
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${portOf(w.app)}`
  const addresses: Addresses = {
    '/$': ['/deposits/none/none'],
    '/statement': ['/statement?period=all'],
    '/statement/print': ['/statement/print?period=all'],
    '/deposits/$paymentLinkId': [`/deposits/${charge!.id}`],
    '/codes/$externalId': ['/codes/customer-17'],
    '/disputes/$disputeId': [`/disputes/${dispute.id}`],
    '/developers/$': [
      '/developers/webhooks',
      `/developers/webhooks/${delivery!.webhookId}`,
      '/developers/deliveries',
      `/developers/deliveries/${eventName(delivery!)}/${delivery!.webhookId}`,
      '/developers/events',
      '/developers/requests',
      '/developers/requests/order-7',
    ],
    '/operator/accounts/$accountId': [`/operator/accounts/${account.accountId}`],
    '/operator/deposits/$paymentLinkId': [`/operator/deposits/${charge!.id}`],
    '/operator/disputes/$disputeId': [`/operator/disputes/${dispute.id}`],
    '/operator/exceptions/$exceptionId': [`/operator/exceptions/${exceptions[0]!.id}`],
    '/operator/reconciliation/$day': ['/operator/reconciliation/2026-03-01'],
  }
  const sessions = { nobody: undefined, account: await w.session(account), operator: await w.session(operator) }
  return { url, sessions, addresses }
}
