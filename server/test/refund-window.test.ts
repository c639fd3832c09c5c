import { expect, test } from 'vitest'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { completedCharge, holdings, OPERATOR, refund, strayPayment } from './refund-steps.ts'
import { world } from './world.ts'

// For how long a payment can be refunded.

const DAY_MS = 86_400_000

test('a payment can be refunded for 90 days after its settlement, and later nothing is set aside for it', async () => {
  const w = await world()
  const { charge, payment } = await completedCharge(w, { valueCents: 50_00 })
  const ageMs = w.clock.now().getTime() - payment.occurredAt.getTime()
  const key = { idempotencyKey: 'last day' }
  w.clock.advance(90 * DAY_MS - ageMs)
  const made = await refund(w, charge, { amountCents: 1_00, ...key })
  w.clock.advance(1)
  const before = await holdings(w)
  await expect(refund(w, charge, { amountCents: 1_00 })).rejects.toMatchObject({
    code: 'refund_too_old',
    details: { days: 90 },
  })
  expect([await holdings(w), await w.count('refunds')]).toEqual([before, 1])
  // A repetition of the request that came in time gets its answer.
  expect((await refund(w, charge, { amountCents: 1_00, ...key })).id).toBe(made.id)
})

test('money in suspense is not refunded after 90 days, and can still be credited', async () => {
  const w = await world()
  const { accountId } = await w.account()
  await strayPayment(w)
  w.clock.advance(90 * DAY_MS + 60_000)
  const [exception] = (await listExceptions(w.ctx, { limit: 10 })).exceptions
  const resolve = (resolution: Parameters<typeof resolveException>[3]) =>
    resolveException(w.ctx, OPERATOR, exception!.id, resolution, 'asked by mail')
  await expect(resolve({ how: 'refund' })).rejects.toMatchObject({ code: 'refund_too_old' })
  expect(await w.count('refunds')).toBe(0)
  await resolve({ how: 'credit', accountId })
  expect(await w.balanceCents(accountId)).toBe(7_00)
})
