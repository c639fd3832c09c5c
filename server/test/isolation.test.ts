import { expect, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import type { Context } from '../src/domain/context.ts'
import { insertEvents } from '../src/domain/webhooks/events.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { makeDeliveryWindows, startDeliverWorker, type DeliveryWindows } from '../src/workers/deliver.ts'
import { startReceiver } from './receiver.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const DEAD = 99
const EVENTS_OF_THE_DEAD = 30
const EVENTS_OF_THE_HEALTHY = 300

test('99 receivers that hang with full queues do not hold up the hundredth', async () => {
  const w = await world()
  let answered = 0
  const healthy = await startReceiver((_, response) => {
    answered++
    response.end()
  })
  // These receivers take the request and never answer.
  const dead = await Promise.all(Array.from({ length: DEAD }, () => startReceiver(() => {})))
  await accountWithEvents(
    w,
    dead.map((receiver) => receiver.url),
    EVENTS_OF_THE_DEAD,
  )
  const worker = startDeliverWorker(withoutDeadline(w.ctx))
  for (const receiver of dead) await receiver.got(1)
  await accountWithEvents(w, [healthy.url], EVENTS_OF_THE_HEALTHY)
  worker.wake()

  await healthy.got(EVENTS_OF_THE_HEALTHY)
  expect(answered).toBe(EVENTS_OF_THE_HEALTHY)
  // No request to the dead receivers has ended: the healthy one got through beside them, not after them.
  expect(await w.count('attempts', 'status is null')).toBe(0)
  await worker.stop() // aborts the requests that hang
  expect(await w.count('deliveries')).toBe(DEAD * EVENTS_OF_THE_DEAD)
})

test('a webhook whose deliveries hang does not hold up another account’s on the same host', async () => {
  const w = await world()
  const host = await startReceiver((received, response) => {
    if (received.path === '/healthy') response.end()
  })
  const at = (path: string) => new URL(path, host.url).href
  await accountWithEvents(w, [at('/dead-1'), at('/dead-2'), at('/dead-3')], 100)
  const worker = startDeliverWorker(withoutDeadline(w.ctx))
  await host.got(3)
  await accountWithEvents(w, [at('/healthy')], 50)
  worker.wake()
  const healthy = () => host.received.filter((one) => one.path === '/healthy')
  await until('the healthy one has all', async () => healthy().length === 50)
  expect(await w.count('attempts', 'status is null')).toBe(0)
  await worker.stop()
})

// ---- The rule itself, with the test's own clock ----

test('a receiver that answers earns places, one that fails loses half of them, and one that goes on failing gets one try at a time', () => {
  const receivers = makeDeliveryWindows()
  const places = (nowMs: number) => receivers.allowances(nowMs).named.get('a')
  for (let index = 0; index < 200; index++) exchange(receivers, 'a', true, 0)
  // Long after, nothing is claimed ahead, and only its places are left.
  expect(places(1_000_000)).toBe(64)
  // It has been quiet since, so it is like any other again.
  expect(places(1_000_000)).toBe(undefined)
  for (let index = 0; index < 200; index++) exchange(receivers, 'a', true, 0)
  exchange(receivers, 'a', false, 0)
  expect(places(0)).toBe(32)
  for (let index = 0; index < 4; index++) exchange(receivers, 'a', false, 0)
  expect(places(4_999)).toBe(0)
  expect(places(5_000)).toBe(1)
  exchange(receivers, 'a', false, 5_000)
  expect(places(14_999)).toBe(0)
  expect(places(15_000)).toBe(1)
  exchange(receivers, 'a', true, 15_000)
  expect(places(15_000)).toBeGreaterThan(1)
  for (let index = 0; index < 5; index++) exchange(receivers, 'a', false, 15_000)
  expect(places(15_000 + 3_600_000)).toBe(1)
  // After an hour without a try it is like any other.
  expect(places(15_001 + 3_600_000)).toBe(undefined)
})

test('what is claimed ahead is what the receiver will answer in a tenth of a second: hundreds if it is quick, none beyond its places if it is slow or fails', () => {
  const receivers = makeDeliveryWindows()
  for (let index = 0; index < 200; index++) exchange(receivers, 'a', true, 0)
  const claimedAfter = (answers: number, ms: number) => {
    let nowMs = 0
    receivers.allowances(nowMs)
    for (let index = 0; index < answers; index++) exchange(receivers, 'a', true, nowMs)
    nowMs += ms
    return receivers.allowances(nowMs).named.get('a')
  }
  expect(claimedAfter(500, 100)).toBe(500)
  expect(claimedAfter(500, 1)).toBe(500)
  expect(claimedAfter(500, 1_000)).toBe(64)
  for (let index = 0; index < 500; index++) exchange(receivers, 'a', true, 0)
  exchange(receivers, 'a', false, 0)
  expect(receivers.allowances(10).named.get('a')).toBe(32)
})

test('a receiver gets no more while the database is far behind with writing down what it got', () => {
  const receivers = makeDeliveryWindows()
  for (let index = 0; index < 512; index++) {
    claim(receivers, 'a')
    receivers.started('a')
    receivers.ended('a', true, 0)
  }
  expect(receivers.mayStart('a', 0)).toBe(false)
  receivers.recorded('a')
  expect(receivers.mayStart('a', 0)).toBe(true)
})

test('all receivers together never have more than their bound claimed', () => {
  const receivers = makeDeliveryWindows()
  for (let index = 0; index < 4_096; index++) claim(receivers, `webhook ${index}`)
  expect(receivers.allowances(0).total).toBe(0)
  receivers.abandoned('webhook 1')
  expect(receivers.allowances(0).total).toBe(1)
})

test('when most of what may be claimed hangs, each receiver gets a few of the rest, also one that had earned many', () => {
  const receivers = makeDeliveryWindows()
  for (let index = 0; index < 56; index++) exchange(receivers, 'busy', true, 0)
  for (let index = 0; index < 3_072; index++) claim(receivers, `webhook ${index % 6}`)
  const { default: other, named } = receivers.allowances(0)
  expect([other, named.get('busy'), named.get('webhook 1')]).toEqual([8, 8, 0])
})

test('a queue that gave all it had is not asked for more each time that something of it is delivered', () => {
  const receivers = makeDeliveryWindows()
  receivers.claimed(receivers.allowances(0), new Map([['a', 8]]))
  for (let index = 0; index < 8; index++) {
    receivers.started('a')
    receivers.ended('a', true, 0)
  }
  expect(receivers.wantsMore('a')).toBe(true)
  receivers.claimed(receivers.allowances(0), new Map([['a', 3]]))
  expect(receivers.wantsMore('a')).toBe(false)
})

function claim(receivers: DeliveryWindows, webhookId: string): void {
  receivers.claimed({ default: 1, named: new Map(), total: 4_096 }, new Map([[webhookId, 1]]))
}

function exchange(receivers: DeliveryWindows, webhookId: string, ok: boolean, nowMs: number): void {
  claim(receivers, webhookId)
  receivers.started(webhookId)
  receivers.ended(webhookId, ok, nowMs)
  receivers.recorded(webhookId)
}

async function accountWithEvents(w: World, urls: string[], count: number): Promise<TestAccount> {
  const account = await w.account()
  for (const url of urls) {
    await createWebhook(w.ctx, account.accountId, {
      name: 'shop',
      url,
      eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
      authorization: null,
    })
  }
  const now = w.clock.now()
  const event = () => ({
    kind: 'DEPOSIT_ASSET_SUCCESS' as const,
    accountId: account.accountId,
    subjectId: newUuid7(now),
    createdAt: now,
    data: {},
  })
  await transact(w.pool, (tx) => insertEvents(tx, now, Array.from({ length: count }, event)))
  return account
}

/** Requests that hang do so for longer than the test takes, also on a busy machine. */
function withoutDeadline(ctx: Context): Context {
  const { webhookSender } = ctx
  const send: typeof webhookSender.send = (request) => webhookSender.send({ ...request, deadlineMs: 600_000 })
  return { ...ctx, webhookSender: { ...webhookSender, send } }
}
