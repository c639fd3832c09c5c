import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { insertClosing, listClosings } from '../src/domain/reconciliation/closings.ts'
import { dayAfter, dayOf, dayStart, isDay } from '../src/domain/core/business-days.ts'
import type { Provider } from '../src/domain/ports/provider.ts'
import { reconcileWindow } from '../src/domain/reconciliation/reconcile.ts'
import { compareWindow } from '../src/domain/reconciliation/compare.ts'
import { sweepAll } from './reconcile-bank.ts'
import { OPERATOR } from './refund-steps.ts'
import { world, type World } from './world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

// ---- Which day it is ----

test.each([
  ['2026-03-02T02:59:59.999Z', '2026-03-01'],
  ['2026-03-02T03:00:00.000Z', '2026-03-02'],
  ['2018-11-04T02:59:59.999Z', '2018-11-03'], // summer time began at midnight, so this day had no midnight
  ['2018-11-04T03:00:00.000Z', '2018-11-04'],
  ['2018-11-05T01:59:59.999Z', '2018-11-04'],
])('%s is %s in the books', (at, day) => {
  expect(dayOf(new Date(at))).toBe(day)
})

test('a day begins where the day before ends', () => {
  expect(dayStart('2026-03-02')).toEqual(new Date('2026-03-02T03:00:00Z'))
  expect(dayStart('2018-11-04')).toEqual(new Date('2018-11-04T03:00:00Z'))
  expect(dayStart('2018-11-05')).toEqual(new Date('2018-11-05T02:00:00Z'))
  expect(dayAfter('2024-02-28')).toBe('2024-02-29')
  expect(dayAfter('2025-12-31')).toBe('2026-01-01')
  expect(['2026-02-28', '2026-02-30', '2026-2-1', 'today'].map(isDay)).toEqual([true, false, false, false])
})

// ---- Closed by the worker ----

test('a day is closed with its totals two hours after its end, and not before', async () => {
  const w = await world()
  const account = await w.account()
  await w.paidCharge({ account, valueCents: 10_00 })
  await w.sandbox.pay({ txid: 'nobody', amountCents: 2_00, at: '2026-03-03T02:59:59.999Z' })
  await w.sandbox.pay({ txid: 'nobody', amountCents: 5_00, at: '2026-03-03T03:00:00.000Z' })
  await advanceTo(w, '2026-03-03T04:59:59.000Z')
  await sweepAll(w)
  expect(await closings(w)).toEqual([])

  await advanceTo(w, '2026-03-03T05:00:00.000Z')
  w.clock.advance(MINUTE_MS)
  await sweepAll(w)
  expect(await closings(w)).toEqual([
    {
      provider: 'sandbox',
      day: '2026-03-02',
      revision: 1,
      startsAt: new Date('2026-03-02T11:50:00Z'), // ten minutes before our first charge: what was before is not ours
      endsAt: new Date('2026-03-03T03:00:00Z'),
      providerCount: 2,
      providerTotalCents: 12_00,
      ledgerCount: 2,
      ledgerTotalCents: 12_00,
      differenceCount: 0,
      differences: [],
      closedAt: w.clock.now(),
      head: expect.stringMatching(/^guiche\.example\/[0-9a-f]{32}\n\d+\n/) as string,
    },
  ])
})

test('a payment that came into the bank’s list long after its time is settled when its day is closed', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await w.deposit(account)
  w.clock.advance(5 * HOUR_MS)
  await sweepAll(w)
  await w.sandbox.pay({ txid: charge.id, at: '2026-03-02T12:10:00Z' })
  w.clock.advance(MINUTE_MS)
  await sweepAll(w)
  expect(await w.balanceCents(account.accountId)).toBe(0)
  w.clock.advance(DAY_MS)
  await sweepAll(w)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  expect(await closings(w)).toMatchObject([{ providerCount: 1, ledgerCount: 1 }])
})

test('after an outage every day is closed, also those around one that was closed by hand', async () => {
  const w = await world()
  const account = await w.account()
  for (const valueCents of [1_00, 2_00, 3_00, 4_00]) {
    await w.paidCharge({ account, valueCents })
    w.clock.advance(DAY_MS)
  }
  await reconcileWindow(w.ctx, OPERATOR, { from: dayStart('2026-03-04'), to: dayStart('2026-03-05') })
  await sweepAll(w)
  const closed = (await closings(w)).map(({ day, revision, ledgerTotalCents }) => [day, revision, ledgerTotalCents])
  expect(closed).toEqual([
    ['2026-03-05', 1, 4_00],
    ['2026-03-04', 2, 3_00],
    ['2026-03-03', 1, 2_00],
    ['2026-03-02', 1, 1_00],
  ])
})

test('a difference is kept with its day and told to the log', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await w.ctx.settlements.add([{ ...payment, endToEndId: 'E-invented' }])
  w.clock.advance(DAY_MS)
  await sweepAll(w)
  expect(await closings(w)).toMatchObject([
    { providerCount: 1, ledgerCount: 2, differenceCount: 1, differences: [{ kind: 'not_at_provider' }] },
  ])
  expect(w.logged).toMatchObject([{ level: 'warn', fields: { day: '2026-03-02', differenceCount: 1 } }])
})

test('a bank that fails while a day is being closed has it closed at the next sweep', async () => {
  const w = await world()
  await w.paidCharge()
  await advanceTo(w, '2026-03-03T04:00:00Z')
  await sweepAll(w)
  await advanceTo(w, '2026-03-03T06:00:00Z')
  const [provider] = w.ctx.providers
  const forgetful: Provider = {
    ...provider!,
    listReceived(window) {
      if (window.to <= dayStart('2026-03-03')) throw new Error('yesterday is gone')
      return provider!.listReceived(window)
    },
  }
  await sweepAll(w, forgetful)
  expect(await closings(w)).toEqual([])
  expect(w.logged).toMatchObject([{ level: 'warn', fields: { err: { message: 'yesterday is gone' } } }])
  w.clock.advance(MINUTE_MS)
  await sweepAll(w)
  expect(await closings(w)).toHaveLength(1)
})

test('a payment that cannot be booked is named with its day', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  const [provider] = w.ctx.providers
  const lying: Provider = {
    ...provider!,
    async *listReceived(window) {
      const mad = { ...payment, endToEndId: 'E-mad', txid: 'no text of PostgreSQL\u{0}' }
      if (payment.occurredAt >= window.from && payment.occurredAt < window.to) yield [mad]
      yield* provider!.listReceived(window)
    },
  }
  w.clock.advance(DAY_MS)
  await sweepAll(w, lying)
  expect(await closings(w)).toMatchObject([
    { providerCount: 2, ledgerCount: 1, differences: [{ kind: 'not_in_books', endToEndId: 'E-mad' }] },
  ])
})

// ---- Closed by hand ----

test('a whole day that is over is closed by hand; a part of one and one that goes on are not', async () => {
  const w = await world()
  await w.paidCharge()
  const from = dayStart('2026-03-01')
  const { comparisons } = await reconcileWindow(w.ctx, OPERATOR, {
    from: new Date(from.getTime() + 1_000),
    to: dayStart('2026-03-03'),
  })
  expect(comparisons.map(({ day, revision }) => [day, revision])).toEqual([
    ['2026-03-01', null],
    ['2026-03-02', null],
  ])
  await advanceTo(w, '2026-03-03T03:00:00Z')
  await reconcileWindow(w.ctx, OPERATOR, { from, to: dayStart('2026-03-03') })
  expect(await closings(w)).toMatchObject([
    { day: '2026-03-02', revision: 1, providerCount: 1 },
    { day: '2026-03-01', revision: 1, providerCount: 0 },
  ])
})

test('a day that is closed again gets a new revision, and the old one stays', async () => {
  const w = await world()
  const day = { from: dayStart('2026-03-02'), to: dayStart('2026-03-03') }
  await w.paidCharge()
  w.clock.advance(DAY_MS)
  await reconcileWindow(w.ctx, OPERATOR, day)
  await w.sandbox.pay({ txid: 'nobody', amountCents: 1, at: '2026-03-02T20:00:00Z' })
  await reconcileWindow(w.ctx, OPERATOR, day)
  expect(await closings(w)).toMatchObject([{ revision: 2, providerCount: 2 }])
  expect(await query(w.pool, 'select revision, provider_count from closings order by revision')).toEqual([
    { revision: 1, provider_count: 1 },
    { revision: 2, provider_count: 2 },
  ])
  await expect(w.pool.query('update closings set provider_count = 1')).rejects.toThrow('append only')
  await expect(w.pool.query('delete from closings')).rejects.toThrow('append only')
})

test('a day that two processes close at the same moment gets two revisions', async () => {
  const w = await world()
  const comparison = await compareWindow(w.ctx, w.ctx.providers[0]!, {
    from: dayStart('2026-03-01'),
    to: dayStart('2026-03-02'),
  })
  const close = () =>
    transact(w.pool, (tx) => insertClosing(tx, w.clock.now(), { day: '2026-03-01', comparison, head: '' }))
  let second: Promise<number> | undefined
  const first = await transact(w.pool, async (tx) => {
    const revision = await insertClosing(tx, w.clock.now(), { day: '2026-03-01', comparison, head: '' })
    second = close()
    await w.lockWait()
    return revision
  })
  expect([first, await second]).toEqual([1, 2])
})

test('closings are listed by provider and day, the newest first', async () => {
  const w = await world()
  w.clock.advance(10 * DAY_MS)
  const other = { ...w.ctx.providers[0]!, name: 'other' }
  const ctx = { ...w.ctx, providers: [...w.ctx.providers, other] }
  await reconcileWindow(ctx, OPERATOR, { from: dayStart('2026-03-02'), to: dayStart('2026-03-05') })
  const list = async (filter: object) =>
    (await listClosings(w.ctx, { limit: 100, ...filter })).map(({ day, provider }) => `${day.slice(-2)} ${provider}`)
  expect(await list({})).toEqual(['04 other', '04 sandbox', '03 other', '03 sandbox', '02 other', '02 sandbox'])
  expect(await list({ limit: 1 })).toEqual(['04 other'])
  expect(await list({ provider: 'sandbox', from: '2026-03-03', to: '2026-03-03' })).toEqual(['03 sandbox'])
  await expect(list({ from: '2026-02-30' })).rejects.toThrow('must be days such as 2026-01-31')
})

async function advanceTo(w: World, at: string): Promise<void> {
  w.clock.advance(Date.parse(at) - w.clock.now().getTime())
}

function closings(w: World) {
  return listClosings(w.ctx, { limit: 100 })
}
