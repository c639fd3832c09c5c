import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { world, type World } from './world.ts'

test('a payment and its transfers have the account of their charge, and money for nobody has none', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  const wrong = { ...payment, endToEndId: 'E-wrong', amountCents: 1_00 }
  const stray = { ...payment, endToEndId: 'E-stray', txid: null }
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment, wrong, stray]))
  const { accountId } = account
  expect(await accountsOf(w, 'E-stray')).toEqual({ payment: null, suspense: null })
  expect(await accountsOf(w, 'E-wrong')).toEqual({ payment: accountId, suspense: accountId })
  expect(await accountsOf(w, payment.endToEndId)).toEqual({ payment: accountId, deposit: accountId, fee: accountId })
  // The bank knows only one of these payments, so its check is left out.
  expect((await w.differences()).filter(({ check }) => check !== 'provider')).toEqual([])
})

test('a payment that completes its charge later gets the account with it', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [{ ...payment, txid: null }]))
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  const { accountId } = account
  expect(await accountsOf(w, payment.endToEndId)).toEqual({
    payment: accountId,
    suspense: null,
    matched_deposit: accountId,
    matched_fee: accountId,
  })
})

test.each([
  ['another account of a payment', `update payments set account_id = gen_random_uuid()`],
  ['a payment without its account', `update payments set account_id = null`],
  ['another account of a transfer', `update transfers set account_id = gen_random_uuid()`],
  ['a transfer without its account', `update transfers set account_id = null`],
])('the schema refuses %s', async (_, sql) => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  await expect(w.pool.query(sql)).rejects.toThrow('append only')
})

test.each([
  [
    'payments_account',
    `insert into payments (id, provider, end_to_end_id, amount_cents, charge_id, credited, occurred_at, recorded_at)
     select gen_random_uuid(), provider, 'E-x', amount_cents, charge_id, false, occurred_at, recorded_at from payments`,
  ],
  [
    'transfers_account',
    `insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id,
       charge_id, occurred_at, recorded_at)
     select 'suspense', debit_id, credit_id, amount_cents, 0, 0, payment_id, charge_id, occurred_at, recorded_at
     from transfers`,
  ],
  [
    'checks_account',
    `insert into checks (provider, subject, kind, due_at)
     select provider, replace(id::text, '-', ''), 'charge', expires_at from charges`,
  ],
])('no row of a charge lacks its account: %s', async (constraint, sql) => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  await expect(w.pool.query(sql)).rejects.toThrow(constraint)
})

/** The account ids of a payment and of its transfers, by kind. */
async function accountsOf({ pool }: World, endToEndId: string): Promise<Record<string, string | null>> {
  const rows = await query<{ kind: string; accountId: string | null }>(
    pool,
    `select 'payment' as kind, account_id as "accountId" from payments where end_to_end_id = $1
     union all
     select t.kind, t.account_id from transfers t join payments p on p.id = t.payment_id where p.end_to_end_id = $1`,
    [endToEndId],
  )
  return Object.fromEntries(rows.map(({ kind, accountId }) => [kind, accountId]))
}
