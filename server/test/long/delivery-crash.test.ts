import { expect, test } from 'vitest'
import { newUuid7 } from '../../src/base/ids.ts'
import { transact } from '../../src/db/tx.ts'
import { insertEvents } from '../../src/domain/webhooks/events.ts'
import { makeSecretBox } from '../../src/domain/core/secret-box.ts'
import { createWebhook } from '../../src/domain/webhooks/webhooks.ts'
import { startServer, temporaryHome } from '../process.ts'
import { startReceiver } from '../receiver.ts'
import { until, world } from '../world.ts'

const EVENTS = 1_000

// A process is killed with deliveries under way. What it had sent and not recorded is sent again, and nothing else.
test('kill -9 during the delivery of 1,000 events: each arrives, and no more arrive twice than were under way', async () => {
  const secretKey = 'k'.repeat(32)
  const w = await world({ settings: { secretBox: makeSecretBox(() => [secretKey]) } })
  const account = await w.account()
  const receiver = await startReceiver()
  const env = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    GUICHE_HOME: temporaryHome(),
    SECRET_KEY: secretKey,
  }
  const now = new Date()
  await createWebhook(w.ctx, account.accountId, {
    name: 'shop',
    url: receiver.url,
    eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
    authorization: null,
  })
  await transact(w.pool, (tx) =>
    insertEvents(
      tx,
      now,
      Array.from({ length: EVENTS }, () => ({
        kind: 'DEPOSIT_ASSET_SUCCESS' as const,
        accountId: account.accountId,
        subjectId: newUuid7(now),
        createdAt: now,
        data: {},
      })),
    ),
  )

  const first = await startServer(env)
  // Late enough that the checks below would notice a process that records nothing.
  await receiver.got((EVENTS * 3) / 4)
  await first.end('SIGKILL')
  const sentByTheFirst = receiver.received.length
  const leftInQueue = await w.count('deliveries')
  expect(leftInQueue).toBeGreaterThan(0)
  const sentTwiceAtMost = sentByTheFirst + leftInQueue - EVENTS
  // The leases of the killed process end now instead of in half a minute.
  await w.pool.query('update deliveries set leased_until = null')

  const second = await startServer(env)
  await until('the queue is empty', async () => (await w.count('deliveries')) === 0, 120_000)
  await second.end('SIGTERM')

  const times = new Map<string, number>()
  for (const { id } of receiver.received) times.set(id, (times.get(id) ?? 0) + 1)
  expect(times.size).toBe(EVENTS)
  expect(receiver.received.length - EVENTS).toBeLessThanOrEqual(sentTwiceAtMost)
  // At most 64 requests are in flight to one receiver, and at most 512 may have ended without being recorded.
  expect(sentTwiceAtMost).toBeLessThanOrEqual(64 + 512)
})
