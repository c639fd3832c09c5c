// Webhook deliveries in a process of its own: the worker that delivers, and a bare undici loop that signs the same
// bytes and posts them to the same receiver. Its database holds events and nothing else, so that only they count.
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { makeSigningSecret, signMessage } from '../server/dist/domain/webhooks/signature.js'
import { startDeliverWorker } from '../server/dist/workers/deliver.js'
import { accountWithWebhook, collectGarbage, openContext, startSink } from './fixture.mjs'
import { answerQuestions } from './stage/questions.mjs'
import { sharedMs } from './stage/raw-http.mjs'

const AT_ONCE = 128
// As settlements do under load: each writes the events of what gathered meanwhile, and says since when they are due.
const WRITE_EVERY_MS = 5
const ARRIVED_WITHIN_MS = 120_000

let fixture
let sink
let writeEvents

answerQuestions({
  async open({ databaseUrl }) {
    fixture = await openContext(databaseUrl)
    sink = await startSink()
    writeEvents = await accountWithWebhook(fixture.ctx, sink.url)
    startDeliverWorker(fixture.ctx)
    return { receiverPid: sink.pid }
  },
  bare: ({ events }) => bareLoop(events),
  deliver: ({ events }) => deliveries(events),
  /** Events at a rate: how long each took from its commit to its first byte at the receiver, in milliseconds. */
  wait: ({ perSecond, seconds }) => waits(perSecond, seconds),
})

async function bareLoop(events) {
  const secret = makeSigningSecret()
  const pool = new Pool(sink.origin, { connections: AT_ONCE })
  const body = bareBody()
  let left = events
  const post = async () => {
    while (left-- > 0) {
      const id = `evt_${String(left).padStart(32, '0')}`
      const timestamp = String(Math.floor(Date.now() / 1000))
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signMessage([secret], { id, timestamp, body }),
      }
      const answer = await pool.request({ path: '/hook', method: 'POST', headers, body })
      await answer.body.dump()
    }
  }
  collectGarbage()
  const began = performance.now()
  await Promise.all(Array.from({ length: AT_ONCE }, post))
  const perSecond = (events * 1000) / (performance.now() - began)
  await pool.close()
  return { perSecond, requests: events }
}

function bareBody() {
  return JSON.stringify({
    id: `evt_${'0'.repeat(32)}`,
    event: 'DEPOSIT_ASSET_SUCCESS',
    createdAt: new Date().toISOString(),
    data: {
      transactionId: '0'.repeat(32),
      paymentLinkId: '0'.repeat(36),
      externalId: null,
      value: 5000,
      originalValue: 5000,
      fee: 50,
      creditedValue: 4950,
      status: 'COMPLETED',
      paidLate: false,
      endToEndId: 'E'.repeat(32),
      paidAt: new Date().toISOString(),
    },
  })
}

/** From rows in the queue to rows in the log. */
async function deliveries(events) {
  await sink.ask('reset')
  const now = new Date()
  await writeEvents(events, now)
  collectGarbage()
  const began = performance.now()
  fixture.ctx.wakeDeliveries(now)
  await arrived(events)
  await fixture.ctx.attempts.drained()
  return { perSecond: (events * 1000) / (performance.now() - began), requests: events }
}

async function waits(perSecond, seconds) {
  await sink.ask('reset')
  const committed = new Map()
  const beganMs = performance.now()
  const endMs = beganMs + seconds * 1000
  while (performance.now() < endMs) {
    const due = Math.floor(((performance.now() - beganMs) * perSecond) / 1000) - committed.size
    if (due > 0) {
      const now = new Date()
      const names = await writeEvents(due, now)
      const at = sharedMs()
      for (const name of names) committed.set(name, at)
      fixture.ctx.wakeDeliveries(now)
    }
    await sleep(WRITE_EVERY_MS)
  }
  await arrived(committed.size)
  const { arrivals } = await sink.ask('arrivals')
  // A receiver may get an event before the writer hears of its own commit.
  return arrivals.map(([id, at]) => Math.max(0, at - committed.get(id)))
}

async function arrived(count) {
  const endMs = performance.now() + ARRIVED_WITHIN_MS
  for (let seen = 0; seen < count; seen = (await sink.ask('count')).count) {
    if (performance.now() > endMs) throw new Error(`only ${seen} of ${count} events arrived`)
    await sleep(5)
  }
}
