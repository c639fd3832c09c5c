import { readFileSync } from 'node:fs'
import type { InjectOptions } from 'fastify'
import { expect, test } from 'vitest'
import { ERROR_TEXTS } from '../../web/src/base/error-code-texts.ts'
import { ERROR_CODES, type ErrorCode } from '../src/http/server/error-codes.ts'
import { deposit, get, UNKNOWN_ID } from './requests.ts'
import { DEFAULT_TERMS, world } from './world.ts'

// The dashboard uses codes, never the words of a text. Types require a text for every webhook reason and audit action.
// Not every error reaches a page, so this test compares the error codes.

/** Codes whose texts contain amounts or states of the page. */
const TEXTS_OF_PAGES: Record<string, ErrorCode[]> = {
  'account/deposits/deposit-errors.ts': [
    'value_too_small',
    'value_too_large',
    'value_not_above_fee',
    'external_id_taken',
    'not_cancelable',
    'payment_held',
    'not_refundable',
    'already_refunded',
    'refund_too_large',
    'balance_too_small',
  ],
  'operator/exceptions/resolve.tsx': [
    'exception_resolved',
    'exception_resolving',
    'payment_rest_held',
    'payment_not_credited',
    'payment_returned',
    'payment_refunded',
    'payment_below_fee',
    'charge_not_named',
    'charge_completed',
  ],
  'ui/data/delivery-reasons.ts': ['url_not_allowed'],
}

/** A page does not send such requests; if one does, it shows the server's text. */
const WITHOUT_TEXT: ErrorCode[] = [
  'bad_request',
  'body_invalid',
  'field_invalid', // each field has a rule of its own, and the server's text names it
  'order_paid',
  'history_changed',
  'key_missing',
  'key_invalid',
  'signature_wrong',
  'request_timeout',
  'method_not_allowed',
  'body_too_large',
  'unsupported_type',
  'expectation_failed',
  'headers_too_large',
  'internal', // the page shows its status and the request's id
]

test('the dashboard has a text for every code that a page can meet', () => {
  const general = Object.keys(ERROR_TEXTS)
  const ofPages = Object.entries(TEXTS_OF_PAGES).flatMap(([file, codes]) => {
    const source = readFileSync(new URL(`../../web/src/${file}`, import.meta.url), 'utf8')
    return codes.filter((code) => new RegExp(`\\b${code}\\b`).test(source))
  })
  const known = new Set<string>([...general, ...ofPages, ...WITHOUT_TEXT])
  expect(ERROR_CODES.filter((code) => !known.has(code))).toEqual([])
  expect(WITHOUT_TEXT.filter((code) => general.includes(code))).toEqual([])
})

test('every refusal under /api names its code in a header, and the body has two fields', async () => {
  const w = await world({ settings: { terms: { ...DEFAULT_TERMS, valueMinCents: 500 } } })
  const { key } = await w.account()
  const refused = async (request: InjectOptions) => {
    const answer = await w.app.inject(request)
    expect(Object.keys(answer.json())).toEqual(['success', 'error'])
    return [answer.statusCode, answer.headers['guiche-error']]
  }
  expect(await refused(get(key, `/api/deposit/${UNKNOWN_ID}`))).toEqual([404, 'not_found'])
  expect(await refused(get('nonsense', '/api/balance'))).toEqual([401, 'key_invalid'])
  expect(await refused({ url: '/api/balance' })).toEqual([401, 'key_missing'])
  expect(await refused(get(key, '/api/nowhere'))).toEqual([404, 'not_found'])
  expect(await refused({ method: 'PUT', url: '/api/balance' })).toEqual([405, 'method_not_allowed'])
  expect(await refused(deposit(key, '{"value":'))).toEqual([400, 'body_invalid'])
  expect(await refused(deposit(key, '{"value":499}'))).toEqual([400, 'value_too_small'])
  const taken = '{"value":500,"externalId":"order-1"}'
  expect((await w.app.inject(deposit(key, taken))).headers['guiche-error']).toBeUndefined()
  expect(await refused(deposit(key, taken))).toEqual([409, 'external_id_taken'])
})

test('the dashboard is told the code and its values in the body', async () => {
  const w = await world({ settings: { terms: { ...DEFAULT_TERMS, valueMinCents: 500 } } })
  const session = await w.session(await w.account())
  const answer = await session.ask('POST', '/dashboard/api/deposit', { value: 499 })
  expect(answer.json()).toEqual({
    success: false,
    error: 'value must be at least 500 (cents)',
    code: 'value_too_small',
    details: { minCents: 500 },
  })
})
