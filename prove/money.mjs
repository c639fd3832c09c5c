// Proves that no centavo is lost, doubled or invented, whatever the bank and the machine do. See prove/README.md.

import { randomInt } from 'node:crypto'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { PLANS } from './money/plans.mjs'
import { finish, startService, runPhase, setUp, tearDown } from './money/setup.mjs'
import { CLAIMS, judge } from './money/verdict.mjs'

// A proof that takes longer than this hangs.
const WHOLE_WITHIN_MS = 15 * 60_000
const NAMED_MAX = 5

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    plans: { type: 'string', default: Object.keys(PLANS).join(',') },
    scenarios: { type: 'string', default: '24' },
    'at-once': { type: 'string', default: '12' },
    kills: { type: 'string', default: '3' },
    'database-kills': { type: 'string', default: '1' },
    as: { type: 'string' },
    dist: { type: 'string' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const names = options.plans.split(',')
if (options.help || names.some((name) => !(name in PLANS))) {
  console.log(help())
  process.exit(options.help ? 0 : 2)
}
if (!options.dist) await ensureBuilt()
const dist = resolve(options.dist ?? join(root, 'server/dist'))
const { BANK_LIST } = await import(pathToFileURL(join(dist, 'sandbox/banks.js')).href)
if (options.as && !BANK_LIST.includes(options.as)) {
  console.error(`--as takes one of ${BANK_LIST.join(', ')}.`)
  process.exit(2)
}
setTimeout(() => void abort(`not done within ${WHOLE_WITHIN_MS / 60_000} minutes`), WHOLE_WITHIN_MS).unref()
const began = performance.now()
const w = await setUp({
  dist,
  seed: options.seed,
  say: console.log,
  as: options.as,
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void abort(signal))
try {
  process.exitCode = await prove()
} catch (error) {
  await abort(error.stack ?? String(error))
}

/** Resolves to the exit code. 0: all claims held. 1: a claim failed. 2: the proof could not run. */
async function prove() {
  console.log(`seed ${options.seed}`)
  await startService(w)
  for (const name of names) {
    const at = performance.now()
    await runPhase(w, {
      name,
      plan: PLANS[name],
      scenarios: Number(options.scenarios),
      atOnce: Number(options['at-once']),
      kills: Number(options.kills),
      databaseKills: ['calm', 'mixed', 'waves'].includes(name) ? Number(options['database-kills']) : 0,
    })
    console.log(`  ${name.padEnd(10)} ${seconds(at)} s`)
  }
  const at = performance.now()
  const facts = await finish(w)
  console.log(`  ${'finish'.padEnd(10)} ${seconds(at)} s`)
  const breaches = judge(facts)
  console.log(describe(facts, breaches))
  const isBroken = Object.values(breaches).some((texts) => texts.length > 0)
  const keepHome = options.keep || (isBroken && !options.dist)
  await tearDown(w, { keepHome })
  if (keepHome) console.log(`Kept for inspection: ${w.home}`)
  return isBroken ? 1 : 0
}

async function abort(why) {
  console.error(`The proof could not run (seed ${options.seed}): ${why}`)
  await tearDown(w, { keepHome: true }).catch(() => undefined)
  console.error(`Kept for inspection: ${w.home}`)
  process.exit(2)
}

function describe(facts, breaches) {
  const { bank, books } = facts
  const count = (rows, isCounted) => rows.filter(isCounted).length
  const by = (map) =>
    [...map]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, times]) => `${name} ${times}`)
      .join(', ')
  const received = bank.payments.reduce((sum, pix) => sum + BigInt(pix.amountCents), 0n)
  const { sent, delivered, failed, dropped, abandoned } = bank.stats.notifications
  const calls = Object.values(bank.stats.calls).reduce((sum, times) => sum + times, 0)
  const of = (status) => count(books.charges, (charge) => charge.status === status)
  const { counts } = w
  return [
    '',
    `deposits    ${w.scenarios.size} by ${counts.requests} requests; ${counts.replayed} replayed, ${counts.neverAnswered} unanswered while the bank had faults`,
    `charges     ${of('COMPLETED')} COMPLETED (${count(books.charges, (charge) => charge.paid_late)} late), ${of('CANCELED')} CANCELED, ${of('EXPIRED')} EXPIRED, ${of('FAILED')} FAILED`,
    `payments    ${bank.payments.length} at the bank, ${received} cents: ${count(books.payments, (row) => row.credited)} credited, ${count(books.payments, (row) => !row.credited)} exceptions`,
    `ways        ${by(w.ways)}`,
    `queries     ${counts.fresh} fresh, ${counts.stored} from the database; ${counts.forged} forged notifications`,
    `answers     ${by(w.statuses)} (0: none)`,
    `bank        ${calls} calls; notifications: ${sent} sent, ${delivered} delivered, ${failed} failed, ${dropped} dropped, ${abandoned} abandoned`,
    `sweep       found ${facts.missingBeforeSweep} payments`,
    `kills       ${counts.kills} of the service, ${counts.databaseKills} of PostgreSQL; ${Math.round(w.clock.laterMs / 60_000)} minutes added to the clock`,
    `took        ${seconds(began)} s, seed ${options.seed}`,
    '',
    ...Object.entries(breaches).flatMap(([claim, texts]) => [
      `${texts.length === 0 ? 'held    ' : 'NOT HELD'} ${claim}: ${CLAIMS[claim]}`,
      ...texts.slice(0, NAMED_MAX).map((text) => `           ${text}`),
      ...(texts.length > NAMED_MAX ? [`           and ${texts.length - NAMED_MAX} more`] : []),
    ]),
  ].join('\n')
}

function seconds(since) {
  return Math.round((performance.now() - since) / 1000)
}

function help() {
  return `node prove/money.mjs [--seed N] [--plans a,b] [--scenarios N] [--at-once N] [--kills N] [--database-kills N] [--as BANK] [--dist DIR] [--keep]

  --seed            decides what is requested, paid, forged and killed; printed by every run. The interleaving varies.
  --plans           of ${Object.keys(PLANS).join(', ')}; all by default
  --scenarios       deposits under each plan (24), of which --at-once run side by side (12)
  --kills           of the service under each plan (3); after the last, up to 80 minutes pass
  --database-kills  of PostgreSQL under calm, mixed and waves (1)
  --as              the bank takes the ways of this one alone, and the service has its profile
  --dist            a build other than server/dist
  --keep            keeps the home with database and logs

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`
}
