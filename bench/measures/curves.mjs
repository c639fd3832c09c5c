// Throughput and the slow end of waiting against the load that is offered, for measures 1, 10 and 14.
import { makeAccounts, makeCharges } from '../stage/books.mjs'
import { liveOnce } from './lives.mjs'
import { notifier, waitForCredits } from './notifications.mjs'
import { createDeposit, loadService } from './requests.mjs'
import { percentile } from './turns.mjs'

const CONNECTIONS = [1, 2, 4, 8, 16, 32, 64, 128]
const LIVES_AT_ONCE = [1, 4, 16, 32, 64, 128, 256]
/** Of the rate that was measured: beyond it, waiting grows as long as the load lasts. */
const SHARES = [0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1]
const PER_POST = 20

export const curves = {
  1: (bench) =>
    pointsOf(bench, 'connections', CONNECTIONS, async (connections) => {
      const { perSecond, p99Ms } = await loadService(bench, createDeposit(), bench.options.curveSeconds, connections)
      return { perSecond, p99Ms }
    }),
  10: async (bench, { ours }) => {
    const rates = SHARES.map((share) => Math.round(share * ours))
    const points = await pointsOf(bench, 'payments a second', rates, (perSecond) => creditAt(bench, perSecond))
    return { ...points, name: `credited, ${PER_POST} Pix per notification` }
  },
  14: (bench) =>
    pointsOf(bench, 'lives at once', LIVES_AT_ONCE, async (atOnce) => {
      const { perSecond, lifeP99Ms } = await liveOnce(bench, { atOnce, seconds: bench.options.curveSeconds })
      return { perSecond, p99Ms: lifeP99Ms }
    }),
}

async function pointsOf(bench, unit, offers, measure) {
  const points = []
  for (const offered of offers) {
    bench.show(`curve, ${offered.toLocaleString('en')} ${unit}`)
    points.push({ offered, ...(await measure(offered)) })
  }
  return { unit, points }
}

/** Payments made and notified at a rate: how fast they are credited, and how long each waits from its notification. */
async function creditAt(bench, perSecond) {
  const { stage, options } = bench
  const program = await bench.once(notifier)
  const { webhookUrl: url } = await stage.bank.ask('state')
  const count = Math.max(PER_POST, perSecond * options.curveSeconds)
  const accounts = await makeAccounts(stage.pool, 1)
  const charges = await makeCharges(stage.books, { count, accounts })
  const pace = { perPost: PER_POST, connections: 32, perSecond }
  const txids = charges.map(({ txid }) => txid)
  const posted = await program.ask('pace', { url, bankUrl: stage.bank.url, txids, ...pace })
  if ((await waitForCredits(stage, accounts, count, options.creditWithinSeconds)) < count)
    throw new Error(`payments at ${perSecond} a second were not credited in time`)
  const postedAt = new Map(posted.flatMap(({ at, endToEndIds }) => endToEndIds.map((id) => [id, at])))
  const rows = await stage.database.read(
    'select end_to_end_id, recorded_at from payments where end_to_end_id = any($1)',
    [[...postedAt.keys()]],
  )
  // A list that was read for the one before may show it before it is notified.
  const waits = rows.map((row) => Math.max(0, row.recorded_at.getTime() - postedAt.get(row.end_to_end_id)))
  const lastAt = Math.max(...rows.map(({ recorded_at: at }) => at.getTime()))
  return { perSecond: (count * 1000) / (lastAt - posted[0].at), p99Ms: percentile(waits, 0.99) }
}
