import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { bearer, get, UNKNOWN_ID } from './requests.ts'
import { ask, makeOperator } from './operators-client.ts'
import { world, type World } from './world.ts'

/** A Pix of another amount than its charge's. */
async function wrongAmount(w: World) {
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 50_00 })
  const { pix } = await w.sandbox.pay({ emv: charge.emv, amountCents: 49_00 })
  const { endToEndId, txid, amountCents, horario } = pix[0]!
  const payment = { provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  return { account, charge, endToEndId }
}

async function completed(w: World) {
  const { charge, account } = await w.paidCharge({ valueCents: 50_00 })
  await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  return { charge, account }
}

test('an exception is listed, read and resolved, and the log tells who did it and why', async () => {
  const w = await world()
  const { key, keyId, email } = await makeOperator(w)
  const { account, charge, endToEndId } = await wrongAmount(w)
  const listed = (await ask(w, key, 'GET', 'exceptions?state=open&kind=wrong_amount&provider=sandbox')).body
  expect(listed.exceptions).toMatchObject([
    {
      kind: 'wrong_amount',
      state: 'open',
      endToEndId,
      value: 49_00,
      charge: { paymentLinkId: charge.paymentLinkId, accountId: account.accountId, email: account.email, value: 50_00 },
      resolution: null,
    },
  ])
  const { id } = listed.exceptions[0]
  expect((await ask(w, key, 'GET', `exceptions/${id}`)).body.exception).toEqual(listed.exceptions[0])

  const body = { how: 'credit', accountId: account.accountId, reason: 'the payer agreed' }
  const resolved = await ask(w, key, 'POST', `exceptions/${id}/resolve`, body)
  const resolution = { how: 'credit', accountId: account.accountId, by: `operator ${email}`, reason: body.reason }
  expect([resolved.status, resolved.body.exception]).toMatchObject([200, { state: 'resolved', resolution }])
  expect(await w.balanceCents(account.accountId)).toBe(49_00)
  const { entries } = (await ask(w, key, 'GET', 'audit-log?action=exception.resolved')).body
  expect(entries).toMatchObject([{ actor: email, keyId, reason: body.reason, accountId: account.accountId }])

  expect(await ask(w, key, 'POST', `exceptions/${id}/resolve`, { how: 'write_off', reason: 'again' })).toEqual({
    status: 409,
    body: { success: false, error: 'Exception is already resolved' },
  })
  expect((await ask(w, key, 'GET', 'exceptions?state=open')).body.exceptions).toEqual([])
  expect(await w.differences()).toEqual([])
})

test('a payment of another amount completes its charge when an operator says so', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { account, charge } = await wrongAmount(w)
  const [open] = (await ask(w, key, 'GET', 'exceptions?state=open')).body.exceptions
  expect(open.charge).toEqual({
    id: charge.id,
    paymentLinkId: charge.paymentLinkId,
    accountId: account.accountId,
    email: account.email,
    externalId: null,
    description: null,
    status: 'PENDING',
    value: 50_00,
    fee: 50,
  })
  const answer = await ask(w, key, 'POST', `exceptions/${open.id}/resolve`, { how: 'match', reason: 'agreed' })
  expect([answer.status, answer.body.exception]).toMatchObject([
    200,
    { state: 'resolved', resolution: { how: 'match', accountId: null }, charge: { status: 'COMPLETED' } },
  ])
  expect(await w.balanceCents(account.accountId)).toBe(48_50)
  expect(await w.differences()).toEqual([])
})

test('a resolution can close the charge that the payment names', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { charge } = await wrongAmount(w)
  const [open] = (await ask(w, key, 'GET', 'exceptions?state=open')).body.exceptions
  const resolve = (body: object) => ask(w, key, 'POST', `exceptions/${open.id}/resolve`, { reason: 'agreed', ...body })
  expect(await resolve({ how: 'match', charge: 'close' })).toEqual({
    status: 400,
    body: { success: false, error: 'charge is allowed only with how: credit, refund or write_off' },
  })
  expect((await resolve({ how: 'write_off', charge: 'sell' })).body.error).toBe('charge must be one of keep, close')
  const closed = await resolve({ how: 'write_off', charge: 'close' })
  expect([closed.status, closed.body.exception.charge]).toMatchObject([200, { id: charge.id, status: 'CANCELED' }])
  expect(await w.differences()).toEqual([])
})

test('an exception that is not there, and a resolution that makes no sense, are refused in words', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const told = async (id: string, body: object) => {
    const answer = await ask(w, key, 'POST', `exceptions/${id}/resolve`, body)
    return `${answer.status} ${answer.body.error}`
  }
  const reason = 'why not'
  for (const id of [UNKNOWN_ID, 'x']) {
    expect(await told(id, { how: 'refund', reason })).toBe('404 Exception not found')
    expect((await ask(w, key, 'GET', `exceptions/${id}`)).status).toBe(404)
  }
  expect(await told(UNKNOWN_ID, { how: 'burn', reason })).toMatch(/^400 how must be one of credit, refund, /)
  expect(await told(UNKNOWN_ID, { how: 'credit', reason })).toMatch(/^400 accountId is required with how: credit/)
  expect(await told(UNKNOWN_ID, { how: 'credit', accountId: 'x', reason })).toMatch(/^400 accountId must be the id/)
  expect(await told(UNKNOWN_ID, { how: 'refund' })).toMatch(/^400 reason must be 1 to 500 characters/)
})

test('an operator refunds a deposit of any account, with an Idempotency-Key once, and sees it in the list', async () => {
  const w = await world()
  const { key, email } = await makeOperator(w)
  const { charge, account } = await completed(w)
  const send = () =>
    w.app.inject({
      method: 'POST',
      url: `/api/operator/deposits/${charge.paymentLinkId}/refund`,
      headers: { ...bearer(key), 'idempotency-key': 'case-7' },
      payload: { value: 20_00, reason: 'half was returned' },
    })
  const [first, second] = [await send(), await send()]
  expect([first.statusCode, second.statusCode, second.headers['idempotency-replayed']]).toEqual([201, 201, 'true'])
  expect(first.json().refund).toMatchObject({
    value: 20_00,
    source: 'balance',
    accountId: account.accountId,
    by: `operator ${email}`,
    reason: 'half was returned',
  })
  expect(second.json().refund.id).toBe(first.json().refund.id)
  expect(await w.balanceCents(account.accountId)).toBe(29_50)

  const list = async (query: string) => (await ask(w, key, 'GET', `refunds?${query}`)).body.refunds
  expect((await list('')).map(({ id }: { id: string }) => id)).toEqual([first.json().refund.id])
  expect(await list(`accountId=${account.accountId}&paymentLinkId=${charge.paymentLinkId}`)).toHaveLength(1)
  expect(await list(`accountId=${(await w.account()).accountId}`)).toEqual([])
  expect(await ask(w, key, 'POST', `deposits/${UNKNOWN_ID}/refund`, { reason: 'x' })).toMatchObject({ status: 404 })
  expect(await ask(w, key, 'POST', `deposits/${charge.paymentLinkId}/refund`, {})).toMatchObject({ status: 400 })
  expect(await w.differences()).toEqual([])
})

test('a window is reconciled: what no notification told of is booked, and both sides agree', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  await w.sandbox.faults({ dropNotifications: true })
  const { account } = await w.paidCharge({ valueCents: 50_00 })
  w.clock.advance(60_000)
  const window = { from: '2026-03-02T00:00:00-03:00', to: '2026-03-02T09:01:00-03:00' }
  const { status, body } = await ask(w, key, 'POST', 'reconcile', window)
  expect((await ask(w, key, 'GET', 'audit-log?action=reconcile.started')).body.entries).toMatchObject([
    {
      actor: 'ops@example.com',
      subject: 'provider sandbox',
      details: { from: '2026-03-02T03:00:00.000Z', to: '2026-03-02T12:01:00.000Z' },
    },
  ])
  expect(status).toBe(200)
  expect(body).toMatchObject({
    differenceCount: 0,
    comparisons: [
      {
        provider: 'sandbox',
        day: '2026-03-02',
        providerCount: 1,
        providerTotal: 50_00,
        ledgerCount: 1,
        ledgerTotal: 50_00,
        settledCount: 1,
        settledTotal: 50_00,
        revision: null,
      },
    ],
  })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

test('a day that is over is closed by reconciling it, and stands in the list of closings', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  await completed(w)
  w.clock.advance(86_400_000)
  const day = { from: '2026-03-02T00:00:00-03:00', to: '2026-03-03T00:00:00-03:00', provider: 'sandbox' }
  expect((await ask(w, key, 'POST', 'reconcile', day)).body.comparisons[0].revision).toBe(1)
  const { closings } = (await ask(w, key, 'GET', 'closings?from=2026-03-01&to=2026-03-02&provider=sandbox')).body
  expect(closings).toMatchObject([
    { provider: 'sandbox', day: '2026-03-02', revision: 1, providerTotal: 50_00, ledgerTotal: 50_00, differences: [] },
  ])
  expect((await ask(w, key, 'GET', 'closings?to=2026-03-01')).body.closings).toEqual([])
})

test('a window that is too long, empty or of nobody is refused, and so is a provider that cannot be asked', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const told = async (body: object) => {
    const answer = await ask(w, key, 'POST', 'reconcile', body)
    return `${answer.status} ${answer.body.error}`
  }
  const from = '2026-03-01T00:00:00Z'
  const bound = '400 to must be after from, by at most 25 hours: for more, use the command guiche reconcile'
  expect(await told({ from, to: '2026-03-02T01:00:01Z' })).toBe(bound)
  expect(await told({ from, to: from })).toBe(bound)
  expect(await told({ from: 'yesterday', to: from })).toMatch(/^400 from must be an ISO 8601 date and time/)
  expect(await told({ from, to: '2026-03-02T00:00:00Z', provider: 'efi' })).toMatch(/^400 Unknown provider efi/)
  expect((await ask(w, key, 'GET', 'closings?from=2026-02-30')).body.error).toBe(
    'from must be a day such as 2026-01-31',
  )
  await w.sandbox.faults({ errorRate: 1 })
  expect(await told({ from, to: '2026-03-02T00:00:00Z' })).toMatch(/^503 The payment provider could not be reached: /)
})
