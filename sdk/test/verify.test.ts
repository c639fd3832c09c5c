import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  verify,
  WebhookVerificationError,
  type EventOf,
  type GuicheEvent,
  type VerificationReason,
  type WebhookHeaders,
} from '../src/verify.ts'
import { verifyAsync } from '../src/verify-async.ts'
import { DEPOSIT, OTHER_SECRET, SAMPLE, SECRET, sign, type Signed } from './signer.ts'

const NOW = new Date('2026-03-10T12:00:05.900Z')
const now = () => NOW
const later = (seconds: number) => () => new Date(NOW.getTime() + seconds * 1000)

function reasonOf(work: () => unknown): VerificationReason | 'accepted' {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason
    throw error
  }
}

const judge = ({ body, headers }: Signed, secret: string | string[] = SECRET, clock = now) =>
  reasonOf(() => verify(body, headers, secret, { now: clock }))

test('an example that somebody sent is refused, unless tests are accepted, and then says what it is', async () => {
  const { body, headers } = sign(SAMPLE, { at: NOW, id: SAMPLE.id })
  expect(reasonOf(() => verify(body, headers, SECRET, { now }))).toBe('test_event')
  await expect(verifyAsync(body, headers, SECRET, { now })).rejects.toMatchObject({ reason: 'test_event' })
  const accepted = { ...SAMPLE, event: 'DEPOSIT_ASSET_SUCCESS' }
  expect(verify(body, headers, SECRET, { now, acceptTests: true })).toEqual(accepted)
  expect(await verifyAsync(body, headers, SECRET, { now, acceptTests: true })).toEqual(accepted)
  // One that is forged is never called a test.
  expect(reasonOf(() => verify(body, headers, OTHER_SECRET, { now, acceptTests: true }))).toBe('bad_signature')
})

describe('what guiche signed', () => {
  test('the vector that the specification publishes is accepted', () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const at = () => new Date(1614265330_000)
    expect(verify('{"test": 2432232314}', headers, SECRET, { now: at })).toEqual({ test: 2432232314 })
  })

  test('comes out whole, from a string and from bytes', () => {
    const { body, headers } = sign(DEPOSIT, { at: NOW })
    expect(verify(body, headers, SECRET, { now })).toEqual(DEPOSIT)
    expect(verify(Buffer.from(body), headers, SECRET, { now })).toEqual(DEPOSIT)
    expect(verify(new TextEncoder().encode(body), headers, SECRET, { now })).toEqual(DEPOSIT)
  })

  test('is accepted by the real clock when none is given', () => {
    const { body, headers } = sign(DEPOSIT, { at: new Date() })
    expect(verify(body, headers, SECRET)).toEqual(DEPOSIT)
  })

  test('has the type of its kind, and a kind of a later version comes through', () => {
    const describeEvent = (event: GuicheEvent): string => {
      switch (event.event) {
        case 'DEPOSIT_ASSET_SUCCESS':
          expectTypeOf(event.data).toEqualTypeOf<EventOf<'DEPOSIT_ASSET_SUCCESS'>['data']>()
          return `${event.data.creditedValue} cents`
        case 'DEPOSIT_REFUNDED':
          expectTypeOf(event.data).toEqualTypeOf<EventOf<'DEPOSIT_REFUNDED'>['data']>()
          return `${event.data.refundedValue} cents back`
        case 'DEPOSIT_REVERSED':
          expectTypeOf(event.data.nature).toEqualTypeOf<'fraud' | 'operational' | 'automatic' | 'other'>()
          return `${event.data.reversedValue} cents reversed`
        case 'DEPOSIT_HELD':
          expectTypeOf(event.data.reason).toEqualTypeOf<
            | 'wrong_amount'
            | 'second_payment'
            | 'wrong_provider'
            | 'refunded_payment'
            | 'payer_unconfirmed'
            | 'code_closed'
            | 'code_limits'
          >()
          return `${event.data.receivedValue} cents held`
        case 'DEPOSIT_RELEASED':
          expectTypeOf(event.data.transactionId).toEqualTypeOf<string | null>()
          return `${event.data.outcome}: ${event.data.creditedValue} cents`
        case 'DEPOSIT_PAYER_CHECKED':
          return event.data.payerMatch
        case 'DEPOSIT_EXPIRED':
        case 'DEPOSIT_CANCELED':
          return event.data.status
        case 'REFUND_FAILED':
          expectTypeOf(event.data.reason).toEqualTypeOf<'not_made' | 'undone'>()
          return `${event.data.refundValue} cents not refunded`
        case 'PAYOUT_PAID':
          return `${event.data.value} cents by ${event.data.reference}`
        case 'PAYOUT_REJECTED':
          return event.data.reason
        case 'DISPUTE_OPENED':
          return `${event.data.heldValue} cents until ${event.data.deadlineAt}`
        case 'DISPUTE_ENDED':
          expectTypeOf(event.data.status).toEqualTypeOf<'ACCEPTED' | 'REJECTED' | 'CANCELED'>()
          return event.data.status
        case 'WEBHOOK_DISABLED':
          return event.data.reason
        case 'KEY_CREATED':
        case 'KEY_REVOKED':
          return event.data.scopes.join()
        case 'WEBHOOK_TEST':
          expectTypeOf(event.data).toEqualTypeOf<{ message: string }>()
          return event.data.message
        default:
          expectTypeOf(event.data).toEqualTypeOf<Record<string, unknown>>()
          return `unknown: ${event.event}`
      }
    }
    const pass = (content: unknown) => {
      const { body, headers } = sign(content, { at: NOW })
      return describeEvent(verify(body, headers, SECRET, { now }))
    }
    expect(pass(DEPOSIT)).toBe('4950 cents')
    expect(pass({ ...DEPOSIT, event: 'WEBHOOK_TEST', data: { message: 'hello' } })).toBe('hello')
    expect(pass({ ...DEPOSIT, event: 'DEPOSIT_REFUNDED', data: { refundedValue: 100 } })).toBe('100 cents back')
    expect(pass({ ...DEPOSIT, event: 'DEPOSIT_EXPIRED', data: { status: 'EXPIRED' } })).toBe('EXPIRED')
    expect(pass({ ...DEPOSIT, event: 'NEW_KIND', data: { anything: [1] } })).toBe('unknown: NEW_KIND')
  })
})

describe('what anybody else sends', () => {
  const anyByteChange = fc.record({ at: fc.nat(), flip: fc.integer({ min: 1, max: 255 }) })

  test('a body with any byte changed is refused', () => {
    const { body, headers } = sign(DEPOSIT, { at: NOW })
    fc.assert(
      fc.property(anyByteChange, ({ at, flip }) => {
        const bytes = Buffer.from(body)
        bytes[at % bytes.length]! ^= flip
        expect(reasonOf(() => verify(bytes, headers, SECRET, { now }))).toBe('bad_signature')
      }),
    )
  })

  test('a body with anything cut off or added is refused', () => {
    const { body, headers } = sign(DEPOSIT, { at: NOW })
    const cut = fc.nat(body.length - 1).map((length) => body.slice(0, length))
    const longer = fc.string({ minLength: 1 }).map((more) => body + more)
    fc.assert(
      fc.property(fc.oneof(cut, longer), (other) => {
        expect(judge({ body: other, headers })).toBe('bad_signature')
      }),
    )
  })

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const)(
    'any change of %s is refused',
    (name) => {
      const signed = sign(DEPOSIT, { at: NOW })
      const value = signed.headers[name]
      const changed = fc
        .tuple(fc.nat(value.length - 1), fc.integer({ min: 0x20, max: 0x7e }))
        .map(([at, code]) => value.slice(0, at) + String.fromCodePoint(code) + value.slice(at + 1))
      fc.assert(
        fc.property(fc.oneof(changed, fc.string()), (other) => {
          fc.pre(other !== value)
          expect(judge({ ...signed, headers: { ...signed.headers, [name]: other } })).not.toBe('accepted')
        }),
        { numRuns: 1000 },
      )
    },
  )

  test('another way to write the same signature in base64 is refused', () => {
    const signed = sign(DEPOSIT, { at: NOW })
    const signature = signed.headers['webhook-signature']
    const bytesOf = (text: string) => Buffer.from(text.slice(3), 'base64')
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
    const twins = alphabet
      .split('')
      .map((last) => `${signature.slice(0, -2)}${last}=`)
      .concat(signature.slice(0, -1), `${signature}=`)
      .filter((text) => text !== signature && bytesOf(text).equals(bytesOf(signature)))
    expect(twins.length).toBeGreaterThan(3)
    for (const twin of twins) {
      expect(judge({ ...signed, headers: { ...signed.headers, 'webhook-signature': twin } })).toBe('bad_signature')
    }
  })

  test('the same JSON written anew is refused, which is why the raw body is asked for', () => {
    const { headers } = sign(JSON.stringify(DEPOSIT, null, 1), { at: NOW })
    expect(judge({ body: JSON.stringify(DEPOSIT), headers })).toBe('bad_signature')
  })

  test('the end of one message cannot be passed off as another', () => {
    const inner = sign('{"event":"DEPOSIT_ASSET_SUCCESS"}', { at: NOW })
    const stamp = inner.headers['webhook-timestamp']
    const outer = sign(`x.${stamp}.${inner.body}`, { at: NOW, id: 'evt_a' })
    const headers = { ...outer.headers, 'webhook-id': `evt_a.${stamp}.x` }
    expect(judge({ body: inner.body, headers })).toBe('bad_signature')
  })

  test('a signature of another version counts for nothing, whatever it holds', () => {
    const signed = sign(DEPOSIT, { at: NOW })
    const signature = signed.headers['webhook-signature']
    const withSignature = (text: string) => ({ ...signed, headers: { ...signed.headers, 'webhook-signature': text } })
    expect(judge(withSignature(signature.replace('v1,', 'v2,')))).toBe('bad_signature')
    expect(judge(withSignature(signature.replace('v1,', 'v1a,')))).toBe('bad_signature')
    expect(judge(withSignature(`v1a,AAAA v9 , ${signature} v1,`))).toBe('accepted')
  })

  test('what is signed but is no JSON object is refused', () => {
    for (const body of ['', 'null', '[]', '"text"', '{"a":', '42']) {
      expect(judge(sign(body, { at: NOW }))).toBe('bad_payload')
    }
  })
})

describe('secrets', () => {
  test('while a secret is replaced, either of the two is enough, in any order', () => {
    for (const secrets of [
      [SECRET, OTHER_SECRET],
      [OTHER_SECRET, SECRET],
    ]) {
      const both = sign(DEPOSIT, { at: NOW, secrets })
      expect(judge(both, SECRET)).toBe('accepted')
      expect(judge(both, OTHER_SECRET)).toBe('accepted')
      for (const secret of secrets)
        expect(judge(sign(DEPOSIT, { at: NOW, secrets: [secret] }), secrets)).toBe('accepted')
    }
  })

  test('another endpoint has another secret, and its messages are refused', () => {
    expect(judge(sign(DEPOSIT, { at: NOW }), OTHER_SECRET)).toBe('bad_signature')
    expect(judge(sign(DEPOSIT, { at: NOW }), [OTHER_SECRET, OTHER_SECRET])).toBe('bad_signature')
  })

  test('a secret that was lost or damaged on the way is named as the cause, also beside a good one', () => {
    const damaged = [
      '',
      'whsec_',
      SECRET.slice(6),
      SECRET.slice(0, -1),
      `${SECRET}\n`,
      `${SECRET.slice(0, -1)}!`,
      'gk_test_abcd',
    ]
    for (const secret of damaged) {
      expect(judge(sign(DEPOSIT, { at: NOW }), secret)).toBe('bad_secret')
      expect(judge(sign(DEPOSIT, { at: NOW }), [SECRET, secret])).toBe('bad_secret')
    }
    expect(judge(sign(DEPOSIT, { at: NOW }), [])).toBe('bad_secret')
  })

  test('an environment variable that is not set refuses everything', () => {
    const { body, headers } = sign(DEPOSIT, { at: NOW })
    // @ts-expect-error Only TypeScript refuses this: a JavaScript program can pass it.
    expect(reasonOf(() => verify(body, headers, undefined, { now }))).toBe('bad_secret')
  })

  test('no error tells the secret or the right signature', () => {
    const { body, headers } = sign(DEPOSIT, { at: NOW })
    for (const secret of [SECRET, `${SECRET}!`]) {
      const error = catchError(() => verify(`${body} `, headers, secret, { now }))
      expect(String(error.stack)).not.toContain(SECRET.slice(6, 20))
      expect(String(error.stack)).not.toMatch(/v1,[\w+/]{20}/)
    }
  })
})

describe('time', () => {
  const signed = sign(DEPOSIT, { at: NOW })

  test('a message is good for five minutes to both sides, and not a second longer', () => {
    expect(judge(signed, SECRET, later(300))).toBe('accepted')
    expect(judge(signed, SECRET, later(301))).toBe('too_old')
    expect(judge(signed, SECRET, later(-300))).toBe('accepted')
    expect(judge(signed, SECRET, later(-301))).toBe('too_new')
  })

  test('the receiver may choose another span', () => {
    const within = (toleranceSeconds: number, seconds: number) =>
      reasonOf(() => verify(signed.body, signed.headers, SECRET, { now: later(seconds), toleranceSeconds }))
    expect(within(10, 10)).toBe('accepted')
    expect(within(10, 11)).toBe('too_old')
    expect(within(0, 0)).toBe('accepted')
    expect(within(Infinity, 1e9)).toBe('accepted')
    expect(within(NaN, 0)).toBe('too_old')
  })

  test('a timestamp that is no whole number of seconds is refused as such', () => {
    for (const timestamp of ['soon', '1e9', '-1', '1773144005.9', ' 1773144005', '0x69b0', '9'.repeat(16)]) {
      expect(judge({ ...signed, headers: { ...signed.headers, 'webhook-timestamp': timestamp } })).toBe('bad_timestamp')
    }
  })
})

describe('headers', () => {
  const { body, headers } = sign(DEPOSIT, { at: NOW })
  const judgeHeaders = (given: WebhookHeaders) => reasonOf(() => verify(body, given, SECRET, { now }))
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))

  test.each<[string, WebhookHeaders]>([
    ['Fetch Headers', new Headers(headers)],
    ['the headers of a Node request', { ...headers, host: 'a.example', 'set-cookie': ['a', 'b'], absent: undefined }],
    ['names in any case', upper],
    ['values in arrays', Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))],
    ['a Map', new Map(Object.entries(upper))],
    ['pairs', Object.entries(headers)],
    ['an object with get', { get: (name: string) => new Headers(headers).get(name) }],
    ['signatures in several values', { ...headers, 'webhook-signature': ['v1,AAAA', headers['webhook-signature']] }],
  ])('%s will do', (_, given) => {
    expect(judgeHeaders(given)).toBe('accepted')
  })

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without %s it is refused', (name) => {
    const without = Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name))
    expect(judgeHeaders(without)).toBe('missing_header')
    expect(judgeHeaders({ ...without, [name]: '' })).toBe('missing_header')
    expect(judgeHeaders({ ...without, [name]: [] })).toBe('missing_header')
    expect(judgeHeaders(new Headers(without))).toBe('missing_header')
    expect(judgeHeaders({ get: (key: string) => new Headers(without).get(key) })).toBe('missing_header')
  })

  test('an id or timestamp in two versions is refused, since only one of them was signed', () => {
    expect(judgeHeaders({ ...headers, 'Webhook-Id': 'evt_other' })).toBe('missing_header')
    expect(judgeHeaders({ ...headers, 'webhook-id': [headers['webhook-id'], 'evt_other'] })).toBe('missing_header')
    expect(judgeHeaders({ ...headers, 'webhook-timestamp': [headers['webhook-timestamp'], '1'] })).toBe(
      'missing_header',
    )
  })
})

test('a parsed body is refused in words that say what to pass instead', () => {
  const { headers } = sign(DEPOSIT, { at: NOW })
  // @ts-expect-error A framework that parses JSON by itself passes such an object.
  const error = catchError(() => verify(DEPOSIT, headers, SECRET, { now }))
  expect(error).toMatchObject({ reason: 'bad_payload', message: expect.stringContaining('raw body') })
})

// The library uses the system clock, so these messages are signed with the real time.
describe("beside the specification's own library", () => {
  const anyMessage = fc.record({
    id: fc.stringMatching(/^[\w-]{1,40}$/),
    content: fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
    key: fc.uint8Array({ minLength: 24, maxLength: 64 }),
  })

  test('what it signs is accepted here, and gives the same content', () => {
    fc.assert(
      fc.property(anyMessage, ({ id, content, key }) => {
        const secret = `whsec_${Buffer.from(key).toString('base64')}`
        const library = new Webhook(secret)
        const body = JSON.stringify(content)
        const at = new Date()
        const headers = {
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
          'webhook-signature': library.sign(id, at, body),
        }
        expect(verify(body, headers, secret)).toEqual(library.verify(body, headers))
      }),
    )
  })

  test('what is signed for one secret, both accept with it and refuse with another', () => {
    fc.assert(
      fc.property(anyMessage, fc.boolean(), ({ id, content, key }, isRight) => {
        const secret = `whsec_${Buffer.from(key).toString('base64')}`
        const signed = sign(content, { at: new Date(), id, secrets: [secret] })
        const held = isRight ? secret : OTHER_SECRET
        fc.pre(isRight || secret !== OTHER_SECRET)
        const isAccepted = reasonOf(() => verify(signed.body, signed.headers, held)) === 'accepted'
        expect(isAccepted).toBe(isRight)
        expect(accepts(() => new Webhook(held).verify(signed.body, signed.headers))).toBe(isRight)
      }),
    )
  })
})

test('verifyAsync judges every message as verify does', async () => {
  const secrets = fc.subarray([SECRET, OTHER_SECRET])
  const anyDelivery = fc.record({
    signedBy: secrets,
    heldBy: secrets,
    ageSeconds: fc.integer({ min: -310, max: 310 }),
    id: fc.constantFrom('evt_1', 'evt.1', ''),
    body: fc.constantFrom(DEPOSIT, 'no JSON', ''),
    isChanged: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(anyDelivery, async ({ signedBy, heldBy, ageSeconds, id, body, isChanged }) => {
      const signed = sign(body, { at: NOW, secrets: signedBy, id })
      const payload = isChanged ? `${signed.body} ` : signed.body
      const rest = [signed.headers, heldBy, { now: later(ageSeconds) }] as const
      const outcome = await verifyAsync(payload, ...rest).then(
        () => 'accepted',
        (error: WebhookVerificationError) => error.reason,
      )
      expect(outcome).toBe(reasonOf(() => verify(payload, ...rest)))
    }),
  )
})

function accepts(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

function catchError(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('nothing was thrown')
}
