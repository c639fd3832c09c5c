// Measures deliveries per second, from rows in the queue to rows in the log, against a bare undici loop that signs the
// same bytes and posts them to the same sink. The two take turns, and the medians are compared.
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { makeSigningSecret, signMessage } from '../server/dist/domain/webhooks/signature.js'
import { startDeliverWorker } from '../server/dist/workers/deliver.js'
import { accountWithWebhook, collectGarbage, median, setUp, startSink } from './fixture.mjs'

const EVENTS = Number(process.env.EVENTS ?? 20_000)
const ROUNDS = Number(process.env.ROUNDS ?? 13)
const AT_ONCE = 128

const fixture = await setUp()
const sink = await startSink()
const writeEvents = await accountWithWebhook(fixture.ctx, sink.url)
const worker = startDeliverWorker(fixture.ctx)
const bare = []
const ours = []
// The first round is a warm-up and does not count.
for (let round = 0; round <= ROUNDS; round++) {
  const rates = [await bareLoop(), await deliveries()]
  console.log(
    `round ${round}${round === 0 ? ' (not counted)' : ''}: bare ${Math.round(rates[0])}/s, guiche ${Math.round(rates[1])}/s, ratio ${(rates[1] / rates[0]).toFixed(2)}`,
  )
  if (round > 0) {
    bare.push(rates[0])
    ours.push(rates[1])
  }
}
console.log(
  `deliveries: ${(median(ours) / median(bare)).toFixed(2)} of a bare loop (${Math.round(median(ours))}/s of ${Math.round(median(bare))}/s)`,
)
await worker.stop()
sink.stop()
await fixture.close()

async function bareLoop() {
  const secret = makeSigningSecret()
  const pool = new Pool(sink.origin, { connections: AT_ONCE })
  const body = JSON.stringify({
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
  let left = EVENTS
  const post = async () => {
    while (left-- > 0) {
      const id = `evt_${String(left).padStart(32, '0')}`
      const timestamp = String(Math.floor(Date.now() / 1000))
      const signature = signMessage([secret], { id, timestamp, body })
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signature,
      }
      const answer = await pool.request({ path: '/hook', method: 'POST', headers, body })
      await answer.body.dump()
    }
  }
  collectGarbage()
  const began = performance.now()
  await Promise.all(Array.from({ length: AT_ONCE }, post))
  const rate = (EVENTS * 1000) / (performance.now() - began)
  await pool.close()
  return rate
}

async function deliveries() {
  await sink.ask('reset')
  await writeEvents(EVENTS)
  collectGarbage()
  const began = performance.now()
  fixture.ctx.wakeDeliveries()
  while ((await sink.ask('count')).count < EVENTS) await sleep(5)
  await fixture.ctx.attempts.drained()
  return (EVENTS * 1000) / (performance.now() - began)
}
