import { expect, test } from 'vitest'
import { listDeliveries } from '../src/domain/webhooks/delivery-history.ts'
import { createWebhook, deleteWebhook } from '../src/domain/webhooks/webhooks.ts'
import { startReceiver } from './receiver.ts'
import { UNKNOWN_ID } from './requests.ts'
import { completedCharge, deliver, KIND } from './webhooks-client.ts'
import { world, type TestAccount, type World } from './world.ts'

const DELIVERIES = '/dashboard/api/deliveries'
const SECRET_WORD = 'Bearer of-the-receiver'

async function addWebhook(w: World, { accountId }: TestAccount, name: string, url: string): Promise<string> {
  const fields = { name, url, eventKinds: [KIND as 'DEPOSIT_ASSET_SUCCESS'], authorization: SECRET_WORD }
  return (await createWebhook(w.ctx, accountId, fields)).webhook.webhookId
}

test('the log has a line for each event at each webhook, newest first, in pages and by state', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(account)
  const good = await addWebhook(w, account, 'good', (await startReceiver()).url)
  const receiver = await startReceiver((_, response) => void response.writeHead(500).end('no'))
  const bad = await addWebhook(w, account, 'bad', receiver.url)
  for (let made = 0; made < 3; made++) {
    await completedCharge(w, account)
    w.clock.advance(1_000)
  }
  await deliver(w)
  // The oldest delivery is given up.
  await w.pool.query(
    `with gone as (delete from deliveries where event_id = (select min(event_id::text)::uuid from deliveries) returning *)
     insert into delivery_outcomes select event_id, webhook_id, 'failed', 11, $1 from gone`,
    [w.clock.now()],
  )
  const list = async (query = '') => {
    const { deliveries, nextCursor } = (await session.ask('GET', `${DELIVERIES}?${query}`)).json()
    return {
      nextCursor,
      lines: deliveries.map((one: Record<string, unknown>) => `${String(one['webhookName'])} ${String(one['status'])}`),
    }
  }
  const lines = ['bad retrying', 'good delivered', 'bad retrying', 'good delivered', 'bad failed', 'good delivered']
  expect(await list()).toEqual({ nextCursor: null, lines })
  const first = await list('limit=4')
  expect(first.lines).toEqual(lines.slice(0, 4))
  expect(await list(`limit=4&cursor=${first.nextCursor}`)).toEqual({ nextCursor: null, lines: lines.slice(4) })
  expect((await list('status=failed')).lines).toEqual(['bad failed'])
  expect((await list('status=retrying')).lines).toEqual(['bad retrying', 'bad retrying'])
  expect((await list('status=pending')).lines).toEqual([])
  expect((await list('status=delivered')).lines).toHaveLength(3)
  const page = await list('status=retrying&limit=1')
  expect((await list(`status=retrying&limit=1&cursor=${page.nextCursor}`)).nextCursor).toBeNull()
  expect((await list(`webhookId=${good}`)).lines).toEqual(Array(3).fill('good delivered'))
  expect((await list(`webhookId=${bad}&status=failed`)).lines).toEqual(['bad failed'])
  expect((await list('event=DEPOSIT_REFUNDED')).lines).toEqual([])
  expect((await list('event=DEPOSIT_REFUNDED&status=failed')).lines).toEqual([])
  await deleteWebhook(w.ctx, account.accountId, bad)
  expect((await list('status=failed')).lines).toEqual(Array(3).fill('bad failed'))

  const { deliveries } = (await session.ask('GET', `${DELIVERIES}?webhookId=${bad}&limit=1`)).json()
  expect(deliveries[0]).toEqual({
    eventId: expect.stringMatching(/^evt_DEPOSIT_ASSET_SUCCESS_[0-9a-f]{32}$/),
    event: KIND,
    subject: { paymentLinkId: expect.any(String) },
    webhookId: bad,
    webhookName: 'bad',
    status: 'failed',
    attempts: 1,
    lastStatus: 500,
    lastError: null,
    lastErrorCode: null,
    lastErrorDetail: null,
    lastAt: '2026-03-02T12:00:03.000Z',
    nextAt: null,
    createdAt: '2026-03-02T12:00:02.000Z',
  })
  for (const query of ['cursor=abc', `cursor=${'a'.repeat(32)}`, 'status=waiting', 'webhookId=1', 'event=X'])
    expect((await session.ask('GET', `${DELIVERIES}?${query}`)).statusCode).toBe(400)
})

test('a delivery shows what was sent, byte for byte, but neither its signature nor the Authorization value', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(account)
  const receiver = await startReceiver((_, response) => void response.writeHead(404).end('not here'))
  const webhookId = await addWebhook(w, account, 'shop', receiver.url)
  await completedCharge(w, account)
  await deliver(w)
  const [sent] = await receiver.got(1)
  const answer = await session.ask('GET', `${DELIVERIES}/${sent!.id}/${webhookId}`)
  const { delivery, request, attempts } = answer.json()
  expect(delivery).toMatchObject({ eventId: sent!.id, webhookId, status: 'retrying', attempts: 1, lastStatus: 404 })
  expect(delivery.nextAt > '2026-03-02T12:00:00.000Z').toBe(true)
  expect(request.url).toBe(receiver.url)
  expect(request.body).toBe(sent!.body)
  for (const [name, value] of Object.entries(request.headers)) {
    if (name === 'webhook-signature') expect(value).toBe('v1,••••••••')
    else if (name === 'authorization') expect(value).toBe('••••••••')
    else expect(value).toBe(sent!.headers[name])
  }
  expect(Object.keys(request.headers)).toEqual(expect.arrayContaining(['webhook-signature', 'authorization']))
  expect(answer.body).not.toContain(SECRET_WORD)
  expect(answer.body).not.toContain(sent!.headers['webhook-signature']!.slice(3))
  expect(attempts).toMatchObject([{ number: 1, status: 404, error: null, excerpt: 'not here' }])
})

test("another account's deliveries are not in the log, and not found", async () => {
  const w = await world()
  const account = await w.account()
  const receiver = await startReceiver()
  const webhookId = await addWebhook(w, account, 'shop', receiver.url)
  await completedCharge(w, account)
  await deliver(w)
  const [sent] = await receiver.got(1)
  const other = await w.account()
  const session = await w.session(other)
  const own = await addWebhook(w, other, 'mine', receiver.url)
  expect((await session.ask('GET', DELIVERIES)).json()).toMatchObject({ deliveries: [], nextCursor: null })
  for (const state of ['delivered', 'failed', 'pending', 'retrying'] as const)
    expect((await listDeliveries(w.ctx, other.accountId, { state, webhookId, limit: 9 })).deliveries).toEqual([])
  for (const path of [`${sent!.id}/${webhookId}`, `${sent!.id}/${own}`, `${sent!.id}/${UNKNOWN_ID}`, `evt_1/x`]) {
    expect((await session.ask('GET', `${DELIVERIES}/${path}`)).statusCode).toBe(404)
  }
})

test('a page looks at a bounded number of events, and the next one goes on from there', async () => {
  const w = await world()
  const account = await w.account()
  const webhookId = await addWebhook(w, account, 'shop', (await startReceiver()).url)
  // Only the oldest of these events was delivered; the others had no webhook.
  await w.pool.query(
    `with made as (
       insert into events (id, account_id, kind, subject_id, body, created_at)
       select ('019caea5-7c00-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, $2, gen_random_uuid(), '{"data":{}}', $3
       from generate_series(1, 12000) n returning id
     )
     insert into delivery_outcomes select min(id::text)::uuid, $4, 'delivered', 1, $3 from made`,
    [account.accountId, KIND, w.clock.now(), webhookId],
  )
  const found: number[] = []
  let cursor: string | undefined
  do {
    const page = await listDeliveries(w.ctx, account.accountId, { limit: 10, ...(cursor && { cursor }) })
    found.push(page.deliveries.length)
    cursor = page.nextCursor ?? undefined
  } while (cursor)
  expect(found).toEqual([0, 0, 1])
})
