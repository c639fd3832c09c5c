import { expect, test } from 'vitest'
import { transact, type Tx } from '../src/db/tx.ts'
import { auditBooks, bookChecks, type Difference } from '../src/domain/audit/books.ts'
import { makeHistory } from './tamper-history.ts'

// The forgeries are those of prove/tamper.mjs, which tries all of them on the real service.
type Forgery = { name: string; by: string[]; isBanks: boolean; sql: string }
type Forgeries = {
  forgeries(accounts: { victim: string; eve: string }): Forgery[]
  statementsOf(forgery: Forgery): string[]
}
const { forgeries, statementsOf } = (await import(
  new URL('../../prove/tamper/forgeries.mjs', import.meta.url).href
)) as Forgeries

test('each check of the books names a forgery that the other rows are consistent with', async () => {
  const { w, ...accounts } = await makeHistory()
  const now = w.clock.now()
  const auditAfter = (forge: (tx: Tx) => Promise<void>) =>
    inVain(async (tx: Tx) => {
      await forge(tx)
      return (await auditBooks(tx, { now, seal: w.ctx.settings.chargeSeal })).differences
    })
  const inVain = async (work: (tx: Tx) => Promise<Difference[]>) => {
    let found: Difference[] = []
    const undone = new Error('undone')
    const done = transact(w.pool, async (tx) => {
      found = await work(tx)
      throw undone
    })
    await expect(done).rejects.toBe(undone)
    return found
  }
  expect(await auditAfter(async () => {})).toEqual([])

  const all = forgeries(accounts).filter((one) => !one.isBanks)
  const checks = [...Object.keys(bookChecks(now)), 'code']
  const named: Record<string, string> = {}
  for (const check of checks) {
    const forgery = all.find(({ by }) => by[0] === check) ?? all.find(({ by }) => by.includes(check))
    if (!forgery) continue
    const differences = await auditAfter(async (tx) => {
      for (const sql of statementsOf(forgery)) await tx.run(sql)
    })
    if (differences.some((one) => forgery.by.includes(one.check))) named[check] = forgery.name
  }
  expect(Object.keys(named).toSorted()).toEqual(checks.toSorted())
})
