import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { markCanceled } from '../src/domain/deposits/charge-states.ts'
import { startNumberWorker } from '../src/workers/number.ts'
import type { AppOptions } from '../src/http/app.ts'
import { appWith, bearer, portOf } from './requests.ts'
import { until, world, type TestAccount, type World } from './world.ts'

// The stream by which pages of the dashboard follow the history of their account.

const DASHBOARD_STREAM = '/dashboard/api/events/stream'

test('a page is told what happens to its account from where its data were read, and nothing of others', async () => {
  const { w, account } = await listening()
  await cancelOne(w, account)
  const ofAccount = `account_id = '${account.accountId}'`
  await until('it has a position', async () => (await w.count('history', ofAccount)) === 1)
  const session = await w.session(account)
  const { cursor } = (await session.ask('GET', '/dashboard/api/me')).json().me
  const stream = await openStream(w, { cookie: session.cookie }, `${DASHBOARD_STREAM}?after=${cursor}`)
  // Before anything happens: the page knows that nothing on the way holds the stream back.
  await stream.told('event: alive', 1)
  expect(stream.all('id')).toEqual([cursor])

  const other = await w.account()
  const foreign = await cancelOne(w, other)
  const { paymentLinkId } = await cancelOne(w, account)
  await stream.told('data: {', 1)
  expect([...new Set(stream.all('id'))]).toEqual([cursor, cursor.replace(/1$/, '2')])
  const [told] = stream.all('data').filter((data) => data.startsWith('{'))
  expect(JSON.parse(told!)).toMatchObject({ event: 'DEPOSIT_CANCELED', data: { paymentLinkId } })
  expect(stream.text()).not.toContain(foreign.paymentLinkId)
})

test.each(['signing out', 'a session that was ended from elsewhere', 'a session that was idle for too long'])(
  'the stream of a page ends before the next event: %s',
  async (how) => {
    const sessions = { account: { hours: 168, idleMinutes: 30 }, operator: { hours: 12, idleMinutes: 30 } }
    const { w, account } = await listening({}, { sessions })
    const session = await w.session(account)
    const stream = await openStream(w, { cookie: session.cookie })
    await cancelOne(w, account)
    await stream.told('data: {', 1)
    // The stream itself must not keep the session alive.
    if (how === 'signing out') await session.ask('POST', '/dashboard/api/auth/sign-out')
    else if (how.includes('idle')) w.clock.advance(31 * 60_000)
    else await w.pool.query('delete from sessions where id = $1', [session.sessionId])
    await cancelOne(w, account)
    await stream.over()
    expect(stream.all('data').filter((text) => text.startsWith('{'))).toHaveLength(1)
    expect((await session.ask('GET', DASHBOARD_STREAM)).statusCode).toBe(401)
  },
)

test('opening a stream does not count as something that the person did', async () => {
  const sessions = { account: { hours: 168, idleMinutes: 30 }, operator: { hours: 12, idleMinutes: 30 } }
  const { w, account } = await listening({}, { sessions })
  const session = await w.session(account)
  w.clock.advance(20 * 60_000)
  const stream = await openStream(w, { cookie: session.cookie })
  await stream.told('event: alive', 1)
  w.clock.advance(11 * 60_000)
  expect((await session.ask('GET', '/dashboard/api/balance')).statusCode).toBe(401)
})

test('too many open pages of an account are refused with a time to come back, and its programs still follow', async () => {
  const { w, account } = await listening({ maxStreamsPerAccount: 2 })
  const { cookie } = await w.session(account)
  const streams = [await openStream(w, { cookie }), await openStream(w, { cookie })]
  const refused = await answerOf(w, { cookie }, DASHBOARD_STREAM)
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '10'])
  expect(await json(refused)).toMatchObject({ success: false, code: 'rate_limited' })
  const program = await openStream(w, bearer(account.key), '/api/events/stream')
  streams[0]!.leave()
  await until('its place is free', async () => {
    const answer = await answerOf(w, { cookie }, DASHBOARD_STREAM)
    return answer.statusCode === 200
  })
  await cancelOne(w, account)
  await Promise.all([streams[1]!, program].map((stream) => stream.told('data: {', 1)))
  // What only pages need is not sent to programs.
  expect(program.text()).not.toContain('alive')
})

test('a position of another history is refused, and the person is told where the history ends', async () => {
  const { w, account } = await listening()
  const session = await w.session(account)
  const answer = await session.ask('GET', `${DASHBOARD_STREAM}?after=${'0'.repeat(32)}.7`)
  expect([answer.statusCode, answer.json().code]).toEqual([409, 'history_changed'])
  const { cursor } = (await session.ask('GET', '/dashboard/api/me')).json().me
  await (await openStream(w, { cookie: session.cookie }, `${DASHBOARD_STREAM}?after=${cursor}`)).told('event: alive', 1)
})

// ---- A service on a real port ----

async function listening(
  options: AppOptions = {},
  { sessions }: { sessions?: World['ctx']['settings']['signIn']['sessions'] } = {},
) {
  const made = await world()
  if (sessions) made.ctx.settings.signIn.sessions = sessions
  const app = await appWith(made.ctx, options)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const worker = startNumberWorker(made.ctx)
  onTestFinished(() => worker.stop())
  return { w: { ...made, app }, account: await made.account() }
}

/** One event of the account. */
async function cancelOne(w: World, account: TestAccount) {
  const charge = await w.deposit(account)
  await markCanceled(w.ctx, charge.id)
  return charge
}

async function answerOf({ app }: World, headers: Record<string, string>, path: string): Promise<IncomingMessage> {
  const request = httpGet({ port: portOf(app), host: '127.0.0.1', path, headers, agent: false })
  onTestFinished(() => void request.destroy())
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  answer.on('error', () => {})
  return answer
}

async function openStream(w: World, headers: Record<string, string>, path = DASHBOARD_STREAM) {
  const answer = await answerOf(w, headers, path)
  expect(answer.statusCode).toBe(200)
  let text = ''
  answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const isOver = new Promise<void>((resolve) => answer.once('close', resolve))
  return {
    text: () => text,
    all: (name: string) => [...text.matchAll(new RegExp(`^${name}: (.*)$`, 'gm'))].map(([, value]) => value!),
    told: (part: string, count: number) => until(part, async () => text.split(part).length > count),
    over: () => isOver,
    leave: () => void answer.destroy(),
  }
}
