import { expect, test } from 'vitest'
import type { Pool } from '../src/db/pool.ts'
import { query, transact } from '../src/db/tx.ts'
import { settle, type Settled } from '../src/domain/deposits/settle.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { endRefund } from '../src/domain/refunds/refund-states.ts'
import { bookDifferences, refund, untilWaiting } from './refund-steps.ts'
import { stripePools } from './stripe-pools.ts'
import { world, type World } from './world.ts'

// Cash and fees have several ledger accounts, and each connection uses its own: see STRIPE in ledger.ts.

test('settlements of two accounts on different stripes do not wait for each other', async () => {
  const w = await world()
  const [here, there] = await stripePools(w, 'different')
  const [one, other] = [await w.paidCharge(), await w.paidCharge()]
  await transact(here, async (tx) => {
    await settle(tx, w.clock.now(), [one.payment])
    // Before the first one commits.
    expect(await settleOn(there, w, [other.payment])).toMatchObject({ completed: [other.charge.id] })
  })
  expect(await w.balanceCents(one.account.accountId)).toBe(49_50)
  expect(await w.count('ledger_accounts', `kind = 'cash'`)).toBe(2)
  expect(await bookDifferences(w)).toEqual([])
})

test('settlements on one stripe wait for each other, and each continues from the balances of the one before', async () => {
  const w = await world()
  const [here, there] = await stripePools(w, 'same')
  const first = await w.paidCharge()
  await settleOn(here, w, [first.payment])
  const [one, other] = [await w.paidCharge(), await w.paidCharge()]
  let second: Promise<Settled> | undefined
  await transact(here, async (tx) => {
    await settle(tx, w.clock.now(), [one.payment])
    second = settleOn(there, w, [other.payment])
    await untilWaiting(w, 1)
  })
  expect((await second)?.completed).toEqual([other.charge.id])
  expect(await afters(w, 'cash')).toEqual([-49_50, -50_00, -99_50, -100_00, -149_50, -150_00])
  expect(await afters(w, 'fees')).toEqual([50, 1_00, 1_50])
  expect(await bookDifferences(w)).toEqual([])
})

// On different stripes they have only the balance of the account in common.
test('settlements of one account that wait for its balance continue from what they find there', async () => {
  const w = await world()
  const [here, there] = await stripePools(w, 'different')
  const account = await w.account()
  const [one, other] = [await w.paidCharge({ account }), await w.paidCharge({ account })]
  let second: Promise<Settled> | undefined
  await transact(here, async (tx) => {
    await settle(tx, w.clock.now(), [one.payment])
    second = settleOn(there, w, [other.payment])
    await untilWaiting(w, 1)
  })
  expect((await second)?.completed).toEqual([other.charge.id])
  expect(await afters(w, 'balance')).toEqual([49_50, 99_00])
  expect(await w.balanceCents(account.accountId)).toBe(99_00)
  expect(await bookDifferences(w)).toEqual([])
})

// Neither stripe could return both fees.
test('a returned fee leaves the stripe that it went to, whichever connection returns it', async () => {
  const { w, charges } = await feesOnTwoStripes()
  for (const charge of charges) await refund(w, charge)
  expect(await feesByStripe(w)).toEqual([0, 0])
  expect(await bookDifferences(w)).toEqual([])
})

test('a fee that is kept because its refund failed comes back to the stripe that it had left', async () => {
  const { w, charges } = await feesOnTwoStripes()
  const before = await feesByStripe(w)
  for (const charge of charges) {
    const { id } = await refund(w, charge)
    await transact(w.pool, (tx) => endRefund(tx, w.clock.now(), id, { status: 'failed', failure: 'no' }))
  }
  expect(await feesByStripe(w)).toEqual(before)
  expect(await bookDifferences(w)).toEqual([])
})

async function feesOnTwoStripes() {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const account = await w.account()
  const paid = [await w.paidCharge({ account }), await w.paidCharge({ account, valueCents: 100_00 })]
  const pools = await stripePools(w, 'different')
  for (const [index, { payment }] of paid.entries()) await settleOn(pools[index]!, w, [payment])
  expect(new Set(await feesByStripe(w))).toEqual(new Set([50, 1_00]))
  return { w, charges: paid.map(({ charge }) => charge) }
}

function settleOn(pool: Pool, w: World, payments: ReceivedPayment[]): Promise<Settled> {
  return transact(pool, (tx) => settle(tx, w.clock.now(), payments))
}

/** Of the ledger accounts that ever had any. */
async function feesByStripe(w: World): Promise<number[]> {
  const rows = await query<{ cents: number }>(
    w.pool,
    `select b.credits_cents - b.debits_cents as cents from ledger_accounts l
     join ledger_balances b on b.ledger_account_id = l.id where l.kind = 'fees' and b.credits_cents > 0 order by l.id`,
  )
  return rows.map(({ cents }) => cents)
}

/** What the ledger account of a kind holds after each of its transfers. */
async function afters(w: World, kind: string): Promise<number[]> {
  const rows = await query<{ cents: number }>(
    w.pool,
    `select case when t.debit_id = l.id then t.debit_after_cents else t.credit_after_cents end as cents
     from transfers t join ledger_accounts l on l.id in (t.debit_id, t.credit_id)
     where l.kind = $1 and t.payment_id in (select id from payments) order by t.id`,
    [kind],
  )
  return rows.map(({ cents }) => cents)
}
