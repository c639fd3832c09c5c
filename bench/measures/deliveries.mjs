// Measure 13: webhook deliveries beside a bare signing loop, and how long an event waits from its commit to its first
// byte at the receiver, at half of the load that was measured.
import { startProgram } from '../stage/children.mjs'
import { withCost } from '../stage/cost.mjs'
import { compare, percentile, takeTurns } from './turns.mjs'

export const DELIVERIES_DATABASE = 'bench_webhooks'

const WARM_UP_EVENTS = 2_000
const MIN_RATIO = 0.7
const MAX_P50_MS = 3
const MAX_P99_MS = 25

export const deliveryMeasures = {
  13: async (bench) => {
    const program = await bench.once(deliverer)
    const { deliveryEvents: events, waitSeconds: seconds } = bench.options
    const turns = await takeTurns(bench, {
      ours: () => deliver(bench),
      reference: () =>
        withCost(bench.stage, { node: program.pid, load: program.pid }, () => program.ask('bare', { events })),
    })
    const result = compare(turns)
    bench.show('at half load')
    const waits = await program.ask('wait', { perSecond: Math.round(result.ours / 2), seconds })
    const [p50Ms, p99Ms] = [percentile(waits, 0.5), percentile(waits, 0.99)]
    Object.assign(result.details.ours, { p50Ms, p99Ms, events: waits.length })
    return {
      ...result,
      target: `≥ ${MIN_RATIO}; p50 ≤ ${MAX_P50_MS} ms, p99 ≤ ${MAX_P99_MS} ms`,
      met: result.ratio >= MIN_RATIO && p50Ms <= MAX_P50_MS && p99Ms <= MAX_P99_MS,
    }
  },
}

export async function deliver(bench) {
  const program = await bench.once(deliverer)
  const events = bench.options.deliveryEvents
  return withCost(bench.stage, { node: program.pid, load: program.pid }, () => program.ask('deliver', { events }))
}

export async function deliverer({ stage }) {
  const program = await startProgram('deliver-load.mjs')
  await stage.database.create(DELIVERIES_DATABASE)
  await program.ask('open', { databaseUrl: stage.database.urlOf(DELIVERIES_DATABASE) })
  // A process that has just started is slow.
  for (const side of ['bare', 'deliver']) await program.ask(side, { events: WARM_UP_EVENTS })
  return program
}
