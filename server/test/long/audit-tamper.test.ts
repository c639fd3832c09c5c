import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { transact, type Tx } from '../../src/db/tx.ts'
import { booksOptions } from '../../src/domain/audit/audit.ts'
import { auditBooks, bookChecks, type Difference } from '../../src/domain/audit/books.ts'
import { SEAL_CHECKS } from '../../src/domain/audit/seals.ts'
import { makeHistory } from '../tamper-history.ts'
import { world, type World } from '../world.ts'

// The forgeries are those of prove/tamper.mjs, which tries all of them on the real service but those of disputes: its
// bank tells of none.
type Forgery = { name: string; by: string[]; isBanks: boolean; sql: string; order?: string }
type Forgeries = {
  forgeries(accounts: { victim: string; eve: string; debtor: string }): Forgery[]
  statementsOf(forgery: Forgery): string[]
}
const { forgeries, statementsOf } = (await import(
  new URL('../../../prove/tamper/forgeries.mjs', import.meta.url).href
)) as Forgeries

test('each check of the books names a forgery that the other rows are consistent with', async () => {
  const { w, ...accounts } = await makeHistory()
  const options = await booksOptions(w.ctx)
  const auditAfter = (forge: (tx: Tx) => Promise<void>) =>
    inVain(w, async (tx: Tx) => {
      await forge(tx)
      return (await auditBooks(tx, options)).differences
    })
  expect(await auditAfter(async () => {})).toEqual([])

  const all = forgeries(accounts).filter((one) => !one.isBanks)
  const checks = [...Object.keys(bookChecks(options.now)), 'code', 'tree', ...SEAL_CHECKS]
  const named: Record<string, string> = {}
  for (const check of checks) {
    const forgery = all.find(({ by }) => by[0] === check) ?? all.find(({ by }) => by.includes(check))
    if (!forgery) continue
    const differences = await auditAfter((tx) => forge(tx, forgery))
    if (differences.some((one) => forgery.by.includes(one.check))) named[check] = forgery.name
  }
  const unnamed: string[] = []
  for (const forgery of all.filter(({ order }) => order === 'disputes')) {
    const differences = await auditAfter((tx) => forge(tx, forgery))
    if (!differences.some((one) => forgery.by.includes(one.check))) unnamed.push(forgery.name)
  }
  expect(unnamed).toEqual([])
  // These forgeries look like rows from before a rule. No rule has an exemption for such rows, so each must be found.
  const aged = all.filter(({ name }) => / as if from before| of another version/.test(name))
  const found: Record<string, string[]> = {}
  for (const forgery of aged)
    found[forgery.name] = (await auditAfter((tx) => forge(tx, forgery))).map(({ check }) => check)
  expect(found).toEqual(Object.fromEntries(aged.map(({ name, by }) => [name, expect.arrayContaining(by)])))
  expect(Object.keys(named).toSorted()).toEqual(checks.toSorted())
})

test('each guard of the schema that is gone, weakened or added is named', async () => {
  const w = await world()
  const { schema } = bookChecks(w.clock.now())
  const guards = (tx: Tx) => tx.rows<Omit<Difference, 'check'>>(schema!)
  expect(await inVain(w, guards)).toEqual([])
  const nobody = { victim: randomUUID(), eve: randomUUID(), debtor: randomUUID() }
  const forged = forgeries(nobody).filter(({ by, sql }) => by[0] === 'schema' && !sql.includes('rebook'))
  const unnamed: string[] = []
  for (const forgery of forged) {
    const differences = await inVain(w, async (tx) => {
      await forge(tx, forgery)
      return guards(tx)
    })
    if (differences.length === 0) unnamed.push(forgery.name)
  }
  expect(forged.length).toBeGreaterThan(20)
  expect(unnamed).toEqual([])
})

async function forge(tx: Tx, forgery: Forgery): Promise<void> {
  for (const sql of statementsOf(forgery)) await tx.run(sql)
}

/** Runs `work` in a transaction that is rolled back. */
async function inVain<Found>(w: World, work: (tx: Tx) => Promise<Found>): Promise<Found> {
  const found: Found[] = []
  const undone = new Error('undone')
  const done = transact(w.pool, async (tx) => {
    found.push(await work(tx))
    throw undone
  })
  await expect(done).rejects.toBe(undone)
  return found[0]!
}
