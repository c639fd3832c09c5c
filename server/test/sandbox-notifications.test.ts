import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { KEY, bank, clientOf, eventually, open, portOf, receiver } from './sandbox-client.ts'
import { patient } from './world.ts'

// A bank with a receiver that listens, and with a function that makes and pays a charge.
async function wired(status?: (count: number) => number) {
  const world = await bank()
  const ear = await receiver(status)
  await world.call('PUT', `/webhook/${KEY}`, { webhookUrl: ear.url })
  const paid = async (order: Record<string, unknown> = {}): Promise<string[]> => {
    const { txid } = await world.charge()
    const { body } = await world.pay({ txid, ...order })
    return body.pix.map((pix: { endToEndId: string }) => pix.endToEndId)
  }
  return { ...world, ear, paid }
}

describe('a notification', () => {
  test('tells the receiver of a payment at its address with /pix appended', async () => {
    const { clock, ear, paid } = await wired()
    const [id] = await paid({ infoPagador: 'oi' })
    await eventually(() => ear.bodies.length > 0)
    expect(ear.paths).toEqual(['/hook/pix'])
    expect(ear.bodies[0]).toEqual({
      pix: [
        {
          endToEndId: id,
          txid: expect.any(String),
          valor: '50.00',
          chave: KEY,
          horario: clock.at.toISOString(),
          infoPagador: 'oi',
        },
      ],
    })
  })

  test('appends /pix behind a query too, as banks do', async () => {
    const { call, ear, paid } = await wired()
    await call('PUT', `/webhook/${KEY}`, { webhookUrl: `${ear.url}?secret=1&ignorar=` })
    await paid()
    await eventually(() => ear.paths.length > 0)
    expect(ear.paths).toEqual(['/hook?secret=1&ignorar=/pix'])
  })

  test('is not sent for a key without a webhook, nor after the webhook is removed', async () => {
    const { call, ear, paid, stats } = await wired()
    await call('DELETE', `/webhook/${KEY}`)
    await paid()
    await call('PUT', `/webhook/${KEY}`, { webhookUrl: ear.url })
    const [later] = await paid()
    await eventually(() => ear.bodies.length > 0)
    expect(ear.heard()).toEqual([later])
    expect((await stats()).notifications).toMatchObject({ sent: 1, delivered: 1, waiting: 0 })
  })

  test('of many payments shares bodies of at most 100, and tells each once', async () => {
    const { ear, paid } = await wired()
    const ids = await paid({ times: 250 })
    await eventually(() => ear.heard().length >= 250)
    expect(ear.heard().toSorted()).toEqual(ids.toSorted())
    expect(Math.max(...ear.bodies.map(({ pix }) => pix.length))).toBeLessThanOrEqual(100)
    expect(ear.bodies.length).toBeLessThan(20)
  })

  test('that the receiver refuses is sent again until it is accepted', async () => {
    const { ear, paid, stats } = await wired((count) => (count <= 2 ? 500 : 204))
    const [id] = await paid()
    await eventually(() => ear.bodies.length === 3)
    expect(ear.heard()).toEqual([id, id, id])
    await eventually(async () => (await stats()).notifications.delivered === 1)
    expect((await stats()).notifications).toMatchObject({ sent: 3, failed: 2, delivered: 1, waiting: 0, abandoned: 0 })
  })

  test('to a dead receiver holds up neither payments nor other receivers', async () => {
    const { call, charge, pay, ear, paid } = await wired()
    await call('PUT', '/webhook/dead', { webhookUrl: 'http://127.0.0.1:1/hook' })
    const { txid } = await charge({ chave: 'dead' })
    expect((await pay({ txid, times: 500 })).status).toBe(201)
    const [id] = await paid()
    await eventually(() => ear.heard().includes(id ?? ''))
  })

  test('of a finished refund tells the Pix again with the refund', async () => {
    const { call, ear, paid, clock } = await wired()
    const [id] = await paid()
    await eventually(() => ear.bodies.length === 1)
    await call('PUT', `/pix/${id}/devolucao/r1`, { valor: '1.00' })
    clock.at = new Date(clock.at.getTime() + 200)
    await call('GET', `/pix/${id}`)
    await eventually(() => ear.bodies.length === 2)
    expect(ear.bodies[1]?.pix).toMatchObject([{ endToEndId: id, devolucoes: [{ id: 'r1', status: 'DEVOLVIDO' }] }])
  })

  test('of a txid that no charge has goes to the key that has a webhook', async () => {
    const { pay, ear } = await wired()
    await pay({ txid: 'nobodysTxid', amountCents: 1 })
    await eventually(() => ear.bodies.length === 1)
    expect(ear.bodies[0]?.pix).toMatchObject([{ txid: 'nobodysTxid', valor: '0.01', chave: KEY }])
  })
})

describe('notifications, told to be', () => {
  test('dropped, are never sent, and the payment is there all the same', async () => {
    const { call, ear, paid, faults, stats } = await wired()
    await faults({ dropNotifications: true })
    const ids = await paid({ times: 10 })
    await eventually(async () => (await stats()).notifications.dropped === 10)
    await faults({})
    const [told] = await paid()
    await eventually(() => ear.bodies.length > 0)
    expect(ear.heard()).toEqual([told])
    expect((await call('GET', `/pix/${ids[0]}`)).status).toBe(200)
  })

  test('dropped at a rate, are dropped in about that share', async () => {
    const { ear, paid, faults, stats } = await wired()
    await faults({ dropNotifications: 0.5, seed: 11 })
    await paid({ times: 400 })
    await eventually(async () => (await stats()).notifications.waiting === 0)
    const { dropped, delivered } = (await stats()).notifications
    expect(dropped + delivered).toBe(400)
    expect(ear.heard()).toHaveLength(delivered)
    expect(dropped).toBeGreaterThan(150)
    expect(dropped).toBeLessThan(250)
  })

  test('doubled, arrive as often as told and never twice in one body', async () => {
    const { ear, paid, faults } = await wired()
    await faults({ duplicateNotifications: 2 })
    const [one, two] = await paid({ times: 2 })
    await eventually(() => ear.heard().length === 6)
    expect(ear.heard().filter((id) => id === one)).toHaveLength(3)
    expect(ear.heard().filter((id) => id === two)).toHaveLength(3)
    for (const { pix } of ear.bodies) expect(new Set(pix.map((each) => each.endToEndId)).size).toBe(pix.length)
  })

  test('delayed, come no sooner than told', async () => {
    const { ear, paid, faults } = await wired()
    await faults({ delayNotificationsMs: 150 })
    const from = performance.now()
    await paid()
    await eventually(() => ear.bodies.length === 1)
    expect(performance.now() - from).toBeGreaterThan(148)
  })

  test('reordered, all arrive, one by one and in another order', async () => {
    const { ear, paid, faults } = await wired()
    await faults({ reorderNotifications: true, seed: 3 })
    const ids = await paid({ times: 12 })
    await eventually(() => ear.heard().length === 12)
    expect(ear.heard()).not.toEqual(ids)
    expect(ear.heard().toSorted()).toEqual(ids.toSorted())
    expect(ear.bodies.every(({ pix }) => pix.length === 1)).toBe(true)
  })
})

describe('a restart', () => {
  test('goes on with notifications that were not delivered, and does not repeat those that were', async () => {
    let status = 200
    const { home, sandbox, ear, paid, stats } = await wired(() => status)
    const [told] = await paid()
    await eventually(async () => (await stats()).notifications.delivered === 1)
    status = 500
    const [owed] = await paid()
    await eventually(async () => (await stats()).notifications.failed > 0)
    await sandbox.stop()
    ear.bodies.length = 0
    status = 200

    const again = await open({ home })
    await eventually(() => ear.heard().includes(owed ?? ''))
    const client = await clientOf(again.url)
    await eventually(async () => (await client.stats()).notifications.waiting === 0)
    expect(ear.heard()).not.toContain(told)
  })

  test('is quick although notifications are pending and a receiver hangs', async () => {
    const { call, sandbox, charge, pay, stats } = await wired()
    let held = 0
    const silent = createServer(() => (held += 1)).listen(0, '127.0.0.1')
    await new Promise((done) => silent.once('listening', done))
    onTestFinished(() => silent.close().closeAllConnections())
    const port = portOf(silent)
    await call('PUT', '/webhook/slow', { webhookUrl: `http://127.0.0.1:${port}` })
    await call('PUT', '/webhook/dead', { webhookUrl: 'http://127.0.0.1:1' })
    for (const chave of ['slow', 'dead']) await pay({ txid: (await charge({ chave })).txid, times: 300 })
    await eventually(async () => held > 0 && (await stats()).notifications.failed > 0)
    const from = performance.now()
    await sandbox.stop()
    expect(performance.now() - from).toBeLessThan(patient(1000))
  })
})
