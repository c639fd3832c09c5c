// `npm run prove`: every proof, then the proofs on builds that are broken on purpose.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, ensureInstalled, ensureNode, root, run } from '../scripts/bootstrap.mjs'

/** Titles for the names that do not explain themselves. */
const TITLES = {
  banks: 'money, as each bank',
  many: 'many payments',
  history: 'one history',
  export: 'a million events',
  hints: 'hints and queries',
  broken: 'broken on purpose',
  conformance: 'API Pix, and broken on purpose',
}

const HELP = `npm run prove [-- --openapi FILE] [--only NAMES] [--seed N]

Runs every proof of prove/README.md on this machine, then breaks the build on purpose in many ways, each of which a
proof must notice. It takes about an hour on two idle cores, and the broken builds most of them.

  --openapi FILE   also checks API Pix by the central bank's description (openapi.yaml), and breaks it on purpose
  --only NAMES     these proofs alone: money,tamper
  --seed N         repeats a run of the proofs that print their seed, as most of them do

Each proof has options of its own: node prove/money.mjs --help.

Exit 0: all proved. 1: a proof failed or could not run. 2: no such option or proof.`

const options = readOptions()

ensureNode()
await ensureInstalled()
await ensureBuilt()
const began = performance.now()
const proofs = {
  money: ['prove/money.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  banks: ['prove/banks.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  refunds: ['prove/refunds.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  sessions: ['prove/session.mjs'],
  clock: ['prove/clock.mjs'],
  many: ['prove/many.mjs'],
  answers: ['prove/answers.mjs'],
  hints: ['prove/hints.mjs'],
  processes: ['prove/processes.mjs'],
  orders: ['prove/orders.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  codes: ['prove/codes.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  reversals: ['prove/reversals.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  payers: ['prove/payers.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  payouts: ['prove/payouts.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  notices: ['prove/notices.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  history: ['prove/history.mjs'],
  export: ['prove/export.mjs'],
  tamper: ['prove/tamper.mjs'],
  broken: ['prove/broken.mjs'],
  ...(options.openapi && {
    conformance: ['scripts/conformance.mjs', options.openapi, '--sabotage', 'all'],
  }),
}
const chosen = options.only?.split(',') ?? Object.keys(proofs)
const unknown = chosen.filter((name) => !(name in proofs))
if (unknown.length > 0)
  refuse(`There is no proof "${unknown.join('", "')}". There are: ${Object.keys(proofs).join(', ')}.`)
const failed = []
for (const [name, [script, ...args]] of Object.entries(proofs).filter(([proof]) => chosen.includes(proof))) {
  console.log(`\n== ${TITLES[name] ?? name} ==\n`)
  const { code } = await run([process.execPath, join(root, script), ...args], { cwd: process.cwd(), inherit: true })
  if (code !== 0) failed.push(name)
}
if (!options.openapi && !options.only)
  console.log('\nAPI Pix was not checked: pass its description with --openapi <openapi.yaml>.')
console.log('A failover of PostgreSQL was not proved: run "npm run prove:failover".')
const minutes = ((performance.now() - began) / 60_000).toFixed(1)
console.log(
  `\nnpm run prove: ${failed.length === 0 ? 'all proved' : `FAILED: ${failed.join('; ')}`} in ${minutes} minutes`,
)
process.exitCode = failed.length === 0 ? 0 : 1

function readOptions() {
  const string = { type: 'string' }
  try {
    const { values } = parseArgs({
      options: { seed: string, openapi: string, only: string, help: { type: 'boolean' } },
    })
    if (!values.help) return values
    console.log(HELP)
    process.exit(0)
  } catch (error) {
    return refuse(error.message)
  }
}

function refuse(reason) {
  console.error(`${reason}\n\n${HELP}`)
  process.exit(2)
}
