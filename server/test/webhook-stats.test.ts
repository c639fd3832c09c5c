import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { insertEvents, type NewEvent } from '../src/domain/webhooks/events.ts'
import type { EventKind } from '../src/domain/webhooks/event-kinds.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { startReceiver } from './receiver.ts'
import { call, completedCharge, deliver, KIND, told } from './webhooks-client.ts'
import { until, world, type TestAccount, type World } from './world.ts'

// The page of one webhook: how it fares, what waits for it, and retrying by hand.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

async function shop(w: World, url: string, account?: TestAccount) {
  const holder = account ?? (await w.account())
  const fields = { name: 'shop', eventKinds: [KIND] satisfies EventKind[], authorization: null }
  const { webhook } = await createWebhook(w.ctx, holder.accountId, { ...fields, url })
  const path = `/api/webhooks/${webhook.webhookId}`
  return {
    account: holder,
    webhookId: webhook.webhookId,
    stats: async () => (await call(w, holder, 'GET', `${path}/stats`)).body,
    retry: (body?: object) => call(w, holder, 'POST', `${path}/retry`, body),
  }
}

/** Events that happened just now, without what made them happen. */
async function tell(w: World, accountId: string, count = 1): Promise<void> {
  const createdAt = w.clock.now()
  const event = () =>
    ({ kind: KIND, accountId, subjectId: newUuid7(createdAt), createdAt, data: {} }) satisfies NewEvent
  await transact(w.pool, (tx) => insertEvents(tx, createdAt, Array.from({ length: count }, event)))
}

test('a webhook’s figures count its own attempts of a day and of a week, by hour, with their latency', async () => {
  const w = await world()
  let status = 200
  const receiver = await startReceiver((_, response) => void response.writeHead(status).end())
  const other = await startReceiver((_, response) => void response.writeHead(500).end())
  const { account, stats } = await shop(w, receiver.url)
  await shop(w, other.url, account)
  await shop(w, other.url)

  await tell(w, account.accountId, 3)
  await deliver(w)
  w.clock.advance(48 * HOUR_MS)
  await tell(w, account.accountId)
  await deliver(w)
  w.clock.advance(HOUR_MS)
  status = 503
  await tell(w, account.accountId, 2)
  await deliver(w)

  const { stats: told, waiting } = await stats()
  expect(told.sampledSince).toBe(null)
  expect(told.day).toEqual({
    attempts: 3,
    delivered: 1,
    latencyP50Ms: expect.any(Number),
    latencyP95Ms: expect.any(Number),
  })
  expect(told.week).toMatchObject({ attempts: 6, delivered: 4 })
  expect(told.day.latencyP50Ms).toBeLessThanOrEqual(told.day.latencyP95Ms)
  expect(told.hours).toHaveLength(24)
  const now = w.clock.now().getTime()
  const hour = (ago: number) => new Date(Math.floor(now / HOUR_MS - ago) * HOUR_MS).toISOString()
  expect(told.hours.slice(-2)).toEqual([
    { hour: hour(1), delivered: 1, failed: 0 },
    { hour: hour(0), delivered: 0, failed: 2 },
  ])
  expect(told.hours.slice(0, -2).every((one: { delivered: number }) => one.delivered === 0)).toBe(true)
  expect(waiting).toEqual({
    count: 2,
    isMore: false,
    nextAttemptAt: expect.any(String),
    lastFailure: { at: w.clock.now().toISOString(), status: 503, error: null, errorCode: null, errorDetail: null },
  })
  // The first retry comes after five seconds.
  expect(Math.abs(Date.parse(waiting.nextAttemptAt) - now - 5_000)).toBeLessThanOrEqual(1_000)
})

test('a webhook that was never tried has empty figures, and nothing waits', async () => {
  const w = await world()
  const { stats } = await shop(w, 'http://127.0.0.1:8999/hook')
  const none = { attempts: 0, delivered: 0, latencyP50Ms: null, latencyP95Ms: null }
  expect(await stats()).toMatchObject({
    stats: { sampledSince: null, day: none, week: none },
    waiting: { count: 0, isMore: false, nextAttemptAt: null, lastFailure: null },
  })
})

test('of an account with many events only the newest are looked at, and the answer says since when', async () => {
  const w = await world()
  const { account, webhookId, stats } = await shop(w, 'http://127.0.0.1:8999/hook')
  await tell(w, account.accountId, 500)
  w.clock.advance(MINUTE_MS)
  const since = w.clock.now().toISOString()
  await tell(w, account.accountId, 2_000)
  await w.pool.query(
    `insert into attempts (event_id, webhook_id, number, at, status, latency_ms, excerpt)
     select id, $1, 1, created_at, 200, 5, '' from events`,
    [webhookId],
  )
  const { stats: found } = await stats()
  expect(found.sampledSince).toBe(since)
  expect(found.week).toEqual({ attempts: 2_000, delivered: 2_000, latencyP50Ms: 5, latencyP95Ms: 5 })
})

test('deliveries that wait are tried now when asked, one or all, and are the same deliveries', async () => {
  const w = await world()
  let status = 500
  const receiver = await startReceiver((_, response) => void response.writeHead(status).end())
  const { account, retry, stats } = await shop(w, receiver.url)
  await completedCharge(w, account)
  w.clock.advance(1)
  await completedCharge(w, account)
  await deliver(w)
  await w.pool.query("update deliveries set due_at = due_at + interval '5 hours'")
  const [{ id: eventId }] = (await call(w, account, 'GET', '/api/events')).body.events
  await deliver(w)
  expect(receiver.received).toHaveLength(2)

  status = 200
  expect((await retry({ eventId })).body).toEqual({ success: true, queued: 1 })
  expect((await retry({ eventId })).body).toEqual({ success: true, queued: 0 })
  await deliver(w)
  expect(receiver.received.map(({ id }) => id).filter((id) => id === eventId)).toHaveLength(2)
  expect(receiver.received).toHaveLength(3)
  expect((await stats()).waiting.count).toBe(1)

  expect((await retry()).body).toEqual({ success: true, queued: 1 })
  await deliver(w)
  expect(receiver.received).toHaveLength(4)
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(2)
  expect(await w.count('delivery_outcomes', `outcome = 'delivered' and attempts = 2`)).toBe(2)
  expect((await retry()).body).toEqual({ success: true, queued: 0 })
})

test('a delivery that is being sent is not sent again by a retry', async () => {
  const w = await world()
  const open: ServerResponse[] = []
  const receiver = await startReceiver((_, response) => void open.push(response))
  const { account, retry } = await shop(w, receiver.url)
  await tell(w, account.accountId)
  const sending = deliver(w)
  await until('it is being sent', async () => open.length === 1)
  // The row of one that is being sent may be due later, as after a retry whose lease is not over.
  await w.pool.query("update deliveries set due_at = due_at + interval '1 hour'")
  expect((await retry()).body).toEqual({ success: true, queued: 0 })
  open[0]!.end()
  await sending
  await deliver(w)
  expect(receiver.received).toHaveLength(1)
})

test('a retry does not wait for a row that a worker holds', async () => {
  const w = await world()
  const { account, retry } = await shop(w, 'http://127.0.0.1:8999/hook')
  await tell(w, account.accountId, 2)
  await w.pool.query("update deliveries set due_at = due_at + interval '1 hour'")
  await transact(w.pool, async (tx) => {
    await tx.rows('select from deliveries order by event_id limit 1 for update')
    expect((await retry()).body).toEqual({ success: true, queued: 1 })
  })
})

test('an account retries twenty times a minute, and only what is its own', async () => {
  const w = await world()
  const { account, retry } = await shop(w, 'http://127.0.0.1:8999/hook')
  const stranger = await shop(w, 'http://127.0.0.1:8999/hook')
  await tell(w, stranger.account.accountId)
  const [{ id: eventId }] = (await call(w, stranger.account, 'GET', '/api/events')).body.events
  expect(told(await retry({ eventId }))).toBe('404 Event not found')
  expect(told(await call(w, account, 'POST', `/api/webhooks/${stranger.webhookId}/retry`))).toBe(
    '404 Webhook not found',
  )
  for (let times = 2; times < 20; times++) expect((await retry()).statusCode).toBe(200)
  const refused = await retry()
  expect(told(refused)).toBe('429 Too many requests')
  expect(refused.headers['retry-after']).toBe('3')
  expect((await stranger.retry()).statusCode).toBe(200)
  w.clock.advance(3_000)
  expect((await retry()).statusCode).toBe(200)
})
