import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { audit } from '../src/domain/audit/audit.ts'
import { bookChecks, prepareAudit } from '../src/domain/audit/books.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { corrupt } from './corrupt.ts'
import { makeCharges } from './reconcile-bank.ts'
import { world, type World } from './world.ts'

// Books with one of everything: a deposit of R$ 50,00 that was paid twice, and an account that has nothing. The second
// payment is in suspense.
async function books() {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  const charge = await w.deposit(account, { valueCents: 50_00 })
  const { pix } = await w.sandbox.pay({ emv: charge.emv, times: 2 })
  const [first, second] = pix.map(({ endToEndId, amountCents, horario }): ReceivedPayment => ({
    provider: 'sandbox',
    endToEndId,
    txid: charge.id,
    amountCents,
    occurredAt: new Date(horario),
  }))
  await settleAll(w, [first!])
  await settleAll(w, [second!])
  return { w, account, other, charge, first: first!, second: second! }
}

type Books = Awaited<ReturnType<typeof books>>

test('books that agree have no differences, and the report adds them up', async () => {
  const { w } = await books()
  expect(await audit(w.ctx)).toEqual({
    charges: 1,
    payments: 2,
    transfers: 3,
    creditedCents: 49_50,
    feesCents: 50,
    suspenseCents: 50_00,
    refundedCents: 0,
    refundingCents: 0,
    missingCents: 0,
    writtenOffCents: 0,
    since: null,
    // The comparison begins ten minutes before the first charge, as a closing does.
    compared: [
      {
        provider: 'sandbox',
        from: new Date('2026-03-02T11:50:00Z'),
        to: new Date('2026-03-03T12:00:00Z'),
        payments: 2,
        totalCents: 100_00,
      },
    ],
    notCompared: [],
    differences: [],
    isCut: false,
  })
})

test('an empty house agrees with an empty bank', async () => {
  const w = await world()
  expect(await w.differences()).toEqual([])
})

// ---- Corrupted on purpose, past the triggers: each lie is found by the check that is there for it ----

const chargeOf = ({ charge }: Books) => `charge ${charge.id}`
const stray = ({ second }: Books) => `payment ${second.endToEndId}`
const deposited = `(select credit_id from transfers where kind = 'deposit')`

type Found = { check: string; subject: string; text: string }

// Each lie has the checks that find it, and what the first of them says.
test.each<[lie: string, sql: string, checks: string[], found: (books: Books) => Found]>([
  [
    'a centavo more on a balance',
    `update ledger_balances set credits_cents = credits_cents + 1 where ledger_account_id = ${deposited}`,
    ['balance'],
    ({ account }) => ({
      check: 'balance',
      subject: `balance ${account.accountId}`,
      text: 'keeps debits 0 and credits 4951, but its transfers add up to 0 and 4950',
    }),
  ],
  [
    'a centavo less in the bank',
    `update ledger_balances set debits_cents = debits_cents - 1 where may_be_negative and debits_cents > 0`,
    ['balance'],
    () => ({
      check: 'balance',
      subject: 'cash sandbox',
      text: 'keeps debits 9999 and credits 0, but its transfers add up to 10000 and 0',
    }),
  ],
  [
    'a balance that is gone',
    `delete from ledger_balances where ledger_account_id = ${deposited}`,
    ['balance', 'ledger_account'],
    ({ account }) => ({
      check: 'balance',
      subject: `balance ${account.accountId}`,
      text: 'keeps debits none and credits none, but its transfers add up to 0 and 4950',
    }),
  ],
  [
    'another balance after a transfer',
    `update transfers set credit_after_cents = 1 where kind = 'fee'`,
    ['chain'],
    () => ({
      check: 'chain',
      subject: 'transfer 2',
      text: expect.stringMatching(/^ledger account \d+ holds 1 after it, should be 50$/),
    }),
  ],
  [
    'a check of another account than its charge',
    `update checks set account_id = gen_random_uuid()`,
    ['check'],
    ({ charge }) => ({ check: 'check', subject: `check ${charge.id}`, text: 'is of another account than its charge' }),
  ],
  [
    'an event that is gone',
    `delete from events`,
    ['deposit_event'],
    (made) => ({ check: 'deposit_event', subject: chargeOf(made), text: 'is COMPLETED, and has no event' }),
  ],
  [
    'an event with another id than follows from its charge',
    `update events set body = replace(body, '{"id":"evt_', '{"id":"evt_X')`,
    ['deposit_event', 'event_seal'],
    (made) => ({
      check: 'deposit_event',
      subject: chargeOf(made),
      text: `the event’s id is evt_XDEPOSIT_ASSET_SUCCESS_${made.charge.id} and should be evt_DEPOSIT_ASSET_SUCCESS_${made.charge.id}`,
    }),
  ],
  [
    'another fee on the charge',
    `update charges set fee_cents = 51`,
    ['transfer', 'total', 'deposit_event', 'code'],
    () => ({ check: 'transfer', subject: 'transfer 1', text: 'deposit: the amount is 4950 and should be 4949' }),
  ],
  [
    'a deposit in another account’s name',
    `update charges c set account_id = a.id from accounts a where a.id <> c.account_id`,
    ['transfer', 'payment', 'deposit_event', 'code', 'check'],
    ({ account, other }) => ({
      check: 'transfer',
      subject: 'transfer 2',
      text: `fee: the account is ${account.accountId} and should be ${other.accountId}`,
    }),
  ],
  [
    'a paid charge that is open again',
    `update charges set status = 'PENDING', end_to_end_id = null, paid_at = null`,
    ['charge'],
    (made) => ({
      check: 'charge',
      subject: chargeOf(made),
      text: '(PENDING, value 5000, fee 50) is COMPLETED without a credited payment, or has one and is not',
    }),
  ],
  [
    'an exception that is gone',
    `delete from exceptions`,
    ['total', 'payment'],
    (made) => ({
      check: 'payment',
      subject: stray(made),
      text: 'completed nothing and is no exception, or was credited and is one too',
    }),
  ],
  [
    'an exception about a payment that was credited',
    `insert into exceptions (id, payment_id, kind, opened_at)
     select gen_random_uuid(), id, 'second_payment', recorded_at from payments where credited`,
    ['total', 'payment', 'exception'],
    ({ first }) => ({
      check: 'payment',
      subject: `payment ${first.endToEndId}`,
      text: 'completed nothing and is no exception, or was credited and is one too',
    }),
  ],
  [
    'a credit that no money stands behind',
    `with invented as (
       insert into transfers (kind, debit_id, credit_id, amount_cents, debit_after_cents, credit_after_cents, payment_id,
         occurred_at, recorded_at)
       select 'deposit', cash.id, balance.id, 1, -10001, 4951, p.id, p.occurred_at, p.recorded_at
       from payments p, ledger_accounts cash, ledger_accounts balance
       where not p.credited and cash.kind = 'cash' and balance.id = ${deposited}
       returning debit_id, credit_id
     )
     update ledger_balances b set debits_cents = debits_cents + (b.ledger_account_id = i.debit_id)::int,
       credits_cents = credits_cents + (b.ledger_account_id = i.credit_id)::int
     from invented i where b.ledger_account_id in (i.debit_id, i.credit_id)`,
    ['transfer'],
    ({ account }) => ({
      check: 'transfer',
      subject: 'transfer 4',
      text: `deposit of 1 cents from cash sandbox to balance ${account.accountId} follows from no payment, refund, exception, payout or dispute`,
    }),
  ],
])('the audit names %s, by each check that it touches and no other', async (_, sql, checks, found) => {
  const made = await books()
  await corrupt(made.w, sql)
  const differences = await made.w.differences()
  expect(differences).toContainEqual(found(made))
  expect(new Set(differences.map(({ check }) => check))).toEqual(new Set(checks))
})

test('a changed amount is found by every check that it touches', async () => {
  const { w } = await books()
  await corrupt(w, `update transfers set amount_cents = amount_cents + 1 where kind = 'deposit'`)
  const checks = (await w.differences()).map(({ check }) => check)
  expect(new Set(checks)).toEqual(new Set(['transfer', 'balance', 'chain']))
})

// ---- Against the bank's own list ----

test('a Pix at the bank that was never settled is named', async () => {
  const { w, account } = await books()
  const { payment, charge } = await w.paidCharge({ account, valueCents: 12_34 })
  expect(await w.differences()).toEqual([
    {
      check: 'provider',
      subject: `payment ${payment.endToEndId}`,
      text: `sandbox received 1234 cents (txid ${charge.id}), but it is not in our books`,
    },
  ])
})

test('a payment of ours that the bank does not know is named', async () => {
  const { w, first } = await books()
  await settleAll(w, [{ ...first, endToEndId: 'E-invented', txid: null, amountCents: 7_00 }])
  expect(await w.differences()).toEqual([
    {
      check: 'provider',
      subject: 'payment E-invented',
      text: 'stands in our books with 700 cents, but sandbox does not know it',
    },
  ])
})

test.each<[string, Partial<ReceivedPayment>, (txid: string) => string]>([
  ['amount', { amountCents: 12_35 }, () => 'sandbox says 1234, our books 1235 cents'],
  ['charge', { txid: null }, (txid) => `sandbox says txid ${txid}, our books none`],
])('a payment that stands in our books with another %s than at the bank is named', async (_, lie, text) => {
  const { w, account } = await books()
  const { payment, charge } = await w.paidCharge({ account, valueCents: 12_34 })
  await settleAll(w, [{ ...payment, ...lie }])
  expect(await w.differences()).toEqual([
    { check: 'provider', subject: `payment ${payment.endToEndId}`, text: text(charge.id) },
  ])
})

// The payment is settled after the bank's list was read, so only our books have it.
test('a payment that arrives while the audit reads is no difference', async () => {
  const { w, account } = await books()
  const [provider] = w.ctx.providers
  const slow: Provider = {
    ...provider!,
    async *listReceived(window) {
      yield* provider!.listReceived(window)
      await settleAll(w, [(await w.paidCharge({ account })).payment])
    },
  }
  expect((await audit({ ...w.ctx, providers: [slow] })).differences).toEqual([])
})

test('however much is wrong, a hundred differences are named, and the report says that there are more', async () => {
  const { w, first } = await books()
  const invent = (count: number) =>
    settleAll(
      w,
      Array.from({ length: count }, (_, index) => ({ ...first, endToEndId: `E${index}`, txid: null })),
    )
  await invent(100)
  expect(await audit(w.ctx)).toMatchObject({ differences: { length: 100 }, isCut: false })
  await invent(101)
  expect(await audit(w.ctx)).toMatchObject({ differences: { length: 100 }, isCut: true })
})

test('a provider that money came through and that nobody can ask any more is named', async () => {
  const { w, first } = await books()
  await settleAll(w, [{ ...first, endToEndId: 'E-old', provider: 'old-bank' }])
  const why = '1 payment came through it, and it is not configured any more'
  expect(await audit(w.ctx)).toMatchObject({
    notCompared: [{ provider: 'old-bank', what: 'payments and refunds', why }],
    differences: [],
  })
})

function settleAll(w: World, payments: ReceivedPayment[]) {
  return transact(w.pool, (tx) => settle(tx, w.clock.now(), payments))
}

// PostgreSQL's statistics are from the time when every charge was PENDING, as they may be in a busy service.
test('the work of an audit grows with the books, also when PostgreSQL last counted before they filled', async () => {
  const w = await world()
  const account = await w.account()
  const charges = await makeCharges(w, account, 1_000)
  await w.pool.query('analyze')
  const occurredAt = w.clock.now()
  await settleAll(
    w,
    charges.map((txid, index) => ({
      provider: 'sandbox',
      endToEndId: `E${index}`,
      txid,
      amountCents: 50_00,
      occurredAt,
    })),
  )
  const read = new Map<string, number>()
  for (const [check, sql] of Object.entries(bookChecks(w.clock.now()))) {
    const plan = await transact(w.pool, async (tx) => {
      await prepareAudit(tx)
      const [row] = await tx.rows<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(`explain (analyze, format json) ${sql}`)
      return row!['QUERY PLAN'][0].Plan
    })
    read.set(check, rowsRead(plan))
  }
  expect([...read].filter(([, rows]) => rows > 50 * charges.length)).toEqual([])
})

type PlanNode = {
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: PlanNode[]
}

function rowsRead(node: PlanNode): number {
  const seen = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)
  return seen * node['Actual Loops'] + (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), 0)
}
