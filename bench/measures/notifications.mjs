// Measures 10, 11 and 12: charges are paid at the bank, the bank notifies, and the service asks, settles and credits.
// The time runs from the first notification until the database has credited the last payment.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CREDITED_CENTS, creditedCents, makeAccounts, makeCharges, makePayments } from '../stage/books.mjs'
import { startProgram } from '../stage/children.mjs'
import { withCost } from '../stage/cost.mjs'
import { referenceRate, tpcbOf } from './settlement.mjs'
import { compare, takeTurns } from './turns.mjs'

const MANY_PER_POST = { perPost: 100, connections: 4 }
const ONE_PER_POST = { perPost: 1, connections: 32 }
const POLL_MS = 20
const FINISH_WITHIN_SECONDS = 300
const ALL = 10_000
const CALLS_PER_SECOND = 10
const MAX_SECONDS = 15
const MAX_CALLS = 40

export const notificationMeasures = {
  10: async (bench) => {
    const tpcb = await bench.once(tpcbOf)
    const sides = { ours: () => creditMany(bench), reference: () => referenceRate(bench, tpcb) }
    return { ...compare(await takeTurns(bench, sides)), referenceName: `${tpcb.name}, ${tpcb.clients()} clients` }
  },
  11: async (bench) => {
    return compare(
      await takeTurns(bench, {
        ours: () => credit(bench, bench.options.payments, ONE_PER_POST),
        reference: () => insertEach(bench, bench.options.payments),
      }),
    )
  },
  12: async (bench) => {
    const { bank } = bench.stage
    await bank.control('limit', { perSecond: CALLS_PER_SECOND })
    const result = await credit(bench, ALL, MANY_PER_POST)
    const calls = Object.values(result.calls).reduce((sum, count) => sum + count, 0)
    await bank.control('limit', { perSecond: 0 })
    // One call each is what a service does that asks for every charge.
    const [seconds, oneByOne] = [ALL / result.perSecond, ALL / CALLS_PER_SECOND]
    return {
      ours: seconds,
      reference: oneByOne,
      ratio: oneByOne / seconds,
      unit: 's',
      target: `≤ ${MAX_SECONDS} s, ≤ ${MAX_CALLS} calls`,
      met: result.isWhole && seconds <= MAX_SECONDS && calls <= MAX_CALLS,
      details: { credited: result.requests, calls, callsByOperation: result.calls },
      note: `${calls} calls${result.isWhole ? '' : `; only ${result.requests} were credited, and the rest is reckoned`}`,
    }
  },
}

/** Payments that come a hundred in a notification. */
export function creditMany(bench) {
  return credit(bench, bench.options.payments, MANY_PER_POST)
}

export async function notifier() {
  return startProgram('notify-load.mjs')
}

/** Charges of a new account, paid at the bank. */
async function paidCharges({ stage }, count) {
  const accounts = await makeAccounts(stage.pool, 1)
  const charges = await makeCharges(stage.books, { count, accounts })
  const payments = await stage.bank.control('pay', { txids: charges.map(({ txid }) => txid) })
  return { accounts, payments }
}

async function credit(bench, count, posts) {
  const { stage, options } = bench
  const program = await bench.once(notifier)
  const { webhookUrl: url } = await stage.bank.ask('state')
  const { accounts, payments } = await paidCharges(bench, count)
  const result = await withCost(stage, { node: stage.service.pid(), load: program.pid }, async () => {
    // A sweep of the service may have come first.
    const before = await creditedCount(stage, accounts)
    await stage.bank.control('reset-calls')
    const beganMs = performance.now()
    const posting = program.ask('post', { url, payments, ...posts })
    const credited = await waitForCredits(stage, accounts, count, options.creditWithinSeconds)
    const tookMs = performance.now() - beganMs
    const calls = await stage.bank.control('calls')
    const { perSecond: postsPerSecond } = await posting
    const requests = credited - before
    return { requests, perSecond: (requests * 1000) / tookMs, postsPerSecond, calls, isWhole: credited === count }
  })
  if (!result.isWhole) await finish(stage, accounts, count)
  return result
}

async function creditedCount(stage, accounts) {
  return (await creditedCents(stage.database, accounts)) / CREDITED_CENTS
}

/** Resolves to how many were credited in time. */
export async function waitForCredits(stage, accounts, count, seconds) {
  const endMs = performance.now() + seconds * 1000
  for (;;) {
    const credited = await creditedCount(stage, accounts)
    if (credited >= count || performance.now() > endMs) return credited
    await sleep(POLL_MS)
  }
}

/** What was too slow to be counted must not burden the next measure. */
async function finish(stage, accounts, count) {
  await stage.bank.control('limit', { perSecond: 0 })
  if (stage.service.callsPerSecond() !== 0) await stage.service.restart()
  if ((await waitForCredits(stage, accounts, count, FINISH_WITHIN_SECONDS)) < count)
    throw new Error(`payments were not credited within ${FINISH_WITHIN_SECONDS} s of their notification`)
}

/** The bare handler: one INSERT for each notification. */
async function insertEach(bench, count) {
  const { stage } = bench
  const program = await bench.once(notifier)
  const txids = Array.from({ length: count }, () => ({ txid: randomBytes(16).toString('hex') }))
  const payments = makePayments(txids).map(({ occurredAt, ...payment }) => ({ ...payment, at: occurredAt }))
  const url = `${stage.reference.url}/notifications`
  return withCost(stage, { node: stage.reference.pid, load: program.pid }, () =>
    program.ask('post', { url, payments, ...ONE_PER_POST }),
  )
}
