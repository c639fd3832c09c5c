import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { settle, type Settled } from '../src/domain/deposits/settle.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { bookDifferences, OPERATOR } from './refund-steps.ts'
import { world } from './world.ts'

// The provider's callback and our own query race on every payment. The second is held in flight by the first one's row
// lock, so the race happens on every run and not by luck.
test('a payment reported twice at once is booked once', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge({ valueCents: 100_00 })

  let second: Promise<Settled> | undefined
  const first = await transact(w.pool, async (tx) => {
    const settled = await settle(tx, w.clock.now(), [payment])
    second = transact(w.pool, (other) => settle(other, w.clock.now(), [payment]))
    await w.lockWait()
    return settled
  })

  expect(first.completed).toHaveLength(1)
  expect(await second).toMatchObject({ completed: [], excepted: [], known: 1 })
  expect(await w.balanceCents(account.accountId)).toBe(99_00)
  expect(await w.differences()).toEqual([])
})

test('a payment that matches nothing, reported twice at once, is one exception', async () => {
  const w = await world()
  const payment = stray('E0000000120260302120000000000001', 7_00)
  let second: Promise<Settled> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [payment])
    second = transact(w.pool, (other) => settle(other, w.clock.now(), [payment]))
    await w.lockWait()
  })
  expect((await second)?.excepted).toEqual([])
  expect(await w.count('exceptions')).toBe(1)
  expect(await w.count('transfers')).toBe(1)
})

// Without the charge's lock both would find it unpaid, and the schema would fail the second one instead of filing it.
test('two payments of one charge settled at once: one completes it, the other is an exception', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  let second: Promise<Settled> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [payment])
    second = transact(w.pool, (other) => settle(other, w.clock.now(), [{ ...payment, endToEndId: 'E-other' }]))
    await w.lockWait()
  })
  expect((await second)?.excepted).toEqual([{ endToEndId: 'E-other', kind: 'second_payment' }])
})

// The second knows the payment's txid and waits for a charge that the first one holds. If it had read what is recorded
// before that wait, the payment would stay in suspense.
test('a payment whose txid is reported while it is being booked without it completes its charge', async () => {
  const w = await world()
  const [shared, named] = [await w.paidCharge(), await w.paidCharge()]
  let second: Promise<Settled> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [shared.payment, { ...named.payment, txid: null }])
    second = transact(w.pool, (other) => settle(other, w.clock.now(), [shared.payment, named.payment]))
    await w.lockWait()
  })
  expect(await second).toMatchObject({ completed: [named.charge.id], matched: 1, excepted: [], known: 1 })
  expect(await w.differences()).toEqual([])
})

test('a txid names its charge in either case, and the payment keeps the bank’s spelling', async () => {
  const w = await world()
  const [first, second, held] = [await w.paidCharge(), await w.paidCharge(), await w.paidCharge()]
  const shouted = (payment: ReceivedPayment) => ({ ...payment, txid: payment.txid!.toUpperCase() })
  const again = { ...first.payment, endToEndId: 'E-again' }
  const short = { ...shouted(second.payment), amountCents: 1_00 }
  const unnamed = { ...held.payment, txid: null }
  await transact(w.pool, async (tx) => {
    const settled = await settle(tx, w.clock.now(), [shouted(first.payment), again, short, unnamed])
    expect(settled.completed).toEqual([first.charge.id])
    expect(settled.excepted.map(({ kind }) => kind)).toEqual(['second_payment', 'wrong_amount', 'unknown_charge'])
    // Both are reported once more, with the txid in the other case.
    expect(await settle(tx, w.clock.now(), [first.payment])).toMatchObject({ completed: [], known: 1 })
    expect(await settle(tx, w.clock.now(), [shouted(held.payment)])).toMatchObject({ completed: [held.charge.id] })
  })
  const { exceptions } = await listExceptions(w.ctx, { kind: 'wrong_amount', limit: 1 })
  expect(exceptions).toMatchObject([{ charge: { id: second.charge.id } }])
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'match' }, 'the payer owes the rest')
  const rows = await query<{ txid: string }>(w.pool, 'select txid from payments where credited')
  const ids = [first, second, held].map(({ charge }) => charge.id.toUpperCase())
  expect(rows.map((row) => row.txid).toSorted()).toEqual(ids.toSorted())
  expect(await bookDifferences(w)).toEqual([])
})

// The second has read what is recorded. Then its one statement waits for the key of the first one's payment.
test('a payment that is recorded while its batch is being booked is left out, and the rest is booked', async () => {
  const w = await world()
  const account = await w.account()
  const paid = [await w.paidCharge({ account }), await w.paidCharge({ account }), await w.paidCharge({ account })]
  const payments = paid.map(({ payment }) => payment)
  let second: Promise<Settled> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [{ ...payments[1]!, txid: null }])
    second = transact(w.pool, (other) => settle(other, w.clock.now(), payments))
    await w.lockWait()
  })
  const completed = [paid[0]!.charge.id, paid[2]!.charge.id]
  expect(await second).toMatchObject({ completed, excepted: [], known: 1, duplicates: [] })
  expect(await w.balanceCents(account.accountId)).toBe(2 * 49_50)
  expect(await bookDifferences(w)).toEqual([])
  // The payment that was left out waits in suspense, and completes its charge when it is reported once more.
  const again = await transact(w.pool, (tx) => settle(tx, w.clock.now(), payments))
  expect(again).toMatchObject({ completed: [paid[1]!.charge.id], matched: 1, known: 2 })
  expect(await w.differences()).toEqual([])
})

test('two batches that share payments in opposite order do not deadlock', async () => {
  const w = await world()
  const account = await w.account()
  const payments: ReceivedPayment[] = []
  for (let index = 0; index < 6; index++) payments.push((await w.paidCharge({ account })).payment)

  let second: Promise<Settled> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), payments.slice(0, 3))
    second = transact(w.pool, (other) => settle(other, w.clock.now(), payments.toReversed()))
    await w.lockWait()
  })
  expect((await second)?.completed).toHaveLength(3)
  expect(await w.balanceCents(account.accountId)).toBe(6 * 49_50)
})

test('what completes no charge stands in suspense, with its exception, and no balance moves', async () => {
  const w = await world()
  const { charge, payment, account } = await w.paidCharge({ valueCents: 50_00 })
  const other = await w.deposit(account)
  const pay = (fields: Partial<ReceivedPayment>) => ({ ...payment, ...fields })
  const settled = await transact(w.pool, (tx) =>
    settle(tx, w.clock.now(), [
      payment,
      pay({ endToEndId: 'E2', occurredAt: new Date(payment.occurredAt.getTime() + 1) }),
      pay({ endToEndId: 'E3', txid: other.id, amountCents: 49_99 }),
      pay({ endToEndId: 'E4', txid: 'f'.repeat(32) }),
      pay({ endToEndId: 'E5', txid: null }),
      pay({ endToEndId: 'E6', txid: other.id, provider: 'another' }),
    ]),
  )
  expect(settled.completed).toEqual([charge.id])
  expect(settled.excepted.toSorted((a, b) => a.endToEndId.localeCompare(b.endToEndId))).toEqual([
    { endToEndId: 'E2', kind: 'second_payment' },
    { endToEndId: 'E3', kind: 'wrong_amount' },
    { endToEndId: 'E4', kind: 'unknown_charge' },
    { endToEndId: 'E5', kind: 'unknown_charge' },
    { endToEndId: 'E6', kind: 'wrong_provider' },
  ])
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.count('exceptions', 'resolved_at is null')).toBe(5)
})

test('a charge whose first payment was of the wrong amount is completed by the right one', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  const short = { ...payment, endToEndId: 'E-short', amountCents: 1 }
  const first = await transact(w.pool, (tx) => settle(tx, w.clock.now(), [short]))
  const second = await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  expect(first.completed).toHaveLength(0)
  expect(second.completed).toHaveLength(1)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

test('of two payments of one charge in one batch, the earlier one completes it', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  const earlier = { ...payment, endToEndId: 'E-earlier', occurredAt: new Date(payment.occurredAt.getTime() - 1000) }
  const settled = await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment, earlier]))
  expect(settled.excepted).toEqual([{ endToEndId: payment.endToEndId, kind: 'second_payment' }])
})

test('a settlement that fails half-way leaves nothing behind', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  const failing = transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [payment])
    throw new Error('the process loses its mind here')
  })
  await expect(failing).rejects.toThrow('loses its mind')
  for (const table of ['payments', 'transfers', 'events', 'exceptions']) expect(await w.count(table)).toBe(0)
  expect(await w.count('charges', `status = 'PENDING'`)).toBe(1)
})

test('the event holds the bytes that the contract promises', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 123_45, externalId: 'order-1' })
  const { pix } = await w.sandbox.pay({ emv: charge.emv })
  const occurredAt = new Date(pix[0]!.horario)
  await transact(w.pool, (tx) =>
    settle(tx, w.clock.now(), [
      { provider: 'sandbox', endToEndId: pix[0]!.endToEndId, txid: charge.id, amountCents: 123_45, occurredAt },
    ]),
  )
  const { rows } = await w.pool.query<{ body: string }>('select body from events')
  const body = JSON.parse(rows[0]!.body)
  expect(body).toEqual({
    id: `evt_DEPOSIT_ASSET_SUCCESS_${charge.id}`,
    event: 'DEPOSIT_ASSET_SUCCESS',
    createdAt: w.clock.now().toISOString(),
    data: {
      transactionId: charge.id,
      paymentLinkId: charge.paymentLinkId,
      externalId: 'order-1',
      value: 123_45,
      originalValue: 123_45,
      fee: 1_23,
      creditedValue: 122_22,
      status: 'COMPLETED',
      paidLate: false,
      endToEndId: pix[0]!.endToEndId,
      paidAt: occurredAt.toISOString(),
      code: null,
      payerMatch: null,
      metadata: null,
    },
  })
})

test.each([
  ['a minute past the expiry', 'in time', 60_000],
  ['more than a minute past the expiry', 'late', 60_001],
])('a payment that the bank dates %s is %s, although its charge is still PENDING', async (_, label, afterMs) => {
  const w = await world()
  const { charge, payment } = await w.paidCharge()
  const isLate = label === 'late'
  const occurredAt = new Date(charge.expiresAt.getTime() + afterMs)
  await transact(w.pool, (tx) => settle(tx, occurredAt, [{ ...payment, occurredAt }]))
  expect(await w.count('charges', `status = 'COMPLETED' and paid_late = ${isLate}`)).toBe(1)
  expect(await w.count('events', `body like '%"paidLate":${isLate},%'`)).toBe(1)
})

// Each of these is a statement that a careless change of the code could send; the schema refuses it.
test.each([
  [
    'a second credit of one charge',
    `insert into payments select gen_random_uuid(), provider, 'E-x', txid, amount_cents, charge_id, account_id, true, occurred_at, recorded_at from payments`,
    /payments_one_credit_per_charge/,
  ],
  [
    'the same Pix a second time',
    `insert into payments select gen_random_uuid(), provider, end_to_end_id, txid, amount_cents, null, null, false, occurred_at, recorded_at from payments`,
    /payments_end_to_end_id_key/,
  ],
  [
    'a second transfer of one payment',
    `insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id, account_id, occurred_at, recorded_at) select kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id, account_id, occurred_at, recorded_at from transfers`,
    /transfers_once_per_payment/,
  ],
  [
    'a second event of one charge',
    `insert into events select gen_random_uuid(), account_id, kind, subject_id, body, created_at from events`,
    /events_kind_subject_id_key/,
  ],
  ['a changed transfer', 'update transfers set amount_cents = 1', /append only/],
  ['a deleted transfer', 'delete from transfers', /append only/],
  ['a changed payment', 'update payments set amount_cents = 1', /append only/],
  [
    'a negative balance',
    `update ledger_balances set debits_cents = credits_cents + 1 where not may_be_negative`,
    /check constraint/,
  ],
  ['a charge that leaves COMPLETED', `update charges set status = 'PENDING'`, /check constraint/],
])('the schema refuses %s', async (_, sql, text) => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  await expect(w.pool.query(sql)).rejects.toThrow(text)
})

function stray(endToEndId: string, amountCents: number): ReceivedPayment {
  return {
    provider: 'sandbox',
    endToEndId,
    txid: 'not-one-of-ours',
    amountCents,
    occurredAt: new Date('2026-03-02T12:00:00Z'),
  }
}
