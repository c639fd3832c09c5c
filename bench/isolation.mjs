// Measures how long a healthy receiver waits for its events, from commit to arrival: alone, and beside 99 receivers
// that hang with full queues. Each round has its own database and receivers, because receivers that keep hanging are
// paused. The medians of the rounds are compared, because delays of the machine come in clusters.
import { setTimeout as sleep } from 'node:timers/promises'
import { startDeliverWorker } from '../server/dist/workers/deliver.js'
import { accountWithWebhook, setUp, startSink, startSinks } from './fixture.mjs'
import { median, percentile } from './measures/turns.mjs'
import { sharedMs } from './stage/raw-http.mjs'

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
  const fixture = await setUp()
  const healthy = await startSink()
  const write = await accountWithWebhook(fixture.ctx, healthy.url)
  const worker = startDeliverWorker(fixture.ctx)
  await waits(fixture, healthy, write, EVENTS / 4) // warm-up
  const alone = await waits(fixture, healthy, write, EVENTS)

  const dead = await startSinks(DEAD, 'hang')
  for (const sink of dead) await (await accountWithWebhook(fixture.ctx, sink.url))(50)
  fixture.ctx.wakeDeliveries()
  await sleep(1_000)
  const beside = await waits(fixture, healthy, write, EVENTS)

  for (const sink of [healthy, ...dead]) sink.stop()
  await fixture.ctx.webhookSender.close()
  await worker.stop()
  await fixture.close()
  return { alone, beside }
}

async function waits(fixture, healthy, write, count) {
  await healthy.ask('reset')
  const committed = new Map()
  for (let index = 0; index < count; index++) {
    const [name] = await write(1)
    committed.set(name, sharedMs())
    fixture.ctx.wakeDeliveries()
    await sleep(PAUSE_MS)
  }
  while ((await healthy.ask('count')).count < count) await sleep(20)
  const { arrivals } = await healthy.ask('arrivals')
  return arrivals.map(([id, at]) => Math.max(0, at - committed.get(id)))
}
