// Measures 8 and 9: payments settled through the public function, beside PostgreSQL's own TPC-B.
import { makeAccounts, makeCharges, makePayments, recordAtBank } from '../stage/books.mjs'
import { startProgram } from '../stage/children.mjs'
import { withCost } from '../stage/cost.mjs'
import { openTpcb } from '../stage/tpcb.mjs'
import { compare, summarize, takeTurns } from './turns.mjs'

const MANY = 1_000
const IN_FLIGHT = [1, 2]
const WARM_UP_PAYMENTS = 1_000

export const settlementMeasures = {
  8: async (bench) => {
    const tpcb = await bench.once(tpcbOf)
    const one = await bench.once(oneAccount)
    const turns = await takeTurns(bench, {
      ours: () => settleBest(bench, one),
      reference: () => referenceRate(bench, tpcb),
    })
    const result = compare(turns)
    result.details.ours.inFlight = inFlightRates(turns.ours)
    return { ...result, referenceName: `${tpcb.name}, ${tpcb.clients()} clients` }
  },
  9: async (bench) => {
    const one = await bench.once(oneAccount)
    const many = await bench.once(manyAccounts)
    return compare(
      await takeTurns(bench, { ours: () => settleBest(bench, one), reference: () => settleBest(bench, many) }),
    )
  },
}

export function tpcbOf({ stage }) {
  return openTpcb(stage.database)
}

export async function referenceRate({ options }, tpcb) {
  return { perSecond: await tpcb.measure(options.tpcbSeconds) }
}

export function oneAccount({ stage }) {
  return makeAccounts(stage.pool, 1)
}

function manyAccounts({ stage }) {
  return makeAccounts(stage.pool, MANY)
}

async function settler({ stage }) {
  const program = await startProgram('settle-load.mjs')
  await program.ask('open', { databaseUrl: stage.database.url })
  // A process that has just started is slow.
  await settleOnce(stage, program, { accounts: [stage.account], inFlight: 1, count: WARM_UP_PAYMENTS })
  return program
}

/** The better of batches one after another and two in flight, as pgbench gets its best number of clients. */
export async function settleBest(bench, accounts) {
  const program = await bench.once(settler)
  const runs = []
  for (const inFlight of IN_FLIGHT)
    runs.push(await settleOnce(bench.stage, program, { accounts, inFlight, count: bench.options.payments }))
  const best = runs.toSorted((a, b) => b.perSecond - a.perSecond)[0]
  return { ...best, rates: runs.map(({ perSecond }) => perSecond) }
}

async function settleOnce(stage, program, { accounts, inFlight, count }) {
  const charges = await makeCharges(stage.books, { count, accounts })
  const payments = makePayments(charges)
  const result = await withCost(stage, { node: program.pid, load: process.pid }, async () => ({
    ...(await program.ask('settle', { payments, inFlight })),
    requests: count,
  }))
  await recordAtBank(stage.books, payments)
  return { ...result, inFlight }
}

function inFlightRates(turns) {
  return Object.fromEntries(
    IN_FLIGHT.map((inFlight, index) => [
      inFlight,
      summarize(turns.map(({ rates }) => ({ perSecond: rates[index] }))).perSecond,
    ]),
  )
}
