import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import type { Provider, ReceivedPayment } from '../src/domain/ports/provider.ts'
import { reconcileWindow, type DayComparison } from '../src/domain/reconciliation/reconcile.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { widen, narrow } from '../src/domain/reconciliation/compare.ts'
import { makeCharges, payAll, smallPages } from './reconcile-bank.ts'
import { OPERATOR } from './refund-steps.ts'
import { OPERATOR_DECIDES, world, type World } from './world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Compares the hour around the test's noon. */
async function compare(w: World, providers = w.ctx.providers): Promise<DayComparison> {
  const { comparisons } = await reconcileWindow({ ...w.ctx, providers }, OPERATOR, HOUR)
  expect(comparisons).toHaveLength(1)
  return comparisons[0]!
}

const HOUR = { from: new Date('2026-03-02T11:30:00Z'), to: new Date('2026-03-02T12:30:00Z') }

test('what is missing is settled, and both sides agree: what was credited and what stands in suspense', async () => {
  const w = await world()
  const account = await w.account()
  const { payment } = await w.paidCharge({ account, valueCents: 10_00 })
  await settleAll(w, [payment])
  await w.paidCharge({ account, valueCents: 20_00 })
  await w.sandbox.pay({ txid: 'nobody', amountCents: 3_00 })
  expect(await compare(w)).toEqual({
    provider: 'sandbox',
    day: '2026-03-02',
    ...HOUR,
    providerCount: 3,
    providerTotalCents: 33_00,
    ledgerCount: 3,
    ledgerTotalCents: 33_00,
    settledCount: 2,
    settledTotalCents: 23_00,
    refundsNotCompared: 0,
    differenceCount: 0,
    differences: [],
    revision: null,
  })
  expect(await w.balanceCents(account.accountId)).toBe(29_70)
  expect(await compare(w)).toMatchObject({ providerCount: 3, ledgerCount: 3, settledCount: 0 })
})

test('a window counts its first moment and not its last', async () => {
  const w = await world()
  for (const at of [HOUR.from, HOUR.to]) await w.sandbox.pay({ txid: 'nobody', amountCents: 1, at: at.toISOString() })
  expect(await compare(w)).toMatchObject({ providerCount: 1, ledgerCount: 1, differenceCount: 0 })
  expect(await w.count('payments')).toBe(2)
})

test('a quiet day costs a few questions, and each page of a busy one its own', async () => {
  const w = await world()
  const day = { from: new Date('2026-03-02T03:00:00Z'), to: new Date('2026-03-03T03:00:00Z') }
  await reconcileWindow(w.ctx, OPERATOR, day)
  expect((await w.sandbox.stats()).calls['GET /pix']).toBeLessThan(10)
  const quiet = (await w.sandbox.stats()).calls['GET /pix']!

  await payAll(w, await makeCharges(w, await w.account(), 40))
  const seen: { pages: number; payments: number }[] = []
  const busy = { ...w.ctx, providers: [smallPages(w, 10)] }
  const { comparisons } = await reconcileWindow(busy, OPERATOR, day, ({ pages, payments }) =>
    seen.push({ pages, payments }),
  )
  expect(comparisons).toMatchObject([{ providerCount: 40, ledgerCount: 40, differenceCount: 0 }])
  expect((await w.sandbox.stats()).calls['GET /pix']! - quiet).toBe(quiet + 3)
  expect(seen.at(-1)).toEqual({ pages: 4, payments: 40 })
})

test('a stretch of few pages is followed by a longer one, of many by one as long, and a failed one by a shorter', () => {
  const size = { spanMs: HOUR_MS }
  widen(size, 201)
  expect(size.spanMs).toBe(HOUR_MS)
  for (const hours of [2, 4, 8, 16, 24, 24]) {
    widen(size, 200)
    expect(size.spanMs).toBe(hours * HOUR_MS)
  }
  narrow(size)
  expect(size.spanMs).toBe(12 * HOUR_MS)
  for (let times = 0; times < 20; times++) narrow(size)
  expect(size.spanMs).toBe(MINUTE_MS)
})

// ---- Differences, each by name ----

test('a payment that the bank received and that cannot be booked is named', async () => {
  const w = await world()
  const mad = { ...stray(w, 'E-mad'), txid: 'no text of PostgreSQL\u{0}' }
  const comparison = await compare(w, [telling(w, (page) => [...page, mad])])
  expect(comparison).toMatchObject({ providerCount: 1, ledgerCount: 0, differenceCount: 1 })
  expect(comparison.differences).toEqual([
    {
      kind: 'not_in_books',
      endToEndId: 'E-mad',
      text: expect.stringMatching(/^sandbox received 700 cents \(txid .*\), but it could not be booked: see the log$/),
    },
  ])
})

test('a payment of ours that the bank does not know is named', async () => {
  const w = await world()
  await settleAll(w, [stray(w, 'E-invented')])
  const comparison = await compare(w)
  expect(comparison).toMatchObject({ providerCount: 0, ledgerCount: 1, ledgerTotalCents: 7_00 })
  expect(comparison.differences).toEqual([
    {
      kind: 'not_at_provider',
      endToEndId: 'E-invented',
      text: 'stands in our books with 700 cents, but sandbox does not know it',
    },
  ])
})

test('a payment with another amount or charge at the bank than in our books is named', async () => {
  const w = await world()
  const account = await w.account()
  const [amount, charge] = [await w.paidCharge({ account }), await w.paidCharge({ account })]
  await settleAll(w, [
    { ...amount.payment, amountCents: 49_99 },
    { ...charge.payment, txid: 'f'.repeat(32) },
  ])
  const comparison = await compare(w)
  expect(comparison).toMatchObject({ providerTotalCents: 100_00, ledgerTotalCents: 99_99, differenceCount: 2 })
  expect(comparison.differences.toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
    {
      kind: 'other_amount',
      endToEndId: amount.payment.endToEndId,
      text: 'sandbox says 5000, our books 4999 cents',
    },
    {
      kind: 'other_txid',
      endToEndId: charge.payment.endToEndId,
      text: `sandbox says txid ${charge.charge.id}, our books ${'f'.repeat(32)}`,
    },
  ])
})

test('a list that leaves the txid out says nothing about it', async () => {
  const w = await world()
  await settleAll(w, [(await w.paidCharge()).payment])
  const shy = telling(w, (page) => page.map((payment) => ({ ...payment, txid: null })))
  expect(await compare(w, [shy])).toMatchObject({ differenceCount: 0 })
})

// Both comparisons of the two days must say why their counts differ.
test('a payment that stands on another day in our books than at the bank is named on both days', async () => {
  const w = await world()
  const { payment } = await w.paidCharge()
  await settleAll(w, [{ ...payment, occurredAt: new Date('2026-03-03T12:00:00Z') }])
  const text = 'sandbox says 2026-03-02T12:00:00.000Z, our books 2026-03-03T12:00:00.000Z'
  const { comparisons } = await reconcileWindow(w.ctx, OPERATOR, { ...DAY, to: new Date('2026-03-04T03:00:00Z') })
  expect(comparisons).toMatchObject([
    { providerCount: 1, ledgerCount: 0, differences: [{ kind: 'other_time', text }] },
    { providerCount: 0, ledgerCount: 1, differences: [{ kind: 'other_time', text }] },
  ])
})

test.each([8, -8])(
  'a payment that the bank gives another time of the same day, %i hours off, is no difference',
  async (hours) => {
    const w = await world()
    const { payment } = await w.paidCharge()
    await settleAll(w, [{ ...payment, occurredAt: new Date(payment.occurredAt.getTime() + hours * HOUR_MS) }])
    const { comparisons } = await reconcileWindow(w.ctx, OPERATOR, DAY)
    expect(comparisons).toMatchObject([{ providerCount: 1, ledgerCount: 1, differenceCount: 0 }])
  },
)

test('a payment that arrives while the list is read is no difference', async () => {
  const w = await world()
  const account = await w.account()
  const [provider] = w.ctx.providers
  const slow: Provider = {
    ...provider!,
    async *listReceived(window) {
      yield* provider!.listReceived(window)
      if (window.from <= w.clock.now() && window.to > w.clock.now())
        await settleAll(w, [(await w.paidCharge({ account })).payment])
    },
  }
  expect(await compare(w, [slow])).toMatchObject({ providerCount: 1, ledgerCount: 1, differenceCount: 0 })
})

test('money that was given back at the bank without us is named until the operator has dealt with it', async () => {
  const w = await world({ settings: OPERATOR_DECIDES })
  const { payment } = await w.paidCharge()
  const [provider] = w.ctx.providers
  await provider!.refund({ endToEndId: payment.endToEndId, refundId: 'window7', amountCents: 5_00 })
  w.clock.advance(200) // by now the bank has made the refund
  expect(await provider!.findPayment(payment.endToEndId)).toMatchObject({ refunds: [{ status: 'done' }] })
  for (const settledCount of [1, 0]) {
    const comparison = await compare(w)
    expect(comparison).toMatchObject({ settledCount, providerTotalCents: 50_00, ledgerTotalCents: 50_00 })
    expect(comparison.differences).toEqual([
      {
        kind: 'foreign_refund',
        endToEndId: payment.endToEndId,
        text: 'sandbox gave back 500 cents of it (refund window7), which we did not ask for',
      },
    ])
  }
  expect(await w.count('exceptions', `kind = 'foreign_refund' and resolved_at is null`)).toBe(1)
  await w.pool.query(
    `update exceptions set resolution = 'write_off', resolved_at = opened_at, resolved_by_kind = 'operator', resolved_by = 'ana', reason = 'seen'`,
  )
  expect(await compare(w)).toMatchObject({ differenceCount: 0 })
})

test('however much differs, a hundred are named and all are counted', async () => {
  const w = await world()
  await settleAll(
    w,
    Array.from({ length: 250 }, (_, index) => stray(w, `E${index}`)),
  )
  const { differenceCount, differences } = await compare(w)
  expect(differenceCount).toBe(250)
  expect(differences).toHaveLength(100)
})

// ---- Which providers, and which window ----

test('several providers are compared each for itself, or one alone', async () => {
  const w = await world()
  await w.paidCharge()
  const providers = [w.ctx.providers[0]!, { ...telling(w, () => []), name: 'other' }]
  const both = await reconcileWindow({ ...w.ctx, providers }, OPERATOR, HOUR)
  expect(both.comparisons).toMatchObject([
    { provider: 'sandbox', providerCount: 1, ledgerCount: 1 },
    { provider: 'other', providerCount: 0, ledgerCount: 0 },
  ])
  const one = await reconcileWindow({ ...w.ctx, providers }, OPERATOR, { ...HOUR, provider: 'other' })
  expect(one.comparisons).toMatchObject([{ provider: 'other' }])
})

test.each([
  ['an unknown provider', { ...HOUR, provider: 'efi' }, 'Unknown provider efi: PROVIDERS names sandbox'],
  ['a window that ends before it begins', { from: HOUR.to, to: HOUR.from }, 'The end must be after the beginning'],
  ['more than a year', { from: new Date(0), to: new Date(367 * DAY_MS) }, 'At most 366 days'],
])('%s is refused', async (_, request, text) => {
  const w = await world()
  await expect(reconcileWindow(w.ctx, OPERATOR, request)).rejects.toThrow(text)
})

const DAY = { from: new Date('2026-03-02T03:00:00Z'), to: new Date('2026-03-03T03:00:00Z') }

/** The sandbox, with its list changed. */
function telling(w: World, change: (page: ReceivedPayment[]) => ReceivedPayment[]): Provider {
  const [provider] = w.ctx.providers
  return {
    ...provider!,
    async *listReceived(window) {
      const isNoon = window.from <= w.clock.now() && window.to > w.clock.now()
      let page: ReceivedPayment[] = []
      for await (const more of provider!.listReceived(window)) page = [...page, ...more]
      if (isNoon) yield change(page)
    },
    async findPayment(endToEndId) {
      const found = await provider!.findPayment(endToEndId)
      return found === 'absent' ? found : change([found])[0]!
    },
  }
}

function stray(w: World, endToEndId: string): ReceivedPayment {
  return { provider: 'sandbox', endToEndId, txid: null, amountCents: 7_00, occurredAt: w.clock.now() }
}

function settleAll(w: World, payments: ReceivedPayment[]) {
  return transact(w.pool, (tx) => settle(tx, w.clock.now(), payments))
}
