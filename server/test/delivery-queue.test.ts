import { expect, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { recordFailed } from '../src/domain/webhooks/attempts.ts'
import { claimDeliveries, recordDelivered } from '../src/domain/webhooks/delivery-queue.ts'
import { insertEvents } from '../src/domain/webhooks/events.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { world, type World } from './world.ts'

const SECOND_MS = 1_000
const EVERYTHING = { default: 8, named: new Map(), total: 8 }

test.each(['delivered', 'failed'])(
  'a delivery that is resent while its attempt is recorded as %s stays queued',
  async (outcome) => {
    const w = await world()
    await queue(w, 1)
    const [delivery] = await claimDeliveries(w.ctx, EVERYTHING)
    const status = outcome === 'delivered' ? 200 : 500
    const answer = { kind: 'answered' as const, status, latencyMs: 1, retryAfterMs: null, excerpt: '' }
    const attempt = { delivery: delivery!, at: w.clock.now(), answer }
    const record =
      outcome === 'delivered'
        ? () => recordDelivered(w.ctx, [attempt])
        : () => transact(w.pool, (tx) => recordFailed(tx, w.clock.now(), [attempt], () => 0))
    const { recorded } = await transact(w.pool, async (resend) => {
      await resend.run('update deliveries set due_at = $1, leased_until = null, attempts = 0', [w.clock.now()])
      const recorded = record()
      recorded.catch(() => {})
      await w.lockWait()
      return { recorded }
    })
    await recorded
    expect(await w.count('deliveries', 'leased_until is null and attempts = 0')).toBe(1)
  },
)

test('what a process had claimed when it died is claimed again when the lease has ended, and not before', async () => {
  const w = await world()
  await queue(w, 3)
  expect(await claimDeliveries(w.ctx, EVERYTHING)).toHaveLength(3)
  await queue(w, 1)
  w.clock.advance(29 * SECOND_MS)
  expect(await claimDeliveries(w.ctx, EVERYTHING)).toHaveLength(1)
  w.clock.advance(2 * SECOND_MS)
  expect(await claimDeliveries(w.ctx, EVERYTHING)).toHaveLength(3)
})

/** Queues events for a webhook of a new account. */
async function queue(w: World, count: number): Promise<void> {
  const { accountId } = await w.account()
  const fields = { name: 'shop', eventKinds: ['DEPOSIT_ASSET_SUCCESS' as const], authorization: null }
  await createWebhook(w.ctx, accountId, { ...fields, url: 'http://127.0.0.1:8999/hook' })
  const createdAt = w.clock.now()
  const event = () => {
    return { kind: 'DEPOSIT_ASSET_SUCCESS' as const, accountId, subjectId: newUuid7(createdAt), createdAt, data: {} }
  }
  await transact(w.pool, (tx) => insertEvents(tx, createdAt, Array.from({ length: count }, event)))
}
