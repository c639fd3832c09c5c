// Measures 16, 17 and 18: what age does to the service. History in the tables, an old snapshot that keeps dead rows
// from being removed, and memory after a long time under load.
import { setTimeout as sleep } from 'node:timers/promises'
import { auditBooks, today } from '../stage/audit.mjs'
import { makeAccounts } from '../stage/books.mjs'
import { isKnown, residentBytes } from '../stage/cpu.mjs'
import { fillHistory } from '../stage/history.mjs'
import { openBeside } from '../stage/stage.mjs'
import { deliver, deliverer, deliveriesDatabase } from './deliveries.mjs'
import { liveOnce } from './lives.mjs'
import { creditMany } from './notifications.mjs'
import { createDeposit, loadService } from './requests.mjs'
import { oneAccount, settleBest } from './settlement.mjs'
import { compare, makeOnce, median, takeTurns } from './turns.mjs'

const MIN_RATIO = 0.9
const MEGABYTE = 2 ** 20
const MAX_MEGABYTES = 250
// The last third of the time may have this much more than the one before it, which is what garbage collection varies.
const FLAT = 1.1
const SAMPLE_MS = 1_000
const OLD_ACCOUNTS = 50

export const enduranceMeasures = {
  16: async (bench) => {
    const result = await beside(bench, AGED_BY_HISTORY, () => history(bench))
    return { ...result, note: `${bench.options.history.toLocaleString('en')} charges; ${result.note}` }
  },
  17: async (bench) => {
    let run
    const result = await beside(bench, AGED_BY_SNAPSHOT, async () => (run = await bench.once(longRun)))
    await run.release()
    return { ...result, note: `a snapshot ${bench.options.longSeconds} s old; ${result.note}` }
  },
  18: async (bench) => {
    if (!isKnown) throw new Error('memory can be measured only where there is /proc')
    const { samples, perSecond } = await bench.once(longRun)
    const third = Math.max(1, Math.floor(samples.length / 3))
    const [middle, last] = [median(samples.slice(third, 2 * third)), median(samples.slice(-third))]
    const most = Math.max(...samples)
    return {
      ours: most,
      reference: middle,
      ratio: last / middle,
      unit: 'MB',
      target: `≤ ${MAX_MEGABYTES} MB, flat`,
      met: most <= MAX_MEGABYTES && last <= middle * FLAT,
      details: { samples: samples.map(Math.round), livesPerSecond: perSecond },
      note: `after ${bench.options.longSeconds} s; the last third has ${last.toFixed(0)} MB, the one before ${middle.toFixed(0)} MB`,
    }
  },
}

/** By the number of the measure that they repeat. */
const AGED_BY_HISTORY = {
  1: { name: 'POST /api/deposit', run: (bench) => loadService(bench, createDeposit(), bench.options.seconds) },
  8: { name: 'settle', run: async (bench) => settleBest(bench, await bench.once(oneAccount)) },
  14: { name: 'whole lives', run: (bench) => liveOnce(bench) },
}
const AGED_BY_SNAPSHOT = {
  10: { name: 'credited', run: creditMany },
  13: { name: 'deliveries', run: deliver },
}

/**
 * What `age` does to these works: beside a second service with fresh tables, in turns. That takes too long for a quick
 * look, which takes as fresh what was measured before in this run.
 */
async function beside(bench, works, age) {
  const before = bench.options.quick && (await ratesOf(bench, works, { isFresh: true }))
  await age()
  if (before) {
    const after = await ratesOf(bench, works)
    return worstOf(
      Object.entries(before).map(([name, reference]) => {
        const ours = after[name]
        return { name, ours, reference, ratio: ours / reference }
      }),
    )
  }
  const startedOn = today()
  const freshBench = await bench.once(openFresh)
  const parts = []
  for (const { name, run } of Object.values(works)) {
    const turns = await takeTurns(bench, { reference: () => run(freshBench), ours: () => run(bench) })
    parts.push({ name, ...compare(turns) })
  }
  const { code, report } = await auditBooks(freshBench.stage, startedOn, bench.show)
  if (code !== 0) throw new Error(`the books of the fresh tables do not agree: ${JSON.stringify(report.differences)}`)
  return worstOf(parts)
}

async function openFresh(bench) {
  bench.show('starting a service with fresh tables')
  const stage = await openBeside(bench.stage, { name: 'bench_fresh', onOpen: bench.onOpen })
  const once = makeOnce()
  const freshBench = { ...bench, stage, once: (make) => once(make, freshBench) }
  return freshBench
}

/** Rates by name. What was measured in this run already is not measured again as fresh. */
async function ratesOf(bench, works, { isFresh = false } = {}) {
  const rates = {}
  for (const [id, { name, run }] of Object.entries(works)) {
    const measured = isFresh ? bench.measured.get(Number(id))?.ours : undefined
    rates[name] = measured ?? medianRate((await takeTurns(bench, { [name]: () => run(bench) }))[name])
  }
  return rates
}

function medianRate(turns) {
  return median(turns.map(({ perSecond }) => perSecond))
}

/** The worst of several ratios counts. */
function worstOf(parts) {
  const { ours, reference, ratio } = parts.toSorted((a, b) => a.ratio - b.ratio)[0]
  const note = parts.map((part) => `${part.name} ${part.ratio.toFixed(2)}`).join(', ')
  return { ours, reference, ratio, parts, note, target: `≥ ${MIN_RATIO}`, met: ratio >= MIN_RATIO }
}

async function history(bench) {
  const { stage, options, show } = bench
  const accounts = [stage.account, ...(await makeAccounts(stage.pool, OLD_ACCOUNTS))]
  await fillHistory({ ...stage.books, database: stage.database }, { count: options.history, accounts, show })
}

/**
 * Lives for a long time. The service is new, and its memory is watched. For measure 17 a snapshot is held open from the
 * beginning, and grows old under this load.
 */
async function longRun(bench) {
  const { stage, options } = bench
  await stage.service.restart()
  const held = []
  if (bench.isChosen(17)) {
    await bench.once(deliverer)
    for (const name of ['guiche', deliveriesDatabase(stage)]) held.push(await holdSnapshot(stage.database, name))
  }
  const samples = []
  const over = new AbortController()
  const watch = async () => {
    while (!over.signal.aborted) {
      samples.push(residentBytes(stage.service.pid()) / MEGABYTE)
      bench.show(`lives, ${samples.length} of ${options.longSeconds} s`)
      await sleep(SAMPLE_MS)
    }
  }
  const watching = watch()
  const { perSecond } = await liveOnce(bench, { seconds: options.longSeconds })
  over.abort()
  await watching
  return { samples, perSecond, release: () => Promise.all(held.map((release) => release())) }
}

async function holdSnapshot(database, name) {
  const client = await database.poolOf(name).connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  return async () => {
    await client.query('commit')
    client.release()
  }
}
