import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import type { ReceivedPayment } from '../src/domain/ports/provider.ts'
import { importReceived } from '../src/domain/reconciliation/import-received.ts'
import { listRefunds } from '../src/domain/refunds/request-refund.ts'
import { recordExternalRefunds } from '../src/domain/refunds/external-refunds.ts'
import {
  bookDifferences,
  changeProvider,
  completedCharge,
  followToEnd,
  holdings,
  OPERATOR,
  refund,
  refundAtBank,
  stateOf,
  strayPayment,
} from './refund-steps.ts'
import { world, type World } from './world.ts'

/** The payment as the bank tells of it, with its refunds as told here. */
function telling(
  payment: ReceivedPayment,
  refunds: [refundId: string, amountCents: number, status: 'done' | 'failed'][],
) {
  return {
    ...payment,
    refunds: refunds.map(([refundId, amountCents, status]) => ({ refundId, amountCents, status, reason: null })),
  }
}

/** Reads the bank's list, which says this. */
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

// ---- Done, and taken back by the provider ----

test('a refund that was done and that the bank then calls failed comes to suspense once, however often it is told', async () => {
  const w = await world()
  const { charge, payment, account } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 10_00 })
  await followToEnd(w, made)
  const told = telling(payment, [[made.id, 10_00, 'failed']])
  for (let times = 0; times < 2; times++) await sweep(w, [told])
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 39_50, fees: 50, suspense: 10_00 })
  expect(await stateOf(w, charge.id)).toEqual({ status: 'COMPLETED', refunded_cents: 0 })
  const { exceptions } = await listExceptions(w.ctx, { kind: 'undone_refund', limit: 10 })
  expect(exceptions).toMatchObject([
    { state: 'open', amountCents: 10_00, charge: { id: charge.id }, refund: { id: made.id, status: 'DONE' } },
  ])
  expect((await listRefunds(w.ctx, { limit: 1 })).refunds).toMatchObject([
    { id: made.id, status: 'DONE', undoneAt: w.clock.now() },
  ])

  // It is the operator's to decide, in the ways in which money in suspense leaves it.
  const resolve = (how: 'refund' | 'charge_account') =>
    resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how }, 'because')
  await expect(resolve('refund')).rejects.toThrow('can be resolved with: credit, write_off')
  await expect(resolve('charge_account')).rejects.toThrow('can be resolved with: credit, write_off')
  const credit = { how: 'credit', accountId: account.accountId } as const
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, credit, 'the payer’s bank is closed')
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })

  // And can be given back again.
  changeProvider(w, { refund: async (request) => ({ ...request, status: 'done', reason: null }) })
  expect(await refund(w, charge, { amountCents: 49_50 })).toMatchObject({ status: 'DONE' })
  expect(await holdings(w)).toEqual({ cash: 50, fees: 50 })
  expect(await bookDifferences(w)).toEqual([])
})

test('two refunds of one payment that are undone are two exceptions, and each is written off or credited for itself', async () => {
  const w = await world()
  const { charge, payment, account } = await completedCharge(w)
  const made = [await refund(w, charge, { amountCents: 10_00 }), await refund(w, charge, { amountCents: 5_00 })]
  for (const one of made) await followToEnd(w, one)
  await sweep(w, [
    telling(payment, [
      [made[0]!.id, 10_00, 'failed'],
      [made[1]!.id, 5_00, 'failed'],
    ]),
  ])
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 10 })
  const credit = { how: 'credit', accountId: account.accountId } as const
  for (const { id } of exceptions) await resolveException(w.ctx, OPERATOR, id, credit, 'because')
  expect(exceptions).toHaveLength(2)
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 49_50, fees: 50 })
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that is told undone twice at once is undone once', async () => {
  const w = await world()
  const { charge, payment } = await completedCharge(w)
  const made = await refund(w, charge, { amountCents: 10_00 })
  await followToEnd(w, made)
  const told = [telling(payment, [[made.id, 10_00, 'failed']])]
  let both: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from charges for update')
    both = Promise.all([recordExternalRefunds(w.ctx, told), recordExternalRefunds(w.ctx, told)])
    await w.lockWait()
  })
  await both
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 39_50, fees: 50, suspense: 10_00 })
  expect(await w.count('exceptions')).toBe(1)
  expect(await bookDifferences(w)).toEqual([])
})

test('a refund that the bank made without us and took back is two questions: who bears it, and whose it is', async () => {
  const w = await world()
  const { payment } = await completedCharge(w)
  const refundId = await refundAtBank(w, payment.endToEndId, 3_00)
  await sweep(w, [telling(payment, [[refundId, 3_00, 'done']])])
  await sweep(w, [telling(payment, [[refundId, 3_00, 'failed']])])
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
  await sweep(w, [telling(payment, [[made.id, 50_00, 'failed']])])
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 1 })
  const credit = { how: 'credit', accountId: account.accountId } as const
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, credit, 'because')
  expect(await holdings(w)).toEqual({ cash: 50_00, balance: 50_00 })
  expect(await refund(w, charge)).toMatchObject({ amountCents: 50_00, feeReturnedCents: 0 })
  expect(await bookDifferences(w)).toEqual([])
})

// ---- One payment that makes no sense beside others ----

test('money in suspense that the bank gave back twice is booked, once out of suspense and once as missing', async () => {
  const w = await world()
  const stray = await strayPayment(w, 7_00)
  const { payment: neighbour } = await completedCharge(w)
  await sweep(w, [
    telling(stray, [
      ['f1', 7_00, 'done'],
      ['f2', 7_00, 'done'],
    ]),
    telling(neighbour, [['f3', 5_00, 'done']]),
  ])
  expect(await holdings(w)).toEqual({ cash: 50_00 - 12_00, balance: 49_50, fees: 50, missing: -12_00 })
  expect(await w.count('exceptions', `kind = 'foreign_refund'`)).toBe(2)
  expect(await bookDifferences(w)).toEqual([])
})

test('a payment whose refunds cannot be booked keeps the others of its page out of nothing, and is named', async () => {
  const w = await world()
  const { payment: mad } = await completedCharge(w)
  const { payment: neighbour } = await completedCharge(w)
  await sweep(w, [telling(mad, [['bad', 0, 'done']]), telling(neighbour, [['f3', 5_00, 'done']])])
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
