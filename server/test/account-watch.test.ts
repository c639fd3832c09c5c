import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openDeposit } from '../src/domain/deposits/open-deposit.ts'
import { requestPayout } from '../src/domain/payouts/payouts.ts'
import { startNumberWorker } from '../src/workers/number.ts'
import { join } from './members-client.ts'
import { appWith, portOf, sentText } from './requests.ts'
import { until, world, type TestAccount, type World } from './world.ts'

// What no event tells is told to pages all the same: from a socket, as a browser has it.

const REQUEST = { valueCents: 50_00, expiresInSeconds: null }

test('a new deposit is told to the pages of its account, and to nobody else', async () => {
  const { w, account } = await listening()
  const other = await w.account()
  const page = await followAsPage(w, account)
  const ofOther = await followAsPage(w, other)
  const program = await follow(w, '/api/events/stream', { authorization: `Bearer ${account.key}` })
  await w.deposit(account)
  await page.told('deposits', 1)
  // Streams are written in order, so what comes after would come behind it.
  await w.deposit(other)
  await ofOther.told('deposits', 1)
  expect([ofOther.names(), program.names()]).toEqual([['alive', 'deposits'], []])
})

test('what another process did is told by a poll: a deposit, and money that was set aside', async () => {
  const { w, account, payment } = await paidBefore()
  const other = await w.anotherProcess()
  await other.ctx.settlements.add([payment])
  const { polls, told } = await watching(w, account)
  await polls.pass()
  // That of the account's first deposit, a moment ago.
  expect(told()).toBe(1)
  await openDeposit(other.ctx, account.caller, REQUEST, null)
  await polls.pass()
  expect(told()).toBe(2)
  const asked = { accountId: account.accountId, valueCents: 10_00, note: null, idempotencyKey: null }
  await requestPayout(other.ctx, { kind: 'account', name: 'ana' }, asked)
  await polls.pass()
  expect(told()).toBe(3)
  await polls.pass()
  expect(told()).toBe(3)
})

test('what this process made is told without a poll', async () => {
  const { w, account } = await paidBefore()
  const { polls, told } = await watching(w, account)
  await openDeposit(w.ctx, account.caller, REQUEST, null)
  await vi.advanceTimersByTimeAsync(1)
  expect([polls.count(), told()]).toEqual([0, 1])
})

test('however many deposits are made, a page is told at most once a second', async () => {
  const { w, account } = await paidBefore()
  const { polls, told } = await watching(w, account)
  await polls.pass()
  const before = told()
  for (let made = 0; made < 500; made++) w.ctx.accountWatch.announce(account.accountId, String(made))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(told() - before).toBe(1)
  for (let ms = 0; ms < 3_000; ms += 100) {
    w.ctx.accountWatch.announce(account.accountId, String(ms))
    await vi.advanceTimersByTimeAsync(100)
  }
  expect(told() - before).toBeGreaterThanOrEqual(3)
  expect(told() - before).toBeLessThanOrEqual(5)
})

test('nobody is asked while no page is open, and one query serves all that are', async () => {
  const { w, account } = await paidBefore()
  const { polls, unwatch } = await watching(w, account)
  const more = Array.from({ length: 99 }, () => w.ctx.accountWatch.watch(account.accountId, () => {}))
  const before = polls.count()
  await polls.pass()
  expect(polls.count() - before).toBe(1)
  for (const end of [unwatch, ...more]) end()
  await polls.pass()
  const after = polls.count()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(polls.count()).toBe(after)
})

test('a cashier’s page is told that something happened, and no event', async () => {
  const { w, account } = await listening()
  const { charge, payment } = await w.paidCharge({ account })
  const session = await w.session(await join(w, account.accountId, 'cashier'))
  const { cursor } = (await session.ask('GET', '/dashboard/api/me')).json().me
  const page = await follow(w, `/dashboard/api/events/stream?after=${cursor}`, { cookie: session.cookie })
  await w.ctx.settlements.add([payment])
  await page.told('deposits', 1)
  await until('the event was told', async () => page.ids().at(-1)?.endsWith('.1') === true)
  expect(page.text()).not.toContain(charge.paymentLinkId)
  expect(new Set(page.names())).toEqual(new Set(['alive', 'deposits']))
})

// ---- Streams, and the clock of polls ----

async function listening() {
  const made = await world()
  const app = await appWith(made.ctx)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const worker = startNumberWorker(made.ctx)
  onTestFinished(() => worker.stop())
  return { w: { ...made, app }, account: await made.account() }
}

async function paidBefore() {
  const w = await world()
  const { account, payment } = await w.paidCharge({ valueCents: 100_00 })
  return { w, account, payment }
}

/** Follows an account without a socket, with the timers of this process in the test's hand. */
async function watching({ ctx }: World, { accountId }: TestAccount) {
  const query = vi.spyOn(ctx.pool, 'query')
  const count = () => query.mock.calls.filter((call) => sentText(call).includes('recorded_at > $2')).length
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let told = 0
  const unwatch = ctx.accountWatch.watch(accountId, () => told++)
  /** Until the next poll was answered, and what it found was told. */
  const pass = async () => {
    await vi.advanceTimersByTimeAsync(2_000)
    await Promise.all(query.mock.results.map(({ value }) => value))
    await vi.advanceTimersByTimeAsync(1_000)
  }
  return { polls: { count, pass }, told: () => told, unwatch }
}

async function followAsPage(w: World, account: TestAccount) {
  const { cookie } = await w.session(account)
  const page = await follow(w, '/dashboard/api/events/stream', { cookie })
  await page.told('alive', 1)
  return page
}

async function follow({ app }: World, path: string, headers: Record<string, string>) {
  const request = httpGet({ port: portOf(app), host: '127.0.0.1', path, headers, agent: false })
  onTestFinished(() => void request.destroy())
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(200)
  let text = ''
  answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
  answer.on('error', () => {})
  const all = (field: string) => [...text.matchAll(new RegExp(`^${field}: (.*)$`, 'gm'))].map(([, value]) => value!)
  const names = () => all('event')
  return {
    text: () => text,
    names,
    ids: () => all('id'),
    told: (name: string, count: number) =>
      until(`${count} times ${name}`, async () => names().filter((one) => one === name).length >= count),
  }
}
