import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { makeNumberingMemory, numberPending } from '../src/domain/history/number-pending.ts'
import { eventBody, insertEvents } from '../src/domain/webhooks/events.ts'
import { startNumberWorker } from '../src/workers/number.ts'
import { appWith, portOf } from './requests.ts'
import { until, world, type TestAccount, type World } from './world.ts'

type Page = { events: { id: string; position: number }[]; next: string; done: boolean; historyId: string }

async function tell({ pool, clock }: World, { accountId }: TestAccount, count = 1): Promise<string[]> {
  const at = clock.now()
  const events = Array.from({ length: count }, () => ({
    kind: 'WEBHOOK_TEST' as const,
    accountId,
    subjectId: newUuid7(at),
    createdAt: at,
    data: { message: 'x' },
  }))
  await transact(pool, (tx) => insertEvents(tx, at, events))
  return events.map(eventBody)
}

async function numberAll({ ctx }: World): Promise<void> {
  const memory = makeNumberingMemory()
  while ((await numberPending(ctx, memory)) !== 'idle');
}

async function ask(w: World, { key }: TestAccount, path: string) {
  return w.app.inject({ url: path, headers: { authorization: `Bearer ${key}` } })
}

async function readPage(w: World, account: TestAccount, query: string): Promise<Page> {
  const answer = await ask(w, account, `/api/events?${query}`)
  expect(answer.statusCode).toBe(200)
  return answer.json()
}

test('a reader gets every event of the account once, in order, a page at a time', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  const told: string[] = []
  for (let round = 0; round < 5; round++) {
    told.push(...(await tell(w, account, 3)))
    await tell(w, other, 2)
    await numberAll(w)
  }
  const read: Page['events'] = []
  let after = '0'
  for (let isDone = false; !isDone;) {
    const page = await readPage(w, account, `after=${after}&limit=4`)
    read.push(...page.events)
    after = page.next
    isDone = page.done
  }
  expect(read.map(({ position }) => position)).toEqual(told.map((_, place) => place + 1))
  // The exact bytes that webhooks get.
  expect(read.map((event) => JSON.stringify({ ...event, position: undefined }))).toEqual(told)
})

test('a reader who waits is answered as soon as an event has a position, and with none when the time is over', async () => {
  const w = await world()
  const account = await w.account()
  await tell(w, account)
  await numberAll(w)
  expect(await readPage(w, account, 'after=1&wait=1')).toMatchObject({ events: [], done: true })
  const waiting = readPage(w, account, 'after=1&wait=30')
  const worker = startNumberWorker(w.ctx)
  onTestFinished(() => worker.stop())
  await tell(w, account)
  expect((await waiting).events.map(({ position }) => position)).toEqual([2])
})

test('a position past the end, or of another history, is refused and not met with silence', async () => {
  const w = await world()
  const account = await w.account()
  await tell(w, account)
  await numberAll(w)
  const { next, historyId } = await readPage(w, account, 'after=0')
  expect(next).toBe(`${historyId}.1`)
  const foreign = `${historyId.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}.1`
  for (const after of ['2', `${historyId}.2`, foreign]) {
    const answer = await ask(w, account, `/api/events?after=${after}`)
    expect([answer.statusCode, answer.headers['guiche-error']]).toEqual([409, 'history_changed'])
  }
  expect((await ask(w, account, '/api/events?after=one')).statusCode).toBe(400)
})

test('a stream tells what happened after a position and what happens from now on, each once', async () => {
  const { w, account } = await listening()
  const told = await tell(w, account, 3)
  await until('all have positions', async () => (await w.count('history', `account_id = '${account.accountId}'`)) === 3)
  const stream = await follow(w, account, { 'last-event-id': '1' })
  await stream.told(2)
  told.push(...(await tell(w, account, 2)))
  await stream.told(4)
  expect(stream.bodies()).toEqual(told.slice(1))
  const { historyId } = await readPage(w, account, 'after=0')
  expect(stream.ids()).toEqual([2, 3, 4, 5].map((position) => `${historyId}.${position}`))
})

test('events that another process numbers reach the streams of this one', async () => {
  const { w, account } = await listening({ numbers: false })
  const stream = await follow(w, account)
  const other = startNumberWorker((await w.anotherProcess()).ctx)
  onTestFinished(() => other.stop())
  const told = await tell(w, account, 150)
  await stream.told(150)
  expect(stream.bodies()).toEqual(told)
})

test('a revoked key ends its stream at the next event', async () => {
  const { w, account } = await listening()
  const stream = await follow(w, account)
  await tell(w, account)
  await stream.told(1)
  await w.pool.query('update api_keys set revoked_at = now() where account_id = $1', [account.accountId])
  w.clock.advance(2_000)
  await tell(w, account)
  await stream.over()
  expect(stream.bodies()).toHaveLength(1)
})

test('a stop ends streams and answers who waits', async () => {
  const { w, account } = await listening()
  const waits = countWaits(w)
  const stream = await follow(w, account)
  const waiting = fetch(`http://127.0.0.1:${portOf(w.app)}/api/events?after=0&wait=30`, {
    headers: { authorization: `Bearer ${account.key}` },
  })
  await until('both wait', async () => waits.count === 2)
  await w.app.close()
  await stream.over()
  expect((await waiting).status).toBe(200)
})

test('streams of one account get each event once, however many there are', async () => {
  const { w, account } = await listening()
  const streams = []
  for (let opened = 0; opened < 200; opened += 100)
    streams.push(...(await Promise.all(Array.from({ length: 100 }, () => follow(w, account)))))
  const told = await tell(w, account, 3)
  await Promise.all(streams.map((stream) => stream.told(3)))
  for (const stream of streams) expect(stream.bodies()).toEqual(told)
})

// ---- Streams ----

async function listening({ numbers = true } = {}) {
  const made = await world()
  const app = await appWith(made.ctx)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const worker = numbers ? startNumberWorker(made.ctx) : undefined
  if (worker) onTestFinished(() => worker.stop())
  return { w: { ...made, app }, account: await made.account() }
}

async function follow({ app }: World, { key }: TestAccount, headers: Record<string, string> = {}) {
  const request = httpGet({
    port: portOf(app),
    host: '127.0.0.1',
    path: '/api/events/stream',
    headers: { authorization: `Bearer ${key}`, ...headers },
    agent: false,
  })
  onTestFinished(() => void request.destroy())
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(200)
  let text = ''
  answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
  answer.on('error', () => {})
  const isOver = new Promise<void>((resolve) => answer.once('close', resolve))
  const all = (name: string) => [...text.matchAll(new RegExp(`^${name}: (.*)$`, 'gm'))].map(([, value]) => value!)
  return {
    bodies: () => all('data'),
    ids: () => all('id'),
    told: (count: number) => until(`${count} events`, async () => all('data').length >= count),
    over: () => isOver,
  }
}

/** How often somebody began to wait for an event. */
function countWaits({ ctx: { historyFeed } }: World): { count: number } {
  const follow = historyFeed.follow.bind(historyFeed)
  const waits = { count: 0 }
  historyFeed.follow = (...args) => {
    waits.count++
    return follow(...args)
  }
  return waits
}
