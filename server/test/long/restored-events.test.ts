import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decimalFromCents } from '../../src/base/money.ts'
import { preparedHome, runProcess, startServer, temporaryHome, type ServerProcess } from '../process.ts'
import { startReceiver, type Received } from '../receiver.ts'
import { clientOf, open } from '../sandbox-client.ts'
import { until } from '../world.ts'

// After a loss, the newest backup lacks what happened since. The bank still lists it, so it is booked and announced
// again. The bank runs apart from the service, so the restore does not set it back too.

const AT_BANK_CENTS = 7_00

type Charge = { id: string; paymentLinkId: string }
type Refund = { id: string; status: string }
type Event = { id: string; event: string; createdAt: string; data: Record<string, unknown> }

test('what is announced again after a restore has the ids and the data of the first time, so a shop delivers each order once', async () => {
  const bank = await clientOf((await open()).url)
  const [home, place] = [preparedHome(), temporaryHome()]
  const [backup, restoredHome] = [join(place, 'backup'), join(place, 'home')]
  const env = { PROVIDER_SANDBOX_URL: bank.url, REFUNDS_BY_ACCOUNTS: 'true', RECONCILE_SECONDS: '1' }
  const service = await startServer({ ...env, GUICHE_HOME: home })
  const key = /API key: (\S+)/.exec(service.output())![1]!
  const shop = await startShop()
  const events = ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED', 'DEPOSIT_REVERSED']
  await ask(service, key, '/api/webhooks', { url: shop.url, events })

  const make = (externalId: string) =>
    ask<{ charge: Charge }>(service, key, '/api/deposit', { value: 50_00, externalId })
  const orders = ['before', 'after', 'refunded', 'refunded at the bank']
  const [before, ...after] = await Promise.all(orders.map(async (order) => (await make(order)).charge))
  await pay(bank, before!)
  await until('the first is announced, and that is recorded', async () => {
    const path = '/api/events?event=DEPOSIT_ASSET_SUCCESS&state=delivered'
    return (await ask<{ events: Event[] }>(service, key, path)).events.length === 1
  })
  expect((await runProcess(['backup', backup], { GUICHE_HOME: home })).code).toBe(0)

  const endToEndIds = await Promise.all(after.map((charge) => pay(bank, charge)))
  await until('the orders are delivered', async () => shop.delivered.length === orders.length)
  const asked = await refund(service, key, after[1]!)
  await bank.call('PUT', `/pix/${endToEndIds[2]}/devolucao/atTheBank`, { valor: decimalFromCents(AT_BANK_CENTS) })
  const firstTime = await until(
    'all is announced',
    async () => byId(shop.received).size === 1 + 4 + 2 && byId(shop.received),
  )
  expect(await service.end('SIGTERM')).toBe(0)

  shop.received.length = 0
  const restored = await runProcess(['restore', backup, '--home', restoredHome], env)
  expect([restored.stdout, restored.code]).toEqual([expect.stringContaining('booked     3 payments'), 0])
  const again = await startServer({ ...env, GUICHE_HOME: restoredHome })
  const repeated = await until(
    'all that was lost is announced',
    async () => byId(shop.received).size === 3 + 2 && byId(shop.received),
  )
  expect(shop.delivered.toSorted()).toEqual(orders.toSorted())
  expect([...firstTime.keys()]).toEqual(expect.arrayContaining([...repeated.keys()]))
  for (const [id, event] of repeated) {
    const first = firstTime.get(id)!
    expect(event).toEqual({
      ...first,
      createdAt: expect.any(String),
      data: { ...first.data, ...changed(first, event) },
    })
  }

  // These events are new in this database, and the newest come first.
  const { events: listed } = await ask<{ events: Event[] }>(again, key, '/api/events')
  expect(new Set(listed.slice(0, 5).map(({ id }) => id))).toEqual(new Set(repeated.keys()))
  const { refunds } = await ask<{ refunds: Refund[] }>(again, key, `/api/deposit/${after[1]!.paymentLinkId}/refunds`)
  expect(refunds).toMatchObject([{ id: asked.id, status: 'DONE' }])
  expect(await again.end('SIGTERM')).toBe(0)
  expect((await runProcess(['audit'], { ...env, GUICHE_HOME: restoredHome })).code).toBe(0)
})

/**
 * The fields of a refund that differ if we know it only from the bank's list. The list has no time, and no id of ours
 * for a refund that was made at the bank.
 */
function changed({ event }: Event, { createdAt }: Event): object {
  if (event === 'DEPOSIT_REFUNDED') return { refundedAt: createdAt }
  return event === 'DEPOSIT_REVERSED' ? { reversedAt: createdAt, refundId: expect.any(String) } : {}
}

/** A receiver that does as the guide says: it remembers the ids, and delivers an order when it first sees its event. */
async function startShop() {
  const seen = new Set<string>()
  const delivered: string[] = []
  const receiver = await startReceiver(({ id, body }, response) => {
    const { event, data } = JSON.parse(body) as Event
    if (!seen.has(id) && event === 'DEPOSIT_ASSET_SUCCESS') delivered.push(String(data['externalId']))
    seen.add(id)
    response.end()
  })
  return { ...receiver, delivered }
}

/** The events by webhook-id, which is the id in the body. */
function byId(received: Received[]): Map<string, Event> {
  const events = received.map(({ id, body }): [string, Event] => [id, JSON.parse(body)])
  for (const [id, event] of events) expect(event.id).toBe(id)
  return new Map(events)
}

async function pay(bank: Awaited<ReturnType<typeof clientOf>>, { id: txid }: Charge): Promise<string> {
  return (await bank.pay({ txid })).body.pix[0].endToEndId
}

async function refund(service: ServerProcess, key: string, { paymentLinkId }: Charge): Promise<Refund> {
  return (await ask<{ refund: Refund }>(service, key, `/api/deposit/${paymentLinkId}/refund`, { value: 10_00 })).refund
}

async function ask<Answer>({ url }: ServerProcess, key: string, path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) }
  const answer = await fetch(url + path, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers })
  const text = await answer.text()
  expect([path, answer.ok, text]).toEqual([path, true, expect.any(String)])
  return JSON.parse(text)
}
