import { expect, test } from 'vitest'
import { suspendAccount } from '../src/domain/accounts/accounts.ts'
import { makeOperator } from './operators-client.ts'
import { completedCharge, OPERATOR } from './refund-steps.ts'
import { bearer, expectEnvelopeHeaders, get, UNKNOWN_ID } from './requests.ts'
import { world } from './world.ts'

/** An account with R$ 99,00 available, and an operator with a key. */
async function funded() {
  const w = await world()
  const { account } = await completedCharge(w, { valueCents: 100_00 })
  const operator = await makeOperator(w)
  const send = (key: string, url: string, payload: object, headers: Record<string, string> = {}) =>
    w.app.inject({ method: 'POST', url, headers: { ...bearer(key), ...headers }, payload })
  const ask = (payload: object, headers?: Record<string, string>) => send(account.key, '/api/payouts', payload, headers)
  const decide = (id: string, how: string, payload: object) =>
    send(operator.key, `/api/operator/payouts/${id}/${how}`, payload)
  return { w, account, operator, send, ask, decide }
}

test('an account holder asks for a payout, and reads how it goes on', async () => {
  const { w, account, ask, decide } = await funded()
  const asked = await ask({ value: 40_00, note: 'March' })
  expect(asked.statusCode).toBe(201)
  expectEnvelopeHeaders(asked)
  const payout = {
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    value: 40_00,
    note: 'March',
    status: 'REQUESTED',
    requestedAt: '2026-03-02T12:00:00.000Z',
    endedAt: null,
    reference: null,
    paidAt: null,
    reason: null,
    requestedBy: 'account',
  }
  expect(asked.json()).toEqual({ success: true, payout })
  const { id } = asked.json().payout
  expect(asked.headers.location).toBe(`/api/payouts/${id}`)
  expect((await w.app.inject(get(account.key, '/api/balance'))).json()).toEqual({
    success: true,
    balance: 99_00,
    available: 59_00,
    reserved: 40_00,
    held: 0,
    owed: 0,
    currency: 'BRL',
  })
  w.clock.advance(1_000)
  expect((await decide(id, 'pay', { reference: 'E1' })).statusCode).toBe(200)
  const paid = { status: 'PAID', endedAt: '2026-03-02T12:00:01.000Z', reference: 'E1', paidAt: '2026-03-02' }
  expect((await w.app.inject(get(account.key, `/api/payouts/${id}`))).json()).toEqual({
    success: true,
    payout: { ...payout, ...paid },
  })
  const { lines } = (await w.app.inject(get(account.key, '/api/statement?limit=1'))).json()
  expect(lines).toMatchObject([
    { payoutId: id, amount: -40_00, balance: 59_00, payout: { status: 'PAID', reference: 'E1', paidAt: '2026-03-02' } },
  ])
})

test('payouts come newest first, in pages, by status, and only those of the account', async () => {
  const { w, account, operator, ask, decide } = await funded()
  for (const value of [100, 200, 300]) await ask({ value })
  const list = async (key: string, url: string) => (await w.app.inject(get(key, url))).json()
  const first = await list(account.key, '/api/payouts?limit=2')
  const second = await list(account.key, `/api/payouts?limit=2&cursor=${first.nextCursor}`)
  expect([...first.payouts, ...second.payouts].map(({ value }) => value)).toEqual([300, 200, 100])
  expect(second.nextCursor).toBeNull()
  await decide(second.payouts[0].id, 'reject', { reason: 'no' })
  expect((await list(account.key, '/api/payouts?status=REJECTED')).payouts).toMatchObject([
    { value: 100, reason: 'no' },
  ])
  const other = await w.account()
  expect((await list(other.key, '/api/payouts')).payouts).toEqual([])
  const { id } = second.payouts[0]
  for (const unknown of [id, UNKNOWN_ID, 'x']) {
    const answer = await w.app.inject(get(other.key, `/api/payouts/${unknown}`))
    expect([answer.statusCode, answer.json().error]).toEqual([404, 'Payout not found'])
  }
  const all = await list(operator.key, `/api/operator/payouts?status=REQUESTED&accountId=${account.accountId}`)
  expect(all.payouts.map(({ value }: { value: number }) => value)).toEqual([300, 200])
  expect((await list(operator.key, `/api/operator/payouts?accountId=${other.accountId}`)).payouts).toEqual([])
})

test('an operator asks for an account, with a name that the account holder does not see', async () => {
  const { w, account, operator, send } = await funded()
  await suspendAccount(w.ctx, OPERATOR, account.accountId, 'closed')
  const body = { accountId: account.accountId, value: 99_00 }
  const key = { 'idempotency-key': 'last' }
  const asked = await send(operator.key, '/api/operator/payouts', body, key)
  expect(asked.statusCode).toBe(201)
  expect(asked.json().payout).toMatchObject({
    accountId: account.accountId,
    email: account.email,
    requestedBy: `operator ${operator.email}`,
    endedBy: null,
  })
  const again = await send(operator.key, '/api/operator/payouts', body, key)
  expect([again.json().payout.id, again.headers['idempotency-replayed']]).toEqual([asked.json().payout.id, 'true'])
  w.clock.advance(2_000)
  const mine = await w.app.inject(get(account.key, '/api/payouts'))
  expect(mine.json().payouts).toMatchObject([{ requestedBy: 'operator' }])
  const more = await send(account.key, '/api/payouts', { value: 1 })
  expect([more.statusCode, more.json().error]).toEqual([403, 'This account is suspended'])
  const unknown = { accountId: UNKNOWN_ID, value: 1 }
  expect((await send(operator.key, '/api/operator/payouts', unknown)).statusCode).toBe(404)
})

test('a key without the scope neither asks nor reads', async () => {
  const { w, send } = await funded()
  const { key } = await w.account({ scopes: ['balance:read'] })
  const [asked, read] = [await send(key, '/api/payouts', { value: 1 }), await w.app.inject(get(key, '/api/payouts'))]
  expect([asked.statusCode, asked.json().error]).toEqual([403, 'This API key lacks the scope payouts:write'])
  expect([read.statusCode, read.json().error]).toEqual([403, 'This API key lacks the scope payouts:read'])
})

test.each<[what: string, body: object, status: number, code: string, error: string]>([
  ['no value', {}, 400, 'field_invalid', 'value must be a positive integer (cents)'],
  ['a value of nothing', { value: 0 }, 400, 'field_invalid', 'value must be a positive integer (cents)'],
  ['a value in text', { value: '5' }, 400, 'field_invalid', 'value must be a positive integer (cents)'],
  [
    'a value that is no number of cents',
    { value: 1e300 },
    400,
    'field_invalid',
    'value must be a positive integer (cents)',
  ],
  [
    'a long note',
    { value: 1, note: 'x'.repeat(141) },
    400,
    'field_invalid',
    'note must be at most 140 characters, without control or invisible characters',
  ],
  [
    'more than is there',
    { value: 99_01 },
    409,
    'balance_too_small',
    'Balance is too small: it is 9900 cents, and 9901 are needed',
  ],
])('%s is refused', async (_, body, status, code, error) => {
  const { w, ask } = await funded()
  const answer = await ask(body)
  expect([answer.statusCode, answer.headers['guiche-error'], answer.json().error]).toEqual([status, code, error])
  expect(await w.count('payouts')).toBe(0)
})

test.each<[how: string, body: object, error: string]>([
  ['pay', {}, 'reference must be 1 to 100 characters, without control or invisible characters'],
  ['pay', { reference: '' }, 'reference must be 1 to 100 characters, without control or invisible characters'],
  ['pay', { reference: ' ' }, 'reference must not be empty'],
  ['pay', { reference: 'E1', paidAt: '02/03/2026' }, 'paidAt must be a date such as 2026-01-31'],
  [
    'pay',
    { reference: 'E1', paidAt: '2026-03-01' },
    'paidAt must be 2026-03-02: not before the request, and not in the future',
  ],
  ['reject', {}, 'reason must be 1 to 500 characters, without control or invisible characters'],
])('to %s with %j is refused', async (how, body, error) => {
  const { ask, decide } = await funded()
  const { id } = (await ask({ value: 1 })).json().payout
  const answer = await decide(id, how, body)
  expect([answer.statusCode, answer.json().error]).toEqual([400, error])
})

test('a decision about a payout that has ended says how it ended', async () => {
  const { ask, decide } = await funded()
  const { id } = (await ask({ value: 1 })).json().payout
  await decide(id, 'pay', { reference: 'E1' })
  const answer = await decide(id, 'reject', { reason: 'no' })
  expect([answer.statusCode, answer.headers['guiche-error'], answer.json().error]).toEqual([
    409,
    'payout_ended',
    'Payout is already PAID, on 2026-03-02 with the reference E1',
  ])
  expect((await decide('f'.repeat(32), 'pay', { reference: 'E1' })).statusCode).toBe(404)
})
