import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { readStatement } from '../src/domain/ledger/account-statement.ts'
import type { Resolution } from '../src/domain/exceptions/exception-states.ts'
import { findException, listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { ProviderError, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import { requestRefund } from '../src/domain/refunds/request-refund.ts'
import { recordExternalRefunds, reportOf } from '../src/domain/refunds/external-refunds.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import {
  changeProvider,
  completedCharge,
  holdings,
  OPERATOR,
  refundAtBank,
  settleAll,
  strayPayment,
  untilMade,
  untilWaiting,
} from './refund-steps.ts'
import { OPERATOR_DECIDES, world, type World } from './world.ts'

// ---- Money that came: credit, refund, write off ----

test('an exception is credited to an account, whole and without a fee, with who, when and why', async () => {
  const w = await world()
  const payment = await strayPayment(w, 7_00)
  const { accountId } = await w.account()
  const before = await onlyException(w)
  expect(before).toMatchObject({
    kind: 'unknown_charge',
    state: 'open',
    amountCents: 7_00,
    resolution: null,
    charge: null,
  })
  w.clock.advance(1_000)
  const after = await resolveException(w.ctx, OPERATOR, before.id, { how: 'credit', accountId }, 'paid by key, order 7')
  expect(after).toMatchObject({
    state: 'resolved',
    endToEndId: payment.endToEndId,
    resolution: { how: 'credit', accountId, by: OPERATOR, reason: 'paid by key, order 7' },
    resolvedAt: w.clock.now(),
  })
  expect(await holdings(w)).toEqual({ cash: 7_00, balance: 7_00 })
  const { lines } = await readStatement(w.ctx, accountId, { limit: 10 })
  expect(lines).toMatchObject([{ kind: 'exception_credited', netCents: 7_00, balanceCents: 7_00, chargeId: null }])
  expect(await noted(w)).toEqual([
    ['console ana', 'exception.resolved', `exception ${before.id}`, 'paid by key, order 7'],
  ])
  expect(await w.differences()).toEqual([])
})

test('a payment that is credited to the account of its charge shows that charge on the statement, and to no other', async () => {
  const w = await world()
  const { charge, account } = await completedCharge(w)
  const other = await w.account()
  for (const accountId of [account.accountId, other.accountId]) {
    const { pix } = await w.sandbox.pay({ txid: charge.id, amountCents: 3_00, times: 1 })
    await settlePix(w, charge.id, pix)
    const [open] = (await listExceptions(w.ctx, { state: 'open', limit: 1 })).exceptions
    expect(open).toMatchObject({
      kind: 'second_payment',
      charge: { paymentLinkId: charge.paymentLinkId, email: account.email },
    })
    await resolveException(w.ctx, OPERATOR, open!.id, { how: 'credit', accountId }, 'theirs')
  }
  const chargeOf = async (accountId: string) => (await readStatement(w.ctx, accountId, { limit: 1 })).lines[0]!.chargeId
  expect([await chargeOf(account.accountId), await chargeOf(other.accountId)]).toEqual([charge.id, null])
  expect(await w.differences()).toEqual([])
})

test('an exception that is written off leaves suspense, and its money stays in the house', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  const { id } = await onlyException(w)
  expect(await resolve(w, id, { how: 'write_off' })).toMatchObject({
    state: 'resolved',
    resolution: { how: 'write_off' },
  })
  expect(await holdings(w)).toEqual({ cash: 7_00, written_off: 7_00 })
  expect(await w.differences()).toEqual([])
})

test('an exception that is refunded is being resolved until the bank is done', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  const { id } = await onlyException(w)
  const resolving = await resolve(w, id, { how: 'refund' })
  expect(resolving).toMatchObject({ state: 'resolving', resolvedAt: null, refund: { status: 'PROCESSING' } })
  expect(await holdings(w)).toEqual({ cash: 7_00, refunding: 7_00 })
  await expect(resolve(w, id, { how: 'write_off' })).rejects.toThrow(
    'Exception is being resolved: its refund is PROCESSING',
  )
  expect(await w.differences()).toEqual([])

  await untilMade(w, { endToEndId: resolving.endToEndId!, refundId: resolving.refund!.id })
  w.clock.advance(5_000)
  await runDueRefunds(w.ctx)
  expect(await findException(w.ctx, id)).toMatchObject({
    state: 'resolved',
    resolvedAt: w.clock.now(),
    resolution: { how: 'refund', by: OPERATOR, reason: 'because' },
    refund: { status: 'DONE' },
  })
  expect(await holdings(w)).toEqual({})
  // No account is concerned, so there is no event.
  expect(await w.count('events')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test('an exception whose refund fails is open again, with its money, and can be resolved otherwise', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  const { id } = await onlyException(w)
  changeProvider(w, { refund: () => Promise.reject(new ProviderError('refused', 'sandbox: refund: no')) })
  expect(await resolve(w, id, { how: 'refund' })).toMatchObject({
    state: 'open',
    resolution: null,
    refund: { status: 'FAILED', failure: 'sandbox: refund: no' },
  })
  expect(await holdings(w)).toEqual({ cash: 7_00, suspense: 7_00 })
  expect(await w.differences()).toEqual([])
  await resolve(w, id, { how: 'write_off' })
  expect((await noted(w)).map(([who, action]) => [who, action])).toEqual([
    ['console ana', 'exception.resolved'],
    ['system guiche', 'exception.reopened'],
    ['console ana', 'exception.resolved'],
  ])
  expect(await w.differences()).toEqual([])
})

// ---- Resolved only once ----

test('what is resolved cannot be resolved again', async () => {
  const w = await world()
  const { accountId } = await w.account()
  await strayPayment(w)
  const { id } = await onlyException(w)
  await resolve(w, id, { how: 'write_off' })
  for (const again of [{ how: 'write_off' }, { how: 'refund' }, { how: 'credit', accountId }] as Resolution[])
    await expect(resolve(w, id, again)).rejects.toMatchObject({
      code: 'exception_resolved',
      message: 'Exception is already resolved',
    })
  await expect(w.pool.query('update exceptions set reason = $1', ['another'])).rejects.toThrow('append only')
  await expect(w.pool.query('delete from exceptions')).rejects.toThrow('append only')
  expect(await w.count('transfers')).toBe(2)
})

// A lock on the exception's row holds both until both wait, and lets them go together.
test.each<[Resolution['how'], Resolution['how']]>([
  ['credit', 'write_off'],
  ['refund', 'credit'],
  ['refund', 'refund'],
])('of two who resolve an exception at once by %s and by %s, one wins', async (...ways) => {
  const w = await world()
  const { accountId } = await w.account()
  await strayPayment(w, 7_00)
  const { id } = await onlyException(w)
  const other = await w.anotherProcess()
  let racing: Promise<PromiseSettledResult<unknown>[]> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from exceptions for update')
    racing = Promise.allSettled(
      [w.ctx, other.ctx].map((ctx, index) =>
        resolveException(ctx, OPERATOR, id, { how: ways[index]!, accountId }, 'because'),
      ),
    )
    await untilWaiting(w, 2)
  })
  const outcomes = await racing!
  expect(outcomes.map((outcome) => outcome.status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(outcomes.find((outcome) => outcome.status === 'rejected')?.reason).toMatchObject({
    code: expect.stringMatching(/^exception_resolv(ed|ing)$/),
  })
  expect(await w.differences()).toEqual([])
})

test('a resolution that does not fit, an unknown account and a missing reason are refused, and change nothing', async () => {
  const w = await world()
  await strayPayment(w)
  const { id } = await onlyException(w)
  const accountId = crypto.randomUUID()
  await expect(resolve(w, id, { how: 'charge_account' })).rejects.toThrow(
    'can be resolved with: credit, refund, write_off',
  )
  await expect(resolve(w, id, { how: 'credit', accountId })).rejects.toThrow('Account not found')
  await expect(resolveException(w.ctx, OPERATOR, id, { how: 'write_off' }, ' ')).rejects.toThrow('reason must be')
  for (const unknown of ['f'.repeat(32), 'x', ''])
    await expect(resolve(w, unknown, { how: 'write_off' })).rejects.toThrow('Exception not found')
  expect(await onlyException(w)).toMatchObject({ state: 'open' })
  expect(await noted(w)).toEqual([])
})

// ---- Refunds that were made at the bank ----

test('a refund that was made at the bank leaves the cash at once, and opens one exception however often it is reported', async () => {
  const w = await world({ settings: OPERATOR_DECIDES })
  const { charge, payment, account } = await completedCharge(w, { valueCents: 50_00 })
  const providerRefundId = await refundAtBank(w, payment.endToEndId, 20_00)
  expect(await w.differences()).toMatchObject([{ check: 'provider', subject: `payment ${payment.endToEndId}` }])
  for (let times = 0; times < 3; times++) await askBank(w, payment.endToEndId)
  const { exceptions } = await listExceptions(w.ctx, { kind: 'foreign_refund', limit: 10 })
  expect(exceptions).toMatchObject([
    { state: 'open', amountCents: 20_00, charge: { id: charge.id }, refund: { status: 'DONE', providerRefundId } },
  ])
  expect(await holdings(w)).toEqual({ cash: 30_00, balance: 49_50, fees: 50, missing: -20_00 })
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  // What was refunded cannot be refunded again, and the account holder is told.
  await expect(refundOf(w, charge, 30_01)).rejects.toThrow('3000 cents of 5000')
  expect(await w.count('events', `kind = 'DEPOSIT_REVERSED'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

// Both reports have read that the refund is unknown when the locks let them go.
test.each(['a deposit', 'money in suspense'])(
  'a refund of %s at the bank, reported twice at once, is booked once',
  async (of) => {
    const w = await world()
    const payment = of === 'a deposit' ? (await completedCharge(w)).payment : await strayPayment(w, 50_00)
    await refundAtBank(w, payment.endToEndId, 50_00)
    const reported = await w.ctx.providers[0]!.findPayment(payment.endToEndId)
    let reporting: Promise<unknown> | undefined
    await transact(w.pool, async (tx) => {
      await tx.run('select from charges for update')
      await tx.run('select from exceptions for update')
      const note = () => recordExternalRefunds(w.ctx, [reportOf(reported as ReceivedPayment)])
      reporting = Promise.all([note(), note()])
      await untilWaiting(w, 2)
    })
    await reporting
    expect(await w.count('exceptions')).toBe(1)
    expect(await w.count('refunds')).toBe(1)
    expect(await holdings(w)).not.toHaveProperty('cash')
    expect(await w.differences()).toEqual([])
  },
)

test('a refund that was made at the bank is borne by the account that was credited, which owes what it lacks', async () => {
  const w = await world({ settings: OPERATOR_DECIDES })
  const { payment, account } = await completedCharge(w, { valueCents: 50_00 })
  await refundAtBank(w, payment.endToEndId, 50_00)
  await askBank(w, payment.endToEndId)
  const { id } = await onlyException(w)
  await expect(resolve(w, id, { how: 'refund' })).rejects.toThrow('can be resolved with: charge_account, write_off')
  expect(await resolve(w, id, { how: 'charge_account' })).toMatchObject({
    state: 'resolved',
    resolution: { how: 'charge_account', accountId: account.accountId },
  })
  expect(await holdings(w)).toEqual({ fees: 50, owed: -50 })
  const { lines } = await readStatement(w.ctx, account.accountId, { limit: 1 })
  expect(lines).toMatchObject([{ kind: 'reversal_charged', netCents: -49_50, balanceCents: 0 }])
  expect(await w.differences()).toEqual([])
})

test('a refund that was made at the bank can be written off, and the loss stands in the books', async () => {
  const w = await world({ settings: OPERATOR_DECIDES })
  const { payment } = await completedCharge(w, { valueCents: 50_00 })
  await refundAtBank(w, payment.endToEndId, 50_00)
  await askBank(w, payment.endToEndId)
  await resolve(w, (await onlyException(w)).id, { how: 'write_off' })
  expect(await holdings(w)).toEqual({ balance: 49_50, fees: 50, written_off: -50_00 })
  expect(await w.differences()).toEqual([])
})

test('money that lay in suspense and was given back at the bank leaves nothing to decide', async () => {
  const w = await world()
  const payment = await strayPayment(w, 7_00)
  await refundAtBank(w, payment.endToEndId, 7_00)
  for (let times = 0; times < 2; times++) await askBank(w, payment.endToEndId)
  expect(await onlyException(w)).toMatchObject({
    kind: 'unknown_charge',
    state: 'resolved',
    resolution: { how: 'refund', by: { kind: 'system' } },
    refund: { status: 'DONE' },
  })
  expect(await holdings(w)).toEqual({})
  expect(await w.differences()).toEqual([])
})

test('money in suspense of which a part was given back at the bank cannot be refunded, and both are written off at once', async () => {
  const w = await world()
  const payment = await strayPayment(w, 7_00)
  await refundAtBank(w, payment.endToEndId, 2_00)
  await askBank(w, payment.endToEndId)
  const { exceptions } = await listExceptions(w.ctx, { limit: 10 })
  const [foreign, stray] = exceptions
  await expect(resolve(w, stray!.id, { how: 'refund' })).rejects.toThrow('was already refunded at the provider')
  for (const how of ['charge_account', 'write_off'] as const)
    await expect(resolve(w, foreign!.id, { how })).rejects.toThrow('The rest of this payment is in suspense')
  await resolve(w, stray!.id, { how: 'write_off' })
  await expect(resolve(w, foreign!.id, { how: 'write_off' })).rejects.toThrow('already resolved')
  expect(await holdings(w)).toEqual({ cash: 5_00, written_off: 5_00 })
  expect(await w.differences()).toEqual([])
})

test('of money in suspense an account is credited with what the bank has not given back, and with no more for a moment', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const payment = await strayPayment(w, 7_00)
  for (const amountCents of [2_00, 1_00]) await refundAtBank(w, payment.endToEndId, amountCents)
  await askBank(w, payment.endToEndId)
  expect(await holdings(w)).toEqual({ cash: 4_00, suspense: 7_00, missing: -3_00 })
  const stray = (await listExceptions(w.ctx, { kind: 'unknown_charge', limit: 1 })).exceptions[0]!
  await resolve(w, stray.id, { how: 'credit', accountId })
  expect(await holdings(w)).toEqual({ cash: 4_00, balance: 4_00 })
  const { exceptions } = await listExceptions(w.ctx, { limit: 10 })
  expect(exceptions.map(({ state, resolution }) => [state, resolution?.how])).toEqual([
    ['resolved', 'charge_account'],
    ['resolved', 'charge_account'],
    ['resolved', 'credit'],
  ])
  expect((await noted(w)).filter(([, action]) => action === 'exception.resolved')).toHaveLength(3)
  expect(await w.differences()).toEqual([])
})

// When the decision comes, the report has locked the exception and waits for a balance.
test('a refund at the bank that is being booked while the operator credits the payment is borne by the account', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const payment = await strayPayment(w, 7_00)
  const { id } = await onlyException(w)
  const refunds = [{ refundId: 'bank1', amountCents: 2_00, status: 'done', reason: null } as const]
  const begun = await transact(w.pool, async (tx) => {
    await tx.run('select from ledger_balances for update')
    const reported = recordExternalRefunds(w.ctx, [{ ...payment, refunds: [...refunds] }])
    await untilWaiting(w, 1)
    const credited = resolve(w, id, { how: 'credit', accountId })
    await untilWaiting(w, 2)
    return { reported, credited }
  })
  await Promise.all([begun.reported, begun.credited])
  expect(await w.balanceCents(accountId)).toBe(5_00)
  expect(await w.count('exceptions', 'resolved_at is null')).toBe(0)
})

test('nobody is credited with money in suspense that the bank gave back bit by bit', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const payment = await strayPayment(w, 7_00)
  for (const amountCents of [4_00, 3_00]) await refundAtBank(w, payment.endToEndId, amountCents)
  await askBank(w, payment.endToEndId)
  const stray = (await listExceptions(w.ctx, { kind: 'unknown_charge', limit: 1 })).exceptions[0]!
  await expect(resolve(w, stray.id, { how: 'credit', accountId })).rejects.toThrow('refunded all of this payment')
  await resolve(w, stray.id, { how: 'write_off' })
  expect(await holdings(w)).toEqual({})
  expect(await w.differences()).toEqual([])
})

test('a refund at the bank of a payment that the operator had credited is borne by that account', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const payment = await strayPayment(w, 7_00)
  await resolve(w, (await onlyException(w)).id, { how: 'credit', accountId })
  await refundAtBank(w, payment.endToEndId, 7_00)
  await askBank(w, payment.endToEndId)
  const [foreign] = (await listExceptions(w.ctx, { state: 'open', limit: 1 })).exceptions
  await resolve(w, foreign!.id, { how: 'charge_account' })
  expect(await holdings(w)).toEqual({})
  expect(await w.differences()).toEqual([])
})

// ---- Lists ----

test('exceptions are listed newest first, by page, by state, kind, provider and time', async () => {
  const w = await world()
  const { charge } = await completedCharge(w)
  const times: Date[] = []
  for (let index = 0; index < 4; index++) {
    w.clock.advance(1_000)
    times.push(w.clock.now())
    await strayPayment(w, 100 + index)
  }
  w.clock.advance(1_000)
  const { pix } = await w.sandbox.pay({ txid: charge.id, amountCents: 1, times: 1 })
  await settlePix(w, charge.id, pix)
  const amounts = async (filter: object) =>
    (await listExceptions(w.ctx, { limit: 10, ...filter })).exceptions.map((exception) => exception.amountCents)

  const first = await listExceptions(w.ctx, { limit: 3 })
  expect(first.exceptions.map((exception) => exception.amountCents)).toEqual([1, 103, 102])
  expect(await amounts({ cursor: first.nextCursor! })).toEqual([101, 100])
  expect(await amounts({ kind: 'second_payment' })).toEqual([1])
  expect(await amounts({ provider: 'another' })).toEqual([])
  expect(await amounts({ from: times[1], to: times[3] })).toEqual([102, 101])
  await resolve(w, first.exceptions[0]!.id, { how: 'write_off' })
  expect(await amounts({ state: 'resolved' })).toEqual([1])
  expect(await amounts({ state: 'open' })).toEqual([103, 102, 101, 100])
  await expect(listExceptions(w.ctx, { limit: 1, cursor: 'x' })).rejects.toMatchObject({ code: 'field_invalid' })
})

test('an exception is found by its id with dashes or without', async () => {
  const w = await world()
  await strayPayment(w)
  const { rows } = await w.pool.query<{ id: string }>('select id from exceptions')
  const { id } = await onlyException(w)
  expect(await findException(w.ctx, rows[0]!.id.toUpperCase())).toMatchObject({ id })
})

function resolve(w: World, id: string, resolution: Resolution) {
  return resolveException(w.ctx, OPERATOR, id, resolution, 'because')
}

async function onlyException(w: World) {
  const { exceptions } = await listExceptions(w.ctx, { limit: 2 })
  expect(exceptions).toHaveLength(1)
  return exceptions[0]!
}

/** Asks the bank about a payment and settles what it says, as a notification or a sweep would. */
async function askBank(w: World, endToEndId: string): Promise<void> {
  const payment = await w.ctx.providers[0]!.findPayment(endToEndId)
  if (payment === 'absent') throw new Error('the bank does not know it')
  await w.ctx.settlements.add([payment])
}

function settlePix(w: World, txid: string, pix: { endToEndId: string; amountCents: number; horario: string }[]) {
  const payments = pix.map(({ endToEndId, amountCents, horario }) => ({
    provider: 'sandbox',
    endToEndId,
    txid,
    amountCents,
    occurredAt: new Date(horario),
  }))
  return settleAll(w, payments)
}

function refundOf(w: World, charge: { paymentLinkId: string }, amountCents: number) {
  const request = { accountId: null, paymentLinkId: charge.paymentLinkId, reason: null, idempotencyKey: null }
  return requestRefund(w.ctx, OPERATOR, { ...request, amountCents })
}

async function noted(w: World): Promise<string[][]> {
  const { rows } = await w.pool.query(`select * from audit_log where subject like 'exception %' order by id`)
  return rows.map((row) => [`${row.actor_kind} ${row.actor}`, row.action, row.subject, row.reason])
}
