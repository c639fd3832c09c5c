import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Fault } from '../src/base/fault.ts'
import { loadConfig } from '../src/config/config.ts'
import { transact } from '../src/db/tx.ts'
import { readStatement } from '../src/domain/ledger/account-statement.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { endRefund, type RefundEnd } from '../src/domain/refunds/refund-states.ts'
import { feeShare, listRefunds, requestRefund, type RefundRequest } from '../src/domain/refunds/request-refund.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import {
  changeProvider,
  completedCharge,
  followToEnd,
  holdings,
  OPERATOR,
  refund,
  stateOf,
  strayPayment,
  untilWaiting,
  wholeOf,
} from './refund-steps.ts'
import { world, type World } from './world.ts'

// ---- From the promise to the end ----

test('a refund leaves the balance when it is promised, and the bank when it is done', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  const made = await refund(w, charge, { amountCents: 20_00 })
  expect(made).toMatchObject({ status: 'PROCESSING', amountCents: 20_00, feeReturnedCents: 0, source: 'balance' })
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 29_50, refunding: 20_00, fees: 50 })
  expect(await w.differences()).toEqual([])

  await followToEnd(w, made)
  expect(await holdings(w)).toEqual({ cash: 30_00, balance: 29_50, fees: 50 })
  expect(await stateOf(w, charge.id)).toEqual({ status: 'COMPLETED', refunded_cents: 20_00 })
  const { lines } = await readStatement(w.ctx, account.accountId, { limit: 10 })
  expect(lines).toMatchObject([
    { kind: 'refund_reserved', netCents: -20_00, balanceCents: 29_50, refundId: made.id, chargeId: charge.id },
    { kind: 'deposit', netCents: 49_50, balanceCents: 49_50, refundId: null },
  ])
  expect(await w.differences()).toEqual([])
})

test('a refund that is done is told to the account holder, once, with what was refunded in all', async () => {
  const w = await world()
  const { charge } = await completedCharge(w, { valueCents: 50_00 })
  for (const amountCents of [10_00, 5_00]) {
    const made = await refund(w, charge, { amountCents })
    expect(await w.count('events', `kind = 'DEPOSIT_REFUNDED' and subject_id = '${made.id}'`)).toBe(0)
    await followToEnd(w, made)
    await runDueRefunds(w.ctx)
  }
  const { rows } = await w.pool.query(`select body from events where kind = 'DEPOSIT_REFUNDED' order by id`)
  const [first, second] = rows.map(({ body }) => JSON.parse(body))
  const refunds = (await listRefunds(w.ctx, { limit: 10 })).refunds
  expect(first).toEqual({
    id: expect.stringMatching(/^evt_/),
    event: 'DEPOSIT_REFUNDED',
    createdAt: expect.any(String),
    data: {
      transactionId: charge.id,
      paymentLinkId: charge.paymentLinkId,
      externalId: null,
      refundId: refunds[1]!.id,
      refundedValue: 10_00,
      totalRefundedValue: 10_00,
      value: 50_00,
      returnedFee: 0,
      status: 'COMPLETED',
      endToEndId: refunds[1]!.endToEndId,
      refundedAt: refunds[1]!.endedAt!.toISOString(),
      metadata: null,
    },
  })
  expect(second.data).toMatchObject({ refundedValue: 5_00, totalRefundedValue: 15_00, refundId: refunds[0]!.id })
  expect(rows).toHaveLength(2)
})

test('partial refunds go on until nothing is left, and then no further', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  await completedCharge(w, { account, valueCents: 10_00 }) // pays for the fee
  await refund(w, charge, { amountCents: 30_00 })
  const tooMuch = refund(w, charge, { amountCents: 20_01 })
  await expect(tooMuch).rejects.toMatchObject({
    code: 'refund_too_large',
    details: { leftCents: 20_00 },
    message: expect.stringContaining('2000 cents of 5000'),
  })
  expect(await refund(w, charge)).toMatchObject({ amountCents: 20_00 })
  await expect(refund(w, charge)).rejects.toThrow('Charge is already refunded: 0 cents are left')
  expect(await w.balanceCents(account.accountId)).toBe(9_40)
})

test('a refund that the balance cannot bear is refused, with the numbers, and leaves no trace', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  await expect(refund(w, charge)).rejects.toThrow('Balance is too small: it is 4950 cents, and 5000 are needed')
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await w.count('refunds')).toBe(0)
  expect(await w.count('audit_log', `action like 'refund.%'`)).toBe(0)
})

test.each(['PENDING', 'EXPIRED'])('a charge that is %s cannot be refunded', async (status) => {
  const w = await world()
  const charge = await w.deposit(await w.account())
  await w.pool.query('update charges set status = $1', [status])
  await expect(refund(w, charge)).rejects.toThrow(`Charge is ${status} and cannot be refunded`)
})

test('a charge of another account, an unknown one and a malformed id are all not found', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const other = await w.account()
  for (const request of [
    { accountId: other.accountId },
    { paymentLinkId: crypto.randomUUID() },
    { paymentLinkId: 'x' },
  ])
    await expect(refund(w, charge, request)).rejects.toMatchObject({ code: 'not_found', message: 'Charge not found' })
})

test('every request for a refund stands in the audit log, with who and why', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 100, reason: 'the shop asked' })
  const { rows } = await w.pool.query(`select * from audit_log where action like 'refund.%'`)
  expect(rows).toMatchObject([
    {
      actor_kind: 'console',
      actor: 'ana',
      action: 'refund.requested',
      subject: `refund ${made.id}`,
      account_id: account.accountId,
      reason: 'the shop asked',
      details: { amountCents: 100, paymentLinkId: charge.paymentLinkId },
    },
  ])
})

// ---- Forced races: a lock holds both until both wait ----

test('of two refunds that race for the last cents of a charge, one wins', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  await completedCharge(w, { account, valueCents: 50_00 })
  const outcomes = await racing(w, `select from charges where id = '${charge.id}' for update`, [
    () => refund(w, charge, { amountCents: 30_00 }),
    () => refund(w, charge, { amountCents: 30_00 }),
  ])
  expect(outcomes.toSorted()).toEqual(['PROCESSING', 'value is more than is left to refund: 2000 cents of 5000'])
  expect(await w.differences()).toEqual([])
})

test('of two refunds of different charges that race for the last cents of a balance, one wins', async () => {
  const w = await world()
  const { charge: first, account } = await completedCharge(w, { valueCents: 50_00 })
  const { charge: other } = await completedCharge(w, { account, valueCents: 50_00 })
  await refund(w, first, { amountCents: 20_00 })
  const lock = `select from ledger_balances where ledger_account_id =
    (select id from ledger_accounts where account_id = '${account.accountId}') for update`
  const outcomes = await racing(w, lock, [
    () => refund(w, other, { amountCents: 50_00 }),
    () => refund(w, first, { amountCents: 30_00 }),
  ])
  expect(outcomes.filter((outcome) => outcome === 'PROCESSING')).toHaveLength(1)
  expect(outcomes.find((outcome) => outcome !== 'PROCESSING')).toMatch(/^Balance is too small: it is \d+ cents/)
  expect(await w.differences()).toEqual([])
})

test('the same request twice at once, with one idempotency key, is one refund', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const request = { ...wholeOf(charge), amountCents: 10_00, idempotencyKey: 'once' }
  const answers = await racing(w, `select from charges where id = '${charge.id}' for update`, [
    async () => requestRefund(w.ctx, OPERATOR, request),
    async () => requestRefund((await w.anotherProcess()).ctx, OPERATOR, request),
  ])
  expect(answers).toEqual(['PROCESSING', 'PROCESSING'])
  expect(await w.count('refunds')).toBe(1)
  const again = await requestRefund(w.ctx, OPERATOR, request)
  expect(again).toMatchObject({ replayed: true, refund: { amountCents: 10_00 } })
})

// The second waits for the first one's lock, as when a notification and the worker learn of the end together.
test('a refund whose end is told twice at once ends once', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 10_00 })
  let second: ReturnType<typeof endRefund> | undefined
  const first = await transact(w.pool, async (tx) => {
    const ended = await endRefund(tx, w.clock.now(), made.id, { status: 'done' })
    second = transact(w.pool, (other) => endRefund(other, w.clock.now(), made.id, { status: 'done' }))
    await w.lockWait()
    return ended
  })
  expect([first.move, (await second)?.move]).toEqual(['moved', 'known'])
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 39_50, fees: 50 })
  expect(await w.count('events', `kind = 'DEPOSIT_REFUNDED'`)).toBe(1)
})

// All refunds share the balance `refunding`. Every other refund waits for what one does between its posting and its
// commit.
test('a refund that waits for the balance of all refunds has written everything else', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w)
  const { charge: other } = await completedCharge(w, { account })
  const made = await refund(w, charge, { amountCents: 10_00 })
  await strayPayment(w)
  const [exception] = (await listExceptions(w.ctx, { limit: 1 })).exceptions
  await resolveException(w.ctx, OPERATOR, exception!.id, { how: 'refund' }, 'not ours')
  const returned = (await listRefunds(w.ctx, { limit: 1 })).refunds[0]!
  const end = (refundId: string, how: RefundEnd) =>
    transact(w.pool, (tx) => endRefund(tx, w.clock.now(), refundId, how))

  expect(await writtenBeforeBalance(w, () => refund(w, other, { amountCents: 10_00 }))).toContain('audit_log')
  expect(await writtenBeforeBalance(w, () => end(made.id, { status: 'done' }))).toContain('events')
  const failed = await writtenBeforeBalance(w, () => end(returned.id, { status: 'failed', failure: 'no' }))
  expect(failed).toContain('audit_log')
})

/** The tables that `work` has written when it waits for the balance `refunding`. */
async function writtenBeforeBalance(w: World, work: () => Promise<unknown>): Promise<string[]> {
  const { working, written } = await transact(w.pool, async (tx) => {
    await tx.run(
      `select from ledger_balances
       where ledger_account_id = (select id from ledger_accounts where kind = 'refunding') for update`,
    )
    const begun = work()
    await w.lockWait()
    const rows = await tx.rows<{ name: string }>(
      `select c.relname as name from pg_locks l join pg_class c on c.oid = l.relation and c.relkind = 'r'
       where l.mode = 'RowExclusiveLock' and l.pid in (select pid from pg_locks where not granted)
         and l.database = (select oid from pg_database where datname = current_database())`,
    )
    return { working: [begun], written: rows.map(({ name }) => name) }
  })
  await Promise.all(working)
  return written
}

test('one key for two different refunds is refused, also when both come at once', async () => {
  const w = await world()
  const { charge: first, account } = await completedCharge(w)
  const { charge: other } = await completedCharge(w, { account })
  const request = (charge: typeof first) => ({ ...wholeOf(charge), amountCents: 5_00, idempotencyKey: 'key' })
  const lock = `select from charges where id in ('${first.id}', '${other.id}') for update`
  const outcomes = await racing(w, lock, [
    () => requestRefund(w.ctx, OPERATOR, request(first)),
    () => requestRefund(w.ctx, OPERATOR, request(other)),
  ])
  expect(outcomes.toSorted()).toEqual(['Idempotency-Key was already used with a different request', 'PROCESSING'])
  expect(await w.count('refunds')).toBe(1)
})

test('refunds by accounts and the return of fees are off unless the operator says otherwise', () => {
  const load = (env: Record<string, string>) => loadConfig({ GUICHE_HOME: '/nowhere', ...env }).settings.refunds
  expect(load({})).toEqual({ byAccounts: false, returnFee: false })
  expect(load({ REFUNDS_BY_ACCOUNTS: 'true', REFUND_RETURNS_FEE: 'true' })).toEqual({
    byAccounts: true,
    returnFee: true,
  })
  expect(() => load({ REFUND_RETURNS_FEE: 'yes' })).toThrow('REFUND_RETURNS_FEE')
})

// ---- The fee ----

test('where the fee is given back, an account’s only deposit can be refunded whole', async () => {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  const made = await refund(w, charge)
  expect(made).toMatchObject({ amountCents: 50_00, feeReturnedCents: 50 })
  expect(await holdings(w)).toEqual({ cash: 50_00, refunding: 50_00 })
  await followToEnd(w, made)
  expect(await holdings(w)).toEqual({})
  const { lines } = await readStatement(w.ctx, account.accountId, { limit: 10 })
  expect(lines).toMatchObject([
    { kind: 'refund_reserved', grossCents: -50_00, feeCents: -50, netCents: -49_50, balanceCents: 0 },
    { kind: 'deposit', grossCents: 50_00, feeCents: 50, netCents: 49_50, balanceCents: 49_50 },
  ])
  expect(await w.differences()).toEqual([])
})

test('a refund that fails takes the fee’s share along', async () => {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const { charge } = await completedCharge(w, { valueCents: 50_00 })
  changeProvider(w, { refund: () => Promise.reject(new ProviderError('refused', 'no')) })
  expect(await refund(w, charge, { amountCents: 30_00 })).toMatchObject({ status: 'FAILED', feeReturnedCents: 30 })
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })
  expect(await w.differences()).toEqual([])
})

test('the shares of many small refunds add up to the fee, to the cent', async () => {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const { charge } = await completedCharge(w, { valueCents: 3_33 }) // fee 3
  const shares: number[] = []
  for (const amountCents of [1_11, 1, 1_10, 1_11])
    shares.push((await refund(w, charge, { amountCents })).feeReturnedCents)
  expect(shares).toEqual([1, 0, 1, 1])
  expect(await holdings(w)).toEqual({ cash: 3_33, refunding: 3_33 })
})

test('the fee’s share is that of the amount, half a cent up, and exact for the largest amounts', () => {
  expect(feeShare(50, 25_00, 50_00)).toBe(25)
  expect(feeShare(1, 50, 100)).toBe(1) // half a cent
  expect(feeShare(1, 49, 100)).toBe(0)
  expect(feeShare(999_999_999_997, 999_999_999_998, 999_999_999_999)).toBe(999_999_999_996)
  const amounts = fc.integer({ min: 2, max: 999_999_999_999 })
  fc.assert(
    fc.property(amounts, fc.nat(), fc.nat(), (value, a, b) => {
      const [fee, refunded] = [a % value, b % (value + 1)]
      const share = feeShare(fee, refunded, value)
      expect(share).toBeGreaterThanOrEqual(0)
      expect(share).toBeLessThanOrEqual(fee)
      expect(feeShare(fee, value, value)).toBe(fee)
    }),
  )
})

// ---- What the schema refuses, whatever the code does ----

test.each([
  ['a refund that ended', `update refunds set due_at = now(), status = 'PROCESSING', ended_at = null`],
  ['the amount of a refund', 'update refunds set amount_cents = 1'],
  ['a refund', 'delete from refunds'],
  ['all refunds', 'truncate refunds cascade'],
])('%s cannot be changed or taken away', async (_, sql) => {
  const w = await world()
  const { charge } = await completedCharge(w)
  await followToEnd(w, await refund(w, charge, { amountCents: 10_00 }))
  await expect(w.pool.query(sql)).rejects.toThrow('append only')
})

test('a refund that was paid cannot be released too, and none of its steps be booked twice', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  await followToEnd(w, await refund(w, charge, { amountCents: 10_00 }))
  const copy = (kind: string, from: string) =>
    w.pool.query(
      `insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id, refund_id,
         occurred_at, recorded_at)
       select $1, debit_id, credit_id, amount_cents, 0, 0, payment_id, refund_id, occurred_at, recorded_at
       from transfers where kind = $2`,
      [kind, from],
    )
  await expect(copy('refund_released', 'refund_paid')).rejects.toThrow('transfers_one_end')
  await expect(copy('refund_reserved', 'refund_reserved')).rejects.toThrow('transfers_once_per_refund')
  await expect(copy('deposit', 'deposit')).rejects.toThrow('transfers_once_per_payment')
  await expect(copy('refund_paid', 'deposit')).rejects.toThrow('transfers_kind_check')
})

/**
 * Starts all behind this lock, and releases it when all wait. Returns what came of each: a status, or an error's
 * message.
 */
async function racing(w: World, lock: string, works: (() => Promise<object>)[]): Promise<string[]> {
  let outcomes: Promise<string[]> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run(lock)
    outcomes = Promise.all(
      works.map((work) =>
        work().then(
          (made) => ('refund' in made ? made.refund : made) as { status: string },
          (error: Error) => ({ status: error.message }),
        ),
      ),
    ).then((made) => made.map(({ status }) => status))
    await untilWaiting(w, works.length)
  })
  return outcomes!
}

// ---- Repeated under one key ----

test('a key that is repeated with any field of the request changed is refused', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w)
  const { charge: other } = await completedCharge(w, { account })
  const first = { ...wholeOf(charge), amountCents: 10_00, reason: 'order 7', idempotencyKey: 'key-1' }
  // Every field except the account and the key. A new field does not compile until it is tried here.
  const changes: Required<Omit<RefundRequest, 'accountId' | 'idempotencyKey'>> = {
    paymentLinkId: other.paymentLinkId,
    amountCents: 10_01,
    reason: 'order 8',
  }
  const { refund: made } = await requestRefund(w.ctx, OPERATOR, first)
  for (const [field, value] of Object.entries(changes)) {
    const changed = requestRefund(w.ctx, OPERATOR, { ...first, [field]: value })
    const told = await changed.then(
      () => 'accepted',
      (error: Fault) => error.code,
    )
    expect([field, told]).toEqual([field, 'idempotency_mismatch'])
  }
  expect(await requestRefund(w.ctx, OPERATOR, first)).toMatchObject({ refund: { id: made.id }, replayed: true })
})
