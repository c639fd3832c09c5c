import { expect, test } from 'vitest'
import { z } from 'zod'
import { makeCheckedSerializer, makeSerializer } from '../src/http/server/schemas.ts'
import { appWith, get } from './requests.ts'
import { world } from './world.ts'

// A schema with every kind of field that an answer has.
const schema = z
  .object({
    success: z.literal(true),
    text: z.string(),
    none: z.string().nullable(),
    count: z.int(),
    noCount: z.int().nullable(),
    at: z.iso.datetime(),
    never: z.iso.datetime().nullable(),
    status: z.enum(['OPEN', 'CLOSED']),
    noStatus: z.enum(['OPEN', 'CLOSED']).nullable(),
    isPaid: z.boolean(),
    optional: z.string().exactOptional(),
    part: z.object({ id: z.uuid() }).meta({ id: 'Part' }).nullable(),
    parts: z.object({ id: z.uuid() }).array(),
    headers: z.record(z.string(), z.string()),
    data: z.looseObject({}),
    moment: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('paid'), at: z.iso.datetime() }),
      z.object({ kind: z.enum(['held', 'kept']), cents: z.int().nullable() }),
    ]),
  })
  .meta({ id: 'Everything' })

const ID = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'
const AT = '2026-01-31T12:00:00.000Z'
const answer = {
  success: true,
  text: 'R$ 5,00 "à vista" \\ \u2028 \u0007 😀',
  none: null,
  count: -9_007_199_254_740_991,
  noCount: null,
  at: AT,
  never: null,
  status: 'OPEN',
  noStatus: null,
  isPaid: false,
  part: null,
  parts: [{ id: ID }],
  headers: { 'content-type': 'text/plain', '"': '\n' },
  data: { deep: [{ any: null }], number: 1.5 },
  moment: { kind: 'kept', cents: null },
}
const others = {
  ...answer,
  none: '',
  noCount: 0,
  never: AT,
  noStatus: 'CLOSED',
  optional: 'given',
  part: { id: ID },
  parts: [],
  moment: { kind: 'paid', at: AT },
}

test.each([answer, others])('an answer is written as its schema says, whatever its fields are', (given) => {
  expect(JSON.parse(makeSerializer({ schema })(given))).toEqual(given)
  expect(() => makeCheckedSerializer({ schema })(given)).not.toThrow()
})

test('an answer never contains a field that its schema does not name', () => {
  const secret = 'not for callers'
  const leaking = {
    ...others,
    secret,
    part: { id: ID, secret },
    parts: [{ id: ID, secret }],
    moment: { kind: 'paid', at: AT, secret },
  }
  expect(makeSerializer({ schema })(leaking)).not.toContain('secret')
  expect(makeCheckedSerializer({ schema })(leaking)).not.toContain('secret')
})

test('an answer that lacks a field is an error', () => {
  const { text: _, ...incomplete } = answer
  expect(() => makeSerializer({ schema })(incomplete)).toThrow('"text" is required')
})

test.each([
  { status: 'LOST' },
  { at: 'yesterday' },
  { at: new Date(AT) },
  { count: 1.5 },
  { text: null },
  { noCount: '0' },
  { parts: [{ id: '1' }] },
])('tests fail for an answer that its schema does not allow: %j', (wrong) => {
  expect(() => makeCheckedSerializer({ schema })({ ...answer, ...wrong })).toThrow(Error)
})

test('the app of the tests checks its answers', async () => {
  const w = await world()
  const { key } = await w.account()
  const app = await appWith({ ...w.ctx, readShared: async () => ({ balanceCents: 0.5 }) as never })
  expect((await app.inject(get(key, '/api/balance'))).statusCode).toBe(500)
})
