import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { begin, inOrder, type Pool } from '../src/db/pool.ts'
import { transact } from '../src/db/tx.ts'
import {
  claimDeliveries,
  recordDelivered,
  type FoundDelivery,
  type Reading,
} from '../src/domain/webhooks/delivery-queue.ts'
import { insertEvents } from '../src/domain/webhooks/events.ts'
import { recordFailed } from '../src/domain/webhooks/attempts.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { makeDeliveryWindows, makeSender } from '../src/workers/deliver.ts'
import { makeQueueCursors, type QueueCursors } from '../src/workers/queue-cursors.ts'
import { startReceiver } from './receiver.ts'
import { world, type World } from './world.ts'

const SECOND_MS = 1_000

// Rows that were delivered stay in the index until the snapshot is closed: nobody may remove what it could still see.
test('claims do not read rows that were delivered while an old snapshot is held open', async () => {
  const w = await world()
  const queue = await queueFor(w)
  const cursors = makeQueueCursors()
  await holdSnapshot(w)
  for (let round = 0; round < 4; round++) {
    await queue(250)
    cursors.lookBack(w.clock.now().getTime())
    for (let claims = 0; claims < 3; claims++) await claimAndRecord(w, cursors, { isPoll: claims === 0, places: 100 })
    w.clock.advance(3 * SECOND_MS)
  }
  expect(await w.count('deliveries')).toBe(0)
  await claimAndRecord(w, cursors, { isPoll: true, places: 100 })
  w.clock.advance(3 * SECOND_MS)
  await queue(40)
  cursors.lookBack(w.clock.now().getTime())
  // A claim that was woken, one that goes on where it ended, and a poll: the ten that they take, and one to find them.
  expect(await entriesRead(w, cursors, false)).toBeLessThanOrEqual(11)
  expect(await entriesRead(w, cursors, false)).toBeLessThanOrEqual(11)
  expect(await entriesRead(w, cursors, true)).toBeLessThanOrEqual(11 + 20)
  // The index has many more, and a claim that begins at the beginning reads them.
  expect(await entriesRead(w, makeQueueCursors(), true)).toBeGreaterThan(1_000)
})

// A plan is kept, and one that was made for an empty table may be wrong for a full one.
test('nor do they after PostgreSQL has seen the queue empty, and has made its plans for that', async () => {
  const w = await world()
  const queue = await queueFor(w)
  const cursors = makeQueueCursors()
  await holdSnapshot(w)
  for (let round = 0; round < 4; round++) {
    await queue(5_000)
    await w.pool.query('delete from deliveries')
  }
  await w.pool.query('vacuum analyze deliveries')
  w.clock.advance(3 * SECOND_MS)
  await queue(1_000)
  cursors.lookBack(w.clock.now().getTime())
  expect(await entriesRead(w, cursors, false)).toBeLessThanOrEqual(11)
  expect(await entriesRead(w, cursors, false)).toBeLessThanOrEqual(11)
})

test.each(['delivered', 'failed'])(
  'a delivery that is resent while its attempt is recorded as %s stays queued',
  async (outcome) => {
    const w = await world()
    const queue = await queueFor(w)
    await queue(1)
    const [delivery] = await claimDeliveries(w.ctx, { default: 8, named: new Map(), total: 8 })
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

test('a process that dies with claimed deliveries leaves them to the others, although their claims are further on', async () => {
  const w = await world()
  const receiver = await startReceiver()
  const queue = await queueFor(w, receiver.url)
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  await sender.claim()
  await queue(3)
  expect(await claimDeliveries(w.ctx, { default: 8, named: new Map(), total: 8 })).toHaveLength(3)
  w.clock.advance(31 * SECOND_MS)
  await queue(2)
  await sender.claim()
  await receiver.got(2)
  await sender.findPassed()
  await sender.claim({ isPoll: false })
  await receiver.got(5)
  await sender.stop(10_000)
  expect(await w.count('deliveries')).toBe(0)
})

test('a poll finds what another process queued a moment ago and commits only now', async () => {
  const w = await world()
  const receiver = await startReceiver()
  const queue = await queueFor(w, receiver.url)
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  const queuedAt = w.clock.now()
  w.clock.advance(SECOND_MS)
  await sender.claim()
  await queue(1, queuedAt)
  w.clock.advance(SECOND_MS)
  await sender.claim()
  await receiver.got(1)
  await sender.stop(10_000)
  expect(await w.count('deliveries')).toBe(0)
})

test('a claim that is woken finds what was queued long ago and committed now, if it is told so', async () => {
  const w = await world()
  const receiver = await startReceiver()
  const queue = await queueFor(w, receiver.url)
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  const queuedAt = w.clock.now()
  w.clock.advance(60 * SECOND_MS)
  await sender.claim()
  await queue(1, queuedAt)
  sender.queued(queuedAt)
  await sender.claim({ isPoll: false })
  await receiver.got(1)
  await sender.stop(10_000)
  expect(await w.count('deliveries')).toBe(0)
})

test('what a failed claim did not read, the next one reads', () => {
  const cursors = makeQueueCursors()
  report(cursors, cursors.next(10_000, true), [])
  cursors.lookBack(5_000)
  expect(cursors.next(11_000, false).fromMs).toBe(4_999)
  // It failed, and something was queued meanwhile.
  cursors.lookBack(3_000)
  expect(cursors.next(12_000, false).fromMs).toBe(2_999)
})

test('a webhook that got no place is read later, from where it was', () => {
  const cursors = makeQueueCursors()
  report(cursors, cursors.next(10_000, true), [])
  const poll = cursors.next(20_000, true)
  cursors.claimed(poll, { default: 8, named: new Map([['a', 0]]), total: 100 }, [])
  expect(cursors.next(20_001, false)).toMatchObject({ fromMs: Infinity })
  expect(cursors.next(20_001, false).behind.get('a')).toEqual({ dueAtMs: poll.fromMs, eventId: null })
})

test('a webhook with more in the queue goes on after its last row, until a claim finds less than it may take', () => {
  const cursors = makeQueueCursors()
  const rows = [row('a', 500, 'e2'), row('a', 500, 'e3'), row('a', 400, 'e9')]
  const allowances = { default: 3, named: new Map(), total: 100 }
  cursors.claimed(cursors.next(10_000, true), allowances, rows)
  const more = cursors.next(10_001, false)
  expect(more.behind).toEqual(new Map([['a', { dueAtMs: 500, eventId: 'e3' }]]))
  cursors.claimed(more, allowances, [row('a', 501, 'e1')])
  expect(cursors.next(10_002, false).behind.size).toBe(0)
})

test('a claim that was cut short by the total bound is repeated', () => {
  const cursors = makeQueueCursors()
  const allowances = { default: 8, named: new Map(), total: 1 }
  cursors.claimed(cursors.next(10_000, true), allowances, [row('a', 500, 'e1')])
  expect(cursors.next(10_001, false).fromMs).toBe(0)
})

test('what was passed while a claim was under way is not forgotten by its report', () => {
  const cursors = makeQueueCursors()
  const reading = cursors.next(10_000, true)
  cursors.passed('a', 700)
  report(cursors, reading, [])
  expect(cursors.next(10_001, false).behind.get('a')).toEqual({ dueAtMs: 699, eventId: null })
})

function report(cursors: QueueCursors, reading: Reading, rows: FoundDelivery[]): void {
  cursors.claimed(reading, { default: 8, named: new Map(), total: 100 }, rows)
}

function row(webhookId: string, dueAtMs: number, eventId: string): FoundDelivery {
  return { webhookId, dueAtMs, eventId } as FoundDelivery
}

/** An account with a webhook. Gives a function that queues events for it. */
async function queueFor(w: World, url = 'http://127.0.0.1:8999/hook') {
  const { accountId } = await w.account()
  const fields = { name: 'shop', eventKinds: ['DEPOSIT_ASSET_SUCCESS' as const], authorization: null }
  await createWebhook(w.ctx, accountId, { ...fields, url })
  return (count: number, now = w.clock.now()) => {
    const event = () => {
      const subjectId = newUuid7(now)
      return { kind: 'DEPOSIT_ASSET_SUCCESS' as const, accountId, subjectId, createdAt: now, data: {} }
    }
    return transact(w.pool, (tx) => insertEvents(tx, now, Array.from({ length: count }, event)))
  }
}

async function holdSnapshot(w: World): Promise<void> {
  const client = new pg.Client({ connectionString: w.databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin isolation level repeatable read')
  await client.query('select from deliveries')
}

async function claimAndRecord(
  w: World,
  cursors: QueueCursors,
  { isPoll, places }: { isPoll: boolean; places: number },
) {
  const allowances = { default: places, named: new Map(), total: 1_000 }
  const reading = cursors.next(w.clock.now().getTime(), isPoll)
  const claimed = await claimDeliveries(w.ctx, allowances, reading)
  cursors.claimed(reading, allowances, claimed)
  const answer = { kind: 'answered' as const, status: 200, latencyMs: 1, retryAfterMs: null, excerpt: '' }
  await recordDelivered(
    w.ctx,
    claimed.map((delivery) => ({ delivery, at: w.clock.now(), answer })),
  )
}

/**
 * How many entries of its indexes a claim of 10 reads with a plan that is kept, as PostgreSQL counts them. On the
 * connection of claims, and by a transaction, because the counts of others come later.
 */
async function entriesRead(w: World, cursors: QueueCursors, isPoll: boolean): Promise<number> {
  const allowances = { default: 10, named: new Map(), total: 1_000 }
  const reading = cursors.next(w.clock.now().getTime(), isPoll)
  const client = await inOrder(w.pool).connect()
  const count = async (): Promise<number> => {
    const sql = `select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int as read
      from pg_index where indrelid = 'deliveries'::regclass`
    return (await client.query(sql)).rows[0].read
  }
  await begin(client, 'begin; set local plan_cache_mode = force_generic_plan')
  const before = await count()
  const claimed = await claimDeliveries({ ...w.ctx, pool: client as unknown as Pool }, allowances, reading)
  const after = await count()
  await client.query('commit')
  client.release()
  cursors.claimed(reading, allowances, claimed)
  expect(claimed).toHaveLength(10)
  return after - before
}
