// How long a healthy receiver waits for its events, from commit to arrival, alone and beside 99 that hang with full queues. Each round has a database and dead
// receivers of its own, as those that go on hanging are left alone; the medians of the rounds are compared, as a machine's own hiccups come in clusters.
import { setTimeout as sleep } from 'node:timers/promises'
import { startDeliverWorker } from '../server/dist/workers/deliver.js'
import { accountWithWebhook, median, openHouse, percentile, startSink, startSinks } from './house.mjs'

const DEAD = 99
const EVENTS = Number(process.env.EVENTS ?? 1_000)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const PAUSE_MS = 5

const rounds = []
while (rounds.length < ROUNDS) {
  rounds.push(await measure())
  const { alone, beside } = rounds.at(-1)
  console.log(`round ${rounds.length}: alone ${show(alone)}; beside ${DEAD} dead ${show(beside)}`)
}
const p99 = (name) => median(rounds.map((round) => percentile(round[name], 0.99)))
console.log(`p99 beside the dead: ${(p99('beside') / p99('alone')).toFixed(2)} of p99 alone`)

function show(waited) {
  return `p50 ${percentile(waited, 0.5).toFixed(1)} ms, p99 ${percentile(waited, 0.99).toFixed(1)} ms`
}

async function measure() {
  const house = await openHouse()
  const healthy = await startSink()
  const write = await accountWithWebhook(house.ctx, healthy.url)
  const worker = startDeliverWorker(house.ctx)
  await waits(house, healthy, write, EVENTS / 4) // warms up
  const alone = await waits(house, healthy, write, EVENTS)

  const dead = await startSinks(DEAD, 'hang')
  for (const sink of dead) await (await accountWithWebhook(house.ctx, sink.url))(50)
  house.ctx.wakeDeliveries()
  await sleep(1_000)
  const beside = await waits(house, healthy, write, EVENTS)

  for (const sink of [healthy, ...dead]) sink.stop()
  await house.ctx.webhookSender.close()
  await worker.stop()
  await house.close()
  return { alone, beside }
}

async function waits(house, healthy, write, count) {
  await healthy.ask('reset')
  const committed = new Map()
  for (let index = 0; index < count; index++) {
    const [id] = await write(1)
    committed.set(`evt_${id.replaceAll('-', '')}`, performance.timeOrigin + performance.now())
    house.ctx.wakeDeliveries()
    await sleep(PAUSE_MS)
  }
  while ((await healthy.ask('count')).count < count) await sleep(20)
  const { arrivals } = await healthy.ask('arrivals')
  return arrivals.map(([id, at]) => Math.max(0, at - committed.get(id)))
}
