import { expect, test } from 'vitest'
import { payPayout, requestPayout } from '../src/domain/payouts/payouts.ts'
import { CHARGE_SECRET } from './databases.ts'
import { makeOperator } from './operators-client.ts'
import { runCli, temporaryHome } from './process.ts'
import { completedCharge, hearOf, OPERATOR } from './refund-steps.ts'
import { get } from './requests.ts'
import { world, type World } from './world.ts'

const DAY_MS = 24 * 3_600_000

/** An account whose deposit was paid out in part before the bank returned it, and one with a returned mistake. */
async function reversed(w: World) {
  const { account, charge, payment } = await completedCharge(w)
  const other = await completedCharge(w, { valueCents: 7_00 })
  const wanted = { accountId: account.accountId, valueCents: 40_00, note: null, idempotencyKey: null }
  const { payout } = await requestPayout(w.ctx, OPERATOR, wanted)
  await payPayout(w.ctx, OPERATOR, payout.id, { reference: 'E1' })
  await w.sandbox.reverse({ endToEndId: payment.endToEndId })
  await w.sandbox.reverse({ endToEndId: other.payment.endToEndId, nature: 'MED_OPERACIONAL', amountCents: 2_00 })
  w.clock.advance(200)
  for (const { endToEndId } of [payment, other.payment]) await hearOf(w, endToEndId)
  return { account, charge, other }
}

test('the account holder sees what the bank returned, why, and what is owed', async () => {
  const w = await world()
  const { account, charge } = await reversed(w)
  const read = async (path: string) => (await w.app.inject(get(account.key, path))).json()
  expect(await read('/api/balance')).toMatchObject({ balance: 0, available: 0, reserved: 0, owed: 40_50 })
  const { refunds, refundedValue, status } = (await read(`/api/deposits/${charge.paymentLinkId}`)).deposit
  expect([status, refundedValue]).toEqual(['COMPLETED', 50_00])
  expect(refunds).toMatchObject([{ value: 50_00, madeBy: 'provider', nature: 'fraud', reason: null }])
  const { lines } = await read('/api/statement')
  expect(lines[0]).toMatchObject({ kind: 'reversal_charged', net: -9_50, balance: 0, nature: 'fraud' })
  const session = await w.session(account)
  expect((await session.ask('GET', '/dashboard/api/overview')).json()).toMatchObject({ available: 0, owed: 40_50 })
  const page = await session.ask('GET', `/dashboard/api/deposit/${charge.paymentLinkId}/timeline`)
  const moments = page.json().timeline.map(({ kind }: { kind: string }) => kind)
  expect(moments).toEqual(expect.arrayContaining(['reversed']))
  expect(moments).not.toContain('refund_requested')
})

test('operators list reversals by nature, account and day, and read their rates', async () => {
  const w = await world()
  const { account, other } = await reversed(w)
  const { key } = await makeOperator(w)
  const read = async (path: string) => (await w.app.inject(get(key, `/api/operator/${path}`))).json()
  const emails = async (query: string) =>
    (await read(`reversals?${query}`)).reversals.map(({ email }: { email: string }) => email)
  expect((await read('reversals')).reversals).toMatchObject([
    { email: other.account.email, nature: 'operational', value: 2_00, charged: 2_00, owed: 0, state: 'resolved' },
    { email: account.email, nature: 'fraud', value: 50_00, charged: 9_50, owed: 40_50, state: 'resolved' },
  ])
  expect(await emails('nature=fraud')).toEqual([account.email])
  expect(await emails(`accountId=${other.account.accountId}`)).toEqual([other.account.email])
  expect(await emails(`from=${new Date(w.clock.now().getTime() + DAY_MS).toISOString()}`)).toEqual([])
  const { rates } = await read('reversals/rates?days=7')
  expect(rates).toHaveLength(2)
  expect(rates[0]).toMatchObject({ email: account.email, day: '2026-03-02', paid: 1, paidValue: 50_00 })
  expect(rates[0]).toMatchObject({ reversed: 1, reversedValue: 50_00, fraud: 1, fraudValue: 50_00 })
  expect(rates[1]).toMatchObject({ email: other.account.email, reversed: 1, fraud: 0, fraudValue: 0 })
  expect((await read(`accounts/${account.accountId}`)).account).toMatchObject({ balance: 0, owed: 40_50 })
  expect((await w.app.inject(get(account.key, '/api/operator/reversals'))).statusCode).toBe(403)
})

test('reversals and their rates are read on the command line', async () => {
  const w = await world()
  // Commands use the real clock, so the world must be at today.
  w.clock.advance(Date.now() - w.clock.now().getTime())
  const { account } = await reversed(w)
  const env = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    SECRET_KEY: CHARGE_SECRET,
    GUICHE_HOME: temporaryHome(),
  }
  const list = await runCli(['reversals', 'list', '--nature', 'fraud'], env)
  const [head, row] = list.stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(head!.slice(0, 6)).toEqual(['AT', 'NATURE', 'AMOUNT', 'CHARGED', 'OWED', 'ACCOUNT'])
  expect(row!.slice(1, 6)).toEqual(['fraud', 'R$ 50,00', 'R$ 9,50', 'R$ 40,50', account.email])
  const rates = await runCli(['reversals', 'rates', '--email', account.email, '--days', '2', '--json'], env)
  expect(JSON.parse(rates.stdout)).toMatchObject([{ email: account.email, reversed: 1, fraudValue: 50_00 }])
  const shares = await runCli(['reversals', 'rates', '--email', account.email], env)
  expect(shares.stdout).toContain('100.00 %')
})
