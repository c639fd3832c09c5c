import type { InjectOptions } from 'fastify'
import { expect, test } from 'vitest'
import {
  AUDIT_ACTIONS as WEB_ACTIONS,
  ERROR_CODES as WEB_ERRORS,
  REASON_CODES as WEB_REASONS,
} from '../../web/src/contract/codes.ts'
import { AUDIT_ACTIONS } from '../src/domain/core/audit-log.ts'
import { REASON_CODES } from '../src/domain/ports/delivery-reasons.ts'
import { ERROR_CODES } from '../src/http/server/envelope.ts'
import { deposit, get, UNKNOWN_ID } from './requests.ts'
import { world } from './world.ts'

// The dashboard goes by codes, and never by the words of a text.

test('every code that the dashboard has words for is one that the server sends', () => {
  expect(WEB_ERRORS.filter((code) => !ERROR_CODES.includes(code as (typeof ERROR_CODES)[number]))).toEqual([])
})

test('the dashboard has words for every reason that a webhook can fail with', () => {
  expect([...WEB_REASONS].toSorted()).toEqual([...REASON_CODES].toSorted())
})

test('the dashboard has words for every act in the audit log', () => {
  expect([...WEB_ACTIONS].toSorted()).toEqual([...AUDIT_ACTIONS].toSorted())
})

test('every refusal under /api names its code in a header, and the body has two fields', async () => {
  const w = await world({ settings: { terms: { ...TERMS, valueMinCents: 500 } } })
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
  const w = await world({ settings: { terms: { ...TERMS, valueMinCents: 500 } } })
  const session = await w.session(await w.account())
  const answer = await session.ask('POST', '/dashboard/api/deposit', { value: 499 })
  expect(answer.json()).toEqual({
    success: false,
    error: 'value must be at least 500 (cents)',
    code: 'value_too_small',
    details: { minCents: 500 },
  })
})

const TERMS = {
  feeBps: 100,
  feeFixedCents: 0,
  feeMinCents: null,
  feeMaxCents: null,
  feeBearer: 'account',
  valueMinCents: 1,
  valueMaxCents: 999_999_999_999,
} as const
