import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { eraseAccount } from '../src/domain/accounts/erase-account.ts'
import { suspendAccount } from '../src/domain/accounts/accounts.ts'
import type { Actor } from '../src/domain/core/audit-log.ts'
import { readBalance, readStatement } from '../src/domain/ledger/account-statement.ts'
import { endPayout, reservePayout } from '../src/domain/payouts/payout-states.ts'
import { payPayout, rejectPayout, requestPayout, type PayoutRequest } from '../src/domain/payouts/payouts.ts'
import { corrupt } from './corrupt.ts'
import { bookDifferences, completedCharge, holdings, OPERATOR } from './refund-steps.ts'
import { world, type TestAccount, type World } from './world.ts'

const DAY_MS = 24 * 3_600_000

/** An account with R$ 99,00 available. */
async function funded() {
  const w = await world()
  const { account } = await completedCharge(w, { valueCents: 100_00 })
  return { w, account, actor: { kind: 'account', name: account.email } satisfies Actor }
}

async function ask(w: World, account: TestAccount, request: Partial<PayoutRequest> = {}) {
  const whole = { accountId: account.accountId, valueCents: 40_00, note: null, idempotencyKey: null, ...request }
  return (await requestPayout(w.ctx, { kind: 'account', name: account.email }, whole)).payout
}

async function balanceOf(w: World, { accountId }: TestAccount) {
  const { balanceCents, availableCents, reservedCents } = await readBalance(w.ctx, accountId)
  return [balanceCents, availableCents, reservedCents]
}

// ---- The states ----

test('a payout sets the money aside, and paying it takes the money out of the books', async () => {
  const { w, account } = await funded()
  expect(await balanceOf(w, account)).toEqual([99_00, 99_00, 0])
  const payout = await ask(w, account, { note: 'March' })
  expect(payout).toMatchObject({ status: 'REQUESTED', valueCents: 40_00, note: 'March', endedAt: null, paidAt: null })
  expect(await balanceOf(w, account)).toEqual([99_00, 59_00, 40_00])
  w.clock.advance(DAY_MS)
  const paid = await payPayout(w.ctx, OPERATOR, payout.id, { reference: 'E1', paidAt: '2026-03-02' })
  expect(paid).toMatchObject({ status: 'PAID', reference: 'E1', paidAt: '2026-03-02', endedBy: OPERATOR, reason: null })
  expect(await balanceOf(w, account)).toEqual([59_00, 59_00, 0])
  expect(await holdings(w)).toEqual({ cash: 100_00, balance: 59_00, fees: 1_00, paid_out: 40_00 })
  expect(await bookDifferences(w)).toEqual([])
})

test('a rejected payout is available again, with the reason for whoever asked', async () => {
  const { w, account } = await funded()
  const payout = await ask(w, account)
  const rejected = await rejectPayout(w.ctx, OPERATOR, payout.id, ' the bank account is closed ')
  expect(rejected).toMatchObject({ status: 'REJECTED', reason: 'the bank account is closed', reference: null })
  expect(await balanceOf(w, account)).toEqual([99_00, 99_00, 0])
  expect(await bookDifferences(w)).toEqual([])
})

test('the statement has a line when a payout is reserved, one when it is returned, and says how each payout stands', async () => {
  const { w, account } = await funded()
  const [paid, rejected] = [await ask(w, account), await ask(w, account, { valueCents: 9_00 })]
  await payPayout(w.ctx, OPERATOR, paid.id, { reference: 'E1' })
  await rejectPayout(w.ctx, OPERATOR, rejected.id, 'no')
  const { lines } = await readStatement(w.ctx, account.accountId, { limit: 10 })
  expect(lines.map((line) => [line.kind, line.netCents, line.balanceCents, line.payoutId, line.payout])).toEqual([
    ['payout_returned', 9_00, 59_00, rejected.id, { status: 'REJECTED', reference: null, paidAt: null }],
    ['payout_reserved', -9_00, 50_00, rejected.id, { status: 'REJECTED', reference: null, paidAt: null }],
    ['payout_reserved', -40_00, 59_00, paid.id, { status: 'PAID', reference: 'E1', paidAt: '2026-03-02' }],
    ['deposit', 99_00, 99_00, null, null],
  ])
})

test('each step is in the audit log with the person, and each end is an event', async () => {
  const { w, account } = await funded()
  const [paid, rejected] = [await ask(w, account), await ask(w, account, { valueCents: 9_00, note: 'rest' })]
  await payPayout(w.ctx, OPERATOR, paid.id, { reference: 'E1' })
  await rejectPayout(w.ctx, OPERATOR, rejected.id, 'no')
  const { rows: lines } = await w.pool.query(
    `select action, actor, subject, account_id, reason from audit_log where action like 'payout.%' order by id`,
  )
  const line = (action: string, actor: string, { id }: { id: string }, reason: string | null = null) => ({
    action,
    actor,
    subject: `payout ${id}`,
    account_id: account.accountId,
    reason,
  })
  expect(lines).toEqual([
    line('payout.requested', account.email, paid),
    line('payout.requested', account.email, rejected),
    line('payout.paid', 'ana', paid),
    line('payout.rejected', 'ana', rejected, 'no'),
  ])
  const { rows: events } = await w.pool.query(
    `select body::json->>'event' as event, body::json->'data' as data from events where kind like 'PAYOUT_%' order by id`,
  )
  const requestedAt = '2026-03-02T12:00:00.000Z'
  const data = (more: object) => ({ requestedAt, note: null, ...more })
  expect(events).toEqual([
    {
      event: 'PAYOUT_PAID',
      data: data({ payoutId: paid.id, value: 40_00, status: 'PAID', reference: 'E1', paidAt: '2026-03-02' }),
    },
    {
      event: 'PAYOUT_REJECTED',
      data: data({ payoutId: rejected.id, value: 9_00, note: 'rest', status: 'REJECTED', reason: 'no' }),
    },
  ])
})

// ---- What is refused ----

test('more than is available is refused, and nothing of the request stays', async () => {
  const { w, account } = await funded()
  await ask(w, account, { valueCents: 60_00 })
  await expect(ask(w, account, { valueCents: 39_01 })).rejects.toMatchObject({
    code: 'balance_too_small',
    details: { balanceCents: 39_00, neededCents: 39_01 },
  })
  expect([await w.count('payouts'), await w.count('audit_log', `action = 'payout.requested'`)]).toEqual([1, 1])
  expect(await balanceOf(w, account)).toEqual([99_00, 39_00, 60_00])
})

test('an account has at most a hundred open payouts', async () => {
  const { w, account } = await funded()
  for (let index = 0; index < 100; index++) await ask(w, account, { valueCents: 1 })
  const oneMore = () => ask(w, account, { valueCents: 1 })
  await expect(oneMore()).rejects.toMatchObject({ code: 'payout_limit', details: { maxPayouts: 100 } })
  const { rows } = await w.pool.query('select id from payouts limit 1')
  await rejectPayout(w.ctx, OPERATOR, rows[0].id, 'no')
  expect(await oneMore()).toMatchObject({ status: 'REQUESTED' })
})

test.each([
  ['before the request', '2026-03-01'],
  ['in the future', '2026-03-05'],
  ['that the calendar lacks', '2026-03-32'],
])('a payout cannot be paid on a day %s', async (_, paidAt) => {
  const { w, account } = await funded()
  const { id } = await ask(w, account)
  w.clock.advance(2 * DAY_MS)
  await expect(payPayout(w.ctx, OPERATOR, id, { reference: 'E1', paidAt })).rejects.toMatchObject({
    code: 'field_invalid',
    message: 'paidAt must be a day from 2026-03-02 to 2026-03-04: not before the request, and not in the future',
  })
  expect(await balanceOf(w, account)).toEqual([99_00, 59_00, 40_00])
})

test('an account with an open payout cannot be erased, and an erased one gets none', async () => {
  const { w, account } = await funded()
  const { id } = await ask(w, account, { valueCents: 99_00 })
  await suspendAccount(w.ctx, OPERATOR, account.accountId, 'closed')
  w.clock.advance(61_000)
  const erase = () => eraseAccount(w.ctx, OPERATOR, { accountId: account.accountId, isPaidOut: true }, 'asked')
  expect(await erase()).toEqual({ refusal: expect.stringContaining('a payout is REQUESTED; pay or reject it') })
  await payPayout(w.ctx, OPERATOR, id, { reference: 'E1' })
  expect(await erase()).not.toHaveProperty('refusal')
  await expect(ask(w, account, { valueCents: 1 })).rejects.toMatchObject({ code: 'account_suspended' })
  expect(await bookDifferences(w)).toEqual([])
})

// ---- Once ----

test('two requests for the same money at once: the second waits, and is refused', async () => {
  const { w, account, actor } = await funded()
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    const wanted = { accountId: account.accountId, valueCents: 60_00, note: null, idempotency: null }
    await reservePayout(tx, w.clock.now(), actor, wanted)
    second = ask(w, account, { valueCents: 60_00 }).catch((error: unknown) => error)
    await w.lockWait()
  })
  expect(await second).toMatchObject({ code: 'balance_too_small' })
  expect(await balanceOf(w, account)).toEqual([99_00, 39_00, 60_00])
  expect(await bookDifferences(w)).toEqual([])
})

test('two requests with one key at once make one payout', async () => {
  const { w, account } = await funded()
  let both: Promise<{ id: string }[]> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from accounts where id = $1 for no key update', [account.accountId])
    both = Promise.all([1, 2].map(() => ask(w, account, { idempotencyKey: 'march' })))
    await w.lockWait()
  })
  const [first, second] = (await both)!
  expect(first!.id).toBe(second!.id)
  expect(await balanceOf(w, account)).toEqual([99_00, 59_00, 40_00])
  await payPayout(w.ctx, OPERATOR, first!.id, { reference: 'E1' })
  expect(await ask(w, account, { idempotencyKey: 'march' })).toMatchObject({ id: first!.id, status: 'PAID' })
  await expect(ask(w, account, { idempotencyKey: 'march', note: 'x' })).rejects.toMatchObject({
    code: 'idempotency_mismatch',
  })
})

test('a payout that is paid and rejected at once ends in one way, and the loser is told which', async () => {
  const { w, account } = await funded()
  const { id } = await ask(w, account)
  let rejecting: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await endPayout(tx, w.clock.now(), OPERATOR, id, { status: 'PAID', reference: 'E1', paidAt: '2026-03-02' })
    rejecting = rejectPayout(w.ctx, OPERATOR, id, 'no').catch((error: unknown) => error)
    await w.lockWait()
  })
  expect(await rejecting).toMatchObject({
    code: 'payout_ended',
    message: 'Payout is already PAID, on 2026-03-02 with the reference E1',
  })
  expect(await balanceOf(w, account)).toEqual([59_00, 59_00, 0])
  expect(await bookDifferences(w)).toEqual([])
})

test('the same end again changes nothing, and another one is refused', async () => {
  const { w, account } = await funded()
  const [paid, rejected] = [await ask(w, account), await ask(w, account)]
  const first = await payPayout(w.ctx, OPERATOR, paid.id, { reference: 'E1' })
  await rejectPayout(w.ctx, OPERATOR, rejected.id, 'no')
  w.clock.advance(DAY_MS)
  const again = (end: { reference: string; paidAt?: string }) => payPayout(w.ctx, OPERATOR, paid.id, end)
  expect(await again({ reference: 'E1' })).toEqual(first)
  expect(await again({ reference: 'E1', paidAt: '2026-03-02' })).toEqual(first)
  expect(await rejectPayout(w.ctx, OPERATOR, rejected.id, 'no')).toMatchObject({ status: 'REJECTED' })
  const refused = { code: 'payout_ended', details: { status: 'PAID' } }
  await expect(again({ reference: 'E2' })).rejects.toMatchObject(refused)
  await expect(again({ reference: 'E1', paidAt: '2026-03-03' })).rejects.toMatchObject(refused)
  await expect(rejectPayout(w.ctx, OPERATOR, rejected.id, 'other')).rejects.toMatchObject({
    message: 'Payout is already REJECTED, with the reason: no',
  })
  expect(await w.count('events', `kind like 'PAYOUT_%'`)).toBe(2)
  expect(await bookDifferences(w)).toEqual([])
})

// ---- What the schema refuses, whatever the code does ----

const TRANSFER = `insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents,
  payment_id, charge_id, payout_id, account_id, occurred_at, recorded_at)`
const COPY = 'debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents'

test.each<[what: string, sql: string, constraint: string]>([
  ['an end without its columns', `update payouts set status = 'PAID'`, 'payouts_ended'],
  [
    'a day in the future of its end',
    `update payouts set status = 'PAID', ended_at = requested_at, ended_by_kind = 'console', ended_by = 'x',
       reference = 'x', paid_at = '2027-01-01'`,
    'payouts_paid_at',
  ],
  [
    'a second reservation',
    `${TRANSFER} select kind, ${COPY}, null, null, payout_id, account_id, occurred_at, recorded_at
     from transfers where kind = 'payout_reserved'`,
    'transfers_once_per_payout',
  ],
  [
    'a transfer of a payout and a payment',
    `${TRANSFER} select kind, ${COPY}, gen_random_uuid(), null, gen_random_uuid(), account_id, occurred_at, recorded_at
     from transfers where kind = 'payout_reserved'`,
    'transfers_one_subject',
  ],
  [
    'a deposit of a payout',
    `${TRANSFER} select 'deposit', ${COPY}, null, null, payout_id, account_id, occurred_at, recorded_at
     from transfers where kind = 'payout_reserved'`,
    'transfers_kind_check',
  ],
])('the schema refuses %s', async (_, sql, constraint) => {
  const { w, account } = await funded()
  await ask(w, account)
  await expect(w.pool.query(sql)).rejects.toMatchObject({ constraint })
})

test('both ends of one payout cannot be booked', async () => {
  const { w, account } = await funded()
  await payPayout(w.ctx, OPERATOR, (await ask(w, account)).id, { reference: 'E1' })
  const sql = `${TRANSFER} select 'payout_returned', ${COPY}, null, null, payout_id, account_id, occurred_at, recorded_at
    from transfers where kind = 'payout_paid'`
  await expect(w.pool.query(sql)).rejects.toMatchObject({ constraint: 'transfers_once_per_payout' })
})

test.each([
  `update payouts set value_cents = 1`,
  `update payouts set account_id = gen_random_uuid()`,
  `delete from payouts`,
  `truncate payouts`,
])('what a payout is never changes: %s', async (sql) => {
  const { w, account } = await funded()
  await ask(w, account)
  await expect(w.pool.query(sql)).rejects.toThrow('payouts is append only')
})

test('nothing of a payout changes once it has ended', async () => {
  const { w, account } = await funded()
  await rejectPayout(w.ctx, OPERATOR, (await ask(w, account)).id, 'no')
  await expect(w.pool.query(`update payouts set reason = 'x'`)).rejects.toThrow('payouts is append only')
})

// ---- Past the triggers: the audit names it ----

const OTHER_ACCOUNT = `(select id from accounts where id <> (select account_id from payouts limit 1) limit 1)`

test.each<[lie: string, sql: string, checks: string[]]>([
  ['of another amount', `update payouts set value_cents = value_cents + 1`, ['row', 'transfer', 'total']],
  ['with another note', `update payouts set note = 'x'`, ['row']],
  ['of another owner', `update payouts set account_id = ${OTHER_ACCOUNT}`, ['row', 'transfer']],
  [
    'that is open again',
    `update payouts set status = 'REQUESTED', ended_at = null, ended_by_kind = null, ended_by = null, reference = null, paid_at = null where status = 'PAID'`,
    ['row', 'transfer', 'payout_event', 'total'],
  ],
  ['with another reference', `update payouts set reference = 'E2' where status = 'PAID'`, ['row', 'payout_event']],
  ['that is gone', `delete from payouts where status = 'PAID'`, ['row', 'transfer', 'payout_event', 'total']],
  ['whose transfer is gone', `delete from transfers where kind = 'payout_paid'`, ['transfer', 'balance']],
  ['whose event is gone', `delete from events where kind = 'PAYOUT_PAID'`, ['payout_event']],
])('a payout %s is named by the audit', async (_, sql, checks) => {
  const { w, account } = await funded()
  await w.account()
  await payPayout(w.ctx, OPERATOR, (await ask(w, account)).id, { reference: 'E1' })
  await corrupt(w, sql)
  const found = new Set((await bookDifferences(w)).map(({ check }) => check))
  expect([...found]).toEqual(expect.arrayContaining(checks))
})
