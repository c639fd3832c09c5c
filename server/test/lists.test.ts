import { expect, test } from 'vitest'
import { get } from './requests.ts'
import { spyOnQueries } from './statements.ts'
import { world, type World } from './world.ts'

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const EXTERNAL_ID_ERROR = 'externalId must be 1 to 64 characters, without control or invisible characters'
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
const LINE_FIELDS = [
  'id',
  'kind',
  'amount',
  'balance',
  'chargeId',
  'paymentLinkId',
  'refundId',
  'nature',
  'payoutId',
  'disputeId',
  'payout',
  'occurredAt',
  'recordedAt',
  'gross',
  'fee',
  'net',
  'externalId',
  'description',
  'endToEndId',
]

test('deposits come newest first, in pages, as full records', async () => {
  const w = await world()
  const account = await w.account()
  for (const valueCents of [100, 200, 300]) {
    await w.deposit(account, { valueCents, externalId: `order-${valueCents}` })
    w.clock.advance(1000)
  }
  const first = (await w.app.inject(get(account.key, '/api/deposits?limit=2'))).json()
  const second = (await w.app.inject(get(account.key, `/api/deposits?limit=2&cursor=${first.nextCursor}`))).json()

  expect(Object.keys(first)).toEqual(['success', 'deposits', 'nextCursor'])
  expect(first.deposits.map((record: object) => Object.keys(record))).toEqual([RECORD_FIELDS, RECORD_FIELDS])
  expect([...first.deposits, ...second.deposits].map((record) => record.value)).toEqual([300, 200, 100])
  expect(second.nextCursor).toBeNull()
  expect(await values(w, account.key, 'externalId=order-200')).toEqual([200])
  expect(await values(w, account.key, 'status=PENDING')).toEqual([300, 200, 100])
  expect(await values(w, account.key, 'status=COMPLETED')).toEqual([])
  expect(await values(w, account.key, 'from=2026-03-02T12:00:00Z')).toEqual([300, 200, 100])
  expect(await values(w, account.key, 'to=2026-03-02T09:00:00-03:00')).toEqual([])
  expect(await values(w, account.key, 'colour=red&api_key=')).toEqual([300, 200, 100])
})

test('a completed deposit tells what was credited and which Pix paid it, and stands in balance and statement', async () => {
  const w = await world()
  const { charge, payment, account } = await w.paidCharge({ valueCents: 5000 })
  await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  const { deposits } = (await w.app.inject(get(account.key, '/api/deposits?status=COMPLETED'))).json()
  const balance = (await w.app.inject(get(account.key, '/api/balance'))).json()
  const statement = (await w.app.inject(get(account.key, '/api/statement'))).json()

  expect(deposits).toHaveLength(1)
  expect(deposits[0]).toMatchObject({ creditedValue: 4950, endToEndId: payment.endToEndId, paidLate: false })
  expect(deposits[0].paidAt).toMatch(ISO_TIME)
  const nothing = { reserved: 0, held: 0, owed: 0 }
  expect(balance).toEqual({ success: true, balance: 4950, available: 4950, ...nothing, currency: 'BRL' })
  expect(Object.keys(statement)).toEqual(['success', 'lines', 'nextCursor'])
  expect(statement.lines[0].balance).toBe(4950)
  expect(statement.lines.reduce((sum: number, line: { amount: number }) => sum + line.amount, 0)).toBe(4950)
  expect(Object.keys(statement.lines[0])).toEqual(LINE_FIELDS)
  expect(statement.lines[0]).toMatchObject({ chargeId: charge.id, paymentLinkId: charge.paymentLinkId })
})

test('a list shows times as every other answer does: truncated to milliseconds, in UTC', async () => {
  const w = await world()
  const { charge, payment, account } = await w.paidCharge()
  const occurredAt = new Date('2026-01-02T03:04:05.006Z')
  await w.ctx.settlements.add([{ ...payment, occurredAt }])
  await w.pool.query(`update charges set created_at = '2026-02-28 23:59:59.999999-03'`)
  const createdAt = '2026-03-01T02:59:59.999Z'
  const queried = (await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))).json()
  const { deposits } = (await w.app.inject(get(account.key, '/api/deposits'))).json()
  const { lines } = (await w.app.inject(get(account.key, '/api/statement'))).json()
  const paidAt = occurredAt.toISOString()
  expect(queried.charge.createdAt).toBe(createdAt)
  expect(deposits[0]).toMatchObject({ createdAt, expiresAt: charge.expiresAt.toISOString(), paidAt })
  expect(lines[0]).toMatchObject({ occurredAt: paidAt, recordedAt: w.clock.now().toISOString() })
})

test('a page of deposits is one statement, and a second one only if money is held for some of them', async () => {
  const w = await world()
  const { charge, payment, account } = await w.paidCharge({ valueCents: 100_00 })
  await w.deposit(account)
  const asked = await spyOnQueries(w.pool)
  const list = async () => {
    asked.mockClear()
    const { deposits } = (await w.app.inject(get(account.key, '/api/deposits'))).json()
    // Not the key, which is read again once a second.
    const reads = asked.mock.calls.filter(([statement]) => /from (charges|payments) /.test(JSON.stringify(statement)))
    return { held: deposits.map(({ heldValue }: { heldValue: number }) => heldValue), reads: reads.length }
  }
  expect(await list()).toEqual({ held: [0, 0], reads: 1 })
  await w.ctx.settlements.add([{ ...payment, amountCents: 90_00, txid: charge.id }])
  expect(await list()).toEqual({ held: [0, 90_00], reads: 2 })
})

test('a bad parameter is named together with what is allowed', async () => {
  const w = await world()
  const { key } = await w.account()
  const time = (name: string) => `${name} must be an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z`
  const edge = (name: string) =>
    `${name} must be a day, such as 2026-01-31, or an ISO 8601 date and time with its zone, such as 2026-01-31T00:00:00Z`
  const cursor = 'cursor must be a nextCursor of an earlier answer'
  const limit = 'limit must be an integer from 1 to 100'
  const status = 'status must be one of PENDING, COMPLETED, EXPIRED, CANCELED'
  for (const [path, query, error] of [
    ['deposits', 'status=pending', status],
    ['deposits', 'status=OPENING', status],
    ['deposits', 'status=PENDING&status=EXPIRED', status],
    ['deposits', 'from=yesterday', time('from')],
    ['deposits', 'to=2026-01-31', time('to')],
    ['deposits', 'to=2026-02-30T00:00:00Z', time('to')],
    ['deposits', 'externalId=', EXTERNAL_ID_ERROR],
    ['deposits', 'externalId=%00', EXTERNAL_ID_ERROR],
    ['deposits', 'cursor=', cursor],
    ['deposits', 'cursor=zz', cursor],
    ['deposits', 'cursor=%00', cursor],
    ...['0', '101', '-1', '1.5', '1e1', '%205', '', '5&limit=6'].map((value) => ['deposits', `limit=${value}`, limit]),
    ['statement', 'limit=0', limit],
    ['statement', 'cursor=abc', cursor],
    ['statement', 'from=x', edge('from')],
    ['statement', 'from=2026-02-30', edge('from')],
    ['statement', 'from=2026-02-02&to=2026-02-01', 'to must not be before from'],
    ['statement/export', 'format=xls', 'format must be one of csv, csv-br, ofx, ofx2, jsonl'],
  ]) {
    const answer = await w.app.inject(get(key, `/api/${path}?${query}`))
    expect([query, answer.statusCode, answer.json()]).toEqual([query, 400, { success: false, error }])
  }
})

async function values(w: World, key: string, query: string): Promise<number[]> {
  const { deposits } = (await w.app.inject(get(key, `/api/deposits?${query}`))).json()
  return deposits.map((record: { value: number }) => record.value)
}
