import { verify } from '#sdk'
import { expect, test } from 'vitest'
import { EVENT_KINDS } from '../src/domain/webhooks/event-kinds.ts'
import { EVENT_EXAMPLES } from '../src/http/api/event-examples.ts'
import { startReceiver, type Received } from './receiver.ts'
import { add, call, KIND, NOW, stored, told } from './webhooks-client.ts'
import { world, type World } from './world.ts'

// An example of a kind, sent to a webhook by hand. It must teach a receiver without ever passing for what happened.

async function shop(w: World, url: string) {
  const account = await w.account()
  const { webhook, secret } = await add(w, account, url)
  return {
    account,
    webhook,
    secret,
    sample: (body: object) => call(w, account, 'POST', `/api/webhooks/${webhook.id}/test`, body),
  }
}

const samplesOf = (received: Received[]) => received.filter(({ id }) => id.startsWith('evt_test_'))

test('the example of each kind arrives at once, signed, with its fields, and marked as a test in four places', async () => {
  const w = await world()
  const receiver = await startReceiver((_, response) => response.end('seen'))
  const { sample, secret } = await shop(w, receiver.url)
  for (const event of EVENT_KINDS) {
    const { body } = await sample({ event })
    expect([event, body.test]).toEqual([event, { ...body.test, delivered: true, status: 200, excerpt: 'seen' }])
  }
  const samples = samplesOf(receiver.received)
  expect(samples).toHaveLength(EVENT_KINDS.length)
  expect(new Set(samples.map(({ id }) => id)).size).toBe(EVENT_KINDS.length)
  for (const [index, event] of EVENT_KINDS.entries()) {
    const { body, headers, id } = samples[index]!
    expect(verify(body, headers, secret, { toleranceSeconds: Infinity, acceptTests: true }).id).toBe(id)
    expect(JSON.parse(body)).toEqual({
      id,
      event: `TEST_${event}`,
      test: true,
      createdAt: NOW,
      data: EVENT_EXAMPLES[event]!.data,
    })
    expect(id).toMatch(new RegExp(`^evt_test_${event}_[0-9a-f]{32}$`))
    expect(headers['guiche-test']).toBe('true')
  }
  expect(receiver.received.find(({ id }) => id.startsWith('evt_WEBHOOK_TEST'))!.headers['guiche-test']).toBe(undefined)
})

test('our client refuses an example, and accepts it as a test of its kind if told to', async () => {
  const w = await world()
  const receiver = await startReceiver()
  const { sample, secret } = await shop(w, receiver.url)
  await sample({ event: KIND })
  const [{ body, headers }] = samplesOf(receiver.received) as [Received]
  const options = { toleranceSeconds: Infinity }
  expect(() => verify(body, headers, secret, options)).toThrow('a test that somebody sent: nothing happened')
  expect(verify(body, headers, secret, { ...options, acceptTests: true })).toMatchObject({ event: KIND, test: true })
})

test('nothing of an example is stored: no event, no delivery, no attempt, and the webhook’s health stays', async () => {
  const w = await world()
  const receiver = await startReceiver((_, response) => void response.writeHead(500).end('no'))
  const { account, sample } = await shop(w, receiver.url)
  const before = await stored(w, account)
  const { body } = await sample({ event: KIND })
  expect(body.test).toMatchObject({ delivered: false, status: 500, excerpt: 'no' })
  expect(await stored(w, account)).toEqual(before)
  const [{ id }] = samplesOf(receiver.received) as [Received]
  expect(told(await call(w, account, 'GET', `/api/events/${id}`))).toBe('404 Event not found')
})

test('an example of what is no kind is refused, and so is the twenty-first of a minute', async () => {
  const w = await world()
  const receiver = await startReceiver()
  const { account, sample } = await shop(w, receiver.url)
  expect(told(await sample({ event: 'WEBHOOK_TEST' }))).toMatch(/^400 event must be one of DEPOSIT_ASSET_SUCCESS, /)
  const stranger = await shop(w, receiver.url)
  const foreign = `/api/webhooks/${stranger.webhook.id}/test`
  expect(told(await call(w, account, 'POST', foreign, { event: KIND }))).toBe('404 Webhook not found')
  for (let times = 2; times <= 20; times++) expect((await sample({ event: KIND })).statusCode).toBe(200)
  expect(told(await sample({ event: KIND }))).toBe('429 Too many requests')
  // A plain test has a bound of its own.
  expect((await sample({})).statusCode).toBe(200)
  expect((await stranger.sample({ event: KIND })).statusCode).toBe(200)
  w.clock.advance(3_000)
  expect((await sample({ event: KIND })).statusCode).toBe(200)
})
