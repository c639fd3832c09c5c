import { expect, test } from 'vitest'
import { listDeliveries, listEvents } from '../src/domain/webhooks/delivery-history.ts'
import { resendMany } from '../src/domain/webhooks/resend.ts'
import { createWebhook } from '../src/domain/webhooks/webhooks.ts'
import { startReceiver } from './receiver.ts'
import { completedCharge } from './refund-steps.ts'
import { get } from './requests.ts'
import { deliver, KIND } from './webhooks-client.ts'
import { world, type TestAccount, type World } from './world.ts'

const MANY = 6_000

/** Inserts many events, all of them delivered to one webhook. */
async function manyDelivered(w: World, account: TestAccount): Promise<string> {
  const fields = { name: 'shop', url: 'https://shop.example/', eventKinds: [KIND], authorization: null }
  const { webhook } = await createWebhook(w.ctx, account.accountId, fields as Parameters<typeof createWebhook>[2])
  await w.pool.query(
    `with made as (
       insert into events (id, account_id, kind, subject_id, body, created_at)
       select ('019caea5-7c00-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, $2, gen_random_uuid(), '{"data":{}}', $3
       from generate_series(1, ${MANY}) n returning id
     )
     insert into delivery_outcomes select id, $4, 'delivered', 1, $3 from made`,
    [account.accountId, KIND, w.clock.now(), webhook.webhookId],
  )
  await w.pool.query('analyze')
  return webhook.webhookId
}

type Plan = { 'Actual Rows': number; 'Actual Loops': number; 'Rows Removed by Filter'?: number; Plans?: Plan[] }

/** The rows that the database touched: of every scan, those that it returned and those that it filtered out. */
function rowsOf(plan: Plan): number {
  const own = plan.Plans
    ? 0
    : Math.round((plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'])
  return own + (plan.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), 0)
}

async function rowsRead(w: World, work: () => Promise<unknown>): Promise<number> {
  const query = w.pool.query.bind(w.pool) as (...args: unknown[]) => Promise<unknown>
  const asked: unknown[][] = []
  w.pool.query = ((...args: unknown[]) => {
    asked.push(args)
    return query(...args)
  }) as typeof w.pool.query
  await work()
  w.pool.query = query as typeof w.pool.query
  expect(asked.some(([sql]) => typeof sql === 'string')).toBe(true)
  let rows = 0
  for (const [sql, params] of asked) {
    // A prepared statement is one of another part of the process, which asked meanwhile.
    if (typeof sql !== 'string') continue
    const answer = await w.pool.query(`explain (analyze, timing off, format json) ${sql}`, params as unknown[])
    rows += rowsOf(answer.rows[0]['QUERY PLAN'][0].Plan)
  }
  return rows
}

test('what failed or is retried is found without walking through what was delivered', async () => {
  const w = await world()
  const account = await w.account()
  const webhookId = await manyDelivered(w, account)
  const { accountId } = account
  for (const state of ['failed', 'retrying', 'pending'] as const) {
    expect(await rowsRead(w, () => listEvents(w.ctx, accountId, { state, limit: 50 }))).toBeLessThan(100)
    expect(await rowsRead(w, () => listDeliveries(w.ctx, accountId, { state, limit: 50 }))).toBeLessThan(100)
  }
  // Now one delivery failed, and it is found as cheaply.
  await w.pool.query(
    `update delivery_outcomes set outcome = 'failed' where event_id = (select min(event_id::text)::uuid from delivery_outcomes)`,
  )
  const failed = () => listEvents(w.ctx, accountId, { state: 'failed', limit: 50 })
  expect(await rowsRead(w, failed)).toBeLessThan(100)
  const { events, nextCursor } = await failed()
  expect(events).toMatchObject([{ deliveries: [{ webhookId, state: 'failed' }] }])
  expect(nextCursor).toBeNull()
})

test('a filter that no index answers looks at a bounded number of events, and the next page goes on from there', async () => {
  const w = await world()
  const account = await w.account()
  const webhookId = await manyDelivered(w, account)
  await w.pool.query(
    `insert into events (id, account_id, kind, subject_id, body, created_at)
     values ('019caea5-7c00-7000-7000-000000000000', $1, 'DEPOSIT_REFUNDED', gen_random_uuid(), '{"data":{}}', $2)`,
    [account.accountId, w.clock.now()],
  )
  const walk = async (query: string) => {
    const found: number[] = []
    let cursor = ''
    do {
      const page = (await w.app.inject(get(account.key, `/api/events?limit=10&${query}${cursor}`))).json()
      found.push(page.events.length)
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
    } while (cursor !== '')
    return found
  }
  // An event without a delivery is found by its kind.
  expect(await walk('event=DEPOSIT_REFUNDED')).toEqual([0, 1])
  expect(await walk('event=DEPOSIT_REFUNDED&order=asc')).toEqual([1, 0])
  expect(await walk(`event=DEPOSIT_REFUNDED&webhookId=${webhookId}`)).toEqual([0, 0])
  expect(await walk(`event=DEPOSIT_REFUNDED&webhookId=${webhookId}&order=asc`)).toEqual([0, 0])
})

test('oldest first is the same list turned round, whatever the filter and the size of a page', async () => {
  const w = await world()
  const account = await w.account()
  const fields = { name: 'shop', url: 'https://shop.example/', eventKinds: [KIND], authorization: null }
  const wanted = fields as Parameters<typeof createWebhook>[2]
  const [{ webhook }] = await Promise.all([
    createWebhook(w.ctx, account.accountId, wanted),
    createWebhook(w.ctx, account.accountId, { ...wanted, name: 'till' }),
  ])
  for (let turn = 0; turn < 3; turn++) await completedCharge(w, { account })
  // One event is delivered, one failed and one waits, each of them for both webhooks.
  await w.pool.query(
    `with done as (delete from deliveries where event_id <> (select max(event_id::text)::uuid from deliveries) returning *)
     insert into delivery_outcomes
     select event_id, webhook_id, case when event_id = (select min(event_id::text)::uuid from done)
       then 'delivered' else 'failed' end, 1, $1 from done`,
    [w.clock.now()],
  )
  const ids = async (query: string, limit = 1) => {
    const found: string[] = []
    let cursor = ''
    do {
      const page = (await w.app.inject(get(account.key, `/api/events?limit=${limit}&${query}${cursor}`))).json()
      found.push(...page.events.map(({ id }: { id: string }) => id))
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`
    } while (cursor !== '')
    return found
  }
  for (const [query, count] of [
    ['', 3],
    [`event=${KIND}`, 3],
    [`webhookId=${webhook.webhookId}`, 3],
    ['state=delivered', 1],
    ['state=failed', 1],
    ['state=pending', 1],
    [`from=${w.clock.now().toISOString()}`, 3],
    ['from=2100-01-01T00:00:00Z', 0],
  ] as const) {
    const newest = await ids(query)
    expect([query, newest.length]).toEqual([query, count])
    for (const limit of [1, 2, 100])
      expect([query, await ids(`${query}&order=asc`, limit)]).toEqual([query, newest.toReversed()])
  }
  const { error } = (await w.app.inject(get(account.key, '/api/events?order=up'))).json()
  expect(error).toBe('order must be one of desc, asc')
})

test('a delivery that failed and will be tried again is retrying, and resending what failed includes it', async () => {
  const w = await world()
  const account = await w.account()
  let isDown = true
  const receiver = await startReceiver((_, response) => {
    response.statusCode = isDown ? 500 : 200
    response.end()
  })
  const fields = { name: 'shop', url: receiver.url, eventKinds: [KIND], authorization: null }
  await createWebhook(w.ctx, account.accountId, fields as Parameters<typeof createWebhook>[2])
  await completedCharge(w, { account })
  const ofState = async (state: string) =>
    (await w.app.inject(get(account.key, `/api/events?state=${state}`))).json().events
  expect(await ofState('pending')).toHaveLength(1)
  expect(await resendMany(w.ctx, account.accountId, { failed: true }, null)).toBe(0)
  await deliver(w)

  expect(await ofState('pending')).toEqual([])
  expect(await ofState('failed')).toEqual([])
  expect(await ofState('retrying')).toMatchObject([
    { deliveries: [{ state: 'retrying', attempts: 1, nextAttemptAt: expect.any(String) }] },
  ])
  isDown = false
  // The clock stands still, and the next attempt is seconds away. So only the resend can send it now.
  expect(await resendMany(w.ctx, account.accountId, { failed: true }, null)).toBe(1)
  await deliver(w)
  expect(await ofState('delivered')).toHaveLength(1)
  expect(await ofState('retrying')).toEqual([])
})
