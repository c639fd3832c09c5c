import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { CHARGE_SECRET } from './databases.ts'
import { runCli, temporaryHome } from './process.ts'
import { completedCharge } from './refund-steps.ts'
import { world } from './world.ts'

test('payouts are asked for, listed, paid and rejected on the command line', async () => {
  const w = await world()
  // Commands use the real clock, so the world must be at today.
  w.clock.advance(Date.now() - w.clock.now().getTime())
  const env = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    SECRET_KEY: CHARGE_SECRET,
    GUICHE_HOME: temporaryHome(),
  }
  const guiche = (...args: string[]) => runCli(['payouts', ...args], env)
  const { account } = await completedCharge(w, { valueCents: 100_00 })
  const ask = async (amount: string, ...more: string[]) =>
    JSON.parse((await guiche('ask', '--email', account.email, '--amount', amount, '--json', ...more)).stdout)
  const [paid, rejected] = [await ask('4000', '--note', 'March'), await ask('900')]

  const list = await guiche('list', '--status', 'REQUESTED', '--email', account.email)
  const [head, , row] = list.stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(head).toEqual(['ID', 'REQUESTED', 'STATUS', 'AMOUNT', 'ACCOUNT', 'NOTE', 'REFERENCE OR REASON'])
  expect([row![0], ...row!.slice(2)]).toEqual([paid.id, 'REQUESTED', 'R$ 40,00', account.email, 'March'])

  const done = await guiche('pay', paid.id, '--reference', 'E1')
  expect([done.code, done.stderr]).toEqual([0, ''])
  expect(done.stdout).toContain(`Ended by      console ${userInfo().username}`)
  expect((await guiche('reject', rejected.id, '--reason', 'no')).stdout).toContain('Reason        no')
  const again = await guiche('reject', paid.id, '--reason', 'no')
  expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/^guiche: Payout is already PAID, on /)])
  expect(await w.balanceCents(account.accountId)).toBe(59_00)
  const wrong = await guiche('pay', paid.id, '--reference', 'E1', '--paid-at', 'today')
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('It must be a day such as 2026-01-31.')])
})
