import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { ProviderError, type Provider, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import { importReceived } from '../src/domain/reconciliation/import-received.ts'
import { reconcileWindow } from '../src/domain/reconciliation/reconcile.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { recordExternalRefunds } from '../src/domain/refunds/external-refunds.ts'
import { answerRefundCheck, claimRefundChecks } from '../src/domain/refunds/refund-checks.ts'
import { listRefunds } from '../src/domain/refunds/request-refund.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import type { Resolution } from '../src/domain/exceptions/exception-states.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import {
  bookDifferences,
  changeMind,
  changeProvider,
  completedCharge,
  followToEnd,
  hearOf,
  holdings,
  listed,
  OPERATOR,
  refund,
  refundAtBank,
  stateOf,
  strayPayment,
  untilWaiting,
} from './refund-steps.ts'
import { OPERATOR_DECIDES, world, type World } from './world.ts'

const LEASE_MS = 60_000

/** A deposit of R$ 50,00 with a refund of R$ 10,00, in our books and at the bank. */
async function refunded(w: World) {
  const { charge, payment, account } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 10_00 })
  await followToEnd(w, made)
  return { charge, payment, account, made, endToEndId: payment.endToEndId }
}

/** The books after that, while the refund is done and while it is undone. */
const DONE = { cash: 40_00, balance: 39_50, fees: 50 }
const UNDONE = { cash: 50_00, balance: 39_50, fees: 50, suspense: 10_00 }

/** Reconciles the day, and tells the differences. */
async function reconcile(w: World): Promise<[kind: string, text: string][]> {
  const day = { from: new Date('2026-03-02T03:00:00Z'), to: new Date('2026-03-03T03:00:00Z') }
  const { comparisons } = await reconcileWindow(w.ctx, OPERATOR, day)
  return comparisons.flatMap(({ differences }) => differences.map(({ kind, text }) => [kind, text]))
}

/** What the audit says about the bank. */
async function audited(w: World): Promise<string[]> {
  const differences = await w.differences()
  expect(differences.filter(({ check }) => check !== 'provider')).toEqual([])
  return differences.map(({ text }) => text)
}

async function resolveOpen(w: World, kind: 'undone_refund' | 'foreign_refund', resolution: Resolution): Promise<void> {
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', kind, limit: 10 })
  expect(exceptions).toHaveLength(1)
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, resolution, 'because')
}

// ---- Contradicted by a list ----

test('a refund that the bank made stays done although a list calls it failed, and is named until the bank has said so', async () => {
  const w = await world()
  const { made } = await refunded(w)
  await w.sandbox.faults({ refundsListedFailed: true })
  const says = `our books say that 1000 cents were given back (refund ${made.id}), but sandbox`
  const asking = `${says} called it failed, and is being asked about it`
  expect(await reconcile(w)).toEqual([['refund_not_at_provider', asking]])
  expect(await holdings(w)).toEqual(DONE)

  // Nothing is decided before the bank was asked, although its list is right again.
  await w.sandbox.faults({})
  expect(await audited(w)).toEqual([asking])
  expect(await reconcile(w)).toEqual([['refund_not_at_provider', asking]])

  await w.sandbox.faults({ refundsListedFailed: true })
  await runDueRefunds(w.ctx)
  expect(await w.count('refund_checks')).toBe(0)
  expect(await audited(w)).toEqual([`${says} does not`])
  expect(await holdings(w)).toEqual(DONE)
  expect(await w.count('exceptions')).toBe(0)
  expect(w.logged).toMatchObject([{ level: 'warn', text: expect.stringContaining('it agrees with us') }])
  await w.sandbox.faults({})
  expect([await reconcile(w), await audited(w)]).toEqual([[], []])
})

const answering = (answer: Awaited<ReturnType<Provider['checkRefund']>>) => ({ checkRefund: async () => answer })
const of = (refundId: string) => ({ refundId, amountCents: 10_00, status: 'failed', reason: null }) as const

test.each<[what: string, (refundId: string, payment: ReceivedPayment) => Partial<Provider>]>([
  ['is under way there', (id) => answering({ ...of(id), status: 'processing' })],
  ['has another amount there', (id) => answering({ ...of(id), amountCents: 9_99 })],
  [
    'is not there',
    (_, payment) => ({ ...answering('absent'), findPayment: async () => ({ ...payment, refunds: [] }) }),
  ],
  ['cannot be asked about', () => ({ checkRefund: () => Promise.reject(new ProviderError('unreachable', 'down')) })],
])('a refund that a list calls failed, and that %s, is not undone, and is asked about again', async (_, changes) => {
  const w = await world()
  const { made, payment, endToEndId } = await refunded(w)
  const healthy = w.ctx.providers[0]!
  await w.sandbox.faults({ refundsFailed: true })
  await w.ctx.settlements.add((await listed(w)).filter((one) => one.endToEndId === endToEndId))
  changeProvider(w, changes(made.id, payment))
  for (let times = 0; times < 2; times++) {
    await runDueRefunds(w.ctx)
    w.clock.advance(LEASE_MS)
  }
  expect(await holdings(w)).toEqual(DONE)
  expect(await w.count('refund_checks', 'attempts = 2')).toBe(1)

  changeProvider(w, healthy)
  await runDueRefunds(w.ctx)
  expect(await holdings(w)).toEqual(UNDONE)
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that the bank does not find by its id, and calls failed in its record of the payment, is undone', async () => {
  const w = await world()
  const { endToEndId } = await refunded(w)
  changeProvider(w, answering('absent'))
  await hearOf(w, endToEndId)
  expect(await holdings(w)).toEqual(DONE)
  await changeMind(w, endToEndId, 'take back')
  expect(await holdings(w)).toEqual(UNDONE)
})

test('a process that dies before it has asked leaves the question to another', async () => {
  const w = await world()
  const { endToEndId } = await refunded(w)
  const { ctx, die } = await w.anotherProcess()
  await w.sandbox.faults({ refundsFailed: true })
  const told = (await ctx.providers[0]!.findPayment(endToEndId)) as ReceivedPayment
  await ctx.settlements.add([told])
  expect(await claimRefundChecks(ctx, 1)).toHaveLength(1)
  await die()
  expect(await runDueRefunds(w.ctx)).toBe('idle')
  w.clock.advance(LEASE_MS)
  await runDueRefunds(w.ctx)
  expect(await holdings(w)).toEqual(UNDONE)
})

// The bank's answer may be older than the report.
test('a contradiction that is told while the bank is being asked is asked about again', async () => {
  const w = await world()
  const { made, payment } = await refunded(w)
  const { checkRefund } = w.ctx.providers[0]!
  const told = { ...payment, refunds: [of(made.id)] }
  await recordExternalRefunds(w.ctx, [told])
  changeProvider(w, {
    async checkRefund(question) {
      const answer = await checkRefund(question)
      await recordExternalRefunds(w.ctx, [told, told])
      return answer
    },
  })
  await runDueRefunds(w.ctx)
  expect(await w.count('refund_checks')).toBe(1)
  changeProvider(w, { checkRefund })
  await w.sandbox.faults({ refundsFailed: true })
  await runDueRefunds(w.ctx)
  expect(await holdings(w)).toEqual(UNDONE)
})

test('an answer that came so late that another process has asked meanwhile is not booked', async () => {
  const w = await world()
  const { made, payment } = await refunded(w)
  await recordExternalRefunds(w.ctx, [{ ...payment, refunds: [of(made.id)] }])
  const [late] = await claimRefundChecks(w.ctx, 1)
  w.clock.advance(LEASE_MS)
  const other = await w.anotherProcess()
  await runDueRefunds(other.ctx)
  expect(await w.count('refund_checks')).toBe(0)
  changeProvider(w, answering(of(made.id)))
  await answerRefundCheck(w.ctx, late!)
  expect(await holdings(w)).toEqual(DONE)
  expect(await w.count('exceptions')).toBe(0)
})

// ---- Done, and taken back by the provider ----

test('a refund that was done and that the bank then calls failed comes to suspense once, however often it is told', async () => {
  const w = await world()
  const { charge, account, made, endToEndId } = await refunded(w)
  for (let times = 0; times < 2; times++) await changeMind(w, endToEndId, 'take back')
  expect(await holdings(w)).toEqual(UNDONE)
  expect(await stateOf(w, charge.id)).toEqual({ status: 'COMPLETED', refunded_cents: 0 })
  const { exceptions } = await listExceptions(w.ctx, { kind: 'undone_refund', limit: 10 })
  expect(exceptions).toMatchObject([
    { state: 'open', amountCents: 10_00, charge: { id: charge.id }, refund: { id: made.id, status: 'DONE' } },
  ])
  expect((await listRefunds(w.ctx, { limit: 1 })).refunds).toMatchObject([
    { id: made.id, status: 'DONE', undoneAt: w.clock.now() },
  ])
  expect([await reconcile(w), await audited(w)]).toEqual([[], []])

  // The operator decides, in the ways that are open to money in suspense.
  const resolve = (how: 'refund' | 'charge_account') =>
    resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how }, 'because')
  await expect(resolve('refund')).rejects.toThrow('can be resolved with: credit, write_off')
  await expect(resolve('charge_account')).rejects.toThrow('can be resolved with: credit, write_off')
  const credit = { how: 'credit', accountId: account.accountId } as const
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, credit, 'the payer’s bank is closed')
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })

  // The deposit can be refunded again.
  changeProvider(w, { refund: async (request) => ({ ...request, status: 'done', reason: null }) })
  expect(await refund(w, charge, { amountCents: 49_50 })).toMatchObject({ status: 'DONE' })
  expect(await holdings(w)).toEqual({ cash: 50, fees: 50 })
  expect(await bookDifferences(w)).toEqual([])
})

test('two refunds of one payment that are undone are two exceptions, and each is written off or credited for itself', async () => {
  const w = await world()
  const { charge, account, endToEndId } = await refunded(w)
  await followToEnd(w, await refund(w, charge, { amountCents: 5_00 }))
  await changeMind(w, endToEndId, 'take back')
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 10 })
  const credit = { how: 'credit', accountId: account.accountId } as const
  for (const { id } of exceptions) await resolveException(w.ctx, OPERATOR, id, credit, 'because')
  expect(exceptions).toHaveLength(2)
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that the bank made without us and took back is two questions: who bears it, and whose it is', async () => {
  const w = await world({ settings: OPERATOR_DECIDES })
  const { payment } = await completedCharge(w)
  await refundAtBank(w, payment.endToEndId, 3_00)
  await hearOf(w, payment.endToEndId)
  await changeMind(w, payment.endToEndId, 'take back')
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50, missing: -3_00, suspense: 3_00 })
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 10 })
  expect(exceptions.map(({ kind }) => kind).toSorted()).toEqual(['foreign_refund', 'undone_refund'])
  for (const { id } of exceptions) await resolveException(w.ctx, OPERATOR, id, { how: 'write_off' }, 'it cancels out')
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })
  expect(await bookDifferences(w)).toEqual([])
})

test('where the fee was given back with a refund that is undone, the next refund does not give it back again', async () => {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const { charge, payment, account } = await completedCharge(w)
  const made = await refund(w, charge)
  await followToEnd(w, made)
  expect(made).toMatchObject({ amountCents: 50_00, feeReturnedCents: 50 })
  await changeMind(w, payment.endToEndId, 'take back')
  await resolveOpen(w, 'undone_refund', { how: 'credit', accountId: account.accountId })
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 50_00 })
  expect(await refund(w, charge)).toMatchObject({ amountCents: 50_00, feeReturnedCents: 0 })
  expect(await bookDifferences(w)).toEqual([])
})

// ---- Undone, and made again by the provider ----

test('a refund that is made again after its money was credited is a refund that nobody asked for', async () => {
  const w = await world()
  const { charge, account, made, endToEndId } = await refunded(w)
  await changeMind(w, endToEndId, 'take back')
  await resolveOpen(w, 'undone_refund', { how: 'credit', accountId: account.accountId })
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })
  expect([await reconcile(w), await audited(w)]).toEqual([[], []])

  await w.sandbox.faults({})
  const again = `sandbox gave back 1000 cents again (refund ${made.id}), which our books have as undone`
  expect(await audited(w)).toEqual([again])
  expect(await reconcile(w)).toEqual([['refund_not_in_books', again]])
  // The refund is booked once, however often it is reported.
  for (let times = 0; times < 3; times++) await hearOf(w, endToEndId)
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 49_50, fees: 50, missing: -10_00 })
  expect(await stateOf(w, charge.id)).toMatchObject({ refunded_cents: 10_00 })
  const foreign = `sandbox gave back 1000 cents of it (refund ${made.id}), which we did not ask for`
  expect(await reconcile(w)).toEqual([['foreign_refund', foreign]])
  expect(await audited(w)).toEqual([])
  const { refunds } = await listRefunds(w.ctx, { limit: 10 })
  expect(refunds).toMatchObject([
    { source: 'provider', providerRefundId: made.id, amountCents: 10_00, status: 'DONE', undoneAt: null },
    { source: 'balance', id: made.id, status: 'DONE', undoneAt: expect.any(Date) },
  ])
  expect(await w.count('events', `kind = 'DEPOSIT_REFUNDED'`)).toBe(2)

  await resolveOpen(w, 'foreign_refund', { how: 'charge_account' })
  expect(await holdings(w)).toEqual(DONE)
  expect([await reconcile(w), await audited(w)]).toEqual([[], []])
})

test('a refund that is made again before anybody decided takes the money in suspense, and leaves nothing to decide', async () => {
  const w = await world()
  const { made, endToEndId } = await refunded(w)
  await changeMind(w, endToEndId, 'take back')
  await changeMind(w, endToEndId, 'make again')
  expect(await holdings(w)).toEqual(DONE)
  const { exceptions } = await listExceptions(w.ctx, { limit: 10 })
  expect(exceptions).toMatchObject([
    {
      kind: 'undone_refund',
      state: 'resolved',
      resolution: { how: 'refund', by: { kind: 'system' } },
      refund: { providerRefundId: made.id },
    },
  ])
  expect([await reconcile(w), await audited(w)]).toEqual([[], []])
})

test('however often a bank takes a refund back and makes it again, each time is booked once', async () => {
  const w = await world()
  const { charge, endToEndId } = await refunded(w)
  for (let cycle = 1; cycle <= 3; cycle++) {
    for (let times = 0; times < 2; times++) await changeMind(w, endToEndId, 'take back')
    expect(await holdings(w)).toMatchObject({ cash: 50_00 })
    expect([await reconcile(w), await audited(w)]).toEqual([[], []])
    // An operator decides only in the second cycle.
    if (cycle === 2) await resolveOpen(w, 'undone_refund', { how: 'write_off' })
    for (let times = 0; times < 2; times++) await changeMind(w, endToEndId, 'make again')
    expect(await holdings(w)).toMatchObject({ cash: 40_00 })
    if (cycle === 2) await resolveOpen(w, 'foreign_refund', { how: 'write_off' })
    expect([await reconcile(w), await audited(w)]).toEqual([[], []])
    expect(await w.count('refunds')).toBe(1 + cycle)
    expect(await w.count('exceptions', `kind = 'undone_refund'`)).toBe(cycle)
  }
  expect(await holdings(w)).toEqual(DONE)
  expect(await stateOf(w, charge.id)).toMatchObject({ refunded_cents: 10_00 })
  // Only what is left can be refunded.
  await expect(refund(w, charge, { amountCents: 40_01 })).rejects.toThrow('4000 cents of 5000')
})

test('money in suspense whose refund is undone, written off and made again is missing', async () => {
  const w = await world()
  const { endToEndId } = await strayPayment(w, 7_00)
  const { exceptions } = await listExceptions(w.ctx, { limit: 1 })
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'refund' }, 'because')
  await followToEnd(w, (await listRefunds(w.ctx, { limit: 1 })).refunds[0]!)
  expect(await holdings(w)).toEqual({})
  await changeMind(w, endToEndId, 'take back')
  await resolveOpen(w, 'undone_refund', { how: 'write_off' })
  expect(await holdings(w)).toEqual({ cash: 7_00, written_off: 7_00 })
  await changeMind(w, endToEndId, 'make again')
  expect(await holdings(w)).toEqual({ written_off: 7_00, missing: -7_00 })
  await resolveOpen(w, 'foreign_refund', { how: 'write_off' })
  expect(await holdings(w)).toEqual({})
  expect([await reconcile(w), await audited(w)]).toEqual([[], []])
})

// When the bank's answer comes, the decision has locked the exception and waits for a balance.
test('a refund that is made again while an operator credits its money is missing', async () => {
  const w = await world()
  const { account, endToEndId } = await refunded(w)
  await changeMind(w, endToEndId, 'take back')
  const { exceptions } = await listExceptions(w.ctx, { limit: 1 })
  const begun = await transact(w.pool, async (tx) => {
    await tx.run('select from ledger_balances for update')
    const credit = { how: 'credit', accountId: account.accountId } as const
    const credited = resolveException(w.ctx, OPERATOR, exceptions[0]!.id, credit, 'because')
    await untilWaiting(w, 1)
    const again = changeMind(w, endToEndId, 'make again')
    await untilWaiting(w, 2)
    return { credited, again }
  })
  await Promise.all([begun.credited, begun.again])
  expect(await holdings(w)).toEqual({ cash: 40_00, balance: 49_50, fees: 50, missing: -10_00 })
  expect(await w.count('exceptions', `kind = 'foreign_refund' and resolution is null`)).toBe(1)
  expect(await bookDifferences(w)).toEqual([])
})

// If a lease runs out while its worker waits for the bank, two workers have the same check.
test.each(['take back', 'make again'] as const)(
  'two processes that ask at once whether the bank did %s a refund book it once',
  async (mind) => {
    const w = await world()
    const { charge, endToEndId } = await refunded(w)
    if (mind === 'make again') {
      await changeMind(w, endToEndId, 'take back')
      await resolveOpen(w, 'undone_refund', { how: 'write_off' })
    }
    await w.sandbox.faults({ refundsFailed: mind === 'take back' })
    await w.ctx.settlements.add([(await w.ctx.providers[0]!.findPayment(endToEndId)) as ReceivedPayment])
    const other = await w.anotherProcess()
    const first = await claimRefundChecks(w.ctx, 1)
    w.clock.advance(LEASE_MS)
    const second = await claimRefundChecks(other.ctx, 1)
    expect([first.length, second.length]).toEqual([1, 1])
    let both: Promise<unknown> | undefined
    await transact(w.pool, async (tx) => {
      await tx.run('select from charges where id = $1 for update', [charge.id])
      both = Promise.all([answerRefundCheck(w.ctx, first[0]!), answerRefundCheck(other.ctx, second[0]!)])
      await untilWaiting(w, 2)
    })
    await both
    expect(await holdings(w)).toMatchObject({ cash: mind === 'take back' ? 50_00 : 40_00 })
    expect(await w.count('refund_checks')).toBe(0)
    expect(await w.count('refunds')).toBe(mind === 'take back' ? 1 : 2)
    expect(await w.count('exceptions', 'resolution is null')).toBe(1)
    expect(await bookDifferences(w)).toEqual([])
  },
)

test('the schema refuses a refund that is made again twice after it was undone once, or without that', async () => {
  const w = await world()
  const { charge, endToEndId } = await refunded(w)
  await changeMind(w, endToEndId, 'take back')
  await resolveOpen(w, 'undone_refund', { how: 'write_off' })
  await changeMind(w, endToEndId, 'make again')
  const copy = (changes: string) =>
    query(
      w.pool,
      `insert into refunds (id, payment_id, charge_id, source, provider_refund_id, amount_cents, status,
         requested_by_kind, requested_by, created_at, ended_at, undone_exception_id)
       select gen_random_uuid(), payment_id, charge_id, source, provider_refund_id, amount_cents, status,
         requested_by_kind, requested_by, created_at, ended_at, ${changes} from refunds where source = 'provider'`,
    )
  await expect(copy('undone_exception_id')).rejects.toThrow('refunds_once_made')
  await expect(copy('null')).rejects.toThrow('refunds_once_made')
  await expect(copy('gen_random_uuid()')).rejects.toThrow('refunds_undone_exception_id_fkey')
  const byUs = `update refunds set undone_exception_id = (select id from exceptions limit 1) where id = $1`
  const underWay = await refund(w, charge, { amountCents: 1_00 })
  await expect(query(w.pool, byUs, [underWay.id])).rejects.toThrow('refunds_made_again')
})

// ---- A payment that cannot be booked, beside others ----

/** The payment as the bank reports it, with these refunds. */
function telling(payment: ReceivedPayment, refunds: [refundId: string, amountCents: number][]) {
  const told = refunds.map(
    ([refundId, amountCents]) => ({ refundId, amountCents, status: 'done', reason: null }) as const,
  )
  return { ...payment, refunds: told }
}

/** Reads a list of the bank that has only this page. */
async function sweep(w: World, page: ReceivedPayment[]): Promise<void> {
  const provider = {
    ...w.ctx.providers[0]!,
    async *listReceived() {
      yield page
    },
  }
  const window = { from: new Date(0), to: w.clock.now() }
  for await (const _ of importReceived(w.ctx, provider, window, { mode: 'book', onUnread: () => {} }));
}

test('money in suspense that the bank gave back twice is booked, once out of suspense and once as missing', async () => {
  const w = await world({ settings: OPERATOR_DECIDES })
  const stray = await strayPayment(w, 7_00)
  const { payment: neighbour } = await completedCharge(w)
  await sweep(w, [
    telling(stray, [
      ['f1', 7_00],
      ['f2', 7_00],
    ]),
    telling(neighbour, [['f3', 5_00]]),
  ])
  expect(await holdings(w)).toEqual({ cash: 50_00 - 12_00, balance: 49_50, fees: 50, missing: -12_00 })
  expect(await w.count('exceptions', `kind = 'foreign_refund'`)).toBe(2)
  // More went back than came, and nobody has decided who bears it.
  const named = { check: 'over_refunded', subject: `payment ${stray.endToEndId}` }
  expect(await bookDifferences(w)).toMatchObject([named])
})

test('a payment whose refunds cannot be booked keeps the others of its page out of nothing, and is named', async () => {
  const w = await world({ settings: OPERATOR_DECIDES })
  const { payment: mad } = await completedCharge(w)
  const { payment: neighbour } = await completedCharge(w)
  await sweep(w, [telling(mad, [['bad', 0]]), telling(neighbour, [['f3', 5_00]])])
  expect(await holdings(w)).toMatchObject({ cash: 95_00, missing: -5_00 })
  expect(w.logged.filter(({ level }) => level === 'error')).toMatchObject([
    {
      level: 'error',
      text: 'booking refunds made at the provider failed',
      fields: { endToEndId: mad.endToEndId },
    },
  ])
  expect(await bookDifferences(w)).toEqual([])
})
