import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { backfillAccounts } from '../src/domain/deposits/backfill.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { makeHistory } from './tamper-history.ts'
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
  // The bank knows only one of them.
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
  ['a transfer that changes in another way', `update transfers set account_id = null, amount_cents = 1`],
])('the schema refuses %s', async (_, sql) => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  await expect(w.pool.query(sql)).rejects.toThrow('append only')
})

test('older rows get their accounts in batches, and the audit excuses those that are not reached yet', async () => {
  const { w } = await makeHistory()
  const before = await allAccounts(w)
  await forgetAccounts(w)
  expect(await w.differences()).toEqual([])
  const rounds = []
  // One round for the rows of each table, and one that finds its end.
  for (let round = 0; round < 5; round++) rounds.push(await backfillAccounts(w.ctx))
  expect(rounds).toEqual(['more', 'more', 'more', 'more', 'idle'])
  expect(await w.count('backfills')).toBe(0)
  expect(await allAccounts(w)).toEqual(before)
  expect(await w.differences()).toEqual([])
})

test('an account that is missing when nothing is left to be filled in is a difference', async () => {
  const { w } = await makeHistory()
  await forgetAccounts(w)
  await w.pool.query('delete from backfills')
  expect(new Set((await w.differences()).map(({ check }) => check))).toEqual(new Set(['payment', 'transfer']))
})

test('of two processes that fill in at once one does it, and the other does not wait', async () => {
  const { w } = await makeHistory()
  await forgetAccounts(w)
  await transact(w.pool, async (tx) => {
    await tx.run('select from backfills for update')
    expect(await backfillAccounts(w.ctx)).toBe('idle')
  })
  expect(await backfillAccounts(w.ctx)).toBe('more')
})

/** As if the rows were from before the accounts were in them. */
async function forgetAccounts({ pool }: World): Promise<void> {
  await pool.query(`
    begin;
    alter table payments disable trigger user;
    alter table transfers disable trigger user;
    update payments set account_id = null;
    update transfers set account_id = null;
    alter table payments enable trigger user;
    alter table transfers enable trigger user;
    insert into backfills values ('payments', '00000000-0000-0000-0000-000000000000'), ('transfers', '0');
    commit`)
}

/** Of a payment and of each of its transfers, by kind. */
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

function allAccounts({ pool }: World): Promise<object[]> {
  return query(
    pool,
    `select id::text, account_id from payments union all select id::text, account_id from transfers order by 1`,
  )
}
