// The options of `npm run bench`, and what they mean.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../scripts/bootstrap.mjs'

export const NAMES = ['create', 'pending', 'completed', 'list', 'deliver', 'credit', 'settle', 'life']
// /var/tmp survives a reboot by convention, so it is on a disk. /tmp may be in memory.
const DEFAULT_DATA = '/var/tmp'
const POSTGRES = ['embedded', 'stock']

const HELP = `npm run bench [-- options]

Measures the service beside what a user would write without it, on this machine. bench/README.md says what is compared.
At the end the audit must agree.

  --quick            a look at everything in less than a minute
  --only NAMES       these measures alone, of ${NAMES.join(',')}
  --rounds N         turns of ours and the reference (default 9; quick 1)
  --seconds N        length of a turn (default 2; quick 1)
  --dist DIR         measures another build, such as ../before/server/dist (default server/dist)
  --postgres NAME    embedded (default), or stock: the one of Debian's package postgresql
  --processes N      processes of the service, which share its port (default 1)
  --data DIR         where the database lies, on a disk (default ${DEFAULT_DATA})
  --json FILE        writes the results, with both sides of each measure
  --help

Exit codes: 0 measured, and the audit agrees; 1 the bench failed.`

// Many short rounds, not a few long ones: if the machine's speed changes within a minute, it changes for both sides of
// a round.
const FULL = {
  rounds: 9,
  seconds: 2,
  lifeSeconds: 5,
  warmUp: true,
  /** Payments in one turn of `credit` or `settle`. */
  payments: 10_000,
  /** Charges that are queried. `deliver` sends the events of the completed ones, as many as one request may queue. */
  pending: 500,
  completed: 5_000,
}
const QUICK = { rounds: 1, seconds: 1, lifeSeconds: 2, warmUp: false, payments: 2_000, pending: 500, completed: 2_000 }

export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: NAMES.join(',') },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      dist: { type: 'string', default: join(root, 'server/dist') },
      postgres: { type: 'string', default: POSTGRES[0] },
      processes: { type: 'string', default: '1' },
      data: { type: 'string', default: DEFAULT_DATA },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return { help: HELP }
  const defaults = values.quick ? QUICK : FULL
  return {
    ...defaults,
    ...values,
    only: values.only.split(',').map((name) => oneOf('only', name.trim(), NAMES)),
    rounds: whole('rounds', values.rounds ?? defaults.rounds),
    seconds: whole('seconds', values.seconds ?? defaults.seconds),
    dist: buildAt(resolve(values.dist)),
    postgres: oneOf('postgres', values.postgres, POSTGRES),
    processes: whole('processes', values.processes),
  }
}

function whole(name, given) {
  const number = Number(given)
  if (Number.isInteger(number) && number >= 1) return number
  throw new Error(`--${name} takes a whole number from 1, not ${given}`)
}

function oneOf(name, given, known) {
  if (known.includes(given)) return given
  throw new Error(`--${name} takes ${known.join(', ')}, not ${given}`)
}

/** Returns the build to measure. The default needs no check: it is built before the bench begins. */
function buildAt(dist) {
  if (dist === join(root, 'server/dist') || existsSync(join(dist, 'cli.js'))) return dist
  throw new Error(`--dist takes the server/dist of a build, and ${dist} has no cli.js`)
}
