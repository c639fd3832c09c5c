import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { transact } from '../src/db/tx.ts'
import { startReceiver } from './receiver.ts'
import { appWith, expectEnvelopeHeaders, UNKNOWN_ID, UUID } from './requests.ts'
import {
  add,
  asInProduction,
  call,
  completedCharge,
  deliver,
  holds,
  KIND,
  NOW,
  statesOf,
  told,
} from './webhooks-client.ts'
import { world } from './world.ts'

const HOUR_MS = 3_600_000
const EVENT_ID = /^evt_[A-Z_]+_[0-9a-f]{32}$/

describe('a webhook', () => {
  test('is tested when it is added, and answered with its secret and what came of the test', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver((_, response) => response.end('thanks'))
    const answer = await call(w, account, 'POST', '/api/webhooks', {
      url: receiver.url,
      name: 'Loja',
      authorization: 'Bearer of-the-receiver',
      colour: 'red',
    })

    expect(answer.statusCode).toBe(201)
    expectEnvelopeHeaders(answer)
    expect(answer.body).toEqual({
      success: true,
      webhook: {
        id: expect.stringMatching(UUID),
        name: 'Loja',
        url: receiver.url,
        events: [KIND],
        hasAuthorization: true,
        createdAt: NOW,
        enabled: true,
        disabledAt: null,
        disabledReason: null,
        disabledCode: null,
        failingSince: null,
        previousSecretUntil: null,
      },
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      test: {
        delivered: true,
        status: 200,
        error: null,
        errorCode: null,
        errorDetail: null,
        latencyMs: expect.any(Number),
        excerpt: 'thanks',
      },
    })
    expect(answer.headers['location']).toBe(`/api/webhooks/${answer.body.webhook.id}`)
    expect(receiver.received).toHaveLength(1)
    expect(receiver.received[0]!.headers.authorization).toBe('Bearer of-the-receiver')
    expect(holds(answer.body.secret, receiver.received[0]!)).toBe(true)
    expect(JSON.parse(receiver.received[0]!.body)).toEqual({
      id: receiver.received[0]!.id,
      event: 'WEBHOOK_TEST',
      createdAt: NOW,
      data: { message: expect.any(String) },
    })
  })

  test('whose test fails is kept, and the answer says why: the status, or the reason in words', async () => {
    const w = await world()
    const account = await w.account()
    const refusing = await startReceiver((_, response) => void response.writeHead(418).end('short and stout'))
    const nobody = `http://127.0.0.1:${await freePort()}/`
    const answered = await call(w, account, 'POST', '/api/webhooks', { url: refusing.url })
    const unreached = await call(w, account, 'POST', '/api/webhooks', { url: nobody, authorization: null })

    expect([answered.statusCode, unreached.statusCode]).toEqual([201, 201])
    const none = { error: null, errorCode: null, errorDetail: null }
    const test = { delivered: false, status: null, ...none, latencyMs: expect.any(Number), excerpt: '' }
    expect(answered.body.test).toEqual({ ...test, status: 418, excerpt: 'short and stout' })
    expect(unreached.body.test).toEqual({
      ...test,
      error: 'The connection was refused',
      errorCode: 'connection_refused',
    })
    // A webhook without a name is called after its host.
    expect(unreached.body.webhook.name).toBe(new URL(nobody).host)
    expect(await w.count('webhooks')).toBe(2)
  })

  test('is listed, oldest first, and read, as it was answered when it was added', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver()
    const first = await add(w, account, receiver.url)
    w.clock.advance(1000)
    const second = await add(w, account, receiver.url)

    const list = await call(w, account, 'GET', '/api/webhooks')
    expect([list.statusCode, list.body]).toEqual([200, { success: true, webhooks: [first.webhook, second.webhook] }])
    const one = await call(w, account, 'GET', `/api/webhooks/${second.webhook.id}`)
    expect([one.statusCode, one.body]).toEqual([200, { success: true, webhook: second.webhook }])
  })

  test('changes only in what is given, and only a new address is tested', async () => {
    const w = await world()
    const account = await w.account()
    const [receiver, other] = [await startReceiver(), await startReceiver()]
    const { webhook } = await add(w, account, receiver.url, { authorization: 'Bearer abc' })
    const patch = (body: object) => call(w, account, 'PATCH', `/api/webhooks/${webhook.id}`, body)

    const same = await patch({ id: UNKNOWN_ID, colour: 'red' })
    expect([same.statusCode, same.body]).toEqual([200, { success: true, webhook, test: null }])
    const renamed = await patch({ name: 'ção 🎟', events: [KIND] })
    expect(renamed.body).toEqual({ success: true, webhook: { ...webhook, name: 'ção 🎟' }, test: null })
    const moved = await patch({ url: other.url, authorization: 'Bearer abc' })
    expect(moved.body).toMatchObject({ webhook: { url: other.url, hasAuthorization: true }, test: { status: 200 } })
    const bare = await patch({ authorization: null })
    expect(bare.body.webhook).toEqual({ ...webhook, name: 'ção 🎟', url: other.url, hasAuthorization: false })
    expect([receiver.received.length, other.received.length]).toEqual([1, 1])
  })

  test('that is disabled gets nothing, and enabled again gets what it missed when that is resent', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver()
    const { webhook } = await add(w, account, receiver.url)
    await completedCharge(w, account) // in the queue when it is disabled
    w.clock.advance(HOUR_MS)
    const path = `/api/webhooks/${webhook.id}`
    const disabled = await call(w, account, 'PATCH', path, { enabled: false })
    const disabledAt = w.clock.now().toISOString()
    expect(disabled.body.webhook).toEqual({
      ...webhook,
      enabled: false,
      disabledAt,
      disabledReason: 'disabled by the account holder',
      disabledCode: 'disabled_by_account',
    })
    await completedCharge(w, account)
    await deliver(w)
    expect(receiver.received).toHaveLength(1) // only the test event
    expect(await statesOf(w, account)).toEqual([[], [], ['failed'], ['delivered']])

    const tested = await call(w, account, 'POST', `${path}/test`)
    expect(tested.body).toMatchObject({ success: true, test: { delivered: true } })
    const toDisabled = await call(w, account, 'POST', '/api/events/resend', { failed: true })
    expect(toDisabled.body).toEqual({ success: true, queued: 0 })

    const enabled = await call(w, account, 'PATCH', path, { enabled: true })
    expect(enabled.body).toEqual({ success: true, webhook, test: null })
    expect((await call(w, account, 'POST', '/api/events/resend', { failed: true })).body.queued).toBe(1)
    expect((await call(w, account, 'POST', '/api/events/resend', { since: disabledAt })).body.queued).toBe(1)
    await deliver(w)
    expect(receiver.received).toHaveLength(4)
  })

  test('whose address the operator no longer allows can still be renamed, disabled and removed', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver()
    const { webhook } = await add(w, account, receiver.url)
    const strict = { ...w, app: await appWith(asInProduction(w.ctx)) }
    const path = `/api/webhooks/${webhook.id}`
    const results = [
      await call(strict, account, 'PATCH', path, { name: 'old' }),
      await call(strict, account, 'PATCH', path, { enabled: false }),
      await call(strict, account, 'PATCH', path, { url: receiver.url }),
      await call(strict, account, 'DELETE', path),
    ]
    expect(results.map((one) => one.statusCode)).toEqual([200, 200, 400, 200])
  })

  test('that is removed is gone, and what was told to it stays readable', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver()
    const { webhook } = await add(w, account, receiver.url)
    await completedCharge(w, account)
    await deliver(w)
    const path = `/api/webhooks/${webhook.id}`
    const removed = await call(w, account, 'DELETE', path)
    expect([removed.statusCode, removed.body]).toEqual([200, { success: true }])
    for (const [method, url] of [
      ['GET', path],
      ['DELETE', path],
      ['POST', `${path}/test`],
    ] as const) {
      const answer = await call(w, account, method, url)
      expect(told(answer)).toBe('404 Webhook not found')
    }
    expect((await call(w, account, 'GET', '/api/webhooks')).body).toEqual({ success: true, webhooks: [] })
    const [event] = (await call(w, account, 'GET', `/api/events?webhookId=${webhook.id}&event=${KIND}`)).body.events
    expect(event.deliveries).toMatchObject([{ webhookId: webhook.id, state: 'delivered' }])
    await completedCharge(w, account)
    expect(await w.count('deliveries')).toBe(0)
  })

  test('gets a new secret, and for the overlap asked for the old one signs too', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver()
    const { webhook, secret: first } = await add(w, account, receiver.url)
    const rotate = (body?: object) => call(w, account, 'POST', `/api/webhooks/${webhook.id}/rotate-secret`, body)
    const signers = async (...secrets: string[]) => {
      await call(w, account, 'POST', `/api/webhooks/${webhook.id}/test`)
      return secrets.map((secret) => holds(secret, receiver.received.at(-1)!))
    }

    const usual = await rotate()
    expect([usual.statusCode, usual.body]).toEqual([
      200,
      {
        success: true,
        webhook: { ...webhook, previousSecretUntil: '2026-03-03T12:00:00.000Z' },
        secret: expect.stringMatching(/^whsec_/),
      },
    ])
    const second = usual.body.secret
    expect(await signers(first, second)).toEqual([true, true])
    w.clock.advance(24 * HOUR_MS)
    expect(await signers(first, second)).toEqual([false, true])

    const third = (await rotate({ overlapSeconds: 60, colour: 'red' })).body.secret
    expect(await signers(second, third)).toEqual([true, true])
    w.clock.advance(60_000)
    expect(await signers(second, third)).toEqual([false, true])

    const leaked = await rotate({ overlapSeconds: 0 })
    expect(leaked.body.webhook.previousSecretUntil).toBeNull()
    expect(await signers(third, leaked.body.secret)).toEqual([false, true])
  })
})

test('tests of a silent receiver hold no connection to the database, and an account runs three at a time', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  const waiting: ServerResponse[] = []
  let isSilent = false
  const receiver = await startReceiver((_, response) => void (isSilent ? waiting.push(response) : response.end()))
  const { webhook } = await add(w, account, receiver.url)
  const mine = await add(w, other, receiver.url)
  isSilent = true

  const test = () => call(w, account, 'POST', `/api/webhooks/${webhook.id}/test`)
  const held = [test(), test(), test()]
  await receiver.got(5)
  expect(w.pool.totalCount - w.pool.idleCount).toBe(0)
  for (const [method, url, body] of [
    ['POST', `/api/webhooks/${webhook.id}/test`, undefined],
    ['PATCH', `/api/webhooks/${webhook.id}`, { url: `${receiver.url}/new` }],
    ['POST', '/api/webhooks', { url: receiver.url }],
  ] as const) {
    const refused = await call(w, account, method, url, body)
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '15'])
  }
  expect(await w.count('webhooks', `account_id = '${account.accountId}' and url like '%/hook'`)).toBe(1)
  expect((await call(w, account, 'PATCH', `/api/webhooks/${webhook.id}`, { name: 'mine' })).statusCode).toBe(200)

  const others = call(w, other, 'POST', `/api/webhooks/${mine.webhook.id}/test`)
  await receiver.got(6)
  isSilent = false
  for (const response of waiting) response.end()
  expect((await Promise.all([...held, others])).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200])
  expect((await test()).statusCode).toBe(200)
})

test('an account has at most 100 webhooks, also when two are added at the same moment', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  const receiver = await startReceiver()
  await add(w, account, receiver.url)
  await w.pool.query(
    `insert into webhooks (id, account_id, name, url, event_kinds, secret_box, created_at)
     select gen_random_uuid(), account_id, name, url, event_kinds, secret_box, created_at
     from webhooks, generate_series(1, 98)`,
  )
  // A lock on the account's row holds both until both have counted 99, or wait to count.
  let added: ReturnType<typeof call>[] = []
  await transact(w.pool, async (tx) => {
    await tx.rows('select 1 from accounts where id = $1 for update', [account.accountId])
    added = [1, 2].map(() => call(w, account, 'POST', '/api/webhooks', { url: receiver.url }))
    await w.lockWait()
  })
  const answers = (await Promise.all(added)).toSorted((a, b) => a.statusCode - b.statusCode)
  expect(answers.map((one) => one.statusCode)).toEqual([201, 409])
  expect(told(answers[1]!)).toBe('409 An account can have at most 100 webhooks')
  expect(await w.count('webhooks')).toBe(100)
  expect((await call(w, other, 'POST', '/api/webhooks', { url: receiver.url })).statusCode).toBe(201)
})

describe('events', () => {
  test('are listed newest first, in pages, each with what became of it', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver()
    const { webhook } = await add(w, account, receiver.url)
    w.clock.advance(1000)
    const charge = await completedCharge(w, account)
    await deliver(w)

    const all = await call(w, account, 'GET', '/api/events')
    expect(all.statusCode).toBe(200)
    expect(Object.keys(all.body)).toEqual(['success', 'events', 'nextCursor'])
    expect(all.body.events.map((event: object) => Object.keys(event))).toEqual(
      Array.from({ length: 2 }, () => ['id', 'event', 'createdAt', 'data', 'deliveries']),
    )
    expect(all.body.events[0]).toEqual({
      id: expect.stringMatching(EVENT_ID),
      event: KIND,
      createdAt: '2026-03-02T12:00:01.000Z',
      data: JSON.parse(receiver.received[1]!.body).data,
      deliveries: [
        {
          webhookId: webhook.id,
          state: 'delivered',
          attempts: 1,
          nextAttemptAt: null,
          endedAt: '2026-03-02T12:00:01.000Z',
        },
      ],
    })
    expect(all.body.events[0].data).toMatchObject({ transactionId: charge.id, status: 'COMPLETED' })

    const first = await call(w, account, 'GET', '/api/events?limit=1')
    const second = await call(w, account, 'GET', `/api/events?limit=1&cursor=${first.body.nextCursor}`)
    expect([...first.body.events, ...second.body.events]).toEqual(all.body.events)
    expect([all.body.nextCursor, second.body.nextCursor]).toEqual([null, null])
  })

  test('are found by kind, state, webhook and time', async () => {
    const w = await world()
    const account = await w.account()
    let status = 200
    const [steady, moody] = [
      await startReceiver(),
      await startReceiver((_, response) => void response.writeHead(status).end()),
    ]
    const first = await add(w, account, steady.url)
    const second = await add(w, account, moody.url)
    const ids: string[] = []
    for (const next of [200, 410, 200]) {
      status = next // 410 disables the second webhook and fails what it was sent
      w.clock.advance(HOUR_MS)
      await completedCharge(w, account)
      await deliver(w)
      ids.push((await call(w, account, 'GET', `/api/events?limit=1&event=${KIND}`)).body.events[0].id)
    }
    w.clock.advance(HOUR_MS)
    await completedCharge(w, account)
    ids.push((await call(w, account, 'GET', `/api/events?limit=1&event=${KIND}`)).body.events[0].id)
    const found = async (query: string) => {
      const { events } = (await call(w, account, 'GET', `/api/events?event=${KIND}&${query}`)).body
      return events.map((event: { id: string }) => ids.indexOf(event.id))
    }

    expect(await found('')).toEqual([3, 2, 1, 0])
    expect(await found('state=pending')).toEqual([3])
    expect(await found('state=delivered')).toEqual([2, 1, 0])
    expect(await found('state=failed')).toEqual([1])
    expect(await found(`webhookId=${second.webhook.id}`)).toEqual([1, 0])
    expect(await found(`webhookId=${first.webhook.id}&state=failed`)).toEqual([])
    expect(await found('from=2026-03-02T14:00:00Z&to=2026-03-02T12:30:00-03:00')).toEqual([2, 1])
    expect(await found(`webhookId=${UNKNOWN_ID}`)).toEqual([])
    const tests = await call(w, account, 'GET', '/api/events?event=WEBHOOK_TEST')
    expect(tests.body.events).toHaveLength(2)
  })

  test('are read with every attempt, newest first', async () => {
    const w = await world()
    const account = await w.account()
    let status = 500
    const receiver = await startReceiver((_, response) => void response.writeHead(status).end(`said ${status}`))
    const { webhook } = await add(w, account, receiver.url)
    await completedCharge(w, account)
    await deliver(w)
    const id = receiver.received.at(-1)!.id
    const pending = await call(w, account, 'GET', `/api/events/${id}`)
    const [delivery] = pending.body.event.deliveries
    expect(delivery).toMatchObject({ state: 'retrying', attempts: 1, endedAt: null })
    expect(Date.parse(delivery.nextAttemptAt) - Date.parse(NOW)).toBeGreaterThanOrEqual(4000)
    expect((await call(w, account, 'GET', '/api/webhooks')).body.webhooks[0].failingSince).toBe(NOW)

    status = 204
    w.clock.advance(6000)
    await deliver(w)
    const read = await call(w, account, 'GET', `/api/events/${id}`)
    const none = { error: null, errorCode: null, errorDetail: null }
    const attempt = { webhookId: webhook.id, ...none, latencyMs: expect.any(Number) }
    expect([read.statusCode, read.body]).toEqual([
      200,
      {
        success: true,
        event: { ...pending.body.event, deliveries: [expect.objectContaining({ state: 'delivered', attempts: 2 })] },
        attempts: [
          { ...attempt, number: 2, at: '2026-03-02T12:00:06.000Z', status: 204, excerpt: '' },
          { ...attempt, number: 1, at: NOW, status: 500, excerpt: 'said 500' },
        ],
      },
    ])
    expect(Object.keys(read.body.attempts[0])).toEqual(
      'webhookId number at status error errorCode errorDetail latencyMs excerpt'.split(' '),
    )
    expect((await call(w, account, 'GET', '/api/webhooks')).body.webhooks[0].failingSince).toBeNull()
  })

  test('are resent one by one, to all webhooks or one of them, with the same id and bytes', async () => {
    const w = await world()
    const account = await w.account()
    const [one, two] = [await startReceiver(), await startReceiver()]
    await add(w, account, one.url)
    const second = await add(w, account, two.url)
    await completedCharge(w, account)
    await deliver(w)
    const { id, body } = one.received[1]!
    const resend = (content?: object) => call(w, account, 'POST', `/api/events/${id}/resend`, content)

    const everywhere = await resend()
    expect([everywhere.statusCode, everywhere.body]).toEqual([200, { success: true, queued: 2 }])
    expect(await statesOf(w, account)).toEqual([['pending', 'pending'], ['delivered'], ['delivered']])
    await deliver(w)
    expect((await resend({ webhookId: second.webhook.id, colour: 'red' })).body).toEqual({ success: true, queued: 1 })
    await deliver(w)
    expect([one.received.length, two.received.length]).toEqual([3, 4])
    expect([...one.received.slice(2), ...two.received.slice(2)].map((again) => [again.id, again.body])).toEqual(
      Array.from({ length: 3 }, () => [id, body]),
    )
    // A test event is between guiche and one webhook. It is never resent: a new test is made instead.
    const ofTest = await call(w, account, 'POST', `/api/events/${one.received[0]!.id}/resend`)
    expect(ofTest.body).toEqual({ success: true, queued: 0 })
  })

  test('are resent in bulk: all that failed, or all since a time, to all webhooks or one', async () => {
    const w = await world()
    const [account, other] = [await w.account(), await w.account()]
    const [one, two] = [await startReceiver(), await startReceiver()]
    const first = await add(w, account, one.url)
    const theirs = await add(w, other, two.url)
    for (const holder of [account, account, other]) await completedCharge(w, holder)
    for (const [holder, { webhook }] of [
      [account, first],
      [other, theirs],
    ] as const) {
      await call(w, holder, 'PATCH', `/api/webhooks/${webhook.id}`, { enabled: false })
      await call(w, holder, 'PATCH', `/api/webhooks/${webhook.id}`, { enabled: true })
    }
    const second = await add(w, account, one.url)
    const resend = async (body: object) => (await call(w, account, 'POST', '/api/events/resend', body)).body

    expect(await resend({ failed: true, webhookId: second.webhook.id })).toEqual({ success: true, queued: 0 })
    expect(await resend({ failed: true })).toEqual({ success: true, queued: 2 })
    expect(await resend({ failed: true })).toEqual({ success: true, queued: 0 })
    expect(await resend({ since: NOW, webhookId: second.webhook.id })).toEqual({ success: true, queued: 2 })
    expect(await resend({ since: '2026-03-02T09:00:00-03:00', colour: 'red' })).toEqual({ success: true, queued: 4 })
    expect(await resend({ since: '2026-03-02T12:00:00.001Z' })).toEqual({ success: true, queued: 0 })
    await deliver(w)
    expect([one.received.length, two.received.length]).toEqual([2 + 4, 1])
  })
})
