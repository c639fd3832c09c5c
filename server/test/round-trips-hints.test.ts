import type pg from 'pg'
import { expect, test } from 'vitest'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { checkDue, startCheckWorker } from '../src/workers/check.ts'
import { until, world, type World } from './world.ts'

// What a notification and a query cost in statements. A socket write is the dearest thing on these paths, so one more
// is a decision: change the number here.

/** The statements of the pool from now on. `alone` are those that are a transaction of their own. */
function watchStatements({ pool }: World) {
  const seen = { all: [] as string[], alone: [] as string[], commits: 0 }
  const watched = new WeakSet<object>()
  pool.on('acquire', (client: pg.PoolClient) => {
    if (watched.has(client)) return
    watched.add(client)
    const send = client.query.bind(client) as (...args: unknown[]) => unknown
    let isInside = false
    client.query = ((...args: unknown[]) => {
      const [first] = args
      const sql = typeof first === 'string' ? first : (first as pg.QueryConfig).text
      // The worker looks into its queue twice a second.
      if (!sql.includes('skip locked')) seen.all.push(sql)
      if (!isInside && sql !== 'begin' && !sql.includes('skip locked')) seen.alone.push(sql)
      isInside = sql === 'begin' || (isInside && sql !== 'commit')
      if (sql === 'commit') seen.commits++
      return send(...args)
    }) as typeof client.query
  })
  return seen
}

const about = (words: string, statements: string[]) => statements.filter((sql) => sql.includes(words))

async function paidCharges(w: World, count: number) {
  const account = await w.account()
  const charges = await Promise.all(Array.from({ length: count }, () => w.deposit(account)))
  const hints = []
  for (const { id, emv } of charges) {
    const { pix } = await w.sandbox.pay({ emv })
    hints.push({ txid: id, endToEndId: pix[0]!.endToEndId })
  }
  return { account, charges, hints }
}

test('notifications that come together are one statement, and their payments a read, a transaction and nothing else', async () => {
  const w = await world({ isDirect: true })
  const { account, hints } = await paidCharges(w, 20)
  const worker = startCheckWorker(w.ctx)
  const statements = watchStatements(w)
  await Promise.all(hints.map((hint) => w.ctx.hints.add({ provider: 'sandbox', hints: [hint] })))
  await until('the payments are settled', async () => statements.commits > 0)
  await worker.stop()
  expect(statements.commits).toBe(1)
  expect(statements.alone).toHaveLength(2)
  expect(about('insert into checks', statements.alone)).toHaveLength(1)
  // The checks end in the settlement, in one statement for all.
  expect(about('delete from checks', statements.all)).toHaveLength(1)
  expect(await w.balanceCents(account.accountId)).toBe(20 * 49_50)
})

test('a hint that is asked about alone costs a statement to store it, and a transaction that ends it', async () => {
  const w = await world({ isDirect: true })
  const { charges } = await paidCharges(w, 1)
  const worker = startCheckWorker(w.ctx)
  const statements = watchStatements(w)
  await w.ctx.hints.add({ provider: 'sandbox', hints: [{ txid: charges[0]!.id, endToEndId: null }] })
  await until('the payment is settled', async () => statements.commits > 0)
  await worker.stop()
  expect([statements.alone.length, statements.commits]).toEqual([1, 1])
  expect(await w.count('checks')).toBe(0)
})

test('a notification of a payment in the books is one statement', async () => {
  const w = await world({ isDirect: true })
  const { payment } = await w.paidCharge()
  await w.ctx.settlements.add([payment])
  const worker = startCheckWorker(w.ctx)
  const statements = watchStatements(w)
  await w.ctx.hints.add({ provider: 'sandbox', hints: [payment] })
  await worker.stop()
  expect(statements.all).toHaveLength(1)
})

test('checks that find nothing are claimed by one statement and moved by one', async () => {
  const w = await world({ isDirect: true })
  const account = await w.account()
  const charges = await Promise.all(Array.from({ length: 8 }, () => w.deposit(account)))
  await w.ctx.hints.add({ provider: 'sandbox', hints: charges.map(({ id }) => ({ txid: id, endToEndId: null })) })
  const bank = w.ctx.providers[0]!
  // All answers at once, so that the checks end together.
  let [asked, answerAll] = [0, () => {}]
  const all = new Promise<void>((resolve) => (answerAll = resolve))
  w.ctx.providers[0] = {
    ...bank,
    async check(...question) {
      const answer = await bank.check(...question)
      if (++asked === charges.length) answerAll()
      await all
      return answer
    },
  }
  const statements = watchStatements(w)
  await checkDue(w.ctx)
  expect(statements.all).toHaveLength(1) // besides the claim
  expect(statements.commits).toBe(0)
})

test('a query of an unpaid charge reads it once', async () => {
  const w = await world({ isDirect: true })
  const account = await w.account()
  const charge = await w.deposit(account)
  const statements = watchStatements(w)
  expect((await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)).check).toBe('fresh')
  expect(statements.all).toHaveLength(1)
})
