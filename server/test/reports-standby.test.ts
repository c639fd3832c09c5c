import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import type { Standby } from '../src/domain/core/core.ts'
import { openStandby } from '../src/domain/reports/read-report.ts'
import { readOperatorOverview, readOverview } from '../src/domain/reports/overview.ts'
import { world } from './world.ts'

/** Puts another database in place of a standby, so that an answer shows where it came from. */
async function worldWithStandby(ageSeconds: number | undefined) {
  const [w, other] = [await world(), await world()]
  const account = await w.account()
  const standby: Standby = { pool: other.pool, ageSeconds: async () => ageSeconds }
  return { w, account, ctx: Object.assign(w.ctx, { standby }) }
}

test('a report from the standby says how old its data are', async () => {
  const { w, account, ctx } = await worldWithStandby(3)
  expect(await readOperatorOverview(ctx)).toMatchObject({ accounts: 0, ageSeconds: 3 })
  const answer = await (await w.session(account)).ask('GET', '/dashboard/api/overview')
  expect([answer.statusCode, answer.headers['guiche-data-age']]).toEqual([200, '3'])
})

test('the balance and the latest deposits of an overview come from the primary', async () => {
  const { w, account, ctx } = await worldWithStandby(3)
  await w.deposit(account)
  const { latest, today, ageSeconds } = await readOverview(ctx, account.accountId)
  expect([latest.length, today.created, ageSeconds]).toEqual([1, 0, 3])
})

test.each([
  ['is a minute behind', 61],
  ['failed a moment ago', undefined],
])('a report reads from the primary while the standby %s', async (_, ageSeconds) => {
  const { w, account, ctx } = await worldWithStandby(ageSeconds)
  expect(await readOperatorOverview(ctx)).toMatchObject({ accounts: 1, ageSeconds: null })
  const answer = await (await w.session(account)).ask('GET', '/dashboard/api/overview')
  expect(answer.headers).not.toHaveProperty('guiche-data-age')
})

test('a report reads from the primary if the standby cannot be reached, and soon does not ask it', async () => {
  const w = await world()
  await w.account()
  const standby = openStandby(`postgresql://guiche:x@127.0.0.1:${await freePort()}/guiche`)
  onTestFinished(() => standby.pool.end())
  const ctx = Object.assign(w.ctx, { standby })
  expect(await readOperatorOverview(ctx)).toMatchObject({ accounts: 1, ageSeconds: null })
  expect(await standby.ageSeconds(w.clock.now())).toBeUndefined()
})
