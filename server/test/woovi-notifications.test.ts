import { describe, expect, test } from 'vitest'
import { ok, TXID, type Said } from './scripted-psp.ts'
import { connectScripted, connectWoovi, requestOf } from './woovi-client.ts'

const HOOK = 'http://127.0.0.1:9/callbacks/woovi/very-secret'
const E2E = 'E54811417202603021200abc123def45'
const BODY = JSON.stringify({ event: 'OPENPIX:TRANSACTION_RECEIVED', charge: { correlationID: TXID } })
const HINT = [{ txid: TXID, endToEndId: null }]
const MINUTE_MS = 60_000

const signed = (body: string, signature: string) => ({
  headers: { 'x-webhook-signature': signature },
  body: Buffer.from(body),
})

describe('signatures', () => {
  test('a notification that Woovi signed is a hint; its keys are asked for once in an hour', async () => {
    const { woovi, provider, clock } = await connectWoovi()
    for (let nth = 0; nth < 3; nth++) {
      expect(await provider.readNotification(signed(BODY, woovi.sign(BODY)))).toEqual(HINT)
      clock.advance(20 * MINUTE_MS - 1)
    }
    expect(woovi.count('GET /webhook/public-keys')).toBe(1)
    clock.advance(3)
    await provider.readNotification(signed(BODY, woovi.sign(BODY)))
    expect(woovi.count('GET /webhook/public-keys')).toBe(2)
  })

  test('many at once ask for the keys once', async () => {
    const { woovi, provider } = await connectWoovi()
    const request = signed(BODY, woovi.sign(BODY))
    const all = await Promise.all(Array.from({ length: 20 }, () => provider.readNotification(request)))
    expect(all).toEqual(all.map(() => HINT))
    expect(woovi.count('GET /webhook/public-keys')).toBe(1)
  })

  test('one changed byte, another body’s signature, a stranger’s, nonsense or none is refused', async () => {
    const { woovi, provider } = await connectWoovi()
    const stranger = await connectWoovi()
    const good = woovi.sign(BODY)
    for (const request of [
      signed(`${BODY} `, good),
      signed(BODY, woovi.sign(`${BODY} `)),
      signed(BODY, stranger.woovi.sign(BODY)),
      signed(BODY, 'nonsense'),
      signed(BODY, ''),
      { headers: {}, body: Buffer.from(BODY) },
      { headers: { 'x-webhook-signature': [good, good] }, body: Buffer.from(BODY) },
    ]) {
      expect(await provider.readNotification(request)).toBe('refused')
    }
    expect(await provider.readNotification(signed(BODY, good))).toEqual(HINT)
  })

  test('a new key is learnt from the first notification that it signs, and the old one still counts while it is listed', async () => {
    const { woovi, provider, clock } = await connectWoovi()
    const old = signed(BODY, woovi.sign(BODY))
    expect(await provider.readNotification(old)).toEqual(HINT)
    clock.advance(MINUTE_MS)
    woovi.rotateKey({ keepOld: true })
    expect(await provider.readNotification(signed(BODY, woovi.sign(BODY)))).toEqual(HINT)
    expect(await provider.readNotification(old)).toEqual(HINT)
    clock.advance(MINUTE_MS)
    woovi.rotateKey({ keepOld: false })
    expect(await provider.readNotification(signed(BODY, woovi.sign(BODY)))).toEqual(HINT)
    expect(await provider.readNotification(old)).toBe('refused')
  })

  test('forged notifications make us ask for the keys once a minute and no more', async () => {
    const { woovi, provider, clock } = await connectWoovi()
    for (let nth = 0; nth < 50; nth++) {
      expect(await provider.readNotification(signed(BODY, 'forged'))).toBe('refused')
    }
    expect(woovi.count('GET /webhook/public-keys')).toBe(1)
    clock.advance(MINUTE_MS)
    await Promise.all(Array.from({ length: 50 }, () => provider.readNotification(signed(BODY, 'forged'))))
    expect(woovi.count('GET /webhook/public-keys')).toBe(2)
  })

  test('when the keys cannot be had nobody is surely false, so it is a hint; old keys still tell', async () => {
    const { woovi, provider, clock } = await connectWoovi()
    woovi.fail('GET /webhook/public-keys', 'error', 3)
    expect(await provider.readNotification(signed(BODY, 'who knows'))).toEqual(HINT)
    clock.advance(MINUTE_MS)
    expect(await provider.readNotification(signed(BODY, 'forged'))).toBe('refused')
    await woovi.stop()
    expect(await provider.readNotification(signed(BODY, 'forged'))).toBe('refused')
    clock.advance(60 * MINUTE_MS)
    expect(await provider.readNotification(signed(BODY, woovi.sign(BODY)))).toEqual(HINT)
    expect(await provider.readNotification(signed(BODY, 'who knows'))).toEqual(HINT)
  })

  test.each([
    ['none', []],
    ['one that cannot be read', [{ key: 'nonsense' }]],
    ['more than anybody needs', Array.from({ length: 9 }, () => ({ key: 'nonsense' }))],
  ])('a list of keys with %s is no list of keys', async (_, keys) => {
    const { provider } = await connectScripted(() => ok({ public_keys: keys }))
    expect(await provider.readNotification(signed(BODY, 'who knows'))).toEqual(HINT)
    expect(provider.health().lastError).toMatch(/malformed response/)
  })
})

describe('what it is about', () => {
  test('a test of the address asks for nothing and needs no signature', async () => {
    const { woovi, provider } = await connectWoovi()
    for (const body of ['', '{}', '{"data_criacao":"2026-03-02T12:00:00Z","event":"OPENPIX:CHARGE_COMPLETED"}']) {
      expect(await provider.readNotification({ headers: {}, body: Buffer.from(body) })).toEqual([])
    }
    expect(woovi.exchanges).toEqual([])
  })

  test.each<[what: string, body: object, hint: object]>([
    ['a charge', { charge: { correlationID: TXID } }, { txid: TXID, endToEndId: null }],
    [
      'a charge and its Pix',
      { charge: { correlationID: TXID }, pix: { endToEndId: E2E } },
      { txid: TXID, endToEndId: E2E },
    ],
    [
      'a Pix that names its charge',
      { charge: null, pix: { charge: { correlationID: TXID } } },
      { txid: TXID, endToEndId: null },
    ],
    ['a Pix without a charge', { charge: null, pix: { raw: { endToEndId: E2E } } }, { txid: null, endToEndId: E2E }],
    [
      'a charge of another system',
      { charge: { correlationID: 'a-b' }, pix: { endToEndId: E2E } },
      { txid: null, endToEndId: E2E },
    ],
    [
      'ill-shaped ids beside a good one',
      { charge: { correlationID: ['x'] }, pix: { endToEndId: 'E1', raw: { endToEndId: E2E } } },
      { txid: null, endToEndId: E2E },
    ],
  ])('%s', async (_, content, hint) => {
    const { woovi, provider } = await connectWoovi()
    const body = JSON.stringify(content)
    expect(await provider.readNotification(signed(body, woovi.sign(body)))).toEqual([hint])
  })

  test.each([
    ['{', 'Request body is not valid JSON'],
    ['[]', 'Request body must be a JSON object'],
    ['"x"', 'Request body must be a JSON object'],
  ])('%s is a bad request', async (body, text) => {
    const { provider } = await connectWoovi()
    const request = { headers: {}, body: Buffer.from(body) }
    await expect(provider.readNotification(request)).rejects.toMatchObject({ code: 'bad_request', message: text })
  })
})

describe('registering', () => {
  const EVENTS = [
    'OPENPIX:TRANSACTION_RECEIVED',
    ...['CREATED', 'ACCEPTED', 'REJECTED', 'CANCELED'].map((what) => `OPENPIX:DISPUTE_${what}`),
  ]

  test('the address is registered once, for every Pix received and every dispute, and again when it was switched off', async () => {
    const { woovi, provider } = await connectWoovi()
    await provider.registerNotifications(HOOK)
    await provider.registerNotifications(HOOK)
    expect(woovi.webhooks).toMatchObject(EVENTS.map((event) => ({ event, url: HOOK, isActive: true })))
    woovi.webhooks[0]!.isActive = false
    await provider.registerNotifications(HOOK)
    await provider.registerNotifications(`${HOOK}2`)
    expect(woovi.webhooks.map(({ url, isActive, event }) => [url, isActive, event])).toEqual([
      ...EVENTS.map((event, nth) => [HOOK, nth > 0, event]),
      [HOOK, true, EVENTS[0]],
      ...EVENTS.map((event) => [`${HOOK}2`, true, event]),
    ])
  })

  test('a webhook whose making was not confirmed is found the next time', async () => {
    const { woovi, provider } = await connectWoovi({ timings: { registerDeadlineMs: 300 } })
    woovi.fail('POST /webhook', 'lose')
    await expect(provider.registerNotifications(HOOK)).rejects.toMatchObject({ outcome: 'unknown' })
    await provider.registerNotifications(HOOK)
    expect(woovi.webhooks.map(({ event }) => event)).toEqual(EVENTS)
  })

  test('where the filter is not heeded, ours is looked for on the next pages, within a bound', async () => {
    const listed = (urls: string[], hasNextPage: boolean): Said => {
      const webhooks = urls.flatMap((url) =>
        EVENTS.map((event) => ({ id: '1', name: 'x', url, event, isActive: true })),
      )
      return ok({ webhooks, pageInfo: { hasNextPage } })
    }
    const later = await connectScripted((_, nth) => listed(nth < 3 ? ['https://x.example'] : [HOOK], nth < 3))
    await later.provider.registerNotifications(HOOK)
    expect([later.psp.count('GET'), later.psp.count('POST')]).toEqual([3, 0])
    const endless = await connectScripted(() => listed(['https://x.example'], true))
    await expect(endless.provider.registerNotifications(HOOK)).rejects.toThrow(/too many webhooks/)
    expect([endless.psp.count('GET'), endless.psp.count('POST')]).toEqual([10, 0])
  })

  test('the secret address does not show in an error', async () => {
    const { provider, logged } = await connectScripted(({ path }) => ({
      status: 400,
      json: { error: `url ${HOOK} ${path}` },
    }))
    await expect(provider.registerNotifications(HOOK)).rejects.not.toThrow(/very-secret/)
    expect(logged.join()).not.toContain('very-secret')
    const made = await connectScripted(({ method }) =>
      method === 'GET' ? ok({ webhooks: [] }) : { status: 400, json: { error: `${HOOK} inválida` } },
    )
    await expect(made.provider.registerNotifications(HOOK)).rejects.toThrow('[hidden] inválida')
  })

  test('a Pix is told to the address, in a way that we read', async () => {
    const { woovi, provider } = await connectWoovi()
    await provider.registerNotifications(HOOK)
    const { txid } = await provider.create(requestOf())
    const endToEndId = await woovi.pay(txid)
    const { body, signature } = woovi.notified.at(-1)!
    const occurredAt = new Date('2026-03-02T12:00:00Z')
    expect(await provider.readNotification(signed(body, signature))).toEqual([{ txid, endToEndId, occurredAt }])
  })
})
