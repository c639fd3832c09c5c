import type { InjectOptions } from 'fastify'
import { expect, test } from 'vitest'
import { startServer, temporaryHome } from './process.ts'
import { completedCharge, followToEnd, refund, refundAtBank } from './refund-steps.ts'
import { bearer, expectEnvelopeHeaders, get, UNKNOWN_ID } from './requests.ts'
import { until, world, type World } from './world.ts'

const ALLOWED = { settings: { refunds: { byAccounts: true, returnFee: false } } }

function refundRequest(
  key: string,
  paymentLinkId: string,
  body?: unknown,
  headers: Record<string, string> = {},
): InjectOptions {
  const sent = { ...bearer(key), ...(body !== undefined && { 'content-type': 'application/json' }), ...headers }
  const url = `/api/deposit/${paymentLinkId}/refund`
  return { method: 'POST', url, headers: sent, ...(body !== undefined && { payload: JSON.stringify(body) }) }
}

async function refundable(w: World) {
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  await completedCharge(w, { account, valueCents: 10_00 }) // pays for the fee of a whole refund
  const ask = (body?: unknown, headers?: Record<string, string>) =>
    w.app.inject(refundRequest(account.key, charge.paymentLinkId, body, headers))
  return { charge, account, ask }
}

test('an account holder refunds a part, and then all that is left', async () => {
  const w = await world(ALLOWED)
  const { ask, charge, account } = await refundable(w)
  const part = await ask({ value: 20_00, reason: 'one of two came back' })
  expect(part.statusCode).toBe(201)
  expectEnvelopeHeaders(part)
  expect(part.headers.location).toBe(`/api/deposit/${charge.paymentLinkId}/refunds`)
  expect(part.json()).toEqual({
    success: true,
    refund: {
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      value: 20_00,
      returnedFee: 0,
      status: 'PROCESSING',
      reason: 'one of two came back',
      nature: null,
      madeBy: 'account',
      createdAt: w.clock.now().toISOString(),
      endedAt: null,
      undoneAt: null,
    },
  })
  const rest = await ask()
  expect(rest.json()).toMatchObject({ refund: { value: 30_00, reason: null } })
  expect(await w.balanceCents(account.accountId)).toBe(9_40)
  const { rows } = await w.pool.query(
    `select actor_kind, actor, key_id from audit_log where action = 'refund.requested'`,
  )
  expect(rows[0]).toEqual({ actor_kind: 'account', actor: account.email, key_id: account.caller.keyId })
})

test('without the operator’s leave an account holder is told whom to ask, and reads refunds all the same', async () => {
  const w = await world()
  const { ask, charge, account } = await refundable(w)
  const answer = await ask({ value: 1 })
  expect([answer.statusCode, answer.json()]).toEqual([
    403,
    { success: false, error: 'Refunds by API key are not enabled here: ask the operator of this service for one' },
  ])
  await refund(w, charge, { amountCents: 5_00, reason: 'a note of the operator’s' })
  const list = await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}/refunds`))
  expect(list.json()).toMatchObject({
    success: true,
    refunds: [{ value: 5_00, madeBy: 'operator', reason: null }],
    nextCursor: null,
  })
})

test('an Idempotency-Key makes one refund of many requests, however it ended meanwhile', async () => {
  const w = await world(ALLOWED)
  const { ask } = await refundable(w)
  const key = { 'idempotency-key': 'return-7' }
  const first = await ask({ value: 5_00 }, key)
  expect(first.headers['idempotency-replayed']).toBeUndefined()
  const { id } = first.json().refund
  const [made] = (await w.pool.query('select end_to_end_id as "endToEndId" from payments where amount_cents = 5000'))
    .rows
  await followToEnd(w, { ...made, id })
  const again = await ask({ value: 5_00 }, key)
  expect([again.statusCode, again.headers['idempotency-replayed']]).toEqual([201, 'true'])
  expect(again.json().refund).toMatchObject({ id, status: 'DONE' })
  const other = await ask({ value: 6_00 }, key)
  expect([other.statusCode, other.json().error]).toEqual([
    422,
    'Idempotency-Key was already used with a different request',
  ])
  expect(await w.count('refunds')).toBe(1)
})

test.each<[string, unknown, number, string]>([
  ['a value of zero', { value: 0 }, 400, 'value must be a positive integer (cents)'],
  ['a value in text', { value: '500' }, 400, 'value must be a positive integer (cents)'],
  ['a fraction', { value: 5.5 }, 400, 'value must be a positive integer (cents)'],
  [
    'a long reason',
    { reason: 'x'.repeat(141) },
    400,
    'reason must be at most 140 characters, without control or invisible characters',
  ],
  ['a list', [], 400, 'Request body must be a JSON object'],
  ['more than was paid', { value: 50_01 }, 409, 'value is more than is left to refund: 5000 cents of 5000'],
])('%s is refused, and nothing moves', async (_, body, status, error) => {
  const w = await world(ALLOWED)
  const { ask } = await refundable(w)
  const answer = await ask(body)
  expect([answer.statusCode, answer.json()]).toEqual([status, { success: false, error }])
  expect(await w.count('refunds')).toBe(0)
})

test('what is left, the balance and the state of the charge stand in the refusal', async () => {
  const w = await world(ALLOWED)
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  const pending = await w.deposit(account)
  const error = async (request: InjectOptions) => {
    const answer = await w.app.inject(request)
    return [answer.statusCode, answer.json().error]
  }
  const small = 'Balance is too small: it is 4950 cents, and 5000 are needed'
  expect(await error(refundRequest(account.key, charge.paymentLinkId))).toEqual([409, small])
  const unpaid = 'Charge is PENDING and cannot be refunded'
  expect(await error(refundRequest(account.key, pending.paymentLinkId))).toEqual([409, unpaid])
})

test('another account’s deposit, an unknown one and a malformed id are not found', async () => {
  const w = await world(ALLOWED)
  const { charge } = await completedCharge(w)
  const stranger = await w.account()
  for (const id of [charge.paymentLinkId, UNKNOWN_ID, 'nonsense']) {
    for (const request of [refundRequest(stranger.key, id, {}), get(stranger.key, `/api/deposit/${id}/refunds`)]) {
      const answer = await w.app.inject(request)
      expect([answer.statusCode, answer.json()]).toEqual([404, { success: false, error: 'Charge not found' }])
    }
  }
})

test('a key that may only read cannot refund', async () => {
  const w = await world(ALLOWED)
  const account = await w.account({ scopes: ['deposits:read'] })
  const answer = await w.app.inject(refundRequest(account.key, UNKNOWN_ID, {}))
  expect([answer.statusCode, answer.json().error]).toEqual([403, 'This API key lacks the scope refunds:write'])
})

test('refunds of a deposit are listed newest first, page by page, also those made at the bank', async () => {
  const w = await world()
  const { charge, account, payment } = await completedCharge(w, { valueCents: 50_00 })
  for (const amountCents of [1_00, 2_00]) {
    await refund(w, charge, { amountCents })
    w.clock.advance(1)
  }
  await refundAtBank(w, payment.endToEndId, 3_00)
  const found = await w.ctx.providers[0]!.findPayment(payment.endToEndId)
  if (found !== 'absent') await w.ctx.settlements.add([found])
  const url = `/api/deposit/${charge.paymentLinkId}/refunds?limit=2`
  const first = (await w.app.inject(get(account.key, url))).json()
  expect(first.refunds).toMatchObject([
    { value: 3_00, madeBy: 'provider', status: 'DONE', reason: null },
    { value: 2_00, madeBy: 'operator' },
  ])
  const second = (await w.app.inject(get(account.key, `${url}&cursor=${first.nextCursor}`))).json()
  expect(second).toMatchObject({ refunds: [{ value: 1_00 }], nextCursor: null })
})

test('a running server follows a refund to its end', async () => {
  // The server goes by the time of the database.
  const w = await world({ at: new Date() })
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  const env = { DATABASE_URL: w.databaseUrl, PROVIDER_SANDBOX_URL: w.sandbox.url, GUICHE_HOME: temporaryHome() }
  const server = await startServer({ ...env, REFUNDS_BY_ACCOUNTS: 'true', REFUND_RETURNS_FEE: 'true' })
  const url = `${server.url}/api/deposit/${charge.paymentLinkId}/refund`
  const made = await fetch(url, { method: 'POST', headers: bearer(account.key) })
  expect(await made.json()).toMatchObject({ success: true, refund: { value: 50_00, returnedFee: 50 } })
  w.clock.advance(200) // by now the bank has made the refund
  await until('it is done', async () => {
    const answer = await fetch(`${url}s`, { headers: bearer(account.key) })
    const { refunds } = (await answer.json()) as { refunds: { status: string }[] }
    return refunds[0]!.status === 'DONE'
  })
  expect(await w.balanceCents(account.accountId)).toBe(0)
})

test('the full record tells what was refunded, and the specified answer stays as it is', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  const made = await refund(w, charge, { amountCents: 20_00 })
  const record = async () => (await w.app.inject(get(account.key, '/api/deposits'))).json().deposits[0]
  expect(await record()).toMatchObject({ status: 'COMPLETED', creditedValue: 49_50, refundedValue: 0 })
  await followToEnd(w, made)
  expect(await record()).toMatchObject({ status: 'COMPLETED', creditedValue: 49_50, refundedValue: 20_00 })
  const queried = (await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))).json()
  expect(Object.keys(queried.charge)).toHaveLength(10)
  const statement = (await w.app.inject(get(account.key, '/api/statement'))).json()
  expect(statement.lines[0]).toMatchObject({ kind: 'refund_reserved', amount: -20_00, refundId: made.id })
})
