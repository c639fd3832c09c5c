// How long a healthy receiver waits for its events, from commit to arrival, alone and beside 99 that hang with full queues.
import { setTimeout as sleep } from 'node:timers/promises'
import { startDeliverWorker } from '../server/dist/workers/deliver.js'
import { accountWithEndpoint, openHouse, percentile, startSink, startSinks } from './house.mjs'

const DEAD = 99
const EVENTS = Number(process.env.EVENTS ?? 3_000)
const PAUSE_MS = 5

const house = await openHouse()
const healthy = await startSink()
const writeHealthy = await accountWithEndpoint(house.ctx, healthy.url)
const worker = startDeliverWorker(house.ctx)
await waits(EVENTS / 4) // warms up
const alone = await waits(EVENTS)

const dead = await startSinks(DEAD, 'hang')
for (const sink of dead) await (await accountWithEndpoint(house.ctx, sink.url))(50)
house.ctx.wakeDeliveries()
await sleep(1_000)
const beside = await waits(EVENTS)

const show = (name, numbers) =>
  console.log(
    `${name.padEnd(18)} p50 ${percentile(numbers, 0.5).toFixed(1)} ms, p99 ${percentile(numbers, 0.99).toFixed(1)} ms`,
  )
show('alone', alone)
show(`beside ${DEAD} dead`, beside)
console.log(`p99 beside the dead: ${(percentile(beside, 0.99) / percentile(alone, 0.99)).toFixed(2)} of p99 alone`)
for (const sink of [healthy, ...dead]) sink.stop()
await house.ctx.courier.close()
await worker.stop()
await house.close()

async function waits(count) {
  await healthy.ask('reset')
  const committed = new Map()
  for (let index = 0; index < count; index++) {
    const [id] = await writeHealthy(1)
    committed.set(`evt_${id.replaceAll('-', '')}`, performance.timeOrigin + performance.now())
    house.ctx.wakeDeliveries()
    await sleep(PAUSE_MS)
  }
  while ((await healthy.ask('count')).count < count) await sleep(20)
  const { arrivals } = await healthy.ask('arrivals')
  return arrivals.map(([id, at]) => Math.max(0, at - committed.get(id)))
}
