// The short form of the proof of money with the profile of each bank, at a bank that takes its ways alone.

import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureBuilt, root, run } from '../scripts/bootstrap.mjs'

// What a profile can break is the way to the bank, after a restart too, and not what is booked.
const SHORT = ['--plans', 'drop', '--scenarios', '8', '--kills', '1', '--database-kills', '0']

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    banks: { type: 'string' },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/banks.mjs [--seed N] [--banks a,b] [--dist DIR]

Exit 0: all claims held at each bank. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}
if (!options.dist) await ensureBuilt()
const dist = options.dist ?? join(root, 'server/dist')
const { BANK_LIST } = await import(pathToFileURL(join(dist, 'sandbox/banks.js')).href)
const { seed } = options
console.log(`seed ${seed}`)
for (const bank of options.banks?.split(',') ?? BANK_LIST) {
  const began = performance.now()
  const proof = [join(root, 'prove/money.mjs'), '--as', bank, '--seed', seed, ...SHORT, '--dist', dist]
  const { code, output } = await run([process.execPath, ...proof])
  const claims = output.match(/^held /gm)?.length ?? 0
  console.log(
    `${code === 0 ? `held     ${claims} claims` : 'NOT HELD'} as ${bank}, ${Math.round((performance.now() - began) / 1000)} s`,
  )
  if (code !== 0) console.log(output)
  process.exitCode = Math.max(Number(process.exitCode ?? 0), code)
}
