import { describe, expect, test } from 'vitest'
import { ProviderError } from '../src/domain/ports/provider.ts'
import {
  appWith,
  bearer,
  deposit,
  expectEnvelopeHeaders,
  get,
  post,
  UNKNOWN_ID,
  UUID,
  withGate,
  withProvider,
} from './requests.ts'
import { DEFAULT_TERMS, world, type World } from './world.ts'

const VALUE_ERROR = 'value must be a positive integer (cents)'
const NOT_JSON = 'Request body is not valid JSON'
const UNSTORABLE = 'Request body must not contain NUL characters or lone surrogates (halves of characters)'
const EXTERNAL_ID_ERROR = 'externalId must be 1 to 64 characters, without control or invisible characters'
const DESCRIPTION_ERROR = 'description must be at most 140 characters, without control or invisible characters'
const EXPIRES_IN_ERROR = 'expiresIn must be an integer from 300 to 2592000 (seconds)'
const IDEMPOTENCY_KEY_ERROR = 'Idempotency-Key must be 1 to 255 characters, without control or invisible characters'
const SEND_JSON = 'Send the body as JSON, with Content-Type: application/json'
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const CHARGE_FIELDS = [
  'id',
  'emv',
  'qrCodeLink',
  'paymentLinkId',
  'paymentLinkUrl',
  'value',
  'originalValue',
  'fee',
  'status',
]
const RECORD_FIELDS = [
  ...CHARGE_FIELDS,
  'createdAt',
  'expiresAt',
  'paidAt',
  'receivedValue',
  'creditedValue',
  'refundedValue',
  'heldValue',
  'keptValue',
  'endToEndId',
  'paidLate',
  'externalId',
  'description',
  'returnUrl',
  'metadata',
  'code',
  'payer',
  'payerMatch',
]
describe('the two endpoints of the specification', () => {
  test('a new deposit is answered with exactly the fields of the contract, in its order', async () => {
    const w = await world()
    const { key } = await w.account()
    const answer = await w.app.inject(deposit(key, '{"value":5000}'))
    const { charge } = answer.json()

    expect(answer.statusCode).toBe(201)
    expect(Object.keys(answer.json())).toEqual(['success', 'charge'])
    expect(Object.keys(charge)).toEqual(CHARGE_FIELDS)
    expect(charge).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      emv: expect.stringMatching(/^000201.*6304[0-9A-F]{4}$/),
      qrCodeLink: `https://guiche.example/qr/${charge.paymentLinkId}.png`,
      paymentLinkId: expect.stringMatching(UUID),
      paymentLinkUrl: `https://guiche.example/payment-link/${charge.paymentLinkId}`,
      value: 5000,
      originalValue: 5000,
      fee: 50,
      status: 'PENDING',
    })
    expect(answer.headers['location']).toBe(`/api/deposit/${charge.paymentLinkId}`)
    expect(answer.headers['idempotency-replayed']).toBeUndefined()
  })

  test('a queried deposit has the same fields and createdAt, and says that the provider was asked', async () => {
    const w = await world()
    const { key } = await w.account()
    const { charge } = (await w.app.inject(deposit(key, '{"value":5000}'))).json()
    const answer = await w.app.inject(get(key, `/api/deposit/${charge.paymentLinkId}`))

    expect(answer.statusCode).toBe(200)
    expect(Object.keys(answer.json().charge)).toEqual([...CHARGE_FIELDS, 'createdAt'])
    expect(answer.json()).toEqual({ success: true, charge: { ...charge, createdAt: expect.stringMatching(ISO_TIME) } })
    expect(answer.headers['guiche-provider-check']).toBe('fresh')
  })

  test('a query after the payment answers COMPLETED, and a second one asks nobody', async () => {
    const w = await world()
    const { key } = await w.account()
    const { charge } = (await w.app.inject(deposit(key, '{"value":5000}'))).json()
    await w.sandbox.pay({ emv: charge.emv })
    const first = await w.app.inject(get(key, `/api/deposit/${charge.paymentLinkId}`))
    const second = await w.app.inject(get(key, `/api/deposit/${charge.paymentLinkId}`))

    expect(first.json().charge.status).toBe('COMPLETED')
    expect(second.json()).toEqual(first.json())
    expect(second.headers['guiche-provider-check']).toBeUndefined()
  })

  test('a provider that cannot be asked leaves the stored charge, marked as not checked', async () => {
    const w = await world()
    const { key } = await w.account()
    const { charge } = (await w.app.inject(deposit(key, '{"value":5000}'))).json()
    const app = await appWith(
      withProvider(w.ctx, { check: () => Promise.reject(new ProviderError('unreachable', 'gone')) }),
    )
    const answer = await app.inject(get(key, `/api/deposit/${charge.paymentLinkId}`))

    expect(answer.json().charge.status).toBe('PENDING')
    expect(answer.headers['guiche-provider-check']).toBe('failed')
  })

  test('a repeated Idempotency-Key gets the charge as it is by then: paid meanwhile, it is COMPLETED', async () => {
    const w = await world()
    const { key } = await w.account()
    const request = deposit(key, '{"value":5000,"externalId":"order-1"}', { 'idempotency-key': 'a-key' })
    const first = await w.app.inject(request)
    await w.sandbox.pay({ emv: first.json().charge.emv })
    await w.app.inject(get(key, `/api/deposit/${first.json().charge.paymentLinkId}`))
    const second = await w.app.inject(request)

    expect([first.statusCode, second.statusCode]).toEqual([201, 201])
    expect(second.json()).toEqual({ success: true, charge: { ...first.json().charge, status: 'COMPLETED' } })
    expect(second.headers['idempotency-replayed']).toBe('true')
    expect(second.headers['location']).toBe(first.headers['location'])
    expect(await w.count('charges')).toBe(1)
  })

  test('a repeated Idempotency-Key of a charge that was canceled or expired does not call it PENDING', async () => {
    const w = await world()
    const { key } = await w.account()
    const open = async (idempotencyKey: string) =>
      (await w.app.inject(deposit(key, '{"value":5000}', { 'idempotency-key': idempotencyKey }))).json().charge
    const canceled = await open('canceled')
    await w.app.inject(post(key, `/api/deposit/${canceled.paymentLinkId}/cancel`))
    const expired = await open('expired')
    w.clock.advance(2 * 3_600_000)
    await w.app.inject(get(key, `/api/deposit/${expired.paymentLinkId}`))

    expect(await open('canceled')).toEqual({ ...canceled, status: 'CANCELED' })
    expect(await open('expired')).toEqual({ ...expired, status: 'EXPIRED' })
  })
})

describe('the full record of one deposit', () => {
  test('is that of the list, after the provider was asked, and the fixed query keeps its own fields', async () => {
    const w = await world()
    const { key } = await w.account()
    const body = '{"value":5000,"externalId":"order-1","description":"Order 1"}'
    const { charge } = (await w.app.inject(deposit(key, body))).json()
    await w.sandbox.faults({ dropNotifications: true })
    const pending = await w.app.inject(get(key, `/api/deposits/${charge.paymentLinkId}`))
    expect(Object.keys(pending.json().deposit)).toEqual([...RECORD_FIELDS, 'heldPayments', 'refunds'])
    expect(pending.json().deposit).toMatchObject({ ...charge, externalId: 'order-1', heldValue: 0, paidAt: null })
    expect(pending.headers['guiche-provider-check']).toBe('fresh')

    const { pix } = await w.sandbox.pay({ emv: charge.emv, times: 2 })
    const paid = await w.app.inject(get(key, `/api/deposits/${charge.paymentLinkId}`))
    expect(paid.json().deposit).toMatchObject({ status: 'COMPLETED', creditedValue: 4950, heldValue: 5000 })
    expect(pix.map(({ endToEndId }) => endToEndId)).toContain(paid.json().deposit.endToEndId)
    const listed = (await w.app.inject(get(key, '/api/deposits'))).json().deposits
    const { heldPayments, refunds, ...record } = paid.json().deposit
    expect(listed).toEqual([record])
    expect([heldPayments, refunds]).toEqual([[expect.objectContaining({ value: 5000, decision: null })], []])
    const again = await w.app.inject(get(key, `/api/deposits/${charge.paymentLinkId}`))
    expect(again.headers['guiche-provider-check']).toBeUndefined()
    const fixed = await w.app.inject(get(key, `/api/deposit/${charge.paymentLinkId}`))
    expect(Object.keys(fixed.json().charge)).toEqual([...CHARGE_FIELDS, 'createdAt'])
  })

  test('tells of a wrong amount that the provider has, which no notification reported', async () => {
    const w = await world()
    const { key } = await w.account()
    const { charge } = (await w.app.inject(deposit(key, '{"value":5000}'))).json()
    await w.sandbox.faults({ dropNotifications: true })
    await w.sandbox.pay({ emv: charge.emv, amountCents: 4000 })
    const answer = await w.app.inject(get(key, `/api/deposits/${charge.paymentLinkId}`))
    expect(answer.json().deposit).toMatchObject({ status: 'PENDING', heldValue: 4000, creditedValue: null })
  })
})

describe('a refused deposit', () => {
  const json = { 'content-type': 'application/json' }
  const refusals: [
    name: string,
    body: string | undefined,
    headers: Record<string, string>,
    status: number,
    error: string,
  ][] = [
    ['malformed JSON', '{"value":', json, 400, NOT_JSON],
    ['JSON with something behind it', '{"value":1}x', json, 400, NOT_JSON],
    ['a body that is not UTF-8', 'latin1:{"value":1,"description":"\xe7"}', json, 400, NOT_JSON],
    ['no body and no content type', undefined, {}, 400, VALUE_ERROR],
    ['no body', undefined, json, 400, VALUE_ERROR],
    [
      'no body and a form’s content type',
      undefined,
      { 'content-type': 'application/x-www-form-urlencoded' },
      400,
      VALUE_ERROR,
    ],
    ...['null', '[]', '[5000]', '"5000"', '5000', 'true', '{}', '{"Value":5000}'].map(
      (body) => [`the body ${body}`, body, json, 400, VALUE_ERROR] as [string, string, typeof json, number, string],
    ),
    ...[
      '"5000"',
      '50.5',
      '0',
      '-0',
      '-1',
      'null',
      'true',
      '1e21',
      '1e400',
      '9007199254740993',
      '[5000]',
      '{}',
      '""',
    ].map(
      (value) =>
        [`the value ${value}`, `{"value":${value}}`, json, 400, VALUE_ERROR] as [
          string,
          string,
          typeof json,
          number,
          string,
        ],
    ),
    [
      'every field wrong: value wins',
      '{"expiresIn":1,"description":1,"externalId":"","value":0}',
      json,
      400,
      VALUE_ERROR,
    ],
    ['an empty externalId', '{"value":1,"externalId":""}', json, 400, EXTERNAL_ID_ERROR],
    ['a long externalId', `{"value":1,"externalId":"${'x'.repeat(65)}"}`, json, 400, EXTERNAL_ID_ERROR],
    ['a number as externalId', '{"value":1,"externalId":7}', json, 400, EXTERNAL_ID_ERROR],
    ['NUL in externalId', '{"value":1,"externalId":"a\\u0000b"}', json, 400, EXTERNAL_ID_ERROR],
    ['half a character in externalId', '{"value":1,"externalId":"a\\ud800"}', json, 400, EXTERNAL_ID_ERROR],
    ['NUL as value', '{"value":"\\u0000"}', json, 400, VALUE_ERROR],
    ['NUL in a field that is not known', '{"value":1,"x":[{"y":"\\u0000"}]}', json, 400, UNSTORABLE],
    ['NUL in a name', '{"value":1,"\\u0000":1}', json, 400, UNSTORABLE],
    ['NUL behind an escaped backslash', '{"value":1,"x":"\\\\\\u0000"}', json, 400, UNSTORABLE],
    ['half a character before a whole one', '{"value":1,"x":"\\ud83d\\ud83d\\ude00"}', json, 400, UNSTORABLE],
    ['two halves in the wrong order', '{"value":1,"x":"\\ude00\\ud83d"}', json, 400, UNSTORABLE],
    ['a turned direction in externalId', '{"value":1,"externalId":"a\\u202eb"}', json, 400, EXTERNAL_ID_ERROR],
    ['a turned direction in description', '{"value":1,"description":"\u2066a"}', json, 400, DESCRIPTION_ERROR],
    ['an invisible character in description', '{"value":1,"description":"a\\u200bb"}', json, 400, DESCRIPTION_ERROR],
    ['a long description', `{"value":1,"description":"${'é'.repeat(141)}"}`, json, 400, DESCRIPTION_ERROR],
    ['a line break in description', '{"value":1,"description":"a\\nb"}', json, 400, DESCRIPTION_ERROR],
    ['half a character in description', '{"value":1,"description":"\\udc00"}', json, 400, DESCRIPTION_ERROR],
    ...['299', '2592001', '300.5', '"3600"', '0', '-3600', '1e30'].map(
      (seconds) =>
        [`expiresIn ${seconds}`, `{"value":1,"expiresIn":${seconds}}`, json, 400, EXPIRES_IN_ERROR] as [
          string,
          string,
          typeof json,
          number,
          string,
        ],
    ),
    ['an empty Idempotency-Key', '{"value":1}', { ...json, 'idempotency-key': '' }, 400, IDEMPOTENCY_KEY_ERROR],
    [
      'a long Idempotency-Key',
      '{"value":1}',
      { ...json, 'idempotency-key': 'x'.repeat(256) },
      400,
      IDEMPOTENCY_KEY_ERROR,
    ],
    ['a tab in Idempotency-Key', '{"value":1}', { ...json, 'idempotency-key': 'a\tb' }, 400, IDEMPOTENCY_KEY_ERROR],
    [
      'a bad value and a bad Idempotency-Key: value wins',
      '{"value":0}',
      { ...json, 'idempotency-key': '' },
      400,
      VALUE_ERROR,
    ],
    ['more than the operator’s maximum', '{"value":1000001}', json, 400, 'value must be at most 1000000 (cents)'],
    ['less than the operator’s minimum', '{"value":99}', json, 400, 'value must be at least 100 (cents)'],
    ['a body without content type', '{"value":100}', {}, 415, SEND_JSON],
    ['text', '{"value":100}', { 'content-type': 'text/plain' }, 415, SEND_JSON],
    ['a form', 'value=100', { 'content-type': 'application/x-www-form-urlencoded' }, 415, SEND_JSON],
    ['a content type that is none', '{"value":100}', { 'content-type': 'json' }, 415, SEND_JSON],
    [
      'a compressed body',
      '{"value":100}',
      { ...json, 'content-encoding': 'gzip' },
      415,
      'Send the body without Content-Encoding',
    ],
    [
      'more than 16 KiB',
      `{"value":100,"x":"${'x'.repeat(16_384)}"}`,
      json,
      413,
      'Request body is too large: at most 16 KiB',
    ],
  ]

  test('is told what is wrong, with nothing written', async () => {
    const w = await world({ settings: { terms: { ...DEFAULT_TERMS, valueMinCents: 100, valueMaxCents: 1_000_000 } } })
    const { key } = await w.account()
    for (const [name, body, headers, status, error] of refusals) {
      const payload = body?.startsWith('latin1:') ? Buffer.from(body.slice(7), 'latin1') : body
      const answer = await w.app.inject({
        method: 'POST',
        url: '/api/deposit',
        headers: { authorization: `Bearer ${key}`, ...headers },
        ...(payload !== undefined && { payload }),
      })
      expect({ name, status: answer.statusCode, body: answer.json() }).toEqual({
        name,
        status,
        body: { success: false, error },
      })
      expectEnvelopeHeaders(answer)
    }
    expect(await written(w)).toEqual({ charges: 0, checks: 0, idempotency_keys: 0, external_ids: 0 })
  })

  test('that was refused by the provider or could not reach it leaves no charge to be paid', async () => {
    const w = await world()
    const { key } = await w.account()
    for (const [outcome, status, error] of [
      ['refused', 502, 'The payment provider refused the charge'],
      ['unreachable', 503, 'The payment provider cannot be reached, please try again'],
    ] as const) {
      const app = await appWith(
        withProvider(w.ctx, { create: () => Promise.reject(new ProviderError(outcome, 'internal words')) }),
      )
      const answer = await app.inject(deposit(key, '{"value":5000}'))
      expect([answer.statusCode, answer.json()]).toEqual([status, { success: false, error }])
      expect(answer.headers['retry-after']).toBe(status === 503 ? '2' : undefined)
    }
    expect(await w.count('charges', `status <> 'FAILED'`)).toBe(0)
  })

  test('by an Idempotency-Key in flight is 409 with Retry-After, and with another body 422', async () => {
    const w = await world()
    const { key } = await w.account()
    const gate = withGate(w.ctx)
    const app = await appWith(gate.ctx)
    const first = app.inject(deposit(key, '{"value":5000}', { 'idempotency-key': 'k' }))
    await gate.reached
    const meanwhile = await app.inject(deposit(key, '{"value":5000}', { 'idempotency-key': 'k' }))
    const other = await app.inject(deposit(key, '{"value":6000}', { 'idempotency-key': 'k' }))
    gate.open()

    expect([meanwhile.statusCode, meanwhile.headers['retry-after']]).toEqual([409, '1'])
    expect([other.statusCode, other.headers['retry-after']]).toEqual([422, undefined])
    expect((await first).statusCode).toBe(201)
    expect(await w.count('charges')).toBe(1)
  })

  test.each(['Pedido 42, São Paulo', 'x'.repeat(64), '💸'.repeat(64)])(
    'is never refused for its Idempotency-Key when that is its externalId %s',
    async (externalId) => {
      const w = await world()
      const { key } = await w.account()
      const open = async (idempotencyKey: string, value = 5000) =>
        w.app.inject(deposit(key, JSON.stringify({ value, externalId }), { 'idempotency-key': idempotencyKey }))
      // Most clients send the key as UTF-8.
      const utf8 = Buffer.from(externalId).toString('latin1')
      expect((await open(utf8)).statusCode).toBe(201)
      expect((await open(utf8)).headers['idempotency-replayed']).toBe('true')
      expect((await open(utf8, 6000)).statusCode).toBe(422)
      expect(await w.count('idempotency_keys', `key = '${externalId}'`)).toBe(1)
    },
  )

  test('with an Idempotency-Key in Latin-1 is told from one that differs only there', async () => {
    const w = await world()
    const { key } = await w.account()
    const open = async (idempotencyKey: string) =>
      (await w.app.inject(deposit(key, '{"value":5000}', { 'idempotency-key': idempotencyKey }))).json().charge.id
    const ids = [await open('maçã'), await open('maça'), await open(Buffer.from('maçã').toString('latin1'))]
    expect(ids[1]).not.toBe(ids[0])
    expect(ids[2]).toBe(ids[0])
  })

  test('for an externalId in use is 409 and names the deposit that has it; before that is made, with Retry-After', async () => {
    const w = await world()
    const { key } = await w.account()
    const gate = withGate(w.ctx)
    const app = await appWith(gate.ctx)
    const first = app.inject(deposit(key, '{"value":5000,"externalId":"order-1"}'))
    await gate.reached
    const early = await app.inject(deposit(key, '{"value":5000,"externalId":"order-1"}'))
    gate.open()
    const { paymentLinkId } = (await first).json().charge
    const late = await app.inject(deposit(key, '{"value":5000,"externalId":"order-1"}'))

    const told = ['guiche-error', 'retry-after', 'location']
    const answers = [early, late].map(({ statusCode, headers }) => [statusCode, ...told.map((name) => headers[name])])
    expect(answers).toEqual([
      [409, 'in_flight', '1', undefined],
      [409, 'external_id_taken', undefined, `/api/deposit/${paymentLinkId}`],
    ])
    expect(late.json().error).toBe(`externalId is already used by the deposit ${paymentLinkId}`)
  })
})

test('an accepted deposit may be written in many ways', async () => {
  const w = await world()
  const { key } = await w.account()
  for (const [name, body] of [
    ['a number with a fraction of zero', '{"value":5000.0}'],
    ['a number with an exponent', '{"value":5e3}'],
    ['unknown fields', '{"value":5000,"colour":"red","fee":0}'],
    [
      '__proto__ as just another unknown field',
      '{"value":5000,"__proto__":{"externalId":"forged"},"constructor":{"prototype":{}}}',
    ],
    ['nulls for what is not given', '{"value":5000,"externalId":null,"description":null,"expiresIn":null}'],
    [
      'the longest texts, counted in characters',
      `{"value":5000,"externalId":"${'🎟'.repeat(64)}","description":"${'ç'.repeat(140)}"}`,
    ],
    [
      'escapes that are whole characters, and a backslash before what looks like one',
      '{"value":5000,"description":"\\ud83d\\ude00 \\u00e7 \\\\u0000 \\\\ud800"}',
    ],
    ['an emoji that is joined of several', '{"value":5000,"description":"👨‍👩‍👧 ❤️"}'],
    ['a byte order mark', '\ufeff{"value":5000}'],
  ] as const) {
    const answer = await w.app.inject(deposit(key, body, { 'content-type': 'application/json; charset=utf-8' }))
    expect([name, answer.statusCode, answer.json().charge?.value]).toEqual([name, 201, 5000])
  }
  expect(await w.count('charges', `external_id = 'forged'`)).toBe(0)
})

test('fields that are not known are ignored and named, in a form and a number that a header can carry', async () => {
  const w = await world()
  const { key } = await w.account()
  const ignored = async (body: string) => {
    const { statusCode, headers } = await w.app.inject(deposit(key, body))
    return [statusCode, headers['guiche-ignored']]
  }
  expect(await ignored('{"value":5000,"externalId":"order-1"}')).toEqual([201, undefined])
  expect(await ignored('{"value":5000,"externalID":"order-1","meta":{}}')).toEqual([201, 'externalID, meta'])
  expect(await ignored('{"Value":5000}')).toEqual([400, 'Value'])
  expect(await ignored('[{"x":1}]')).toEqual([400, undefined])
  expect(await ignored('{"value":5000,"a\\r\\nX-Evil: 1":1,"ção":1,"__proto__":1,"":1}')).toEqual([
    201,
    'a??X-Evil??1, ??o, __proto__, ?',
  ])
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}`.padStart(300, 'x'), 1]))
  const [, header] = await ignored(JSON.stringify({ value: 5000, ...many }))
  expect(header).toBe(Array(10).fill('x'.repeat(64)).join(', '))

  const webhook = { method: 'POST', url: '/api/events/resend', headers: bearer(key) } as const
  const answer = await w.app.inject({ ...webhook, payload: { failed: true, webhookID: 'x' } })
  expect([answer.statusCode, answer.headers['guiche-ignored']]).toEqual([200, 'webhookID'])
})

test('a charge is not found, whether unknown, malformed or another account’s', async () => {
  const w = await world()
  const [mine, other] = [await w.account(), await w.account()]
  const theirs = await w.deposit(other)
  const ids = [
    theirs.paymentLinkId,
    UNKNOWN_ID,
    theirs.id,
    'x',
    '%00',
    '%zz',
    '%ff',
    'x'.repeat(4000),
    ' ',
    `${UNKNOWN_ID}x`,
  ]
  for (const id of ids.map((id) => (id.startsWith('%') ? id : encodeURIComponent(id)))) {
    for (const request of [
      get(mine.key, `/api/deposit/${id}`),
      get(mine.key, `/api/deposits/${id}`),
      post(mine.key, `/api/deposit/${id}/cancel`),
    ]) {
      const answer = await w.app.inject(request)
      expect([id, answer.statusCode, answer.json()]).toEqual([id, 404, { success: false, error: 'Charge not found' }])
    }
  }
})

describe('canceling', () => {
  test('answers the full record, twice if asked twice, and takes no body', async () => {
    const w = await world()
    const account = await w.account()
    const charge = await w.deposit(account)
    const url = `/api/deposit/${charge.paymentLinkId}/cancel`
    const first = await w.app.inject(post(account.key, url))
    const second = await w.app.inject({
      ...post(account.key, url),
      headers: { ...bearer(account.key), 'content-type': 'application/json' },
    })

    expect([first.statusCode, Object.keys(first.json().charge)]).toEqual([200, RECORD_FIELDS])
    expect(first.json().charge).toMatchObject({ status: 'CANCELED', creditedValue: null, paidAt: null })
    expect(second.json()).toEqual(first.json())
  })

  test('a charge that was paid is 409 and completes it', async () => {
    const w = await world()
    const { charge, account } = await w.paidCharge()
    const answer = await w.app.inject(post(account.key, `/api/deposit/${charge.paymentLinkId}/cancel`))
    expect([answer.statusCode, answer.json().error]).toEqual([409, 'Charge is COMPLETED and cannot be canceled'])
  })
})

async function written(w: World) {
  const tables = ['charges', 'checks', 'idempotency_keys', 'external_ids']
  return Object.fromEntries(await Promise.all(tables.map(async (table) => [table, await w.count(table)])))
}
