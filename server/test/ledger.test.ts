import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isUniqueViolation, query, queryOne, transact, type Tx } from '../src/db/tx.ts'
import { audit } from '../src/domain/audit/audit.ts'
import { findPeriod, readBalance, readStatement, type StatementLine } from '../src/domain/ledger/account-statement.ts'
import { markPending } from '../src/domain/deposits/charge-states.ts'
import { postTransfers, type Transfer } from '../src/domain/ledger/ledger.ts'
import { insertIntents } from '../src/domain/deposits/intents.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { codeFor, newCharge } from './reconcile-bank.ts'
import { untilWaiting } from './refund-steps.ts'
import { until, world, type World } from './world.ts'

const FEE_CENTS = 7

// ---- Whatever arrives, the books balance ----

type Arrival = { charge: number; isExact: boolean; pix: number; atMs: number }

// Few charges and few Pix make duplicates, second payments and late payments common. The number after the last charge
// belongs to none.
const CHARGES = 6
const arrivals: fc.Arbitrary<Arrival> = fc.record({
  charge: fc.nat({ max: CHARGES }),
  isExact: fc.boolean(),
  pix: fc.nat({ max: 20 }),
  atMs: fc.nat({ max: 5 }),
})
const series = fc.array(fc.array(arrivals, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 })

// All runs share one database: what held for the books before a run must hold after it.
test('debits equal credits, and each balance is the sum of its transfers, after any series of settlements', async () => {
  const w = await world()
  const accounts = [await w.account(), await w.account()].map((account) => account.accountId)
  await fc.assert(
    fc.asyncProperty(series, fc.integer({ min: 1, max: 9 }), async (batches, pageSize) => {
      const charges = await openCharges(w, accounts, CHARGES)
      const run = randomBytes(4).toString('hex')
      for (const batch of batches) {
        const payments = batch.map((arrival) => paymentOf(arrival, charges, run))
        await settleAll(w, payments)
      }

      expect(await sumOfAllBalances(w)).toBe(0)
      for (const accountId of accounts) {
        const { balanceCents } = await readBalance(w.ctx, accountId)
        expect(balanceCents).toBe(await creditedTo(w, accountId))
        const lines = await walkStatement(w, accountId, pageSize)
        expect(lines).toHaveLength(await countTransfers(w, accountId))
        expect(lines.map((line) => line.balanceCents)).toEqual(runningBalances(lines))
        expect(lines[0]?.balanceCents ?? 0).toBe(balanceCents)
      }
      expect(await bookDifferences(w)).toEqual([])
    }),
    { numRuns: 15 },
  )
})

test('however many settlements run at once, each account’s history is one unbroken chain', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const charges = await openCharges(w, [accountId], 15)
  await Promise.all(exactPayments(charges).map((payment) => settleAll(w, [payment])))
  const lines = await walkStatement(w, accountId, 100)
  expect(lines).toHaveLength(15)
  expect(lines.map((line) => line.balanceCents)).toEqual(runningBalances(lines))
  expect(await bookDifferences(w)).toEqual([])
})

// ---- The statement ----

test('a statement shows debits among the credits, each line with the balance after it', async () => {
  const w = await world()
  const [{ accountId }, other] = [await w.account(), await w.account()]
  const charges = await openCharges(w, [accountId], 2)
  const [pix] = await strayPayments(w, 1)
  const [one, two] = exactPayments(charges)
  await settleAll(w, [one!])
  await transact(w.pool, (tx) => postTransfers(tx, w.clock.now(), [move(accountId, other.accountId, pix!)]))
  await settleAll(w, [two!])

  const [first, second] = [charges[0]!.valueCents - FEE_CENTS, charges[1]!.valueCents - FEE_CENTS]
  expect(await walkStatement(w, accountId, 2)).toMatchObject([
    { kind: 'deposit', netCents: second, balanceCents: first - 40 + second, chargeId: charges[1]!.id },
    { kind: 'exception_credited', netCents: -40, balanceCents: first - 40, chargeId: null },
    { kind: 'deposit', netCents: first, balanceCents: first, chargeId: charges[0]!.id },
  ])
})

test('a statement holds what was recorded from one moment to before another', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const charges = await openCharges(w, [accountId], 3)
  const moments: Date[] = []
  for (const payment of exactPayments(charges)) {
    moments.push(w.clock.now())
    await settleAll(w, [payment])
    w.clock.advance(1_000)
  }
  const period = await findPeriod(w.ctx, accountId, { from: moments[1], to: moments[2] })
  const { lines } = await readStatement(w.ctx, accountId, { limit: 10, period })
  expect(lines.map((line) => line.recordedAt)).toEqual([moments[1]!.toISOString()])
})

test('another account’s cursor opens nothing of that account', async () => {
  const w = await world()
  const [mine, theirs] = [await w.account(), await w.account()]
  const charges = await openCharges(w, [theirs.accountId], 3)
  await settleAll(w, exactPayments(charges))
  const { nextCursor } = await readStatement(w.ctx, theirs.accountId, { limit: 1 })
  const readMine = (cursor: string) => readStatement(w.ctx, mine.accountId, { limit: 10, cursor })
  expect(await readMine(nextCursor!)).toEqual({ lines: [], nextCursor: null })
  await expect(readMine("1' or true")).rejects.toMatchObject({ code: 'field_invalid' })
})

// ---- Locks ----

// PostgreSQL keeps all versions of a row while a dump or a long report is running.
test('a settlement reads the newest version of a balance, and not those that an old snapshot keeps', async () => {
  const w = await world({ isDirect: true })
  const { accountId } = await w.account()
  const [first, last] = exactPayments(await openCharges(w, [accountId], 2))
  /** Settles a payment, and returns how many entries of the index that read. */
  const settleOne = (payment: ReceivedPayment) =>
    transact(w.pool, async (tx) => {
      const before = await entriesRead(tx, 'ledger_balances_pkey')
      await settle(tx, w.clock.now(), [payment])
      return (await entriesRead(tx, 'ledger_balances_pkey')) - before
    })
  await settleOne(first!)
  const atTheEnd = await transact(
    w.pool,
    async (snapshot) => {
      await snapshot.run('select from ledger_balances')
      await w.pool.query('select move_balance(ledger_account_id, 0, 0) from ledger_balances, generate_series(1, 500)')
      await w.pool.query('analyze ledger_balances')
      return settleOne(last!)
    },
    { isolation: 'repeatable read' },
  )
  // Cash, balance and fees are each read twice: to find the version, and to move the balance.
  expect(atTheEnd).toBe(6)
  expect(await bookDifferences(w)).toEqual([])
})

test('settlements wait for each other, and each continues from the balances of the one before', async () => {
  const w = await world()
  const account = await w.account()
  const [first, second, third] = [
    await w.paidCharge({ account }),
    await w.paidCharge({ account }),
    await w.paidCharge({ account }),
  ]
  await settleAll(w, [first.payment])
  let waiting: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await settle(tx, w.clock.now(), [second.payment])
    waiting = settleAll(w, [third.payment])
    await untilWaiting(w, 1)
  })
  await waiting
  expect(await balancesAfter(w, 'cash')).toEqual([-49_50, -50_00, -99_50, -100_00, -149_50, -150_00])
  expect(await balancesAfter(w, 'fees')).toEqual([50, 1_00, 1_50])
  expect(await balancesAfter(w, 'balance')).toEqual([49_50, 99_00, 148_50])
  expect(await bookDifferences(w)).toEqual([])
})

/** What the ledger account of this kind held after each of its transfers. */
async function balancesAfter(w: World, kind: string): Promise<number[]> {
  const { rows } = await w.pool.query(
    `select case when t.debit_id = l.id then t.debit_after_cents else t.credit_after_cents end as cents
     from transfers t join ledger_accounts l on l.id in (t.debit_id, t.credit_id) where l.kind = $1 order by t.id`,
    [kind],
  )
  return rows.map(({ cents }) => cents)
}

test('a ledger account has one row of balances, even if two are inserted at once', async () => {
  const w = await world()
  const { id } = await queryOne<{ id: number }>(
    w.pool,
    `insert into ledger_accounts (kind, provider) values ('cash', 'new') returning id`,
  )
  const insert = (tx: Tx) =>
    tx.run('insert into ledger_balances (ledger_account_id, may_be_negative) values ($1, true)', [id])
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await insert(tx)
    second = transact(w.pool, insert).catch((error: unknown) => error)
    await untilWaiting(w, 1)
  })
  expect(isUniqueViolation(await second)).toBe(true)
  await expect(transact(w.pool, insert)).rejects.toThrow(`ledger account ${id} has a balance already`)
  expect(await w.count('ledger_balances', `ledger_account_id = ${id}`)).toBe(1)
})

// A transaction that ends in a deadlock is repeated and succeeds in the end, so the test counts the attempts. Both wait
// in the middle of their accounts: if each had already locked its own first one, neither could go on.
test('two postings on the same accounts in opposite order do not deadlock', async () => {
  const w = await world()
  const [{ accountId: a }, { accountId: middle }, { accountId: z }] = [
    await w.account(),
    await w.account(),
    await w.account(),
  ]
  const charges = await openCharges(w, [a, middle, z], 3)
  await settleAll(w, exactPayments(charges))
  const pix = await strayPayments(w, 4)
  const there = [move(a, middle, pix[0]!), move(middle, z, pix[1]!)]
  const back = [move(z, middle, pix[2]!), move(middle, a, pix[3]!)]
  const lockMiddle = `select from ledger_balances
    where ledger_account_id = (select id from ledger_accounts where account_id = $1) for update`
  const attempts = await raceBehind(
    w,
    (tx) => tx.run(lockMiddle, [middle]),
    [there, back].map((transfers) => (tx) => postTransfers(tx, w.clock.now(), transfers)),
  )
  expect(attempts).toEqual([1, 1])
  // No rule of the service makes such transfers, so the audit names each of them. It finds nothing wrong with the
  // balances.
  const checks = (await bookDifferences(w)).map(({ check }) => check)
  expect(checks).toEqual(['transfer', 'transfer', 'transfer', 'transfer'])
})

// The same is true of the ledger accounts that the first payments of several providers make.
test('two first payments of the same providers in opposite order do not deadlock', async () => {
  const w = await world()
  const first = (providers: string[]) =>
    providers.map((provider, atMs) => ({
      ...paymentOf({ charge: 0, isExact: true, pix: atMs, atMs }, [], randomBytes(4).toString('hex')),
      provider,
    }))
  const attempts = await raceBehind(
    w,
    (tx) => tx.run(`insert into ledger_accounts (kind, provider) values ('cash', 'middle')`),
    [first(['a', 'middle', 'z']), first(['z', 'middle', 'a'])].map(
      (payments) => (tx) => settle(tx, w.clock.now(), payments),
    ),
  )
  expect(attempts).toEqual([1, 1])
  expect(await w.count('ledger_accounts', `kind = 'cash'`)).toBe(3)
  expect(await bookDifferences(w)).toEqual([])
})

// A number is exact up to 2^53 cents, and the cash of a provider adds up for ever.
test('a payment is booked to the cent where a provider’s cash has outgrown 2^53', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  await settleAll(w, [{ ...payment, endToEndId: 'E-first', txid: null }])
  const huge = 2n ** 53n + 1n
  await w.pool.query(
    `update ledger_balances b set debits_cents = $1 from ledger_accounts l where l.id = b.ledger_account_id and l.kind = 'cash'`,
    [huge],
  )
  expect((await settleAll(w, [payment])).completed).toHaveLength(1)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  const { rows } = await w.pool.query(
    `select b.debits_cents::text as debits, t.debit_after_cents::text as after
     from transfers t join ledger_balances b on b.ledger_account_id = t.debit_id where t.kind = 'fee'`,
  )
  expect(rows).toEqual([{ debits: String(huge + 50_00n), after: String(-huge - 50_00n) }])
})

/**
 * Starts all works behind a transaction that blocks them, and rolls it back once all wait. Returns how often each was
 * tried.
 */
async function raceBehind(
  w: World,
  block: (tx: Tx) => Promise<unknown>,
  works: ((tx: Tx) => Promise<unknown>)[],
): Promise<number[]> {
  const attempts = works.map(() => 0)
  let racing: Promise<unknown> | undefined
  const blocking = transact(w.pool, async (blocker) => {
    await block(blocker)
    racing = Promise.all(
      works.map((work, index) =>
        transact(w.pool, (tx) => {
          attempts[index]!++
          return work(tx)
        }),
      ),
    )
    const waiting = `datname = current_database() and wait_event_type = 'Lock'`
    await until('all wait', async () => (await w.count('pg_stat_activity', waiting)) === works.length)
    throw new Error('out of the way')
  })
  await expect(blocking).rejects.toThrow('out of the way')
  await racing
  return attempts
}

// ---- Steps of the tests above ----

type OpenCharge = { id: string; valueCents: number }

/** Inserts charges as if the provider had accepted them, for the accounts in turn. */
async function openCharges(w: World, accountIds: string[], count: number): Promise<OpenCharge[]> {
  const charges = Array.from({ length: count }, (_, index) =>
    newCharge(w, { accountId: accountIds[index % accountIds.length]!, valueCents: 100 + index, feeCents: FEE_CENTS }),
  )
  await transact(w.pool, async (tx) => {
    const intents = charges.map((charge) => ({ charge, idempotency: null }))
    await insertIntents(tx, w.clock.now(), intents)
    await markPending(
      tx,
      w.ctx.instance,
      charges.map(({ id, valueCents }) => ({
        chargeId: id,
        provider: 'sandbox',
        emv: codeFor(id, valueCents),
        hasKey: false,
      })),
    )
  })
  return charges
}

function paymentOf({ charge, isExact, pix, atMs }: Arrival, charges: OpenCharge[], run: string): ReceivedPayment {
  const { id, valueCents } = charges[charge] ?? { id: null, valueCents: 55 }
  return {
    provider: 'sandbox',
    endToEndId: `E-${run}-${pix}`,
    txid: id,
    amountCents: isExact ? valueCents : valueCents + 1,
    occurredAt: new Date(Date.parse('2026-03-02T12:00:00Z') + atMs),
  }
}

function settleAll(w: World, payments: ReceivedPayment[]) {
  return transact(w.pool, (tx) => settle(tx, w.clock.now(), payments))
}

function exactPayments(charges: OpenCharge[]): ReceivedPayment[] {
  return charges.map((_, index) =>
    paymentOf({ charge: index, isExact: true, pix: index, atMs: index }, charges, 'exact'),
  )
}

/** Payments that belong to nobody, for transfers to refer to. */
async function strayPayments(w: World, count: number): Promise<Stray[]> {
  const strays = Array.from({ length: count }, (_, pix) =>
    paymentOf({ charge: 0, isExact: true, pix, atMs: 0 }, [], 'stray'),
  )
  await settleAll(w, strays)
  return query<Stray>(w.pool, 'select payment_id as "paymentId", id as "exceptionId" from exceptions')
}

type Stray = { paymentId: string; exceptionId: string }

/** A transfer from one balance to another, which no rule of the service makes. */
function move(from: string, to: string, { paymentId, exceptionId }: Stray): Transfer {
  return {
    kind: 'exception_credited',
    debit: { kind: 'balance', accountId: from },
    credit: { kind: 'balance', accountId: to },
    amountCents: 40,
    paymentId,
    exceptionId,
    chargeId: null,
    occurredAt: new Date(0),
  }
}

/** Reads a statement page by page. Lines come newest first and none twice, and there is no page too many. */
async function walkStatement(w: World, accountId: string, limit: number): Promise<StatementLine[]> {
  const pages: StatementLine[][] = []
  let cursor: string | null | undefined
  while (cursor !== null) {
    const page = await readStatement(w.ctx, accountId, { limit, ...(cursor && { cursor }) })
    pages.push(page.lines)
    cursor = page.nextCursor
  }
  const lines = pages.flat()
  expect(pages).toHaveLength(Math.max(1, Math.ceil(lines.length / limit)))
  const ids = lines.map((line) => Number(line.id))
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => b - a))
  return lines
}

/** What the balance after each line must be, added up from the oldest. */
function runningBalances(lines: StatementLine[]): number[] {
  let balanceCents = 0
  return lines
    .toReversed()
    .map((line) => (balanceCents += line.netCents))
    .toReversed()
}

async function sumOfAllBalances(w: World): Promise<number> {
  const [row] = await query<{ sum: number }>(
    w.pool,
    'select sum(credits_cents - debits_cents)::bigint as sum from ledger_balances',
  )
  return row!.sum
}

function countTransfers(w: World, accountId: string): Promise<number> {
  const sides = 'transfers t join ledger_accounts l on l.id in (t.debit_id, t.credit_id)'
  return w.count(sides, `l.account_id = '${accountId}'`)
}

async function creditedTo(w: World, accountId: string): Promise<number> {
  const sql = `select coalesce(sum(value_cents - fee_cents), 0)::bigint as sum from charges where account_id = $1 and status = 'COMPLETED'`
  const [row] = await query<{ sum: number }>(w.pool, sql, [accountId])
  return row!.sum
}

/** The entries of an index that this transaction has read. */
async function entriesRead(tx: Tx, index: string): Promise<number> {
  const sql = 'select pg_stat_get_xact_tuples_returned($1::regclass)::int as read'
  return (await tx.one<{ read: number }>(sql, [index])).read
}

/** Audits without the bank, which knows nothing of these payments. */
async function bookDifferences(w: World) {
  return (await audit({ ...w.ctx, providers: [] })).differences
}
