import { expect, test } from 'vitest'
import { makeReader } from '../src/db/shared-reads.ts'
import { requireCharge } from '../src/domain/deposits/charge-reads.ts'
import { readBalance } from '../src/domain/ledger/account-statement.ts'
import { spyOnQueries } from './statements.ts'
import { world } from './world.ts'

// A reader whose statements the test answers. Each row is the key, and the number of the statement that read it.
function setUp() {
  const statements: { keys: string[]; answer: (missing?: string[]) => void; fail: (error: Error) => void }[] = []
  const read = makeReader<string>(
    (keys) =>
      new Promise((resolve, reject) => {
        const number = statements.length
        const answer = (missing: string[] = []) =>
          resolve(new Map(keys.filter((key) => !missing.includes(key)).map((key) => [key, `${key} of ${number}`])))
        statements.push({ keys, answer, fail: reject })
      }),
  )
  return { statements, read }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('all who ask in one turn of the event loop share a statement, and each gets its own row', async () => {
  const { statements, read } = setUp()
  const rows = Promise.all(['a', 'b', 'a', 'c'].map((key) => read(key)))
  await turn()
  expect(statements.map(({ keys }) => keys)).toEqual([['a', 'b', 'c']])
  statements[0]!.answer(['c'])
  expect(await rows).toEqual(['a of 0', 'b of 0', 'a of 0', undefined])
})

test('a read that shares a statement begins after the request', async () => {
  const { statements, read } = setUp()
  const first = read('a')
  await turn()
  const second = read('a')
  await turn()
  expect(statements).toHaveLength(2)
  const third = read('a')
  await turn()
  // Both statements began before the third asked, so it waits.
  expect(statements).toHaveLength(2)
  statements[0]!.answer()
  expect(await first).toBe('a of 0')
  await turn()
  statements[2]!.answer()
  expect(await third).toBe('a of 2')
  statements[1]!.answer()
  expect(await second).toBe('a of 1')
})

test('two statements are in flight at most, and who waits meanwhile shares the next', async () => {
  const { statements, read } = setUp()
  const early = [read('a'), turn().then(() => read('b'))]
  await turn()
  await turn()
  const late = Array.from({ length: 450 }, (_, index) => read(`late ${index}`))
  await turn()
  expect(statements.map(({ keys }) => keys.length)).toEqual([1, 1])
  statements[0]!.answer()
  statements[1]!.answer()
  await Promise.all(early)
  await turn()
  // A statement reads at most 200 keys.
  expect(statements.map(({ keys }) => keys.length)).toEqual([1, 1, 200, 200])
  statements[2]!.answer()
  statements[3]!.answer()
  await turn()
  statements[4]!.answer()
  expect(await Promise.all(late)).toEqual(late.map((_, index) => `late ${index} of ${2 + Math.floor(index / 200)}`))
})

test('a statement that fails fails for all who share it, and for nobody else', async () => {
  const { statements, read } = setUp()
  const failing = ['a', 'b'].map((key) => read(key))
  await turn()
  const other = read('c')
  await turn()
  statements[0]!.fail(new Error('the database is away'))
  for (const row of failing) await expect(row).rejects.toThrow('the database is away')
  statements[1]!.answer()
  expect(await other).toBe('c of 1')
  const next = read('a')
  await turn()
  statements[2]!.answer()
  expect(await next).toBe('a of 2')
})

test('with too many waiting, the next is refused', async () => {
  const { read } = setUp()
  void Promise.all(Array.from({ length: 5_000 }, (_, index) => read(String(index))))
  await expect(read('one more')).rejects.toMatchObject({ code: 'unavailable' })
})

test('simultaneous reads of many charges are one statement, and of many balances another', async () => {
  const w = await world()
  const [one, two] = [await w.account(), await w.account()]
  const charges = await Promise.all([one, two, one, two].map((account) => w.deposit(account)))
  const asked = await spyOnQueries(w.pool)

  const read = await Promise.all(charges.map((charge) => requireCharge(w.ctx, charge.accountId, charge.paymentLinkId)))
  expect(read.map(({ id }) => id)).toEqual(charges.map(({ id }) => id))
  expect(asked).toHaveBeenCalledTimes(1)

  const balances = await Promise.all([one, two, one].map(({ accountId }) => readBalance(w.ctx, accountId)))
  expect(balances.map(({ accountId }) => accountId)).toEqual([one.accountId, two.accountId, one.accountId])
  expect(asked).toHaveBeenCalledTimes(2)
})

test('who shares a statement with the owner of a charge does not see it', async () => {
  const w = await world()
  const [owner, other] = [await w.account(), await w.account()]
  const { paymentLinkId, id } = await w.deposit(owner)
  const own = requireCharge(w.ctx, owner.accountId, paymentLinkId.toUpperCase())
  const foreign = requireCharge(w.ctx, other.accountId, paymentLinkId)
  await expect(foreign).rejects.toMatchObject({ code: 'not_found', message: 'Charge not found' })
  expect(await own).toMatchObject({ id })
})
