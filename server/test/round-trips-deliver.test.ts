import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { transact } from '../src/db/tx.ts'
import { makeReason } from '../src/domain/ports/delivery-reasons.ts'
import { claimDeliveries } from '../src/domain/webhooks/delivery-queue.ts'
import { insertEvents } from '../src/domain/webhooks/events.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { makeDeliveryWindows, makeSender } from '../src/workers/deliver.ts'
import { startReceiver } from './receiver.ts'
import { world, type World } from './world.ts'

// A statement is a write to a socket and a wait, and nothing costs more here. Each test fails when one is added.

const EVERYTHING = { default: 100, named: new Map(), total: 1_000 }

test('claiming a batch of deliveries takes three statements: the claim, its events and its webhooks', async () => {
  const w = await worldWithDeliveries(20)
  const { statements, result: claimed } = await countStatements(w, () => claimDeliveries(w.ctx, EVERYTHING))
  expect(claimed).toHaveLength(40)
  expect(new Set(claimed.map(({ target }) => target.url)).size).toBe(2)
  expect(statements).toHaveLength(3)
})

test('recording a batch of deliveries takes one round trip', async () => {
  const w = await worldWithDeliveries(20)
  const claimed = await claimDeliveries(w.ctx, EVERYTHING)
  const answer = { kind: 'answered' as const, status: 200, latencyMs: 1, retryAfterMs: null, excerpt: '' }
  const { statements } = await countStatements(w, () =>
    Promise.all(claimed.map((delivery) => w.ctx.attempts.add({ delivery, at: w.clock.now(), answer }))),
  )
  expect(await w.count('delivery_outcomes', "outcome = 'delivered'")).toBe(40)
  expect(statements).toHaveLength(1)
})

test('recording a batch of failed attempts takes three round trips, of which two begin and commit', async () => {
  const w = await worldWithDeliveries(20)
  const claimed = await claimDeliveries(w.ctx, EVERYTHING)
  const answer = { kind: 'failed' as const, latencyMs: 1, reason: makeReason('no_answer', 'x') }
  const { statements } = await countStatements(w, () =>
    Promise.all(claimed.map((delivery) => w.ctx.attempts.add({ delivery, at: w.clock.now(), answer }))),
  )
  expect(await w.count('attempts')).toBe(40)
  expect(statements).toHaveLength(3)
})

test('from the queue to the receiver and to the log, a delivery needs nothing but its claim and its record', async () => {
  const receiver = await startReceiver()
  const w = await worldWithDeliveries(3, receiver.url)
  const { statements } = await countStatements(w, async () => {
    const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
    await sender.claim()
    await sender.stop(10_000)
  })
  expect(receiver.received).toHaveLength(6)
  expect([...new Set(statements)]).toEqual([
    expect.stringContaining('with recursive due'),
    expect.stringContaining('from events'),
    expect.stringContaining('from webhooks'),
    expect.stringContaining('delete from deliveries'),
  ])
})

async function worldWithDeliveries(events: number, url = 'http://127.0.0.1:8999/hook'): Promise<World> {
  const w = await world({ isDirect: true })
  const { accountId } = await w.account()
  for (const path of ['/one', '/two']) {
    const fields = { name: 'shop', eventKinds: ['DEPOSIT_ASSET_SUCCESS' as const], authorization: null }
    await createWebhook(w.ctx, accountId, { ...fields, url: new URL(path, url).href })
  }
  const now = w.clock.now()
  const event = () => {
    const subjectId = newUuid7(now)
    return { kind: 'DEPOSIT_ASSET_SUCCESS' as const, accountId, subjectId, createdAt: now, data: {} }
  }
  await transact(w.pool, (tx) => insertEvents(tx, now, Array.from({ length: events }, event)))
  return w
}

type Connected = { connection: unknown }

/** What is sent to the world's database meanwhile, without what sets up a connection. */
async function countStatements<Result>({ pool }: World, work: () => Promise<Result>) {
  const submit = vi.spyOn((pg as unknown as { Query: { prototype: { submit(): void } } }).Query.prototype, 'submit')
  // Other connections of this process do not count: the presence of an earlier test may reconnect meanwhile.
  const ours = new Set<unknown>()
  const onAcquire = (client: unknown) => void ours.add((client as Connected).connection)
  pool.on('acquire', onAcquire)
  try {
    const result = await work()
    const calls = submit.mock.contexts.map((query, index) => {
      const [connection] = submit.mock.calls[index] as unknown[]
      return { connection, text: (query as { text: string }).text }
    })
    const isSetUp = (text: string) => text.startsWith('set ') || text.startsWith('select pg_backend_pid()')
    const statements = calls.filter(({ connection, text }) => ours.has(connection) && !isSetUp(text))
    return { result, statements: statements.map(({ text }) => text) }
  } finally {
    pool.off('acquire', onAcquire)
    submit.mockRestore()
  }
}
