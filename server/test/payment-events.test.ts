import { once } from 'node:events'
import { get as httpGet, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Charge } from '../src/domain/deposits/charge-reads.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { NOTHING_HELD } from '../src/domain/deposits/held-payments.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import type { App } from '../src/http/app.ts'
import { OPERATOR } from './refund-steps.ts'
import { appWith, get, portOf, UNKNOWN_ID } from './requests.ts'
import { patient, until, world, type World } from './world.ts'

// These tests read the stream behind an open payment page as a browser does: from a socket, while it is open.

test('a stream tells the status at once and again when the charge ends, and is over then', async () => {
  const w = await listening()
  const { charge, payment } = await w.paidCharge()
  const stream = await follow(w.app, charge)

  expect(stream.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
  })
  expect(stream.headers['content-encoding']).toBeUndefined()
  await stream.said(['PENDING'])
  const retryMs = Number(/^retry: (\d+)\n/.exec(stream.text())?.[1])
  expect(retryMs).toBeGreaterThanOrEqual(1_000)
  expect(retryMs).toBeLessThanOrEqual(5_000)

  await w.ctx.settlements.add([payment])
  await stream.over()
  expect(stream.statuses()).toEqual(['PENDING', 'COMPLETED'])
})

test('what another process did is told as well, and a charge that ended without a payment', async () => {
  const w = await listening()
  const account = await w.account()
  const paid = await w.paidCharge({ account })
  const canceled = await w.deposit(account)
  const expired = await w.deposit(account, { expiresInSeconds: 300 })
  const streams = await Promise.all([paid.charge, canceled, expired].map((charge) => follow(w.app, charge)))
  const other = await w.anotherProcess()

  await other.ctx.settlements.add([paid.payment])
  await cancelDeposit(other.ctx, account.accountId, canceled.paymentLinkId)
  w.clock.advance(361_000)
  await queryDeposit(other.ctx, account.accountId, expired.paymentLinkId)

  await Promise.all(streams.map((stream) => stream.over()))
  expect(streams.map((stream) => stream.statuses().at(-1))).toEqual(['COMPLETED', 'CANCELED', 'EXPIRED'])
})

test('a charge that has ended is told in one breath, and one that is not there is not found', async () => {
  const w = await listening()
  const { charge, payment } = await w.paidCharge()
  await w.ctx.settlements.add([payment])
  const stream = await follow(w.app, charge)
  await stream.over()
  expect(stream.statuses()).toEqual(['COMPLETED'])

  for (const id of [UNKNOWN_ID, 'x', '%zz']) {
    const answer = await w.app.inject(`/payment-link/${id}/events`)
    expect([id, answer.statusCode, answer.json()]).toEqual([id, 404, { success: false, error: 'Charge not found' }])
  }
  expect((await w.app.inject({ method: 'HEAD', url: `/payment-link/${charge.paymentLinkId}/events` })).statusCode).toBe(
    405,
  )
})

test('the checkout of a shop may follow a charge from its own origin, and read why it cannot', async () => {
  const w = await listening()
  const charge = await w.deposit(await w.account())
  const stream = await follow(w.app, charge)
  expect(stream.headers['access-control-allow-origin']).toBe('*')
  expect(stream.headers['access-control-allow-credentials']).toBeUndefined()
  const missing = await w.app.inject(`/payment-link/${UNKNOWN_ID}/events`)
  expect(missing.headers['access-control-allow-origin']).toBe('*')
  // The page itself cannot be read from another origin.
  const page = await w.app.inject(`/payment-link/${charge.paymentLinkId}`)
  expect(page.headers['access-control-allow-origin']).toBeUndefined()
})

test('while nothing happens the status is said again, so that no proxy takes the stream for dead', async () => {
  const w = await listening()
  const charge = await w.deposit(await w.account())
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const stream = await follow(w.app, charge)
  await stream.said(['PENDING'])
  vi.advanceTimersByTime(15_000)
  await stream.said(['PENDING', 'PENDING'])
  vi.advanceTimersByTime(15_000)
  await stream.said(['PENDING', 'PENDING', 'PENDING'])
  expect(stream.text().match(/retry/g)).toHaveLength(1)
})

test('one address has at most 50 streams, and a place is free again when its stream is closed', async () => {
  const w = await listening({ trustProxy: true })
  const charge = await w.deposit(await w.account())
  const ofOne = { 'x-forwarded-for': '203.0.113.7' }
  const streams = await Promise.all(Array.from({ length: 50 }, () => follow(w.app, charge, ofOne)))

  const refused = await follow(w.app, charge, ofOne)
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '10'])
  await refused.over()
  expect(JSON.parse(refused.text())).toEqual({ success: false, error: 'Too many open streams' })
  expect((await follow(w.app, charge, { 'x-forwarded-for': '203.0.113.8' })).status).toBe(200)
  // A whole /64 counts as one visitor, because it belongs to one customer.
  const six = Array.from({ length: 51 }, (_, host) => ({ 'x-forwarded-for': `2001:db8:1:2::${host.toString(16)}` }))
  const statuses = (await Promise.all(six.map((headers) => follow(w.app, charge, headers)))).map((one) => one.status)
  expect(statuses.filter((status) => status === 429)).toHaveLength(1)

  streams[0]!.hangUp()
  await until('the place is free', async () => (await follow(w.app, charge, ofOne)).status === 200)
})

test('a process has a bound of its own, refuses beyond it, and serves everybody else meanwhile', async () => {
  const w = await listening({ maxStreams: 3, maxInFlight: 1 })
  const account = await w.account()
  const charge = await w.deposit(account)
  // Three open streams do not count as requests in flight, of which this process takes one.
  for (let count = 0; count < 3; count++) expect((await follow(w.app, charge)).status).toBe(200)
  const refused = await follow(w.app, charge)
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '10'])
  await refused.over()
  expect((await w.app.inject(get(account.key, '/api/balance'))).statusCode).toBe(200)
})

test('a reader who hangs up in the very moment of the news does no harm', async () => {
  const w = await listening()
  const charge = await w.deposit(await w.account())
  const answering = once(w.app.server, 'request') as Promise<[IncomingMessage, ServerResponse]>
  const stream = await follow(w.app, charge)
  await stream.said(['PENDING'])
  const [, answer] = await answering
  answer.destroy()
  w.ctx.chargeWatch.announce([charge.id], 'COMPLETED')
  await stream.over()
  expect((await follow(w.app, charge)).status).toBe(200)
})

test('a stop ends all streams at once, also that of a reader who has stopped reading', async () => {
  const w = await listening()
  const charge = await w.deposit(await w.account())
  const stream = await follow(w.app, charge)
  // This client sends a request and never reads a byte of the answer.
  const deaf = connect(portOf(w.app), '127.0.0.1')
  deaf.on('error', () => {})
  deaf.pause()
  deaf.write(`GET /payment-link/${charge.paymentLinkId}/events HTTP/1.1\r\nHost: x\r\n\r\n`)
  await until('both are open', async () => (await connections(w.app)) === 2)

  const began = performance.now()
  w.app.drain()
  await w.app.close()
  await stream.over()
  expect(performance.now() - began).toBeLessThan(patient(2_000))
})

// ---- Thousands at once ----

test('a thousand open pages cost the database a question now and then, and every one of them is told', async () => {
  const w = await listening({ trustProxy: true })
  const account = await w.account()
  const paid = await Promise.all(Array.from({ length: 40 }, () => w.paidCharge({ account })))
  const open = (index: number) =>
    follow(w.app, paid[index % 40]!.charge, { 'x-forwarded-for': `198.51.${index >> 8}.${index & 255}` })
  const streams: Awaited<ReturnType<typeof open>>[] = []
  // A hundred at a time: a busy machine takes longer to accept a thousand than the server waits for their headers.
  for (let at = 0; at < 1_000; at += 100)
    streams.push(...(await Promise.all(Array.from({ length: 100 }, (_, index) => open(at + index)))))
  await Promise.all(streams.map((stream) => stream.said(['PENDING'])))

  const questions = countQueries(w)
  const began = performance.now()
  // This process settles half of the payments, and another process the other half.
  const payments = paid.map(({ payment }) => payment)
  const other = await w.anotherProcess()
  await settleAll(w, payments.slice(0, 20))
  await settleAll(other, payments.slice(20))
  await Promise.all(streams.map((stream) => stream.over()))
  const seconds = (performance.now() - began) / 1000

  // A heartbeat repeats the status, if this takes longer than 15 seconds.
  for (const stream of streams) expect([...new Set(stream.statuses())]).toEqual(['PENDING', 'COMPLETED'])
  // The watch looks twice a second, however many pages are open. What this process settled itself needs no look.
  expect(questions.ofWatch()).toBeGreaterThan(0)
  expect(questions.ofWatch()).toBeLessThanOrEqual(seconds * 2 + 2)
})

test('nobody is asked when nobody waits, a look that fails is followed by another, and own news needs none', async () => {
  const w = await listening()
  const { charge, payment, account } = await w.paidCharge()
  const own = await w.paidCharge({ account })
  const questions = countQueries(w)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const told: string[] = []
  const { watch } = w.ctx.chargeWatch

  watch(charge.id, NOTHING_HELD, () => told.push('left'))()
  await vi.advanceTimersByTimeAsync(5_000)
  expect([questions.ofWatch(), told]).toEqual([0, []])

  watch(charge.id, NOTHING_HELD, ({ status }) => told.push(status))
  questions.failNext()
  await vi.advanceTimersByTimeAsync(500)
  await vi.waitUntil(() =>
    w.logged.some(({ text }) => text.includes('reading the charges of open payment pages failed')),
  )
  const other = await w.anotherProcess()
  await other.ctx.settlements.add([payment])
  await vi.advanceTimersByTimeAsync(2_000)
  await vi.waitUntil(() => told.length > 0)
  expect(told).toEqual(['COMPLETED'])
  const asked = questions.ofWatch()
  await vi.advanceTimersByTimeAsync(5_000)
  watch(own.charge.id, NOTHING_HELD, ({ status }) => told.push(status))
  await w.ctx.settlements.add([own.payment])
  expect([questions.ofWatch(), told]).toEqual([asked, ['COMPLETED', 'COMPLETED']])
})

test('an open payment page is told of held money at once, and again when it is decided', async () => {
  const w = await listening()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 100_00 })
  const stream = await follow(w.app, charge)
  await stream.said(['PENDING'])
  await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
  const other = await w.anotherProcess()
  await queryDeposit(other.ctx, account.accountId, charge.paymentLinkId)
  await stream.told([{ status: 'PENDING' }, { status: 'PENDING', heldValue: 90_00 }])
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 1 })
  const decision = { how: 'credit', accountId: account.accountId } as const
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, decision, 'the payer typed it wrong')
  await stream.told([
    { status: 'PENDING' },
    { status: 'PENDING', heldValue: 90_00 },
    { status: 'PENDING', keptValue: 90_00 },
  ])
  // A page that is opened now is told the same first.
  const later = await follow(w.app, charge)
  await later.told([{ status: 'PENDING', keptValue: 90_00 }])
  expect(stream.statuses()).toEqual(['PENDING', 'PENDING', 'PENDING'])
})

// ---- Reading streams ----

async function listening(
  options: { trustProxy?: boolean; maxStreams?: number; maxInFlight?: number } = {},
): Promise<World> {
  const w = await world()
  const app = await appWith(w.ctx, options)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { ...w, app }
}

async function follow(app: App, charge: Charge, headers: Record<string, string> = {}) {
  const request: ClientRequest = httpGet({
    port: portOf(app),
    host: '127.0.0.1',
    path: `/payment-link/${charge.paymentLinkId}/events`,
    headers: { accept: 'text/event-stream', ...headers },
    agent: false,
  })
  onTestFinished(() => void request.destroy())
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
  answer.on('error', () => {})
  const isOver = new Promise<void>((resolve) => answer.once('close', resolve))
  const news = () => [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, data]) => JSON.parse(data!) as { status: string })
  const statuses = () => news().map(({ status }) => status)
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text: () => text,
    statuses,
    told: (wanted: object[]) =>
      until(`the stream told ${JSON.stringify(wanted)}`, async () => JSON.stringify(news()) === JSON.stringify(wanted)),
    // More may follow: on a slow machine a heartbeat comes before the test looks.
    said: (wanted: string[]) =>
      until(`the stream said ${wanted.join()}`, async () => statuses().join().startsWith(wanted.join())),
    over: () => isOver,
    hangUp: () => request.destroy(),
  }
}

function connections(app: App): Promise<number> {
  return new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

async function settleAll({ ctx }: Pick<World, 'ctx'>, payments: ReceivedPayment[]): Promise<void> {
  await Promise.all(payments.map((payment) => ctx.settlements.add([payment])))
}

/** Counts the statements of the watch, and can make one fail. */
function countQueries(w: World) {
  const query = w.pool.query.bind(w.pool) as (...args: unknown[]) => Promise<unknown>
  let [count, failures] = [0, 0]
  w.pool.query = ((...args: unknown[]) => {
    if (!String(args[0]).includes('from charges c left join (')) return query(...args)
    count += 1
    return failures-- > 0 ? Promise.reject(new Error('made to fail')) : query(...args)
  }) as typeof w.pool.query
  return { ofWatch: () => count, failNext: () => void (failures = 1) }
}
