import { expect, test } from 'vitest'
import { makeNumberingMemory, numberPending } from '../src/domain/history/number-pending.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { ask, makeOperator } from './operators-client.ts'
import { completedCharge, refund, settleAll } from './refund-steps.ts'
import { UNKNOWN_ID } from './requests.ts'
import { world } from './world.ts'

// What operators see of the deposits and the records of accounts.

test('an operator lists the deposits of all accounts or of one, newest first, in pages, with filters', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const [first, second] = [await w.account(), await w.account()]
  const made = []
  for (const [account, description] of [
    [first, 'Ana'],
    [second, 'Bia'],
    [first, 'Cida'],
  ] as const) {
    made.unshift((await w.deposit(account, { description })).paymentLinkId)
    w.clock.advance(60_000)
  }
  const list = async (query = '') => (await ask(w, key, 'GET', `deposits${query}`)).body
  const linksOf = async (query = '') =>
    (await list(query)).deposits.map(({ paymentLinkId }: { paymentLinkId: string }) => paymentLinkId)
  expect(await linksOf()).toEqual(made)
  expect(await linksOf(`?accountId=${first.accountId}`)).toEqual([made[0], made[2]])
  expect((await list()).deposits[1].account).toEqual({
    id: second.accountId,
    name: `Loja ${second.email.split('@')[0]}`,
    email: second.email,
  })
  const page = await list('?limit=2')
  expect(page.deposits).toHaveLength(2)
  expect(await linksOf(`?limit=2&cursor=${page.nextCursor}`)).toEqual([made[2]])
  for (const filter of ['?status=PENDING', '?search=50,00', '?status=PENDING&search=50,00'])
    expect([filter, await linksOf(filter)]).toEqual([filter, made])
  expect(await linksOf('?search=bia')).toEqual([made[1]])
  expect(await linksOf(`?search=bia&accountId=${first.accountId}`)).toEqual([])
  expect(await linksOf('?status=EXPIRED')).toEqual([])
  const from = new Date(w.clock.now().getTime() - 90_000).toISOString()
  expect(await linksOf(`?from=${from}`)).toEqual([made[0]])
  expect(await linksOf(`?to=${from}`)).toEqual([made[1], made[2]])
  expect(await linksOf(`?to=${from}&status=PENDING&limit=1`)).toEqual([made[1]])
  expect((await ask(w, key, 'GET', 'deposits?accountId=x')).status).toBe(400)
})

test('the record of a deposit has its ledger, its places in the history, its exceptions and its timeline', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { charge, account } = await completedCharge(w, { valueCents: 100_00 })
  await refund(w, charge, { amountCents: 30_00 })
  const again = await w.sandbox.pay({ txid: charge.id, amountCents: 3_00, times: 1 })
  const { endToEndId, txid, amountCents, horario } = again.pix[0]!
  await settleAll(w, [{ provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }])
  const read = async () => (await ask(w, key, 'GET', `deposits/${charge.paymentLinkId}`)).body
  expect((await read()).history).toMatchObject([
    { event: 'DEPOSIT_ASSET_SUCCESS', position: null },
    { event: 'DEPOSIT_HELD', position: null },
  ])
  await numberPending(w.ctx, makeNumberingMemory())
  const record = await read()
  expect(record).toMatchObject({
    success: true,
    deposit: { id: charge.id, status: 'COMPLETED', heldValue: 3_00 },
    account: { id: account.accountId, email: account.email },
    provider: 'sandbox',
    refunds: [{ value: 30_00, status: 'PROCESSING' }],
    history: [
      { event: 'DEPOSIT_ASSET_SUCCESS', position: 1, id: `evt_DEPOSIT_ASSET_SUCCESS_${charge.id}` },
      { event: 'DEPOSIT_HELD', position: 2 },
    ],
  })
  const lines: string[] = record.ledger.map(({ kind, debit, credit, value, balanceAfter }: Record<string, unknown>) =>
    [kind, debit, credit, value, balanceAfter].join(' '),
  )
  expect(lines.toSorted((a, b) => a.localeCompare(b))).toEqual([
    'deposit cash:sandbox balance 9900 9900',
    'fee cash:sandbox fees 100 ',
    'refund_reserved balance refunding 3000 6900',
    'suspense cash:sandbox suspense 300 ',
  ])
  const { exceptions } = await listExceptions(w.ctx, { limit: 10 })
  expect(record.exceptions).toEqual(exceptions.map(({ id }) => id))
  const kinds = record.timeline.map(({ kind }: { kind: string }) => kind)
  expect(kinds).toEqual(expect.arrayContaining(['created', 'paid', 'credited', 'payment_held', 'refund_requested']))
  for (const link of [UNKNOWN_ID, 'x']) expect((await ask(w, key, 'GET', `deposits/${link}`)).status).toBe(404)
})

test('the record of an account has its volume, keys, webhooks and members, and no secret of the account', async () => {
  const w = await world()
  const operator = await makeOperator(w)
  const { account } = await completedCharge(w, { valueCents: 100_00 })
  const url = 'https://127.0.0.1:8443/hooks/very-secret-path'
  const authorization = 'Bearer very-secret'
  await createWebhook(w.ctx, account.accountId, {
    name: 'shop',
    url,
    eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
    authorization,
  })
  const { body } = await ask(w, operator.key, 'GET', `accounts/${account.accountId}`)
  const period = { created: 1, paid: 1, paidValue: 100_00, fees: 1_00 }
  expect(body).toMatchObject({
    volume: { today: period, last30: period },
    keys: [{ name: 'test', prefix: account.key.slice(0, 14), revokedAt: null }],
    webhooks: [{ name: 'shop', host: '127.0.0.1:8443', state: 'working', failingSince: null }],
    members: [{ email: account.email, role: 'owner', hasSecondFactor: false, lastSignInAt: null }],
  })
  expect(JSON.stringify(body)).not.toMatch(/very-secret|\/hooks|hash/)
  await w.pool.query('update webhooks set failing_since = $1', [w.clock.now()])
  const session = await w.session(operator)
  const again = await session.ask('GET', `/dashboard/api/operator/accounts/${account.accountId}`)
  expect(again.json().webhooks).toMatchObject([{ state: 'failing', failingSince: w.clock.now().toISOString() }])
})

test('the record says when a member last signed in', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const account = await w.account()
  await w.pool.query(
    `insert into audit_log (at, actor_kind, actor, action, subject, details)
     select t::timestamptz, 'account', u.email, 'session.opened', 'user ' || u.id, '{}'
     from users u, unnest(array['2026-02-01T00:00Z', '2026-02-03T00:00Z']) t where u.email = $1`,
    [account.email],
  )
  const { body } = await ask(w, key, 'GET', `accounts/${account.accountId}`)
  expect(body.members).toMatchObject([{ lastSignInAt: '2026-02-03T00:00:00.000Z' }])
})

test('the history of an account is read in pages, newest first, and ends at its first position', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const account = await w.account()
  const references = ['a-1', 'a-2', 'a-3', 'a-4', 'a-5']
  for (const externalId of references) {
    const charge = await w.deposit(account, { externalId })
    const { pix } = await w.sandbox.pay({ emv: charge.emv })
    const { endToEndId, txid, amountCents, horario } = pix[0]!
    await settleAll(w, [{ provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }])
    await numberPending(w.ctx, makeNumberingMemory())
  }
  const url = `accounts/${account.accountId}/history?limit=2`
  const seen: unknown[] = []
  let cursor: string | null = null
  do {
    const { body } = await ask(w, key, 'GET', cursor === null ? url : `${url}&cursor=${cursor}`)
    seen.push(...body.events.map(({ position, title }: Record<string, unknown>) => [position, title]))
    cursor = body.nextCursor
  } while (cursor !== null)
  expect(seen).toEqual(references.map((title, index) => [index + 1, title]).toReversed())
  expect((await ask(w, key, 'GET', `accounts/${UNKNOWN_ID}/history`)).status).toBe(404)
  const other = await w.account()
  expect((await ask(w, key, 'GET', `accounts/${other.accountId}/history`)).body).toMatchObject({
    events: [],
    nextCursor: null,
  })
})
