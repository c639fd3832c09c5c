// Measures 1 to 7: one kind of request to the service beside the handler that a user would write for it.
import { transact } from '../../server/dist/db/tx.js'
import { settle } from '../../server/dist/domain/deposits/settle.js'
import { makeCharges, makePayments, recordAtBank, VALUE_CENTS } from '../stage/books.mjs'
import { withCost } from '../stage/cost.mjs'
import { loadHttp } from '../stage/http-load.mjs'
import { compare, takeTurns } from './turns.mjs'

const PENDING = 500
const COMPLETED = 2_000
const BODY = JSON.stringify({ value: VALUE_CENTS })

export const requestMeasures = {
  // The first measure of a service that has just started: it is never without a warm-up.
  1: (bench) =>
    beside({ ...bench, warmUp: true }, createDeposit(), { method: 'POST', paths: ['/deposit'], body: BODY }),
  2: async (bench) => {
    const { pending } = await bench.once(charges)
    return beside(bench, { paths: pathsOf(pending, '/api/deposit') }, { paths: pathsOf(pending, '/asked') })
  },
  3: async (bench) => {
    const one = (await bench.once(charges)).pending.slice(0, 1)
    return beside(bench, { paths: pathsOf(one, '/api/deposit') }, { paths: pathsOf(one, '/asked') })
  },
  4: async (bench) => {
    const { completed } = await bench.once(charges)
    return beside(bench, { paths: pathsOf(completed, '/api/deposit') }, { paths: pathsOf(completed, '/deposit') })
  },
  5: async (bench) => {
    const { completed } = await bench.once(charges)
    const paths = pathsOf(completed, '/api/deposit')
    const { stage } = bench
    const answer = await fetch(stage.service.url + paths[0], { headers: stage.headers })
    await stage.reference.ask('setConstant', { text: await answer.text() })
    return beside(bench, { paths }, { paths: ['/constant'] })
  },
  6: async (bench) => {
    await bench.once(charges)
    return beside(bench, { paths: ['/api/balance'] }, { paths: ['/balance'] })
  },
  7: async (bench) => {
    await bench.once(charges)
    return beside(bench, { paths: ['/api/deposits?limit=50'] }, { paths: ['/deposits'] })
  },
}

export function createDeposit() {
  return { method: 'POST', paths: ['/api/deposit'], body: BODY, isKeyed: true }
}

/** One run of requests to the service, or to the reference, with what it costs. */
export function loadService({ stage, options }, request, seconds, connections = options.connections) {
  const { service, headers, home } = stage
  const run = () => loadHttp({ url: service.url, headers, ...request }, { directory: home, connections, seconds })
  return withCost(stage, { node: service.pid() }, run)
}

function loadReference({ stage, options: { connections } }, request, seconds) {
  const { reference, home } = stage
  const run = () => loadHttp({ url: reference.url, ...request }, { directory: home, connections, seconds })
  return withCost(stage, { node: reference.pid }, run)
}

async function beside(bench, ours, reference) {
  const { seconds, warmUpSeconds } = bench.options
  const secondsOf = (round) => (round === 0 ? warmUpSeconds : seconds)
  return compare(
    await takeTurns(bench, {
      ours: (round) => loadService(bench, ours, secondsOf(round)),
      reference: (round) => loadReference(bench, reference, secondsOf(round)),
    }),
  )
}

function pathsOf(charges, prefix) {
  return charges.map(({ paymentLinkId }) => `${prefix}/${paymentLinkId}`)
}

/** The charges that are asked for: the same at the service, at the reference and at the bank. */
async function charges({ stage }) {
  const made = await makeCharges(stage.books, { count: PENDING + COMPLETED, accounts: [stage.account] })
  const [pending, completed] = [made.slice(0, PENDING), made.slice(PENDING)]
  const payments = makePayments(completed)
  await transact(stage.pool, (tx) => settle(tx, new Date(), payments))
  await recordAtBank(stage.books, payments)
  await stage.reference.ask('fill', { charges: completed, status: 'COMPLETED' })
  await stage.reference.ask('fill', { charges: pending, status: 'PENDING' })
  return { pending, completed }
}
