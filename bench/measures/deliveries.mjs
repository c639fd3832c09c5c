// Measure 13: webhook deliveries beside a bare signing loop, and how long an event waits from its commit to its first
// byte at the receiver, at half of the load that was measured.
import { startProgram } from '../stage/children.mjs'
import { withCost } from '../stage/cost.mjs'
import { describeDisk, timeDisk } from '../stage/disk.mjs'
import { compare, percentile, takeTurns } from './turns.mjs'

const WARM_UP_EVENTS = 2_000
// As often as the load writes events.
const WRITES_PER_SECOND = 200
const MIN_RATIO = 0.7
const MAX_P50_MS = 3
const MAX_P99_MS = 25

export const deliveryMeasures = {
  13: async (bench) => {
    const sides = { ours: () => send(bench, 'deliver'), reference: () => send(bench, 'bare') }
    const result = compare(await takeTurns(bench, sides))
    bench.show('the disk alone')
    const disk = await timeDisk(bench.stage.home, { perSecond: WRITES_PER_SECOND, seconds: bench.options.waitSeconds })
    bench.show('at half load')
    const { program } = await bench.once(deliverer)
    const half = { perSecond: Math.round(result.ours / 2), seconds: bench.options.waitSeconds }
    const waits = await program.ask('wait', half)
    const [p50Ms, p99Ms] = [percentile(waits, 0.5), percentile(waits, 0.99)]
    Object.assign(result.details.ours, { p50Ms, p99Ms, events: waits.length })
    return {
      ...result,
      note: describeDisk(disk),
      target: `≥ ${MIN_RATIO}; p50 ≤ ${MAX_P50_MS} ms, p99 ≤ ${MAX_P99_MS} ms`,
      met: result.ratio >= MIN_RATIO && p50Ms <= MAX_P50_MS && p99Ms <= MAX_P99_MS,
    }
  },
}

export function deliver(bench) {
  return send(bench, 'deliver')
}

async function send(bench, how) {
  const { program, receiverPid } = await bench.once(deliverer)
  const events = bench.options.deliveryEvents
  return withCost(bench.stage, { node: program.pid, load: receiverPid }, () => program.ask(how, { events }))
}

/** It holds events and nothing else. */
export function deliveriesDatabase({ name }) {
  return `${name}_webhooks`
}

export async function deliverer({ stage }) {
  const program = await startProgram('deliver-load.mjs')
  const name = deliveriesDatabase(stage)
  await stage.database.create(name)
  const databaseUrl = stage.database.urlOf(name)
  const { receiverPid } = await program.ask('open', { databaseUrl })
  // A process that has just started is slow.
  for (const how of ['bare', 'deliver']) await program.ask(how, { events: WARM_UP_EVENTS })
  return { program, receiverPid }
}
