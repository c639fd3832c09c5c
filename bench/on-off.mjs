// `npm run bench:on-off`: measures with each technique, and without it, in turn.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt } from '../scripts/bootstrap.mjs'
import { TECHNIQUES } from './techniques.mjs'

const HELP = `npm run bench:on-off [-- --only NAMES] [--rounds N] [--seconds N] [--postgres NAME]

Turns one technique off at a time, as the build is loaded, and measures with it and without it. Prints a table.

  --only NAMES    these techniques alone: ${TECHNIQUES.map(({ name }) => name).join(',')}
  --rounds N      turns of each measure (default 2)
  --seconds N     length of each turn (default 3)
  --postgres NAME embedded (default) or stock, as for npm run bench`

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean' },
    only: { type: 'string' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '3' },
    postgres: { type: 'string', default: 'embedded' },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const chosen = TECHNIQUES.filter(({ name }) => !options.only || options.only.split(',').includes(name))

await ensureBuilt()
console.log('| technique | measure | with | without |')
console.log('|---|---|---|---|')
for (const { name, says, measures } of chosen) {
  for (const id of measures) {
    const [on, off] = [await measure(id), await measure(id, name)]
    console.log(`| ${says} | ${id} | ${figure(on)} | ${figure(off)} |`)
  }
}

/** Resolves to the entry of the measure. Quick runs differ from others in the time that whole lives take. */
async function measure(id, without) {
  const directory = mkdtempSync(join(tmpdir(), 'guiche-on-off-'))
  const json = join(directory, 'bench.json')
  const loader = new URL('./without.mjs', import.meta.url).href
  const env = without && { NODE_OPTIONS: `--import ${loader}`, GUICHE_BENCH_WITHOUT: without }
  const { rounds, seconds, postgres } = options
  const args = ['--quick', '--only', String(id), '--rounds', rounds, '--seconds', seconds, '--postgres', postgres]
  const bench = new URL('./run.mjs', import.meta.url)
  const child = spawn(process.execPath, [bench.pathname, ...args, '--json', json], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`measure ${id} ${without ? `without ${without} ` : ''}failed`)
  const [entry] = JSON.parse(readFileSync(json, 'utf8'))
  rmSync(directory, { recursive: true })
  return entry
}

function figure({ ours, ratio, unit = 'a second' }) {
  const value = Math.round(ours).toLocaleString('en')
  return unit === 'a second' ? `${value} a second, ratio ${ratio.toFixed(2)}` : `${value} ${unit}`
}
