// Measures 14 and 15: whole lives of deposits, and what the service itself adds to a POST.
import { cpus } from 'node:os'
import { makeAccounts, makeApiKey } from '../stage/books.mjs'
import { startProgram } from '../stage/children.mjs'
import { withCost } from '../stage/cost.mjs'
import { describeDisk, timeDisk } from '../stage/disk.mjs'
import { percentile, summarize, takeTurns } from './turns.mjs'

const AT_ONCE = 128
const MIN_PER_SECOND = 1_000
// What others report: DBOS, workflows a second on one core; Hyperswitch, its own time of a payment.
const DBOS_PER_CORE = 450
const HYPERSWITCH_MS = 25

const PACE_PER_SECOND = 100
const MAX_P50_MS = 5
const MAX_P99_MS = 20

export const lifeMeasures = {
  14: async (bench) => {
    const ours = summarize((await takeTurns(bench, { ours: () => liveOnce(bench) })).ours)
    const reference = DBOS_PER_CORE * cpus().length
    return {
      ours: ours.perSecond,
      reference,
      ratio: ours.perSecond / reference,
      referenceName: `${DBOS_PER_CORE} a core, as DBOS reports`,
      target: `≥ ${MIN_PER_SECOND.toLocaleString('en')}/s`,
      met: ours.perSecond >= MIN_PER_SECOND,
      details: { ours },
      note: `whole life p50 ${ours.lifeP50Ms.toFixed(0)} ms, p99 ${ours.lifeP99Ms.toFixed(0)} ms`,
    }
  },
  15: async (bench) => {
    const { stage, options } = bench
    const program = await bench.once(livesOf)
    const pace = { perSecond: PACE_PER_SECOND, seconds: options.paceSeconds }
    bench.show('the disk alone')
    const disk = await timeDisk(stage.home, pace)
    await stage.bank.control('watch-times')
    bench.show(`${PACE_PER_SECOND} a second`)
    const posts = await program.ask('pace', pace)
    const bankMs = await stage.bank.control('times')
    const own = posts.map(({ txid, tookMs }) => tookMs - bankMs[txid])
    const [p50Ms, p99Ms] = [percentile(own, 0.5), percentile(own, 0.99)]
    return {
      ours: p50Ms,
      reference: HYPERSWITCH_MS,
      ratio: HYPERSWITCH_MS / p50Ms,
      unit: 'ms',
      target: `p50 ≤ ${MAX_P50_MS} ms, p99 ≤ ${MAX_P99_MS} ms`,
      met: p50Ms <= MAX_P50_MS && p99Ms <= MAX_P99_MS,
      details: { ours: { p50Ms, p99Ms, requests: own.length }, disk },
      note: describeDisk(disk),
    }
  },
}

/** Lives for some seconds, with what one costs. */
export async function liveOnce(bench, { seconds = bench.options.lifeSeconds, atOnce = AT_ONCE } = {}) {
  const { stage } = bench
  const program = await bench.once(livesOf)
  return withCost(stage, { node: stage.service.pid(), load: program.pid }, () =>
    program.ask('live', { atOnce, seconds }),
  )
}

/** The program that lives, as an account holder with a webhook. */
export async function livesOf({ stage }) {
  const { bank, service, pool } = stage
  const program = await startProgram('lives.mjs')
  const [account] = await makeAccounts(pool, 1)
  const headers = { authorization: `Bearer ${await makeApiKey(pool, account)}` }
  const { webhookUrl: notifyUrl } = await bank.ask('state')
  const url = await program.ask('open', { serviceUrl: service.url, bankUrl: bank.url, notifyUrl, headers })
  const answer = await fetch(`${service.url}/api/webhooks`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  })
  if (answer.status !== 201) throw new Error(`the webhook was refused: ${await answer.text()}`)
  return program
}
