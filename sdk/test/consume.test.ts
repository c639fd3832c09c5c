import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, expectTypeOf, inject, onTestFinished, test } from 'vitest'
import { makeGuiche } from '../src/client.ts'
import type { ConsumeOptions, GuicheEvent, GuicheOptions, HandleEvent } from '../src/client.ts'
import { catchError } from './errors.ts'
import { createAccount } from './guiche-process.ts'
import { startProxy, startScripted } from './sockets.ts'

const { url, bankUrl } = inject('guiche')
const key = await createAccount(inject('guiche'), 'follower@example.com')
const clientOf = (options: Partial<GuicheOptions> = {}) => makeGuiche({ url, key, retryForMs: 0, ...options })
const guiche = clientOf()
/** Also waits for an event that has no position yet. */
const patient = makeGuiche({ url, key })

// The key is an event too. It has its place before a test begins at now.
while ((await guiche.events.head()).position === 0) await sleep(20)

/** Returns the id of the event. */
async function pay(): Promise<string> {
  const charge = await guiche.deposits.create({ value: 1_00 })
  const headers = { 'content-type': 'application/json' }
  await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers, body: JSON.stringify({ emv: charge.emv }) })
  await guiche.deposits.waitUntilPaid(charge.paymentLinkId, { intervalMs: 20 })
  return `evt_DEPOSIT_ASSET_SUCCESS_${charge.id}`
}

/** A consumer with a cursor that outlives it, as in a table. It stops with the test. */
function consumer({ from = 'now', client = guiche }: { from?: string; client?: typeof guiche } = {}) {
  let cursor: string | undefined
  const handled: string[] = []
  const failures: unknown[] = []
  const start = (options: ConsumeOptions = {}, work: HandleEvent = () => {}) => {
    const stopping = new AbortController()
    onTestFinished(() => stopping.abort())
    const ended = client.events.consume(
      async (event, at) => {
        await work(event, at)
        handled.push(event.id)
      },
      {
        from,
        load: () => cursor,
        save: (next) => void (cursor = next),
        onError: (error) => void failures.push(error),
        signal: stopping.signal,
        ...options,
      },
    )
    const stop = async () => {
      stopping.abort()
      await ended
    }
    return { ended, stop }
  }
  const begun = async () => {
    await expect.poll(() => cursor).toBeDefined()
  }
  return { start, begun, handled, failures, cursor: () => cursor }
}

describe('a consumer', () => {
  test('gets each event once and in order, over a network that fails, and goes on where it stopped', async () => {
    const proxy = await startProxy(url)
    const shop = consumer({ client: clientOf({ url: proxy.url }) })
    const first = shop.start()
    await shop.begun()
    const paid = [await pay(), await pay()]
    await expect.poll(() => shop.handled).toEqual(paid)
    await first.stop()

    paid.push(await pay(), await pay())
    proxy.loseAnswers(1)
    const second = shop.start()
    paid.push(await pay())
    await expect.poll(() => shop.handled).toEqual(paid)
    await second.stop()
    expect(shop.failures).toMatchObject([{ code: 'network' }])
  })

  test('gets an event again until its handler succeeds, and none before it', async () => {
    const shop = consumer()
    const tried: string[] = []
    const { stop } = shop.start({}, ({ id }) => {
      tried.push(id)
      if (tried.length === 1) throw new Error('the database is away')
    })
    await shop.begun()
    const paid = [await pay(), await pay()]
    await expect.poll(() => shop.handled).toEqual(paid)
    await stop()
    expect(tried).toEqual([paid[0], ...paid])
    expect(shop.failures).toEqual([new Error('the database is away')])
  })

  test('that cannot store its cursor tries that again, and not the handler', async () => {
    const shop = consumer()
    const saved: string[] = []
    let saves = 0
    const { stop } = shop.start({
      save: (cursor) => {
        if (++saves === 2) throw new Error('the disk is full')
        saved.push(cursor)
      },
    })
    await expect.poll(() => saved).toHaveLength(1)
    const paid = await pay()
    await expect.poll(() => saved).toHaveLength(2)
    await stop()
    expect(shop.handled).toEqual([paid])
  })

  test('that begins now keeps that place, so that a restart skips nothing', async () => {
    const shop = consumer()
    const first = shop.start()
    await shop.begun()
    await first.stop()
    const paid = await pay()
    const second = shop.start()
    await expect.poll(() => shop.handled).toEqual([paid])
    await second.stop()
  })

  test('ends after the event that its handler is working on', async () => {
    const shop = consumer()
    const stopping = new AbortController()
    const { ended } = shop.start({ signal: stopping.signal }, () => stopping.abort())
    await shop.begun()
    const before = shop.cursor()
    const paid = await pay()
    await pay()
    await ended
    expect(shop.handled).toEqual([paid])
    expect(shop.cursor()).not.toBe(before)
  })

  test('ends with what onError throws, and with a key that is refused', async () => {
    await pay()
    const reason = new Error('give up')
    const giveUp = () => {
      throw reason
    }
    await expect(consumer({ from: 'beginning' }).start({ onError: giveUp }, giveUp).ended).rejects.toBe(reason)
    const refused = consumer({ client: clientOf({ key: 'gk_test_wrong' }) }).start()
    expect(await catchError(refused.ended)).toMatchObject({ code: 'key_invalid' })
  })

  test('of a history that the service lost ends with what to do, or goes on from where it is told', async () => {
    const { historyId } = await guiche.events.head()
    const lost = `${historyId}.999999`
    const { ended } = consumer({ from: lost }).start()
    expect(await catchError(ended)).toMatchObject({
      code: 'history_changed',
      message: expect.stringContaining('after=0'),
    })

    const shop = consumer({ from: lost })
    const { stop } = shop.start({ onHistoryChanged: () => '0' })
    const { events } = await guiche.events.after({ limit: 1 })
    await expect.poll(() => shop.handled[0]).toBe(events[0]!.id)
    await stop()
  })
})

test('a page tells its events as webhooks do, and where to read on', async () => {
  const ids = [await pay(), await pay()]
  await patient.events.receipt(ids[1]!)
  const { position, historyId } = await guiche.events.head()
  const first = await guiche.events.after({ after: `${historyId}.${position - 2}`, limit: 1 })
  expect(first).toMatchObject({ events: [{ id: ids[0], position: position - 1 }], done: false, historyId })
  const second = await guiche.events.after({ after: first.next, wait: 1 })
  expect(second).toMatchObject({ events: [{ id: ids[1], position }], done: true, next: `${historyId}.${position}` })
  expect(await guiche.events.after({ after: second.next, wait: 1 })).toMatchObject({ events: [], next: second.next })
  expectTypeOf(first.events).items.toExtend<GuicheEvent>()
})

test('a page with a gap, or of a server that knows no positions, is refused', async () => {
  const event = { id: 'evt_1', event: 'WEBHOOK_TEST', createdAt: '2026-01-01T00:00:00Z', data: {} }
  const gap = { success: true, events: [{ ...event, position: 7 }], next: 'h.7', done: true, historyId: 'h' }
  for (const answer of [gap, { success: true, events: [], nextCursor: null }]) {
    const server = await startScripted({ status: 200, body: JSON.stringify(answer) })
    const read = clientOf({ url: server.url }).events.after({ after: 'h.5' })
    expect(await catchError(read)).toMatchObject({ code: 'unexpected_answer', isTransient: false })
  }
})

test('an event has a receipt, and heads prove that the log went on', async () => {
  const { size } = await guiche.events.head()
  const id = await pay()
  const receipt = await patient.events.receipt(id)
  expect(receipt).toMatch(/^c2sp\.org\/tlog-proof@v1\nextra \S+\nindex \d+\n/)
  const head = await guiche.events.head({ since: size })
  expect(head.size).toBeGreaterThan(size)
  expect(head.consistency?.length).toBeGreaterThan(0)
  expect(await catchError(guiche.events.receipt('evt_DEPOSIT_REFUNDED_00'))).toMatchObject({ code: 'not_found' })
})
