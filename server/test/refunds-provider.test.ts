import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hexFromUuid, newUuid7 } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { recordExternalRefunds } from '../src/domain/refunds/external-refunds.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { endRefund } from '../src/domain/refunds/refund-states.ts'
import { claimRefunds, runRefund } from '../src/domain/refunds/run-refund.ts'
import { listRefunds, requestRefund } from '../src/domain/refunds/request-refund.ts'
import { nameInBody } from '../src/domain/webhooks/events.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import {
  bookDifferences,
  changeProvider,
  completedCharge,
  followToEnd,
  holdings,
  listed,
  OPERATOR,
  refund,
  refundAtBank,
  stateOf,
  untilMade,
  wholeOf,
} from './refund-steps.ts'
import { OPERATOR_DECIDES, world } from './world.ts'

const LEASE_MS = 60_000

// ---- A provider that answers late, twice, otherwise, or never ----

test('a refund whose answer was lost is found at the bank, and made once', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const { refund: send } = w.ctx.providers[0]!
  changeProvider(w, {
    refund: async (request) => {
      await send(request)
      throw new ProviderError('unknown', 'the answer was lost')
    },
  })
  const made = await refund(w, charge, { amountCents: 10_00 })
  expect(made.status).toBe('PROCESSING')
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 39_50, refunding: 10_00, fees: 50 })
  await followToEnd(w, made)
  expect((await w.sandbox.stats()).calls['PUT /pix/:e2eid/devolucao/:id']).toBe(1)
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 39_50, fees: 50 })
  expect(await w.differences()).toEqual([])
})

test('a refund that never reached the bank is sent again under its id, once the bank says that it has none', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  await w.sandbox.faults({ errorRate: 1, seed: 1 })
  const made = await refund(w, charge, { amountCents: 10_00 })
  expect(made.status).toBe('PROCESSING')
  w.clock.advance(5_000)
  await runDueRefunds(w.ctx)
  expect(await w.count('refunds', `status = 'PROCESSING'`)).toBe(1) // and the amount stays reserved
  expect(await holdings(w)).toMatchObject({ refunding: 10_00 })
  await w.sandbox.faults({})
  w.clock.advance(10_000)
  await runDueRefunds(w.ctx)
  await followToEnd(w, made)
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 39_50, fees: 50 })
  expect(await w.differences()).toEqual([])
})

test('a refund that the provider refuses gives the money back at once', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w)
  await w.sandbox.faults({ refundsRefused: true })
  const made = await refund(w, charge, { amountCents: 10_00 })
  expect(made).toMatchObject({ status: 'FAILED', failure: expect.stringContaining('sandbox: refund') })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await stateOf(w, charge.id)).toEqual({ status: 'COMPLETED', refunded_cents: 0 })
  expect(await w.count('events', `kind = 'DEPOSIT_REFUNDED'`)).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('a refund that fails at the bank in the end gives the money back, and can be asked for again', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const sandbox = { ...w.ctx.providers[0]! }
  const answer = (status: 'processing' | 'failed') => async (request: { refundId: string }) => ({
    refundId: request.refundId,
    amountCents: 10_00,
    status,
    reason: status === 'failed' ? 'the payer’s account is closed' : null,
  })
  changeProvider(w, { refund: answer('processing'), checkRefund: answer('failed') })
  const made = await refund(w, charge, { amountCents: 10_00 })
  w.clock.advance(5_000)
  await runDueRefunds(w.ctx)
  expect((await listRefunds(w.ctx, { limit: 1 })).refunds).toMatchObject([
    { id: made.id, status: 'FAILED', failure: 'the payer’s account is closed' },
  ])
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })
  changeProvider(w, sandbox)
  expect(await refund(w, charge, { amountCents: 49_00 })).toMatchObject({ status: 'PROCESSING' })
  expect(await w.differences()).toEqual([])
})

// The bank said "failed" first, and made the refund afterwards. Meanwhile the account has the money back and may have
// spent it.
test('a refund that failed and was made after all is booked, and is the operator’s to decide', async () => {
  const w = await world()
  const { charge, payment } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 10_00 })
  await transact(w.pool, (tx) => endRefund(tx, w.clock.now(), made.id, { status: 'failed', failure: 'no' }))
  await untilMade(w, { endToEndId: payment.endToEndId, refundId: made.id })
  expect(await w.differences()).toMatchObject([{ check: 'provider', text: expect.stringContaining(made.id) }])
  for (let times = 0; times < 2; times++) await w.ctx.settlements.add([(await listed(w))[0]!])
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 49_50, fees: 50, missing: -10_00 })
  expect(await w.count('exceptions', `kind = 'foreign_refund' and resolution is null`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

// This happens after a restore of a backup that is older than the refund.
test('what a bank refunds beyond a payment is the operator’s to decide, and the audit names it until then', async () => {
  const w = await world({ settings: OPERATOR_DECIDES })
  const account = await w.account()
  const { payment, charge } = await completedCharge(w, { account })
  await completedCharge(w, { account })
  const refunds = ['one', 'two'].map((refundId) => ({
    refundId,
    amountCents: 30_00,
    status: 'done' as const,
    reason: null,
  }))
  await recordExternalRefunds(w.ctx, [{ ...payment, refunds }])
  expect(await stateOf(w, charge.id)).toMatchObject({ refunded_cents: 60_00 })
  const named = {
    subject: `payment ${payment.endToEndId}`,
    text: expect.stringMatching(/^brought 5000 .* 6000 went back/),
  }
  expect(await bookDifferences(w)).toMatchObject([named])
  const { exceptions } = await listExceptions(w.ctx, { kind: 'foreign_refund', limit: 10 })
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'charge_account' }, 'the payer asked for it')
  expect(await bookDifferences(w)).toMatchObject([named])
  await resolveException(w.ctx, OPERATOR, exceptions[1]!.id, { how: 'write_off' }, 'the bank owes it to us')
  expect(await bookDifferences(w)).toEqual([])
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 69_00, fees: 1_00, written_off: -30_00 })
  await expect(refund(w, charge, { amountCents: 1 })).rejects.toMatchObject({ code: 'already_refunded' })
})

test('a refund of ours that is not in the books is booked from the bank’s list under the id that we gave it', async () => {
  const w = await world()
  const { payment } = await completedCharge(w)
  const { endToEndId } = payment
  const refundId = hexFromUuid(newUuid7(w.clock.now()))
  await w.ctx.providers[0]!.refund({ endToEndId, refundId, amountCents: 10_00 })
  await untilMade(w, { endToEndId, refundId })
  w.clock.advance(60_000)
  await w.ctx.settlements.add([(await listed(w))[0]!])
  const { refunds } = await listRefunds(w.ctx, { limit: 10 })
  expect(refunds).toMatchObject([{ id: refundId, source: 'provider', status: 'DONE' }])
  expect(await w.differences()).toEqual([])
})

// After a loss of our rows, the bank still knows its id of the refund. It is our id if we asked for the refund.
test('the id of a refund’s event follows from the deposit and the bank’s id of the refund, whoever asked for it', async () => {
  const w = await world()
  const { charge, payment } = await completedCharge(w)
  const [done, failed] = [
    await refund(w, charge, { amountCents: 1_00 }),
    await refund(w, charge, { amountCents: 2_00 }),
  ]
  await transact(w.pool, (tx) => endRefund(tx, w.clock.now(), failed.id, { status: 'failed', failure: 'no' }))
  await untilMade(w, { endToEndId: payment.endToEndId, refundId: failed.id })
  await followToEnd(w, done)
  const atBank = await refundAtBank(w, payment.endToEndId, 3_00)
  await w.ctx.settlements.add([(await listed(w))[0]!])
  const { rows } = await w.pool.query<{ body: string }>(`select body from events where kind like 'DEPOSIT_RE%'`)
  const ids = [done.id, failed.id, atBank].map((bankId) => {
    const digest = createHash('sha256').update(`${charge.id} ${bankId} 0`).digest('hex')
    return `evt_DEPOSIT_${bankId === atBank ? 'REVERSED' : 'REFUNDED'}_${digest.slice(0, 32)}`
  })
  expect(rows.map(({ body }) => nameInBody(body)).toSorted()).toEqual(ids.toSorted())
  expect(await w.differences()).toEqual([])
})

// If a lease runs out while its worker waits for the bank, two workers have the same refund.
test('of two workers who hear different ends of a refund the first is booked, and neither loses a cent', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const [toFail, toBeDone] = [
    await refund(w, charge, { amountCents: 10_00 }),
    await refund(w, charge, { amountCents: 5_00 }),
  ]
  await untilMade(w, { endToEndId: toFail.endToEndId, refundId: toFail.id })
  w.clock.advance(LEASE_MS)
  const claimed = await claimRefunds(w.ctx, 2)
  await transact(w.pool, (tx) => endRefund(tx, w.clock.now(), toFail.id, { status: 'failed', failure: 'no' }))
  await transact(w.pool, (tx) => endRefund(tx, w.clock.now(), toBeDone.id, { status: 'done' }))
  const { checkRefund } = w.ctx.providers[0]!
  changeProvider(w, {
    async checkRefund(question) {
      const answer = await checkRefund(question)
      return question.refundId === toFail.id || answer === 'absent' ? answer : { ...answer, status: 'failed' }
    },
  })
  for (const one of claimed) await runRefund(w.ctx, one)
  expect(w.logged.map(({ level, text }) => [level, text])).toEqual([
    ['error', 'provider reported a different final state for a finished refund'],
    ['error', 'provider reported a different final state for a finished refund'],
  ])
  // Only the bank can tell which answer is newer.
  expect(await w.count('exceptions', `kind = 'undone_refund'`)).toBe(0)
  await runDueRefunds(w.ctx)
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 44_50, fees: 50, missing: -10_00, suspense: 5_00 })
  expect(await w.count('exceptions', `kind = 'foreign_refund'`)).toBe(1)
  expect(await w.count('exceptions', `kind = 'undone_refund'`)).toBe(1)
  expect(await bookDifferences(w)).toEqual([])
})

test('a bank that speaks of another amount is not believed, and asked again', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const { checkRefund } = w.ctx.providers[0]!
  const made = await refund(w, charge, { amountCents: 10_00 })
  const other = { refundId: made.id, amountCents: 1, status: 'done' as const, reason: null }
  changeProvider(w, { checkRefund: () => Promise.resolve(other) })
  w.clock.advance(5_000)
  await runDueRefunds(w.ctx)
  expect(await w.count('refunds', `status = 'PROCESSING'`)).toBe(1)
  expect(w.logged).toMatchObject([{ level: 'error', fields: { refundId: made.id } }])
  changeProvider(w, { checkRefund })
  await followToEnd(w, made)
  expect(await w.count('refunds', `status = 'DONE'`)).toBe(1)
})

test('a process that dies between the promise and the bank leaves the refund to another, after its lease', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const { ctx, die } = await w.anotherProcess()
  let reached = () => {}
  const atTheBank = new Promise<void>((resolve) => (reached = resolve))
  ctx.providers[0] = {
    ...ctx.providers[0]!,
    refund: () => {
      reached()
      return new Promise(() => {})
    },
  }
  void requestRefund(ctx, OPERATOR, { ...wholeOf(charge), amountCents: 10_00, idempotencyKey: null })
  await atTheBank
  await die()
  expect(await holdings(w)).toMatchObject({ balance: 39_50, refunding: 10_00 })
  w.clock.advance(LEASE_MS - 1)
  expect(await runDueRefunds(w.ctx)).toBe('idle')
  w.clock.advance(1)
  await runDueRefunds(w.ctx)
  const [made] = (await listRefunds(w.ctx, { limit: 1 })).refunds
  await followToEnd(w, made!)
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 39_50, fees: 50 })
})

test('workers of many processes never claim the same refund', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  for (let index = 0; index < 6; index++) await refund(w, charge, { amountCents: 1_00 })
  w.clock.advance(LEASE_MS)
  const other = await w.anotherProcess()
  const claims = await Promise.all([claimRefunds(w.ctx, 4), claimRefunds(other.ctx, 4), claimRefunds(w.ctx, 4)])
  const ids = claims.flat().map((claimed) => claimed.refund.id)
  expect(ids).toHaveLength(6)
  expect(new Set(ids).size).toBe(6)
  expect(await claimRefunds(w.ctx, 4)).toEqual([])
  w.clock.advance(LEASE_MS)
  expect(await claimRefunds(w.ctx, 100)).toHaveLength(6)
})

test('a bank’s word about a payment brings its refund’s next question forward', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 10_00 })
  await untilMade(w, { endToEndId: made.endToEndId, refundId: made.id })
  expect(await runDueRefunds(w.ctx)).toBe('idle')
  await w.ctx.settlements.add(await listed(w))
  await runDueRefunds(w.ctx)
  expect(await stateOf(w, charge.id)).toMatchObject({ refunded_cents: 10_00 })
  expect(await w.count('exceptions')).toBe(0)
})
