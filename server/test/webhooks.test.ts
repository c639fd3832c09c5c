import type { ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { outcomeOf, RETRY_AFTER_MS, type Attempt } from '../src/domain/webhooks/attempts.ts'
import { keepAttemptPartitions } from '../src/domain/webhooks/attempt-partitions.ts'
import { claimDeliveries, isDelivered, recordDelivered } from '../src/domain/webhooks/delivery-queue.ts'
import { findEvent, listEvents } from '../src/domain/webhooks/delivery-history.ts'
import { resendEvent, resendMany } from '../src/domain/webhooks/resend.ts'
import { testWebhook } from '../src/domain/webhooks/test-webhook.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import {
  createWebhook,
  deleteWebhook,
  findWebhook,
  rotateSecret,
  updateWebhook,
} from '../src/domain/webhooks/webhooks.ts'
import { makeDeliveryWindows, makeSender } from '../src/workers/deliver.ts'
import { startReceiver, type Received } from './receiver.ts'
import { makeReason } from '../src/domain/ports/delivery-reasons.ts'
import { world, type TestAccount, type World } from './world.ts'

const DAY_MS = 24 * 3_600_000

/** Runs one round of the worker to its end. */
async function deliver(w: World): Promise<void> {
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  await sender.claim()
  await sender.stop(10_000)
}

async function addWebhook(w: World, account: TestAccount, url: string, authorization: string | null = null) {
  return createWebhook(w.ctx, account.accountId, {
    name: 'shop',
    url,
    eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
    authorization,
  })
}

async function completedCharge(w: World, account: TestAccount) {
  const { charge } = await w.paidCharge({ account })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  return charge
}

function accepts(secret: string, { headers, body }: Received, w: World): boolean {
  // The independent verifier reads the real clock, so that clock is set to the timestamp of the signature.
  const timestamp = Number(headers['webhook-timestamp'])
  expect(Math.abs(w.clock.now().getTime() / 1000 - timestamp)).toBeLessThanOrEqual(1)
  const original = Date.now
  Date.now = () => timestamp * 1000
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  } finally {
    Date.now = original
  }
}

test('a settled deposit is delivered, signed so that an independent verifier accepts it, with the stored bytes', async () => {
  const w = await world()
  const account = await w.account()
  const receiver = await startReceiver()
  const { secret } = await addWebhook(w, account, receiver.url, 'Bearer of-the-receiver')
  const charge = await completedCharge(w, account)
  await deliver(w)
  const [received] = await receiver.got(1)
  expect(accepts(secret, received!, w)).toBe(true)
  expect(received!.headers.authorization).toBe('Bearer of-the-receiver')
  const { rows } = await w.pool.query<{ body: string }>('select body from events')
  expect(received!.body).toBe(rows[0]!.body)
  expect(JSON.parse(received!.body)).toMatchObject({
    id: received!.id,
    event: 'DEPOSIT_ASSET_SUCCESS',
    data: { transactionId: charge.id },
  })
  expect(await w.count('deliveries')).toBe(0)
  expect(await w.count('delivery_outcomes', `outcome = 'delivered'`)).toBe(1)
})

test('during a rotation either secret verifies, and after it only the new one', async () => {
  const w = await world()
  const account = await w.account()
  const receiver = await startReceiver()
  const { webhook, secret: old } = await addWebhook(w, account, receiver.url)
  const { secret: fresh } = await rotateSecret(w.ctx, account.accountId, webhook.webhookId, 3600)
  await completedCharge(w, account)
  await deliver(w)
  const [during] = await receiver.got(1)
  expect([accepts(old, during!, w), accepts(fresh, during!, w)]).toEqual([true, true])
  w.clock.advance(3_600_000)
  await completedCharge(w, account)
  await deliver(w)
  const [, after] = await receiver.got(2)
  expect([accepts(old, after!, w), accepts(fresh, after!, w)]).toEqual([false, true])
})

test('a receiver that answers 500 twice and then 200 gets three attempts with one id and new timestamps, on schedule', async () => {
  const w = await world()
  const account = await w.account()
  let answers = 0
  const receiver = await startReceiver(
    (_, response) => void response.writeHead(++answers < 3 ? 500 : 200).end('thanks'),
  )
  const { secret } = await addWebhook(w, account, receiver.url)
  await completedCharge(w, account)

  await deliver(w)
  w.clock.advance(3_999) // 5 s less 20 %
  await deliver(w)
  expect(receiver.received).toHaveLength(1)
  w.clock.advance(2_001)
  await deliver(w)
  w.clock.advance(72_000)
  await deliver(w)

  expect(receiver.received).toHaveLength(3)
  expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1)
  expect(new Set(receiver.received.map((one) => one.headers['webhook-timestamp'])).size).toBe(3)
  expect(accepts(secret, receiver.received[2]!, w)).toBe(true)
  const { event, attempts } = await findEvent(w.ctx, account.accountId, receiver.received[0]!.id)
  expect(event.deliveries).toMatchObject([{ state: 'delivered', attempts: 3 }])
  expect(attempts.map((attempt) => [attempt.number, attempt.status, attempt.excerpt])).toEqual([
    [3, 200, 'thanks'],
    [2, 500, 'thanks'],
    [1, 500, 'thanks'],
  ])
})

test('the schedule is the promised one, each step off by at most a fifth, and then it is given up', () => {
  const attemptOf = (attempt: number): Attempt => ({
    delivery: { attempt } as Attempt['delivery'],
    at: new Date(),
    answer: { kind: 'failed', latencyMs: 1, reason: makeReason('no_answer', 'x') },
  })
  const steps = [5, 60, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
  expect(RETRY_AFTER_MS).toEqual(steps.map((seconds) => seconds * 1000))
  steps.forEach((seconds, index) => {
    expect(outcomeOf(attemptOf(index + 1), 0)).toEqual({ kind: 'retry', afterMs: seconds * 800 })
    expect(outcomeOf(attemptOf(index + 1), 1)).toEqual({ kind: 'retry', afterMs: seconds * 1200 })
  })
  expect(outcomeOf(attemptOf(11), 0)).toEqual({ kind: 'failed' })
})

test('2xx delivers, and nothing else does', () => {
  const answer = { kind: 'answered', latencyMs: 1, retryAfterMs: null, excerpt: '' } as const
  const delivers = [199, 200, 204, 299, 300, 302, 404, 500].filter((status) => isDelivered({ ...answer, status }))
  expect(delivers).toEqual([200, 204, 299])
  expect(isDelivered(undefined)).toBe(false)
})

test.each([
  ['3xx is a failure', { status: 302 }, { kind: 'retry', afterMs: 5000 }],
  ['410 ends it', { status: 410 }, { kind: 'gone' }],
  ['Retry-After is honoured', { status: 503, retryAfterMs: 90_000 }, { kind: 'retry', afterMs: 90_000 }],
  ['a Retry-After below the schedule is not', { status: 429, retryAfterMs: 1 }, { kind: 'retry', afterMs: 5000 }],
  ['a Retry-After past a day is cut', { status: 429, retryAfterMs: 10 * DAY_MS }, { kind: 'retry', afterMs: DAY_MS }],
])('%s', (_, answer, outcome) => {
  const delivery = { attempt: 1 } as Attempt['delivery']
  expect(
    outcomeOf(
      {
        delivery,
        at: new Date(),
        answer: { kind: 'answered', latencyMs: 1, retryAfterMs: null, excerpt: '', ...answer },
      },
      0.5,
    ),
  ).toEqual(outcome)
})

test('410 disables the webhook at once, and what it missed can be resent when it is enabled again', async () => {
  const w = await world()
  const account = await w.account()
  let status = 410
  const receiver = await startReceiver((_, response) => void response.writeHead(status).end())
  const { webhook } = await addWebhook(w, account, receiver.url)
  await completedCharge(w, account)
  await completedCharge(w, account)
  await deliver(w)
  expect(await findWebhook(w.ctx, account.accountId, webhook.webhookId)).toMatchObject({
    disabledReason: 'The receiver answered 410 Gone',
  })
  await completedCharge(w, account) // while disabled: nothing is queued for it
  expect(await w.count('deliveries')).toBe(0)

  status = 200
  await updateWebhook(w.ctx, account.accountId, webhook.webhookId, { enabled: true })
  expect(await resendMany(w.ctx, account.accountId, { failed: true }, null)).toBe(2)
  await deliver(w)
  expect(await w.count('delivery_outcomes', `outcome = 'delivered'`)).toBe(2)
})

test('a webhook that fails for five days is disabled, with the reason; one success in between starts the count anew', async () => {
  const w = await world()
  const account = await w.account()
  let status = 500
  const receiver = await startReceiver((_, response) => void response.writeHead(status).end())
  const { webhook } = await addWebhook(w, account, receiver.url)
  const failOnce = async () => {
    await completedCharge(w, account)
    await deliver(w)
  }
  const isDisabled = async () => (await findWebhook(w.ctx, account.accountId, webhook.webhookId)).disabledAt !== null
  await failOnce()
  w.clock.advance(3 * DAY_MS)
  status = 200
  await failOnce()
  status = 500
  await failOnce()
  w.clock.advance(3 * DAY_MS)
  await failOnce()
  expect(await isDisabled()).toBe(false)
  w.clock.advance(2 * DAY_MS)
  await failOnce()
  expect(await isDisabled()).toBe(true)
  expect(await w.count('deliveries')).toBe(0)
})

test('an event can be resent, and all since a time, also to a webhook that was added later', async () => {
  const w = await world()
  const account = await w.account()
  const first = await startReceiver()
  await addWebhook(w, account, first.url)
  await completedCharge(w, account)
  w.clock.advance(DAY_MS)
  const since = w.clock.now()
  await completedCharge(w, account)
  await deliver(w)
  const { events } = await listEvents(w.ctx, account.accountId, { limit: 10 })
  expect(events).toHaveLength(2)
  expect(await resendEvent(w.ctx, account.accountId, events[1]!.id, null)).toBe(1)
  await deliver(w)
  expect(first.received.map((one) => one.id).filter((id) => id === events[1]!.id)).toHaveLength(2)

  const second = await startReceiver()
  const { webhook } = await addWebhook(w, account, second.url)
  expect(await resendMany(w.ctx, account.accountId, { since }, webhook.webhookId)).toBe(1)
  await deliver(w)
  expect(second.received.map((one) => one.id)).toEqual([events[0]!.id])
})

test('what is resent while it is under way is sent once more, and its success does not take the new one out of the queue', async () => {
  const w = await world()
  const account = await w.account()
  const held: ServerResponse[] = []
  const receiver = await startReceiver((_, response) => void (held.length === 0 ? held.push(response) : response.end()))
  await addWebhook(w, account, receiver.url)
  await completedCharge(w, account)
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  await sender.claim()
  await receiver.got(1)
  const { events } = await listEvents(w.ctx, account.accountId, { limit: 1 })
  expect(await resendEvent(w.ctx, account.accountId, events[0]!.id, null)).toBe(1)
  held[0]!.end()
  await sender.stop(10_000)
  expect(await w.count('attempts')).toBe(1)
  await deliver(w)
  expect(receiver.received.map((one) => one.id)).toEqual([events[0]!.id, events[0]!.id])
  expect(await w.count('deliveries')).toBe(0)
})

test('what was delivered twice because its lease ran out, and beside others, has both attempts in the log, one outcome, and leaves the queue', async () => {
  const w = await world()
  const account = await w.account()
  const receiver = await startReceiver()
  await addWebhook(w, account, receiver.url)
  await completedCharge(w, account)
  await completedCharge(w, account)
  const everything = { default: 10, named: new Map(), total: 10 }
  const first = await claimDeliveries(w.ctx, everything)
  w.clock.advance(31_000)
  const [again] = await claimDeliveries(w.ctx, { ...everything, total: 1 })
  const answer = { kind: 'answered' as const, status: 200, latencyMs: 1, retryAfterMs: null, excerpt: '' }
  const attempts = [...first, again!].map((delivery) => ({ delivery, at: w.clock.now(), answer }))
  await recordDelivered(w.ctx, attempts)
  expect(await w.count('attempts', 'status = 200')).toBe(3)
  expect(await w.count('delivery_outcomes', "outcome = 'delivered'")).toBe(2)
  expect(await w.count('deliveries')).toBe(0)
})

test('events, webhooks and resends of another account are not found', async () => {
  const w = await world()
  const [account, stranger] = [await w.account(), await w.account()]
  const receiver = await startReceiver()
  const { webhook } = await addWebhook(w, account, receiver.url)
  await completedCharge(w, account)
  const { events } = await listEvents(w.ctx, account.accountId, { limit: 10 })
  const { accountId } = stranger
  const attempts = [
    () => findWebhook(w.ctx, accountId, webhook.webhookId),
    () => updateWebhook(w.ctx, accountId, webhook.webhookId, { name: 'mine' }),
    () => deleteWebhook(w.ctx, accountId, webhook.webhookId),
    () => rotateSecret(w.ctx, accountId, webhook.webhookId, 0),
    () => testWebhook(w.ctx, accountId, webhook.webhookId),
    () => findEvent(w.ctx, accountId, events[0]!.id),
    () => resendEvent(w.ctx, accountId, events[0]!.id, null),
    () => resendMany(w.ctx, accountId, { failed: true }, webhook.webhookId),
  ]
  for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: 'not_found' })
  expect((await listEvents(w.ctx, accountId, { limit: 10 })).events).toEqual([])
})

test('a test of a webhook tells what came of it, and stands in the log', async () => {
  const w = await world()
  const account = await w.account()
  const receiver = await startReceiver((_, response) => void response.writeHead(418).end('short and stout'))
  const { webhook } = await addWebhook(w, account, receiver.url)
  expect(await testWebhook(w.ctx, account.accountId, webhook.webhookId)).toMatchObject({
    kind: 'answered',
    status: 418,
    excerpt: 'short and stout',
  })
  expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ event: 'WEBHOOK_TEST' })
  expect((await listEvents(w.ctx, account.accountId, { limit: 10 })).events).toMatchObject([
    { kind: 'WEBHOOK_TEST', deliveries: [{ state: 'failed' }] },
  ])
})

test('secrets and Authorization values stand in the database sealed, and a sealed value does not open in another row', async () => {
  const w = await world()
  const account = await w.account()
  const receiver = await startReceiver()
  const { webhook, secret } = await addWebhook(w, account, receiver.url, 'Bearer plain-text')
  const { rows } = await w.pool.query<{ row: string; secret_box: string }>(
    'select e::text as row, secret_box from webhooks e',
  )
  expect(rows[0]!.row).not.toContain('plain-text')
  expect(rows[0]!.row).not.toContain(secret.slice(6))
  expect(w.ctx.settings.secretBox.open(rows[0]!.secret_box, webhook.webhookId)).toBe(secret)
  expect(() => w.ctx.settings.secretBox.open(rows[0]!.secret_box, account.accountId)).toThrow(/authenticate/)
})

test('an Authorization value does not follow a webhook to another host or path, unless it is given again', async () => {
  const w = await world()
  const account = await w.account()
  const [receiver, elsewhere] = [await startReceiver(), await startReceiver()]
  const { webhook } = await addWebhook(w, account, receiver.url, 'Bearer secret')
  const change = (patch: object) => updateWebhook(w.ctx, account.accountId, webhook.webhookId, patch)
  expect(await change({ url: `${receiver.url}?shop=1` })).toMatchObject({ hasAuthorization: true })
  expect(await change({ url: new URL('/other-path', receiver.url).href })).toMatchObject({ hasAuthorization: false })
  expect(await change({ url: elsewhere.url, authorization: 'Bearer secret' })).toMatchObject({ hasAuthorization: true })
  expect(await change({ url: receiver.url })).toMatchObject({ hasAuthorization: false })
})

test('attempts are kept in parts by day, and days past the thirtieth are dropped whole', async () => {
  const w = await world()
  const account = await w.account()
  const receiver = await startReceiver()
  await addWebhook(w, account, receiver.url)
  await completedCharge(w, account)
  await deliver(w) // no partition exists yet: the default one takes it
  expect((await keepAttemptPartitions(w.ctx)).made).toHaveLength(8)
  expect(await w.count('attempts_default')).toBe(0)
  expect(await w.count('attempts')).toBe(1)
  w.clock.advance(31 * DAY_MS)
  expect((await keepAttemptPartitions(w.ctx)).dropped).toHaveLength(1)
  expect(await w.count('attempts')).toBe(0)
})
