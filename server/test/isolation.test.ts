import { expect, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { insertEvents } from '../src/domain/events.ts'
import { createEndpoint } from '../src/domain/webhooks.ts'
import { startDeliverWorker } from '../src/workers/deliver.ts'
import { makeReceivers } from '../src/workers/receivers.ts'
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
  // Take the request and say nothing, ever.
  const dead = await Promise.all(Array.from({ length: DEAD }, () => startReceiver(() => {})))
  await accountWithEvents(
    w,
    dead.map((receiver) => receiver.url),
    EVENTS_OF_THE_DEAD,
  )
  const worker = startDeliverWorker(w.ctx)
  for (const receiver of dead) await receiver.got(1)
  await accountWithEvents(w, [healthy.url], EVENTS_OF_THE_HEALTHY)
  worker.wake()

  await healthy.got(EVENTS_OF_THE_HEALTHY)
  expect(answered).toBe(EVENTS_OF_THE_HEALTHY)
  // Nothing of the dead ended meanwhile: the healthy one got through beside them, not after them.
  expect(await w.count('attempts', 'status is null')).toBe(0)
  await worker.stop() // breaks off what hangs
  expect(await w.count('deliveries')).toBe(DEAD * EVENTS_OF_THE_DEAD)
})

test('an endpoint whose deliveries hang does not hold up another account’s on the same host', async () => {
  const w = await world()
  const host = await startReceiver((received, response) => {
    if (received.path === '/healthy') response.end()
  })
  const at = (path: string) => new URL(path, host.url).href
  await accountWithEvents(w, [at('/dead-1'), at('/dead-2'), at('/dead-3')], 100)
  const worker = startDeliverWorker(w.ctx)
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
  const receivers = makeReceivers()
  // Three for each place: one under way, one being written down, one that waits.
  const places = (nowMs: number) => receivers.allowances(nowMs).named.get('a')
  const exchange = (ok: boolean, nowMs: number) => {
    receivers.claimed('a')
    receivers.started('a')
    receivers.ended('a', ok, nowMs)
    receivers.released('a')
  }
  for (let index = 0; index < 200; index++) exchange(true, 0)
  expect(places(0)).toBe(3 * 64)
  exchange(false, 0)
  expect(places(0)).toBe(3 * 32)
  for (let index = 0; index < 4; index++) exchange(false, 0)
  expect(places(4_999)).toBe(0)
  expect(places(5_000)).toBe(3)
  exchange(false, 5_000)
  expect(places(14_999)).toBe(0)
  expect(places(15_000)).toBe(3)
  exchange(true, 15_000)
  expect(places(15_000)).toBeGreaterThan(3)
})

test('all receivers together never have more than their bound claimed', () => {
  const receivers = makeReceivers()
  for (let index = 0; index < 4_096; index++) receivers.claimed(`endpoint ${index}`)
  expect(receivers.allowances(0).total).toBe(0)
  receivers.released('endpoint 1')
  expect(receivers.allowances(0).total).toBe(1)
})

async function accountWithEvents(w: World, urls: string[], count: number): Promise<TestAccount> {
  const account = await w.account()
  for (const url of urls) {
    await createEndpoint(w.ctx, account.accountId, {
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
