import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { endRefund } from '../src/domain/refunds/refund-states.ts'
import { REFUND_ABSENT_MS } from '../src/domain/refunds/run-refund.ts'
import { endUndecided, listRefunds } from '../src/domain/refunds/request-refund.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { ask, makeOperator } from './operators-client.ts'
import { CHARGE_SECRET } from './databases.ts'
import { runCli, temporaryHome } from './process.ts'
import {
  bookDifferences,
  changeProvider,
  completedCharge,
  holdings,
  OPERATOR,
  refund,
  stateOf,
  strayPayment,
} from './refund-steps.ts'
import { UNKNOWN_ID } from './requests.ts'
import { world, type World } from './world.ts'

/** A refund that the bank lost: it takes no request for it, and does not show it. */
async function refundInDoubt(w: World) {
  const { charge, account } = await completedCharge(w)
  const lost = () => Promise.reject(new ProviderError('unknown', 'sandbox: refund: the answer was lost'))
  changeProvider(w, { refund: lost })
  return { charge, account, made: await refund(w, charge, { amountCents: 10_00 }) }
}

test.each([
  ['done', 'DONE', { cash: 40_00, balance: 39_50, fees: 50 }, 10_00],
  ['failed', 'FAILED', { cash: 50_00, balance: 49_50, fees: 50 }, 0],
] as const)(
  'an operator ends a refund in doubt as %s, once, with who and why',
  async (outcome, status, held, refunded) => {
    const w = await world()
    const { charge, account, made } = await refundInDoubt(w)
    const decision = { outcome, reason: 'the bank’s support said so' }
    const ended = await endUndecided(w.ctx, OPERATOR, made.id, decision)
    expect(ended).toMatchObject({ status, failure: null, endedBy: { actor: OPERATOR, reason: decision.reason } })
    expect(await holdings(w)).toEqual(held)
    expect(await stateOf(w, charge.id)).toMatchObject({ refunded_cents: refunded })
    expect(await w.count('events', `kind = 'DEPOSIT_REFUNDED'`)).toBe(refunded > 0 ? 1 : 0)
    const { rows } = await w.pool.query(
      `select actor, account_id, reason, details from audit_log where action = 'refund.ended'`,
    )
    expect(rows).toMatchObject([
      {
        actor: 'ana',
        account_id: account.accountId,
        reason: decision.reason,
        details: { outcome, amountCents: 10_00 },
      },
    ])
    const other = outcome === 'done' ? 'failed' : 'done'
    for (const again of [outcome, other] as const)
      await expect(endUndecided(w.ctx, OPERATOR, made.id, { outcome: again, reason: 'x' })).rejects.toThrow(
        `Refund has already ended: it is ${status} since ${w.clock.now().toISOString()} by console ana`,
      )
    expect(await holdings(w)).toEqual(held)
    expect(await bookDifferences(w)).toEqual([])
  },
)

test('of an operator and a bank that end a refund at once, the second learns of the first', async () => {
  const w = await world()
  const { made } = await refundInDoubt(w)
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await endRefund(tx, w.clock.now(), made.id, { status: 'done' })
    second = endUndecided(w.ctx, OPERATOR, made.id, { outcome: 'failed', reason: 'x' }).catch((error) => error)
    await w.lockWait()
  })
  expect(await second).toMatchObject({ code: 'refund_ended', message: expect.stringContaining('it is DONE since') })
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 39_50, fees: 50 })
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that the bank has with another amount is in doubt, says so, and can be ended', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 10_00 })
  const other = { refundId: made.id, amountCents: 9_00, status: 'done' as const, reason: null }
  changeProvider(w, { checkRefund: () => Promise.resolve(other) })
  w.clock.advance(5_000)
  await runDueRefunds(w.ctx)
  expect((await listRefunds(w.ctx, { inDoubt: true, limit: 10 })).refunds).toMatchObject([
    { id: made.id, attention: `sandbox has refund ${made.id} with 900 cents instead of 1000` },
  ])
  await endUndecided(w.ctx, OPERATOR, made.id, { outcome: 'done', reason: 'one real is settled by hand' })
  expect((await listRefunds(w.ctx, { inDoubt: true, limit: 10 })).refunds).toEqual([])
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that the bank has and works on is left to it, for six hours; one that was never sent can only fail', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 10_00 })
  const end = (id: string, outcome: 'done' | 'failed') => endUndecided(w.ctx, OPERATOR, id, { outcome, reason: 'x' })
  await expect(end(made.id, 'failed')).rejects.toThrow('is in progress at sandbox')
  expect((await listRefunds(w.ctx, { inDoubt: true, limit: 10 })).refunds).toEqual([])
  w.clock.advance(REFUND_ABSENT_MS)
  expect(await end(made.id, 'failed')).toMatchObject({ status: 'FAILED' })

  changeProvider(w, { refund: () => Promise.reject(new ProviderError('unreachable', 'sandbox: breaker open')) })
  const unsent = await refund(w, charge, { amountCents: 10_00 })
  await expect(end(unsent.id, 'done')).rejects.toThrow('was never sent to the provider')
  expect(await end(unsent.id, 'failed')).toMatchObject({ status: 'FAILED' })
  await expect(end('x', 'done')).rejects.toThrow('Refund not found')
  expect(await bookDifferences(w)).toEqual([])
})

test('an exception whose refund an operator ends as failed is open again, and the log says why', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 1 })
  changeProvider(w, { refund: () => Promise.reject(new ProviderError('unknown', 'sandbox: lost')) })
  const resolving = await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'refund' }, 'paid twice')
  await endUndecided(w.ctx, OPERATOR, resolving.refund!.id, { outcome: 'failed', reason: 'the bank has none' })
  expect((await listExceptions(w.ctx, { state: 'open', limit: 1 })).exceptions).toHaveLength(1)
  expect(await w.count('audit_log', `action = 'exception.reopened' and reason = 'the bank has none'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

// ---- By API and from the terminal ----

test('a refund in doubt is listed as that by API, and ended by an operator whose password is fresh', async () => {
  const w = await world()
  const operator = await makeOperator(w)
  const { made } = await refundInDoubt(w)
  const list = async (query: string) => (await ask(w, operator.key, 'GET', `refunds?${query}`)).body
  expect((await list('inDoubt=true')).refunds).toMatchObject([
    {
      id: made.id,
      status: 'PROCESSING',
      inDoubt: true,
      doubtedAt: w.clock.now().toISOString(),
      attention: 'sandbox: refund: the answer was lost',
      endedBy: null,
    },
  ])
  expect((await list('inDoubt=false')).refunds).toHaveLength(1)
  expect(await list('inDoubt=maybe')).toMatchObject({ error: 'inDoubt must be true or false' })

  const end = (id: string, body: object) => ask(w, operator.key, 'POST', `refunds/${id}/end`, body)
  expect(await end(UNKNOWN_ID, { outcome: 'done', reason: 'x' })).toMatchObject({ status: 404 })
  expect(await end(made.id, { outcome: 'gone', reason: 'x' })).toMatchObject({
    status: 400,
    body: { error: 'outcome must be done or failed' },
  })
  expect(await end(made.id, { outcome: 'failed' })).toMatchObject({ status: 400 })
  const session = await w.session(operator)
  w.clock.advance(16 * 60_000)
  const stale = await session.ask('POST', `/dashboard/api/operator/refunds/${made.id}/end`, {
    outcome: 'failed',
    reason: 'x',
  })
  expect(stale.statusCode).toBe(403)
  expect(await end(made.id, { outcome: 'failed', reason: 'the bank has none' })).toMatchObject({
    status: 200,
    body: {
      refund: {
        status: 'FAILED',
        inDoubt: false,
        endedBy: `operator ${operator.email}`,
        endedReason: 'the bank has none',
      },
    },
  })
  expect(await end(made.id, { outcome: 'failed', reason: 'again' })).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('Refund has already ended: it is FAILED since') },
  })
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund in doubt is listed and ended from the terminal', async () => {
  const w = await world()
  w.clock.advance(Date.now() - w.clock.now().getTime())
  const env = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    SECRET_KEY: CHARGE_SECRET,
    GUICHE_HOME: temporaryHome(),
  }
  const guiche = (...args: string[]) => runCli(args, env)
  expect(await guiche('refunds', '--in-doubt')).toMatchObject({ code: 0, stderr: 'No refund matches.\n' })
  const { made } = await refundInDoubt(w)
  const { stdout } = await guiche('refunds', '--in-doubt')
  expect(stdout).toContain('PROCESSING, in doubt')
  expect(stdout).toContain('the answer was lost')
  expect(await guiche('refund', 'end', made.id, '--reason', 'x')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--as <outcome>'),
  })
  expect(await guiche('refund', 'end', made.id, '--as', 'failed', '--reason', 'the bank has none')).toMatchObject({
    code: 0,
    stdout: `Refund ${made.id} of R$ 10,00 is FAILED\n`,
  })
  expect(await guiche('refund', 'end', made.id, '--as', 'done', '--reason', 'x')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('guiche: Refund has already ended: it is FAILED since'),
  })
  // `guiche refund` itself still needs its reason.
  expect(await guiche('refund', made.paymentLinkId!)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--reason <text>'),
  })
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })
  expect(await bookDifferences(w)).toEqual([])
})
