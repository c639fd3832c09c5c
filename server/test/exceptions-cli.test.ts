import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { CHARGE_SECRET } from './databases.ts'
import { runCli, temporaryHome } from './process.ts'
import { completedCharge, holdings, strayPayment, untilMade } from './refund-steps.ts'
import { UNKNOWN_ID } from './requests.ts'
import { world } from './world.ts'

const FOLLOWED = 'The running server completes it. If none is running: guiche start\n'

/** Commands use the real clock, so the world must be at today. */
async function worldOfToday(env: Record<string, string> = {}) {
  const w = await world()
  w.clock.advance(Date.now() - w.clock.now().getTime())
  const all = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    SECRET_KEY: CHARGE_SECRET,
    GUICHE_HOME: temporaryHome(),
    ...env,
  }
  return { w, guiche: (...args: string[]) => runCli(args, all) }
}

test('exceptions are listed and shown', async () => {
  const { w, guiche } = await worldOfToday()
  expect(await guiche('exceptions', 'list')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'No open exception matches.\n',
  })
  const payment = await strayPayment(w, 7_00)

  const list = await guiche('exceptions', 'list')
  const [head, row] = list.stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(head).toEqual(['ID', 'OPENED', 'KIND', 'AMOUNT', 'STATE', 'PAYMENT', 'CHARGE'])
  expect(row!.slice(2)).toEqual(['unknown_charge', 'R$ 7,00', 'open', payment.endToEndId])
  const id = row![0]!
  expect((await guiche('exceptions', 'show', id)).stdout).toContain(`Payment    ${payment.endToEndId} at sandbox`)
})

test('an exception is credited to an account by its e-mail, once', async () => {
  const { w, guiche } = await worldOfToday()
  const { accountId, email } = await w.account()
  await strayPayment(w, 7_00)
  const [{ id }] = JSON.parse((await guiche('exceptions', 'list', '--json')).stdout)
  const resolved = await guiche('exceptions', 'resolve', id, '--credit', email.toUpperCase(), '--reason', 'order 7')
  expect([resolved.code, resolved.stderr]).toEqual([0, ''])
  expect(resolved.stdout).toContain(`State       resolved: credit`)
  expect(resolved.stdout).toContain(`Decided by  console ${userInfo().username}: order 7`)
  expect(await w.balanceCents(accountId)).toBe(7_00)
  expect(JSON.parse((await guiche('exceptions', 'list', '--state', 'all', '--json')).stdout)).toMatchObject([
    { id, state: 'resolved', resolution: { how: 'credit', accountId } },
  ])

  const again = await guiche('exceptions', 'resolve', id, '--write-off', '--reason', 'x')
  expect(again).toMatchObject({ code: 1, stdout: '', stderr: 'guiche: Exception is already resolved\n' })
})

test('an exception is refunded from the terminal, and a server follows it', async () => {
  const { w, guiche } = await worldOfToday()
  await strayPayment(w, 7_00)
  const [open] = JSON.parse((await guiche('exceptions', 'list', '--json')).stdout)
  const made = await guiche('exceptions', 'resolve', open.id, '--refund', '--reason', 'paid twice', '--json')
  expect([made.code, made.stderr]).toEqual([0, FOLLOWED])
  const { refund } = JSON.parse(made.stdout)
  await untilMade(w, { endToEndId: open.endToEndId, refundId: refund.id })
  w.clock.advance(600_000)
  await runDueRefunds(w.ctx)
  expect(await holdings(w)).toEqual({})
})

test('one way to resolve must be named, and only one', async () => {
  const { guiche } = await worldOfToday()
  const refused = 'guiche: Give exactly one of: --credit <email>, --refund, --write-off, --charge-account, --match\n'
  for (const ways of [[], ['--refund', '--write-off']]) {
    const answer = await guiche('exceptions', 'resolve', 'x', '--reason', 'x', ...ways)
    expect(answer).toMatchObject({ code: 1, stderr: refused })
  }
  const unknown = await guiche('exceptions', 'resolve', 'x', '--write-off', '--reason', 'x')
  expect(unknown).toMatchObject({ code: 1, stderr: 'guiche: Exception not found\n' })
})

test('a deposit is refunded from the terminal, in part, once for each key, and listed', async () => {
  const { w, guiche } = await worldOfToday()
  const { charge, account } = await completedCharge(w, { valueCents: 50_00 })
  const ask = ['refund', charge.paymentLinkId, '--amount', '2000', '--reason', 'returned', '--idempotency-key', 'k']
  const made = await guiche(...ask)
  expect([made.code, made.stderr]).toEqual([0, FOLLOWED])
  const [, id] = /^Refund ([0-9a-f]{32}) of R\$ 20,00 is PROCESSING\n$/.exec(made.stdout)!
  expect((await guiche(...ask)).stdout).toContain(id)
  expect(await w.balanceCents(account.accountId)).toBe(29_50)

  const list = await guiche('refunds', '--email', account.email)
  expect(list.stdout).toContain(`${id}  `)
  expect(list.stdout).toContain(`console ${userInfo().username}  returned`)
  expect(JSON.parse((await guiche('refunds', '--charge', charge.paymentLinkId, '--json')).stdout)).toMatchObject([
    { id },
  ])

  const tooMuch = await guiche('refund', charge.paymentLinkId, '--amount', '3001', '--reason', 'x')
  expect(tooMuch).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'guiche: value is more than is left to refund: 3000 cents of 5000\n',
  })
  const unknown = await guiche('refund', UNKNOWN_ID, '--reason', 'x')
  expect(unknown).toMatchObject({ code: 1, stderr: 'guiche: Charge not found\n' })
})

test('a refund that the provider declines is said to have failed, and why, with exit code 1', async () => {
  const { w, guiche } = await worldOfToday({ REFUND_RETURNS_FEE: 'true' })
  const { charge, account } = await completedCharge(w)
  await w.sandbox.faults({ refundsRefused: true })
  const made = await guiche('refund', charge.paymentLinkId, '--reason', 'asked for by phone')
  expect(made.code).toBe(1)
  expect(made.stdout).toMatch(/^Refund \w+ of R\$ 50,00 is FAILED: sandbox: refund: /)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
})

test('a payment of another amount completes its charge from the terminal, or closes it', async () => {
  const { w, guiche } = await worldOfToday()
  const account = await w.account()
  for (const [index, ways] of [['--match'], ['--credit', account.email, '--close-charge']].entries()) {
    const charge = await w.deposit(account, { valueCents: 100_00 })
    await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
    await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
    const [open] = JSON.parse((await guiche('exceptions', 'list', '--json')).stdout)
    const resolved = await guiche('exceptions', 'resolve', open.id, '--reason', 'agreed', ...ways)
    expect([resolved.code, resolved.stderr]).toEqual([0, ''])
    expect(resolved.stdout).toContain(['COMPLETED, of R$ 100,00', 'CANCELED, of R$ 100,00'][index])
  }
  expect(await w.balanceCents(account.accountId)).toBe(89_00 + 90_00)
  const refused = await guiche('exceptions', 'resolve', 'x', '--match', '--close-charge', '--reason', 'x')
  expect(refused.stderr).toBe('guiche: --close-charge needs --credit, --refund or --write-off\n')
  expect(await w.differences()).toEqual([])
})
