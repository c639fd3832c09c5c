import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import type { Charge } from '../src/domain/deposits/charge-reads.ts'
import { cancelDeposit, queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { requestRefund } from '../src/domain/refunds/request-refund.ts'
import { recordExternalRefunds } from '../src/domain/refunds/external-refunds.ts'
import { settle, type Settled } from '../src/domain/deposits/settle.ts'
import { checkDue } from '../src/workers/check.ts'
import { reconcileDue } from '../src/workers/reconcile.ts'
import { bookDifferences, changeProvider, holdings, OPERATOR, settleAll } from './refund-steps.ts'
import { get } from './requests.ts'
import { world, type World } from './world.ts'

const MINUTE_MS = 60_000
const SELECT_SUCCESS = `select body from events where kind = 'DEPOSIT_ASSET_SUCCESS'`

/**
 * Makes the bank's list leave the txid out, as API Pix allows. The bank's answer about a charge still names the charge.
 */
function hideTxids(w: World): { show(): void } {
  const { listReceived } = w.ctx.providers[0]!
  async function* hidden(...question: Parameters<Provider['listReceived']>) {
    for await (const page of listReceived(...question)) yield page.map((payment) => ({ ...payment, txid: null }))
  }
  changeProvider(w, { listReceived: hidden })
  return { show: () => changeProvider(w, { listReceived }) }
}

/** A charge that is paid at the bank, and booked without its txid. */
async function heldCharge(w: World, valueCents = 50_00) {
  const paid = await w.paidCharge({ valueCents })
  await settleAll(w, [{ ...paid.payment, txid: null }])
  return { ...paid, exceptionId: await openException(w) }
}

async function openException(w: World): Promise<string> {
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 10 })
  expect(exceptions).toHaveLength(1)
  return exceptions[0]!.id
}

async function exceptionOf(w: World, id: string) {
  return (await listExceptions(w.ctx, { limit: 10 })).exceptions.find((exception) => exception.id === id)!
}

async function kindsOf(w: World): Promise<string[]> {
  const { rows } = await w.pool.query<{ line: string }>(
    `select format('%s %s > %s %s', t.kind, d.kind, c.kind, t.amount_cents) as line from transfers t
     join ledger_accounts d on d.id = t.debit_id join ledger_accounts c on c.id = t.credit_id order by t.id`,
  )
  return rows.map((row) => row.line)
}

// ---- A payment that was first told of without its txid ----

test('a Pix that the bank’s list told of without its txid completes its charge with the next query', async () => {
  const w = await world()
  const { show } = hideTxids(w)
  const { charge, payment, account } = await w.paidCharge({ valueCents: 100_00 })
  w.clock.advance(MINUTE_MS)
  await reconcileDue(w.ctx, w.ctx.providers[0]!)
  const exceptionId = await openException(w)
  expect(await holdings(w)).toEqual({ cash: 100_00, suspense: 100_00 })

  w.clock.advance(MINUTE_MS)
  const answer = await w.app.inject(get(account.key, `/api/deposit/${charge.paymentLinkId}`))
  expect([answer.json().charge.status, answer.headers['guiche-provider-check']]).toEqual(['COMPLETED', 'fresh'])
  expect(await holdings(w)).toEqual({ cash: 100_00, balance: 99_00, fees: 1_00 })
  expect(await kindsOf(w)).toEqual([
    'suspense cash > suspense 10000',
    'matched_deposit suspense > balance 9900',
    'matched_fee suspense > fees 100',
  ])
  expect(await exceptionOf(w, exceptionId)).toMatchObject({
    state: 'resolved',
    resolvedAt: w.clock.now(),
    resolution: { how: 'match', accountId: null, by: { kind: 'system', name: 'guiche' } },
    txid: charge.id,
    charge: { id: charge.id, status: 'COMPLETED' },
  })
  expect(await w.count('audit_log', `action = 'exception.resolved' and actor_kind = 'system'`)).toBe(1)
  const { rows } = await w.pool.query<{ body: string }>(SELECT_SUCCESS)
  expect(rows.map((row) => JSON.parse(row.body).data)).toMatchObject([
    { transactionId: charge.id, creditedValue: 99_00, endToEndId: payment.endToEndId, paidLate: false },
  ])
  show()
  expect(await w.differences()).toEqual([])
})

test('the sweep completes the charge once the list tells the txid', async () => {
  const w = await world()
  const { show } = hideTxids(w)
  const { account, charge } = await w.paidCharge()
  w.clock.advance(MINUTE_MS)
  await reconcileDue(w.ctx, w.ctx.providers[0]!)
  await openException(w)
  show()
  w.clock.advance(MINUTE_MS)
  await reconcileDue(w.ctx, w.ctx.providers[0]!)
  expect((await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)).check).toBe('none')
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.differences()).toEqual([])
})

test('a charge that had ended is completed late by a payment whose txid is told later', async () => {
  const w = await world()
  const { charge, payment, account } = await heldCharge(w)
  await w.pool.query(`update charges set status = 'EXPIRED', closed_at = $1`, [w.clock.now()])
  expect((await settleAll(w, [payment])).completed).toEqual([charge.id])
  const { rows } = await w.pool.query('select status, paid_late, received_cents from charges')
  expect(rows).toEqual([{ status: 'COMPLETED', paid_late: true, received_cents: null }])
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.differences()).toEqual([])
})

// Both find the exception open and the charge PENDING; the lock of the charge lets one pass after the other.
test('a held payment that two settlements would match at once is matched once', async () => {
  const w = await world()
  const { payment, account } = await heldCharge(w)
  let second: Promise<Settled> | undefined
  const first = await transact(w.pool, async (tx) => {
    const settled = await settle(tx, w.clock.now(), [payment])
    second = transact(w.pool, (other) => settle(other, w.clock.now(), [payment]))
    await w.lockWait()
    return settled
  })
  expect(first).toMatchObject({ completed: [expect.any(String)], matched: 1, excepted: [], known: 0 })
  expect(await second).toEqual({ completed: [], matched: 0, excepted: [], known: 1, duplicates: [] })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.count('events', `kind = 'DEPOSIT_ASSET_SUCCESS'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('an operator who decides while a settlement matches the payment learns that it is resolved', async () => {
  const w = await world()
  const { payment, account, exceptionId } = await heldCharge(w)
  let decided: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [payment])
    decided = resolveException(w.ctx, OPERATOR, exceptionId, { how: 'write_off' }, 'nobody asked for it')
    decided.catch(() => {})
    await w.lockWait()
  })
  await expect(decided).rejects.toThrow('Exception is already resolved')
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.differences()).toEqual([])
})

test('a settlement that would match a payment while an operator decides leaves it to the operator', async () => {
  const w = await world()
  const { payment, account, exceptionId } = await heldCharge(w)
  // A lock on the balance that it moves keeps the operator's transaction open at its last step.
  const client = await w.pool.connect()
  try {
    await client.query('begin')
    await client.query(
      `select from ledger_balances b join ledger_accounts l on l.id = b.ledger_account_id where l.kind = 'written_off' for update`,
    )
    const decided = resolveException(w.ctx, OPERATOR, exceptionId, { how: 'write_off' }, 'nobody asked for it')
    await w.lockWait()
    const settled = settleAll(w, [payment])
    await untilTwoWait(w)
    await client.query('commit')
    expect(await decided).toMatchObject({ state: 'resolved', resolution: { how: 'write_off' } })
    expect(await settled).toMatchObject({ completed: [], matched: 0, known: 1 })
  } finally {
    client.release()
  }
  expect(await w.balanceCents(account.accountId)).toBe(0)
  expect(await w.count('charges', `status = 'PENDING'`)).toBe(1)
  // The bank names a charge, and the operator decided without it. That is no difference in money.
  expect((await w.differences()).filter((difference) => difference.check !== 'provider')).toEqual([])
})

async function untilTwoWait(w: World): Promise<void> {
  await expect
    .poll(() => w.count('pg_stat_activity', `datname = current_database() and wait_event_type = 'Lock'`), {
      timeout: 60_000,
    })
    .toBe(2)
}

test('of a held payment and a new one of the same charge, the earlier completes it and the other waits for the operator', async () => {
  const w = await world()
  const { charge, payment } = await heldCharge(w)
  const later = { ...payment, endToEndId: 'E-later', occurredAt: new Date(payment.occurredAt.getTime() + 1) }
  expect(await settleAll(w, [later, payment])).toEqual({
    completed: [charge.id],
    matched: 1,
    excepted: [{ endToEndId: 'E-later', kind: 'second_payment' }],
    known: 0,
    duplicates: [],
  })
  const { rows } = await w.pool.query('select end_to_end_id from payments where credited')
  expect(rows).toEqual([{ end_to_end_id: payment.endToEndId }])
  expect(await bookDifferences(w)).toEqual([])
})

test('a held payment that does not fit the charge it names later is left to the operator', async () => {
  const w = await world()
  const { payment, account, exceptionId } = await heldCharge(w)
  const other = await w.deposit(account, { valueCents: 49_00 })
  const elsewhere = await w.deposit(account, { valueCents: 50_00 })
  await w.pool.query(`update charges set provider = 'elsewhere' where payment_link_id = $1`, [elsewhere.paymentLinkId])
  const unfit: Partial<ReceivedPayment>[] = [
    { txid: null },
    { txid: 'f'.repeat(32) },
    { txid: other.id },
    { txid: elsewhere.id },
    { amountCents: 49_00, txid: other.id },
  ]
  for (const changes of unfit) {
    expect(await settleAll(w, [{ ...payment, ...changes }])).toMatchObject({ completed: [], matched: 0, known: 1 })
  }
  expect((await exceptionOf(w, exceptionId)).state).toBe('open')
  expect(await w.balanceCents(account.accountId)).toBe(0)
})

// ---- By an operator: the charge is completed with another amount ----

/** A charge of 100,00, and a Pix of another amount in suspense. */
async function wronglyPaid(w: World, amountCents = 90_00) {
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 100_00 })
  const { pix } = await w.sandbox.pay({ emv: charge.emv, amountCents })
  const { endToEndId, txid, horario } = pix[0]!
  const payment = { provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }
  await settleAll(w, [payment])
  return { account, charge, payment, exceptionId: await openException(w) }
}

const match = (w: World, id: string) => resolveException(w.ctx, OPERATOR, id, { how: 'match' }, 'the shop accepts it')

async function statusOf(w: World, { id }: Charge): Promise<string> {
  const { rows } = await w.pool.query<{ status: string }>('select status from charges where id = $1', [id])
  return rows[0]!.status
}

test.each([
  ['too little', 90_00],
  ['too much', 110_00],
])('an operator completes a charge with a payment of %s, less the fee', async (_, amountCents) => {
  const w = await world()
  const { account, charge, payment, exceptionId } = await wronglyPaid(w, amountCents)
  w.clock.advance(MINUTE_MS)
  expect(await match(w, exceptionId)).toMatchObject({
    state: 'resolved',
    resolution: { how: 'match', accountId: null, by: OPERATOR, reason: 'the shop accepts it' },
    charge: { id: charge.id, status: 'COMPLETED', valueCents: 100_00, feeCents: 1_00 },
  })
  const credited = amountCents - 1_00
  expect(await holdings(w)).toEqual({ cash: amountCents, balance: credited, fees: 1_00 })
  const list = await w.app.inject(get(account.key, '/api/deposits'))
  expect(list.json().deposits).toMatchObject([
    { status: 'COMPLETED', value: 100_00, receivedValue: amountCents, creditedValue: credited, paidLate: false },
  ])
  const { rows } = await w.pool.query<{ body: string }>(SELECT_SUCCESS)
  expect(rows.map((row) => JSON.parse(row.body).data)).toMatchObject([
    { value: 100_00, fee: 1_00, creditedValue: credited, endToEndId: payment.endToEndId },
  ])
  const session = await w.session(account)
  const overview = (await session.ask('GET', '/dashboard/api/overview')).json()
  expect(overview.today).toMatchObject({
    paid: 1,
    paidValue: amountCents,
    creditedValue: credited,
  })
  const { timeline } = (await session.ask('GET', `/dashboard/api/deposit/${charge.paymentLinkId}/timeline`)).json()
  expect(timeline).toContainEqual(
    expect.objectContaining({ kind: 'credited', value: credited, balanceAfter: credited }),
  )
  expect(await w.count('audit_log', `action = 'exception.resolved'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('a charge that was completed with another amount is refunded up to what was received', async () => {
  const w = await world()
  const { account, charge, exceptionId } = await wronglyPaid(w, 110_00)
  await match(w, exceptionId)
  await completeAnother(w, account)
  const asked = { accountId: null, paymentLinkId: charge.paymentLinkId, reason: null, idempotencyKey: null }
  await expect(requestRefund(w.ctx, OPERATOR, { ...asked, amountCents: 110_01 })).rejects.toThrow(
    '11000 cents of 11000',
  )
  const { refund } = await requestRefund(w.ctx, OPERATOR, { ...asked, amountCents: null })
  expect(refund.amountCents).toBe(110_00)
  expect(await w.differences()).toEqual([])
})

async function completeAnother(w: World, account: Awaited<ReturnType<World['account']>>): Promise<void> {
  const { payment } = await w.paidCharge({ account })
  await settleAll(w, [payment])
}

test('the code of a charge that an operator completed is withdrawn, so that it is not paid again', async () => {
  const w = await world()
  const { charge, exceptionId } = await wronglyPaid(w)
  const withdrawn: string[] = []
  changeProvider(w, {
    cancel: async (txid) => {
      withdrawn.push(txid)
      return 'withdrawn'
    },
  })
  await match(w, exceptionId)
  await checkDue(w.ctx)
  expect(withdrawn).toEqual([charge.id])
  expect(await w.count('checks')).toBe(0)
  expect(await statusOf(w, charge)).toBe('COMPLETED')
  expect(await bookDifferences(w)).toEqual([])
})

test('a match that does not fit is refused in words, and changes nothing', async () => {
  const w = await world()
  const small = await wronglyPaid(w, 1_00)
  await expect(match(w, small.exceptionId)).rejects.toThrow('does not exceed the charge')
  const { pix } = await w.sandbox.pay({ txid: small.charge.id, amountCents: 100_00, force: true })
  const right = { ...small.payment, endToEndId: pix[0]!.endToEndId, amountCents: 100_00 }
  await settleAll(w, [right])
  await expect(match(w, small.exceptionId)).rejects.toThrow('Charge is COMPLETED by another payment')
  await settleAll(w, [{ ...right, endToEndId: 'E-second' }])
  const [second] = (await listExceptions(w.ctx, { kind: 'second_payment', limit: 1 })).exceptions
  await expect(match(w, second!.id)).rejects.toThrow('An exception of kind second_payment can be resolved with')
  await settleAll(w, [{ ...right, endToEndId: 'E-stray', txid: null }])
  const [stray] = (await listExceptions(w.ctx, { kind: 'unknown_charge', limit: 1 })).exceptions
  await expect(match(w, stray!.id)).rejects.toThrow('names no charge that it could complete')
  expect(await w.count('exceptions', 'resolution is not null')).toBe(0)
  expect(await bookDifferences(w)).toEqual([])
})

// The operator waits for the charge that the settlement holds, and then finds it completed.
test('an operator’s match loses to a payment of the right amount that is settled at the same time', async () => {
  const w = await world()
  const { account, charge, payment, exceptionId } = await wronglyPaid(w)
  let matched: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [{ ...payment, endToEndId: 'E-right', amountCents: 100_00 }])
    matched = match(w, exceptionId)
    matched.catch(() => {})
    await w.lockWait()
  })
  await expect(matched).rejects.toThrow('Charge is COMPLETED by another payment')
  expect(await w.balanceCents(account.accountId)).toBe(99_00)
  expect(await statusOf(w, charge)).toBe('COMPLETED')
  expect((await exceptionOf(w, exceptionId)).state).toBe('open')
  expect(await bookDifferences(w)).toEqual([])
})

// ---- By an operator: the charge is closed ----

test('resolving an exception can close the charge that it names, which the bank holds for paid', async () => {
  const w = await world()
  const { account, charge, exceptionId } = await wronglyPaid(w)
  const resolution = { how: 'credit', accountId: account.accountId, charge: 'close' } as const
  expect(await resolveException(w.ctx, OPERATOR, exceptionId, resolution, 'as a credit')).toMatchObject({
    state: 'resolved',
    charge: { status: 'CANCELED' },
  })
  expect(await statusOf(w, charge)).toBe('CANCELED')
  expect(await w.balanceCents(account.accountId)).toBe(90_00)
  expect(await w.differences()).toEqual([])
})

test('a charge that can still be paid is withdrawn at the provider before it is closed', async () => {
  const w = await world()
  const { charge, exceptionId } = await heldWithActiveCharge(w)
  await resolveException(w.ctx, OPERATOR, exceptionId, { how: 'write_off', charge: 'close' }, 'closed')
  const answer = await w.ctx.providers[0]!.check(charge.id)
  expect(answer).toMatchObject({ status: 'withdrawn' })
  expect(await statusOf(w, charge)).toBe('CANCELED')
  expect(await bookDifferences(w)).toEqual([])
})

/** In the books the charge was paid with too little; at the bank it is active. */
async function heldWithActiveCharge(w: World) {
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 100_00 })
  const payment = {
    provider: 'sandbox',
    endToEndId: 'E-short',
    txid: charge.id,
    amountCents: 90_00,
    occurredAt: w.clock.now(),
  }
  await settleAll(w, [payment])
  return { account, charge, exceptionId: await openException(w) }
}

test('a charge that was paid meanwhile cannot be closed, and nothing is resolved', async () => {
  const w = await world()
  const { account, charge, exceptionId } = await heldWithActiveCharge(w)
  await w.sandbox.pay({ emv: charge.emv })
  await expect(
    resolveException(w.ctx, OPERATOR, exceptionId, { how: 'write_off', charge: 'close' }, 'closed'),
  ).rejects.toThrow('Charge is COMPLETED and cannot be canceled')
  expect((await exceptionOf(w, exceptionId)).state).toBe('open')
  expect(await w.balanceCents(account.accountId)).toBe(99_00)
  expect(await bookDifferences(w)).toEqual([])
})

test('what cannot be resolved closes no charge, and a charge that is closed already is no obstacle', async () => {
  const w = await world()
  const { account, charge, exceptionId } = await heldWithActiveCharge(w)
  const nobody = { how: 'credit', accountId: charge.paymentLinkId, charge: 'close' } as const
  await expect(resolveException(w.ctx, OPERATOR, exceptionId, nobody, 'closed')).rejects.toThrow('Account not found')
  expect(await statusOf(w, charge)).toBe('PENDING')
  await cancelDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const closed = await resolveException(w.ctx, OPERATOR, exceptionId, { how: 'write_off', charge: 'close' }, 'closed')
  expect(closed.state).toBe('resolved')
  expect(await bookDifferences(w)).toEqual([])
})

// ---- The schema ----

test.each([
  ['a payment that is credited without a charge', `update payments set credited = true where end_to_end_id = 'E-held'`],
  [
    'a payment that is credited to another charge than its txid names',
    `update payments p set credited = true, charge_id = c.id, txid = $$x$$ from charges c where p.end_to_end_id = 'E-held' and c.status = 'PENDING'`,
  ],
  ['a payment whose amount changes', `update payments set amount_cents = 1 where end_to_end_id = 'E-held'`],
  ['a payment that is no longer credited', `update payments set credited = false where credited`],
  ['a payment that is deleted', `delete from payments where end_to_end_id = 'E-held'`],
  [
    'what was received of a charge that is not completed',
    `update charges set received_cents = 1 where status = 'PENDING'`,
  ],
  [
    'a second way out of suspense for one exception',
    `insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, exception_id, occurred_at, recorded_at)
     select 'exception_written_off', debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, exception_id, occurred_at, recorded_at
     from transfers where kind = 'matched_deposit'`,
  ],
  [
    'a second fee of one match',
    `insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, charge_id, account_id, exception_id, occurred_at, recorded_at)
     select kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, (select id from payments where end_to_end_id = 'E-held'),
       charge_id, account_id, exception_id, occurred_at, recorded_at from transfers where kind = 'matched_fee'`,
  ],
])('the schema refuses %s', async (_, sql) => {
  const w = await world()
  const { payment, account } = await heldCharge(w)
  await settleAll(w, [payment])
  await w.deposit(account)
  await settleAll(w, [{ ...payment, endToEndId: 'E-held', txid: null }])
  await expect(w.pool.query(sql)).rejects.toThrow(/append only|constraint/)
})

// ---- One Pix, two providers ----

test('a Pix that two providers report is booked once, logged and counted', async () => {
  const w = await world({ second: true })
  const { payment, account } = await w.paidCharge()
  await w.ctx.settlements.add([payment])
  await w.ctx.settlements.add([{ ...payment, provider: 'second' }])
  expect(await w.count('payments')).toBe(1)
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })
  expect(w.logged).toMatchObject([
    { level: 'warn', fields: { endToEndId: payment.endToEndId, provider: 'second', bookedUnder: 'sandbox' } },
  ])
  const metrics = await w.ctx.metrics.registry.metrics()
  expect(metrics).toContain('guiche_payments_duplicate_total{provider="second"} 1')
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.differences()).toEqual([])
})

test('a Pix that two providers report at the same time is booked once', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  const other = { ...payment, provider: 'second', txid: null }
  let second: Promise<Settled> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [payment])
    second = transact(w.pool, (later) => settle(later, w.clock.now(), [other]))
    await w.lockWait()
  })
  const { endToEndId } = payment
  expect(await second).toEqual({
    completed: [],
    matched: 0,
    excepted: [],
    known: 0,
    duplicates: [{ endToEndId, provider: 'second', bookedUnder: 'sandbox' }],
  })
  expect(await w.count('payments')).toBe(1)
  expect(await bookDifferences(w)).toEqual([])
})

test('of two reports of one Pix in one batch, the one of the charge’s provider is booked', async () => {
  const w = await world()
  const { charge, payment } = await w.paidCharge()
  const settled = await settleAll(w, [{ ...payment, provider: 'another' }, payment])
  expect(settled).toMatchObject({
    completed: [charge.id],
    excepted: [],
    duplicates: [{ provider: 'another', bookedUnder: 'sandbox' }],
  })
  expect(await w.differences()).toEqual([])
})

test('a refund that the bank reports while its payment is matched is a refund of the charge', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account, { valueCents: 50_00 })
  const { pix } = await w.sandbox.pay({ emv: charge.emv })
  const { endToEndId, horario } = pix[0]!
  const payment = { provider: 'sandbox', endToEndId, amountCents: 50_00, occurredAt: new Date(horario) }
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [{ ...payment, txid: null }]))
  const refunds = [{ refundId: 'F1', amountCents: 10_00, status: 'done' as const, reason: null }]

  let noted: Promise<void> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [{ ...payment, txid: charge.id }])
    noted = recordExternalRefunds(w.ctx, [{ ...payment, refunds }])
    await w.lockWait()
  })
  await noted
  expect(await w.count('refunds', `charge_id is not null and source = 'provider'`)).toBe(1)
  expect(await w.count('charges', 'refunded_cents = 1000')).toBe(1)
  expect(await bookDifferences(w)).toEqual([])
})
