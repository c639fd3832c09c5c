// `npm run prove`: every proof, then the proofs on builds that are broken on purpose.
//   npm run prove -- --openapi <openapi.yaml>    with the conformance check, which needs the central bank's description
//   npm run prove -- --seed N                    repeats a run of the proofs of money and refunds

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, ensureInstalled, ensureNode, root, run } from '../scripts/bootstrap.mjs'

const { values: options } = parseArgs({ options: { seed: { type: 'string' }, openapi: { type: 'string' } } })

ensureNode()
await ensureInstalled()
await ensureBuilt()
const began = performance.now()
const proofs = {
  money: ['prove/money.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  refunds: ['prove/refunds.mjs', ...(options.seed ? ['--seed', options.seed] : [])],
  sessions: ['prove/session.mjs'],
  clock: ['prove/clock.mjs'],
  'many payments': ['prove/many.mjs'],
  answers: ['prove/answers.mjs'],
  'hints and queries': ['prove/hints.mjs'],
  processes: ['prove/processes.mjs'],
  tamper: ['prove/tamper.mjs'],
  'broken on purpose': ['prove/broken.mjs'],
  ...(options.openapi && {
    'API Pix, and broken on purpose': ['scripts/conformance.mjs', options.openapi, '--sabotage', 'all'],
  }),
}
const failed = []
for (const [name, [script, ...args]] of Object.entries(proofs)) {
  console.log(`\n== ${name} ==\n`)
  const { code } = await run([process.execPath, join(root, script), ...args], { cwd: process.cwd(), inherit: true })
  if (code !== 0) failed.push(name)
}
if (!options.openapi) console.log('\nAPI Pix was not checked: pass its description with --openapi <openapi.yaml>.')
console.log('A failover of PostgreSQL was not proved: run "npm run prove:failover".')
const minutes = ((performance.now() - began) / 60_000).toFixed(1)
console.log(
  `\nnpm run prove: ${failed.length === 0 ? 'all proved' : `FAILED: ${failed.join('; ')}`} in ${minutes} minutes`,
)
process.exitCode = failed.length === 0 ? 0 : 1
