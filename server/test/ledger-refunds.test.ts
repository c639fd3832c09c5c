import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Fault } from '../src/base/fault.ts'
import { query } from '../src/db/tx.ts'
import { audit } from '../src/domain/audit/audit.ts'
import type { Resolution } from '../src/domain/exceptions/exception-states.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { ProviderError, type ProviderRefund, type ReceivedPayment } from '../src/domain/ports/provider.ts'
import { requestRefund } from '../src/domain/refunds/request-refund.ts'
import { recordExternalRefunds } from '../src/domain/refunds/external-refunds.ts'
import { runDueRefunds } from '../src/workers/refund.ts'
import { changeProvider, holdings, OPERATOR, settleAll } from './refund-steps.ts'
import { world, type TestAccount, type World } from './world.ts'

// Each run says what the bank does with refunds: it makes them, fails them, takes its time, hides them, or loses its
// answers. It also makes some by itself.
const MOODS = ['done', 'processing', 'failed', 'refused', 'unreachable', 'lost', 'hidden'] as const
type Mood = (typeof MOODS)[number]

type Step =
  | { do: 'refund'; charge: number; amountCents: number | null; mood: Mood }
  | { do: 'follow'; mood: Mood }
  | { do: 'resolve'; which: number; how: Resolution['how']; mood: Mood }
  | { do: 'pay'; charge: number; amountCents: number }
  | { do: 'bank'; charge: number; amountCents: number }

const CHARGES = 3
const mood = fc.constantFrom(...MOODS)
const charge = fc.nat({ max: CHARGES - 1 })
const amountCents = fc.integer({ min: 1, max: 60 })
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('refund' as const), charge, amountCents: fc.option(amountCents), mood }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('follow' as const), mood }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('resolve' as const),
      which: fc.nat({ max: 5 }),
      how: fc.constantFrom<Resolution['how']>('credit', 'refund', 'write_off', 'charge_account'),
      mood,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pay' as const), charge, amountCents }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('bank' as const), charge, amountCents }) },
)

// All runs share one database: what held for the books before a run must hold after it.
test('whatever banks and operators do, every cent is in one place at every moment, and the books end where the bank does', async () => {
  const w = await world({ settings: { refunds: { byAccounts: false, returnFee: true } } })
  const account = await w.account()
  const bank = makeBank(w)
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 25 }), async (steps) => {
      const payments = await completedCharges(w, account)
      for (const step of steps) {
        await take(w, bank, account, payments, step).catch(rethrowUnlessRefused)
        await expectEveryCentInPlace(w)
      }
      await heal(w, bank)
      expect(await holdings(w)).not.toHaveProperty('refunding')
      expect((await holdings(w))['cash'] ?? 0).toBe(await bank.heldCents())
      expect((await audit({ ...w.ctx, providers: [] })).differences).toEqual([])
    }),
    { numRuns: 8 },
  )
})

async function take(w: World, bank: Bank, account: TestAccount, payments: Paid[], step: Step): Promise<void> {
  switch (step.do) {
    case 'refund': {
      bank.mood = step.mood
      const { paymentLinkId } = payments[step.charge]!
      const request = {
        accountId: null,
        paymentLinkId,
        amountCents: step.amountCents,
        reason: null,
        idempotencyKey: null,
      }
      return void (await requestRefund(w.ctx, OPERATOR, request))
    }
    case 'follow':
      bank.mood = step.mood
      w.clock.advance(10 * 60_000)
      return void (await runDueRefunds(w.ctx))
    case 'resolve': {
      bank.mood = step.mood
      const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 6 })
      const exception = exceptions[step.which % Math.max(1, exceptions.length)]
      if (!exception) return
      const resolution = { how: step.how, accountId: account.accountId } as Resolution
      return void (await resolveException(w.ctx, OPERATOR, exception.id, resolution, 'because'))
    }
    case 'pay':
      return void (await settleAll(w, [
        { ...payments[step.charge]!, endToEndId: newId('E'), amountCents: step.amountCents },
      ]))
    case 'bank':
      return bank.refundUnasked(payments[step.charge]!, step.amountCents)
  }
}

/** A refusal is an answer; anything else is a bug. */
function rethrowUnlessRefused(error: unknown): void {
  if (!(error instanceof Fault)) throw error
}

async function expectEveryCentInPlace(w: World): Promise<void> {
  const held = await holdings(w)
  const [facts] = await query<Record<string, number>>(
    w.pool,
    `select
       (select coalesce(sum(amount_cents), 0)::bigint from payments)
         - (select coalesce(sum(amount_cents), 0)::bigint from refunds where status = 'DONE') as cash,
       (select coalesce(sum(amount_cents), 0)::bigint from refunds where status = 'PROCESSING') as refunding,
       (select coalesce(sum(p.amount_cents), 0)::bigint from exceptions x join payments p on p.id = x.payment_id
        where x.resolution is null and x.kind <> 'foreign_refund') as suspense,
       (select -coalesce(sum(r.amount_cents), 0)::bigint from exceptions x join refunds r on r.id = x.refund_id
        where x.resolution is null) as missing`,
  )
  const { cash = 0, balance = 0, fees = 0, suspense = 0, refunding = 0, missing = 0, written_off = 0 } = held
  expect({ cash, refunding, suspense, missing: missing + 0 }).toEqual({ ...facts, missing: facts!['missing']! + 0 })
  expect(balance + fees + suspense + refunding + missing + written_off).toBe(cash)
  expect(Math.min(balance, fees, suspense, refunding)).toBeGreaterThanOrEqual(0)
}

/** Makes the bank answer again, and asks it until nothing is under way. */
async function heal(w: World, bank: Bank): Promise<void> {
  bank.mood = 'done'
  for (let round = 0; round < 5; round++) {
    bank.revealHidden()
    await bank.report()
    w.clock.advance(10 * 60_000)
    await runDueRefunds(w.ctx)
  }
}

// ---- Steps of the test above ----

type Paid = ReceivedPayment & { paymentLinkId: string }

async function completedCharges(w: World, account: TestAccount): Promise<Paid[]> {
  const made: Paid[] = []
  for (let index = 0; index < CHARGES; index++) {
    const { id, paymentLinkId, valueCents } = await w.deposit(account, { valueCents: 100 + index })
    const occurredAt = w.clock.now()
    made.push({
      provider: 'sandbox',
      endToEndId: newId('E'),
      txid: id,
      amountCents: valueCents,
      occurredAt,
      paymentLinkId,
    })
  }
  await settleAll(w, made)
  return made
}

function newId(letter: string): string {
  return `${letter}${randomBytes(15).toString('hex')}x`
}

type Bank = ReturnType<typeof makeBank>

function makeBank(w: World) {
  const refunds = new Map<string, ProviderRefund & { endToEndId: string; isHidden: boolean }>()
  const bank = {
    mood: 'done' as Mood,
    async heldCents(): Promise<number> {
      const [row] = await query<{ sum: number }>(w.pool, 'select sum(amount_cents)::bigint from payments')
      const gone = [...refunds.values()].filter((refund) => refund.status === 'done')
      return row!.sum - gone.reduce((sum, refund) => sum + refund.amountCents, 0)
    },
    revealHidden() {
      for (const refund of refunds.values()) {
        refund.isHidden = false
        if (refund.status === 'processing') refund.status = 'done'
      }
    },
    /** Reports every refund, as a sweep would. */
    report() {
      const reporting = [...refunds.values()].map((refund) => ({
        provider: 'sandbox',
        endToEndId: refund.endToEndId,
        refunds: [refund],
      }))
      return recordExternalRefunds(w.ctx, reporting)
    },
    async refundUnasked({ endToEndId, amountCents: paidCents }: Paid, amountCents: number) {
      if (gaveBack(endToEndId) + amountCents > paidCents) return
      const refund = {
        refundId: newId('B'),
        endToEndId,
        amountCents,
        status: 'done' as const,
        reason: null,
        isHidden: false,
      }
      refunds.set(refund.refundId, refund)
      await bank.report()
    },
  }
  const gaveBack = (endToEndId: string) =>
    [...refunds.values()]
      .filter((refund) => refund.endToEndId === endToEndId && refund.status !== 'failed')
      .reduce((sum, refund) => sum + refund.amountCents, 0)

  changeProvider(w, {
    async refund({ endToEndId, refundId, amountCents }) {
      const known = refunds.get(refundId)
      if (known && !known.isHidden) return known
      if (bank.mood === 'unreachable') throw new ProviderError('unreachable', 'not sent')
      // The bank also refuses a refund that it hides and may still make.
      if (bank.mood === 'refused') throw new ProviderError('refused', 'no')
      if (known) throw new ProviderError('unknown', 'still in some queue')
      const [row] = await query<{ amount_cents: number }>(
        w.pool,
        'select amount_cents from payments where end_to_end_id = $1',
        [endToEndId],
      )
      if (gaveBack(endToEndId) + amountCents > row!.amount_cents) throw new ProviderError('refused', 'no')
      const status = bank.mood === 'done' || bank.mood === 'failed' ? bank.mood : 'processing'
      const isHidden = bank.mood === 'hidden'
      const refund = { refundId, endToEndId, amountCents, status, reason: null, isHidden } as const
      refunds.set(refundId, refund)
      if (bank.mood === 'lost' || isHidden) throw new ProviderError('unknown', 'no answer')
      return refund
    },
    async checkRefund({ refundId }) {
      const refund = refunds.get(refundId)
      if (bank.mood === 'unreachable' || bank.mood === 'lost') throw new ProviderError('unknown', 'no answer')
      if (!refund || refund.isHidden) return 'absent'
      if (refund.status === 'processing' && (bank.mood === 'done' || bank.mood === 'failed')) refund.status = bank.mood
      return refund
    },
    async findPayment(endToEndId) {
      const shown = [...refunds.values()].filter((refund) => refund.endToEndId === endToEndId && !refund.isHidden)
      const payment = { provider: 'sandbox', endToEndId, txid: null, amountCents: 1, occurredAt: w.clock.now() }
      return { ...payment, refunds: shown }
    },
  })
  return bank
}
