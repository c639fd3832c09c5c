import { expect, test } from 'vitest'
import { query } from '../src/db/tx.ts'
import { exportAccount } from '../src/domain/reports/export-account.ts'
import { bearer, deposit, get } from './requests.ts'
import { changeMind, followToEnd, refund, settleAll } from './refund-steps.ts'
import { world, type TestAccount, type World } from './world.ts'

const METADATA = { z: 'last comes first', cart: 'é "7"\n✓', 'a.b-c_1': '' }

async function create(w: World, account: TestAccount, body: object, key?: string) {
  const headers = key === undefined ? {} : { 'idempotency-key': key }
  const answer = await w.app.inject(deposit(account.key, JSON.stringify(body), headers))
  return { status: answer.statusCode, ...answer.json() }
}

test('metadata comes back in records, lists, exports and the event, with its keys in their order', async () => {
  const w = await world()
  const account = await w.account()
  const { charge } = await create(w, account, { value: 50_00, metadata: METADATA })
  expect(charge).not.toHaveProperty('metadata')
  const plain = (await create(w, account, { value: 1_00 })).charge

  const { pix } = await w.sandbox.pay({ emv: charge.emv })
  const { endToEndId } = pix[0]!
  const occurredAt = w.clock.now()
  await settleAll(w, [{ provider: 'sandbox', endToEndId, txid: charge.id, amountCents: 50_00, occurredAt }])

  const read = async (url: string) => (await w.app.inject(get(account.key, url))).json()
  const { deposits } = await read('/api/deposits')
  expect(deposits.map((one: { metadata: unknown }) => one.metadata)).toEqual([null, METADATA])
  expect(Object.keys(deposits[1].metadata)).toEqual(Object.keys(METADATA))
  expect((await read(`/api/deposits/${charge.paymentLinkId}`)).deposit.metadata).toEqual(METADATA)
  expect((await read(`/api/deposits/${plain.paymentLinkId}`)).deposit.metadata).toBeNull()
  expect((await read('/api/events')).events[0].data.metadata).toEqual(METADATA)
  const session = await w.session(account)
  expect((await session.ask('GET', '/dashboard/api/deposits.csv')).body).toContain(
    `"${JSON.stringify(METADATA).replaceAll('"', '""')}"`,
  )
  let text = ''
  for await (const piece of exportAccount(w.ctx, account.accountId)) text += piece
  const exported = JSON.parse(text)
  expect(exported.charges.map((one: { metadata: unknown }) => one.metadata)).toEqual([METADATA, null])
  const page = await w.app.inject({ method: 'GET', url: `/payment-link/${charge.paymentLinkId}` })
  expect(page.body).not.toContain('last comes first')
  expect(await w.differences()).toEqual([])
})

test('metadata is part of what an idempotency key asks for, and of what the id of a charge proves', async () => {
  const w = await world()
  const account = await w.account()
  const body = { value: 50_00, metadata: { cart: '7' } }
  const { charge } = await create(w, account, body, 'key')
  expect((await create(w, account, body, 'key')).charge.id).toBe(charge.id)
  expect(await create(w, account, { ...body, metadata: { cart: '8' } }, 'key')).toMatchObject({ status: 422 })
  expect(await w.differences()).toEqual([])
  await query(w.pool, `update charges set metadata = '{"cart":"8"}'`, [])
  expect((await w.differences()).map(({ check }) => check)).toContain('code')
})

/** A deposit that was paid, and a refund of it that the bank made and took back. */
async function undoneRefund(w: World, account: TestAccount, body: object) {
  const { charge } = await create(w, account, { value: 50_00, ...body })
  const { pix } = await w.sandbox.pay({ emv: charge.emv })
  const { endToEndId } = pix[0]!
  const occurredAt = w.clock.now()
  await settleAll(w, [{ provider: 'sandbox', endToEndId, txid: charge.id, amountCents: 50_00, occurredAt }])
  await followToEnd(w, await refund(w, charge, { amountCents: 10_00 }))
  await changeMind(w, endToEndId, 'take back')
}

test('events about a refund carry the reference and the metadata of the deposit', async () => {
  const w = await world()
  const account = await w.account()
  await undoneRefund(w, account, { externalId: 'order-1', metadata: METADATA })
  const { events } = (await w.app.inject(get(account.key, '/api/events?order=asc'))).json()
  const told = events.map(({ event, data }: { event: string; data: { externalId: string; metadata: object } }) => [
    event,
    data.externalId,
    JSON.stringify(data.metadata),
  ])
  const kinds = ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED', 'REFUND_FAILED']
  expect(told).toEqual(kinds.map((kind) => [kind, 'order-1', JSON.stringify(METADATA)]))
  expect(await w.differences()).toEqual([])
})

test('events of the release before are right without code, payer and metadata, and those with other metadata than their charge are not', async () => {
  const w = await world()
  await undoneRefund(w, await w.account(), { metadata: { cart: '7' } })
  const rewrite = (from: string, to: string) =>
    query(
      w.pool,
      `begin; alter table events disable trigger all; update events set body = replace(body, '${from}', '${to}');
       alter table events enable trigger all; commit`,
      [],
    )
  const checks = async () => [...new Set((await w.differences()).map(({ check }) => check))].toSorted()
  await rewrite('"cart":"7"', '"cart":"8"')
  // Their seals tell as well that they were altered.
  expect(await checks()).toEqual(['deposit_event', 'event_seal', 'refund_event'])
  await rewrite(',"metadata":{"cart":"8"}', '')
  // None is written with only one of them.
  expect(await checks()).toEqual(['deposit_event', 'event_seal'])
  await rewrite(',"code":null,"payerMatch":null', '')
  expect(await checks()).toEqual(['event_seal'])
})

const LONGEST = 'v'.repeat(500)
const keys = (count: number, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]))

test.each([
  ['an object without keys', {}],
  ['twenty keys', keys(20, 'v')],
  ['the longest key and value', { ['k'.repeat(40)]: '🙂'.repeat(500) }],
  ['exactly 4096 bytes', { ...keys(8, LONGEST), k8: 'v'.repeat(23) }],
  ['a key that means something to JavaScript', { constructor: 'x', toString: 'y' }],
])('metadata may be %s', async (_, metadata) => {
  const w = await world()
  const account = await w.account()
  const { status, charge, error } = await create(w, account, { value: 1_00, metadata })
  expect([status, error]).toEqual([201, undefined])
  const answer = await w.app.inject(get(account.key, `/api/deposits/${charge.paymentLinkId}`))
  expect(JSON.stringify(answer.json().deposit.metadata)).toBe(JSON.stringify(metadata))
})

test('what is no metadata is refused, and says what is', async () => {
  const w = await world()
  const account = await w.account()
  const refused: unknown[] = [
    'text',
    ['a'],
    7,
    { cart: 7 },
    { cart: null },
    { cart: { id: '7' } },
    { 'a b': 'x' },
    { '': 'x' },
    { ['k'.repeat(41)]: 'x' },
    { k: 'v'.repeat(501) },
    JSON.parse('{"__proto__":"x"}'),
    keys(21, 'v'),
    { ...keys(8, LONGEST), k8: 'v'.repeat(24) },
  ]
  for (const metadata of refused)
    expect(await create(w, account, { value: 1_00, metadata })).toMatchObject({
      status: 400,
      error: expect.stringMatching(/^metadata must be an object of at most 20 keys/),
    })
  expect((await create(w, account, { value: 1_00, metadata: null })).status).toBe(201)
  const nul = await w.app.inject({
    method: 'POST',
    url: '/api/deposit',
    headers: { ...bearer(account.key), 'content-type': 'application/json' },
    payload: '{"value":100,"metadata":{"a":"\\u0000"}}',
  })
  expect(nul.statusCode).toBe(400)
})
