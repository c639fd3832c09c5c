import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { EVENT_KINDS } from '../src/domain/webhooks/event-kinds.ts'
import { makeSecretBox } from '../src/domain/core/secret-box.ts'
import { startReceiver } from './receiver.ts'
import { appWith, bearer, expectEnvelopeHeaders, UNKNOWN_ID } from './requests.ts'
import {
  add,
  asInProduction,
  call,
  completedCharge,
  deliver,
  encoded,
  KIND,
  NOW,
  ofEvent,
  ofWebhook,
  routes,
  send,
  statesOf,
  stored,
  told,
  type Method,
} from './webhooks-client.ts'
import { world } from './world.ts'

// What http/webhooks.ts and http/events.ts must not do: accept wrong requests, serve other accounts, or show secrets.

const UNKNOWN_EVENT = `evt_DEPOSIT_ASSET_SUCCESS_${'0'.repeat(32)}`

describe('a refused request', () => {
  const NAME = 'name must be 1 to 100 characters, without control or invisible characters'
  const URL_TEXT = 'url must be an https URL of at most 2048 characters'
  const EVENTS = `events must list at least one of ${EVENT_KINDS.join(', ')}`
  const AUTHORIZATION = 'authorization must be 1 to 1000 characters of ASCII, without spaces at its ends'
  const OVERLAP = 'overlapSeconds must be an integer from 0 to 604800'
  const WEBHOOK_ID = 'webhookId must be the id of a webhook'
  const ISO_TIME = 'an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z'
  const WHICH = `Give either failed: true, or since: ${ISO_TIME}`
  const OBJECT = 'Request body must be a JSON object'

  type Case = [body: unknown, error: string]
  const each = (name: string, values: unknown[], error: string) =>
    values.map((value): Case => [{ [name]: value }, error])
  const address = (use: string) => `A private address is not allowed: ${use}`
  const NO_SCHEME = 'The URL does not begin with https:// and a host'
  const INVISIBLE = 'The URL holds spaces, invisible characters or backslashes'

  const badUrls: Case[] = [
    ...each('url', ['https://10.0.0.1/'], address('private network')),
    ...each(
      'url',
      ['https://127.0.0.1/', 'https://localhost/', 'https://2130706433/', 'https://0x7f.1/'],
      address('loopback'),
    ),
    ...each('url', ['https://[::1]:8443/'], address('loopback')),
    ...each('url', ['https://[::ffff:10.0.0.1]/'], address('an embedded IPv4 address')),
    ...each('url', ['https://169.254.169.254/latest/meta-data'], address('link-local (cloud metadata)')),
    ...each('url', ['https://intranet/'], 'The name intranet belongs to an internal network'),
    ...each(
      'url',
      ['https://ana:secret@loja.example/', 'https://@loja.example/'],
      'The URL holds a user name or password',
    ),
    ...each('url', ['http://loja.example/', 'http://93.184.215.14/'], 'Plain http is not allowed: use https'),
    ...each('url', ['ftp://loja.example/', 'file:///etc/passwd', 'mailto:ana@loja.example', 'loja.example'], NO_SCHEME),
    ...each('url', ['https://loja.example:25/'], 'The port 25 belongs to another service'),
    ...each('url', ['https://loja.example:99999/'], 'The URL is not valid'),
    ...each('url', ['https://loja.example/a b', 'https://loja.example\\@evil.example/'], INVISIBLE),
    ...each('url', ['', 7, null, `https://loja.example/${'x'.repeat(2048)}`], URL_TEXT),
  ]
  const badFields: Case[] = [
    ...badUrls,
    ...each('name', ['', 'x'.repeat(101), 'a\0b', 'a\nb', '\u001b[31m', 'a\ud800', 7, null], NAME),
    ...each('events', [[], ['DEPOSIT'], [KIND, 'WEBHOOK_TEST'], KIND, {}, null], EVENTS),
    ...each('authorization', ['', ' ', 'Bearer x ', 'a\nb', 'é', 'x'.repeat(1001), 7], AUTHORIZATION),
  ]

  test('to add a webhook is told what is wrong, with nothing written and nobody called', async () => {
    const w = await world()
    const account = await w.account()
    const strict = { app: await appWith(asInProduction(w.ctx)) }
    const good = { url: 'https://loja.example/' }
    const cases: Case[] = [
      ...badFields.map(([fields, error]): Case => [{ ...good, ...(fields as object) }, error]),
      ...[{}, [], 'x', 7, undefined].map((body): Case => [body, URL_TEXT]),
    ]
    for (const [body, error] of cases) {
      const answer = await call(strict, account, 'POST', '/api/webhooks', body)
      expect([body, told(answer)]).toEqual([body, `400 ${error}`])
      expectEnvelopeHeaders(answer)
    }
    for (const [payload, type, text] of [
      ['{"url":', 'application/json', '400 Request body is not valid JSON'],
      ['url=x', 'application/x-www-form-urlencoded', '415 Send the body as JSON, with Content-Type: application/json'],
      [`"${'x'.repeat(16_384)}"`, 'application/json', '413 Request body is too large: at most 16 KiB'],
    ] as const) {
      const headers = { ...bearer(account.key), 'content-type': type }
      const answer = await send(strict, { method: 'POST', url: '/api/webhooks', headers, payload })
      expect(told(answer)).toBe(text)
    }
    expect([await w.count('webhooks'), await w.count('events')]).toEqual([0, 0])
  })

  test('to change, rotate or resend is told what is wrong, with nothing written', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver()
    const { webhook } = await add(w, account, receiver.url, { authorization: 'Bearer abc' })
    await completedCharge(w, account)
    const id = (await call(w, account, 'GET', '/api/events?limit=1')).body.events[0].id
    const before = await stored(w)
    const strict = { app: await appWith(asInProduction(w.ctx)) }
    const refusals: [method: Method, path: string, cases: Case[]][] = [
      [
        'PATCH',
        `/api/webhooks/${webhook.id}`,
        [
          ...badFields,
          ...each('enabled', ['yes', 1, null], 'enabled must be true or false'),
          // One bad field refuses the good ones too.
          [{ enabled: false, name: '' }, NAME],
          ...[[], 'x', undefined].map((body): Case => [body, OBJECT]),
        ],
      ],
      [
        'POST',
        `/api/webhooks/${webhook.id}/rotate-secret`,
        [...each('overlapSeconds', [-1, 604_801, 1.5, '60', null], OVERLAP), [[], OBJECT]],
      ],
      ['POST', `/api/events/${id}/resend`, [...each('webhookId', ['x', null], WEBHOOK_ID), ['x', OBJECT]]],
      [
        'POST',
        '/api/events/resend',
        [
          [{ failed: true, webhookId: 'x' }, WEBHOOK_ID],
          [{ failed: true, since: NOW }, WHICH],
          ...[undefined, {}, []].map((body): Case => [body, WHICH]),
          ...each('failed', [false, 'true', null], WHICH),
          ...each('since', ['yesterday', '2026-03-02', '2026-03-02T12:00:00', '2026-02-30T00:00:00Z', 7, null], WHICH),
        ],
      ],
    ]
    for (const [method, path, cases] of refusals) {
      for (const [body, error] of cases) {
        const answer = await call(strict, account, method, path, body)
        expect([path, body, told(answer)]).toEqual([path, body, `400 ${error}`])
      }
    }
    expect(await stored(w)).toEqual(before)
    expect(receiver.received).toHaveLength(1)
  })

  test('to list events names the bad parameter and what is allowed', async () => {
    const w = await world()
    const account = await w.account()
    const kinds = `event must be one of ${EVENT_KINDS.join(', ')}, WEBHOOK_TEST`
    const states = 'state must be one of pending, retrying, delivered, failed'
    for (const [query, error] of [
      ['event=DEPOSIT', kinds],
      ['event=', kinds],
      ['event=%00', kinds],
      [`event=${KIND}&event=${KIND}`, kinds],
      ['state=open', states],
      ['state=', states],
      ['webhookId=x', WEBHOOK_ID],
      ['cursor=zz', 'cursor must be a nextCursor of an earlier answer'],
      ['limit=101', 'limit must be an integer from 1 to 100'],
      ['from=x', `from must be ${ISO_TIME}`],
    ]) {
      const answer = await call(w, account, 'GET', `/api/events?${query}`)
      expect([query, told(answer)]).toEqual([query, `400 ${error}`])
    }
  })
})

describe('who may do it', () => {
  test('every route needs a key, and one with the scope webhooks:write, or events:read to read events', async () => {
    const w = await world()
    const account = await w.account({ scopes: ['deposits:write', 'deposits:read', 'balance:read'] })
    for (const [method, url] of routes({ webhookId: UNKNOWN_ID, eventId: UNKNOWN_EVENT })) {
      const anonymous = await send(w, { method, url })
      expect([method, url, told(anonymous)]).toEqual([method, url, '401 Missing API key'])
      const unscoped = told(await call(w, account, method, url))
      const scope = method === 'GET' && url.startsWith('/api/events') ? 'events:read' : 'webhooks:write'
      expect([method, url, unscoped]).toEqual([method, url, `403 This API key lacks the scope ${scope}`])
    }
  })

  test('what is another account’s, unknown or malformed is not found, and nothing happens to it', async () => {
    const w = await world()
    const [account, stranger] = [await w.account(), await w.account()]
    const receiver = await startReceiver()
    const { webhook } = await add(w, account, receiver.url)
    await completedCharge(w, account)
    const [event] = (await call(w, account, 'GET', '/api/events?limit=1')).body.events
    const before = await stored(w, account)

    const malformed = ['x', '%00', '%zz', ' ', 'x'.repeat(2000), webhook.id.replaceAll('-', ''), `${webhook.id}x`]
    for (const webhookId of [webhook.id, UNKNOWN_ID, ...malformed.map(encoded)]) {
      for (const [method, url, body] of ofWebhook(webhookId)) {
        const answer = await call(w, stranger, method, url, body)
        expect([method, url, told(answer)]).toEqual([method, url, '404 Webhook not found'])
      }
    }
    const badIds = ['x', '%00', 'evt_', event.id.toUpperCase(), `${event.id}0`, 'evt_%zz', 'x'.repeat(2000)]
    for (const eventId of [event.id, UNKNOWN_EVENT, ...badIds.map(encoded)]) {
      for (const [method, url] of ofEvent(eventId)) {
        const answer = await call(w, stranger, method, url)
        expect([method, url, told(answer)]).toEqual([method, url, '404 Event not found'])
      }
    }
    // The body names another account's webhook for an event of one's own.
    await completedCharge(w, stranger)
    const [own] = (await call(w, stranger, 'GET', '/api/events?limit=1')).body.events
    for (const [url, body] of [
      [`/api/events/${own.id}/resend`, {}],
      ['/api/events/resend', { failed: true }],
      ['/api/events/resend', { since: NOW }],
    ] as const) {
      const answer = await call(w, stranger, 'POST', url, { ...body, webhookId: webhook.id })
      expect([url, told(answer)]).toEqual([url, '404 Webhook not found'])
    }
    expect((await call(w, stranger, 'GET', '/api/webhooks')).body.webhooks).toEqual([])
    expect((await call(w, stranger, 'GET', `/api/events?webhookId=${webhook.id}`)).body.events).toEqual([])
    expect((await call(w, stranger, 'GET', '/api/events')).body.events).toHaveLength(1)
    expect((await call(w, stranger, 'POST', '/api/events/resend', { since: NOW })).body.queued).toBe(0)
    expect(await stored(w, account)).toEqual(before)
    expect(receiver.received).toHaveLength(1)
  })
})

describe('secrets', () => {
  test('are shown once: in no later answer, no line of the log, no event, and no row', async () => {
    const w = await world()
    const account = await w.account()
    const receiver = await startReceiver()
    const lines: unknown[] = []
    const line = (fields: object, text: string) => void lines.push(fields, text)
    const log = { debug: line, info: line, warn: line, error: line }
    const spied = { ...w, app: await appWith({ ...w.ctx, log }) }
    const authorization = 'Bearer d41d8cd98f00b204'
    const added = await call(spied, account, 'POST', '/api/webhooks', { url: receiver.url, authorization })
    const { id } = added.body.webhook
    const rotated = await call(spied, account, 'POST', `/api/webhooks/${id}/rotate-secret`)
    const secrets = [added.body.secret, rotated.body.secret, authorization].map((one: string) => one.slice(7))
    const spill = (text: string) => secrets.filter((secret) => text.includes(secret))
    expect(spill(JSON.stringify([added.body, rotated.body]))).toEqual(secrets.slice(0, 2))

    await completedCharge(w, account)
    await deliver({ ...w, ctx: { ...w.ctx, log } })
    const eventId = receiver.received.at(-1)!.id
    // These are all routes except the two that make a secret, which they show.
    const makes = ['POST /api/webhooks', `POST /api/webhooks/${id}/rotate-secret`]
    const others = routes({ webhookId: id, eventId }).filter(([method, url]) => !makes.includes(`${method} ${url}`))
    expect(others).toHaveLength(11)
    const bodies = {
      GET: undefined,
      DELETE: undefined,
      PATCH: { url: receiver.url, authorization },
      POST: { since: NOW },
    }
    for (const [method, url] of others) {
      const answer = await call(spied, account, method, url, bodies[method])
      expect([url, answer.statusCode, spill(answer.text)]).toEqual([url, 200, []])
    }
    // Refusals quote nothing of what was sent.
    const refused = await call(spied, account, 'POST', '/api/webhooks', {
      url: `https://u:${authorization}@x/`,
      authorization,
    })
    expect([refused.statusCode, spill(refused.text)]).toEqual([400, []])
    const rows = await stored(w)
    expect(rows.filter((row) => row.includes(id)).length).toBeGreaterThan(5)
    const everything = inspect([rows, lines, w.logged], { depth: null, maxArrayLength: null, maxStringLength: null })
    expect(spill(everything)).toEqual([])
    expect(lines.length).toBeGreaterThan(10)
  })

  test('that this service cannot open fail their own webhook only, in words that tell the holder whom to ask', async () => {
    const w = await world()
    const [account, other] = [await w.account(), await w.account()]
    const [receiver, theirs] = [await startReceiver(), await startReceiver()]
    const { webhook } = await add(w, account, receiver.url)
    await add(w, other, theirs.url)
    // A command that runs with another SECRET_KEY than the server's would seal a secret like this.
    const foreign = makeSecretBox(() => ['another secret key']).seal('whsec_eA==', webhook.id)
    await w.pool.query('update webhooks set secret_box = $1 where id = $2', [foreign, webhook.id])
    for (const holder of [account, other]) await completedCharge(w, holder)
    await deliver(w)
    expect([receiver.received.length, theirs.received.length]).toEqual([1, 2])

    const tested = await call(w, account, 'POST', `/api/webhooks/${webhook.id}/test`)
    const error = 'This service cannot open the webhook’s secrets: tell its operator'
    expect([tested.statusCode, tested.body.test]).toEqual([
      200,
      {
        delivered: false,
        status: null,
        error,
        errorCode: 'secrets_unreadable',
        errorDetail: null,
        latencyMs: 0,
        excerpt: '',
      },
    ])
    expect(await statesOf(w, account)).toContainEqual(['retrying'])
    expect(JSON.stringify(w.logged.map(({ fields }) => String((fields as { err: Error }).err)))).toContain(
      'add that key to SECRET_KEY',
    )
    // A new secret mends the webhook, although the old one still cannot be opened.
    await call(w, account, 'POST', `/api/webhooks/${webhook.id}/rotate-secret`)
    w.clock.advance(6000)
    await deliver(w)
    expect(receiver.received).toHaveLength(2)
  })
})
