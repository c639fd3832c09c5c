// The options of `npm run bench`, and what they mean.
import { parseArgs } from 'node:util'
import { DEFAULT_DATA } from './stage/home.mjs'

const HELP = `npm run bench [-- options]

Measures the service beside what a user would write without it, on this machine: the service, its PostgreSQL with full
durability, a bank, the reference and the load are processes of their own. Ours and the reference take turns; the table
shows medians. bench/README.md says what each measure is. At the end the audit must agree.

  --quick            a look at everything in under two minutes: short runs, fewer rows
  --only 1,4,8       these measures alone
  --rounds N         turns of ours and the reference (default 9; quick 1)
  --seconds N        length of each turn under load (default 2; quick 1)
  --connections N    of the load (default 64)
  --history N        charges in the tables for measure 16 (default 2000000; quick 10000)
  --data DIR         where the database lies, on a disk (default ${DEFAULT_DATA})
  --postgres NAME    embedded (default), or stock: the one of Debian's package postgresql
  --standby          with a synchronous standby on this machine; with --postgres stock
  --processes N      of the service, which share its port (default 1)
  --json FILE        writes the results as a list of { id, name, ours, reference, ratio, target, met, … }
  --markdown FILE    writes the table as Markdown
  --strict           exits with 2 if a target is missed
  --help

Exit codes: 0 measured, and the audit agrees; 1 the bench failed; 2 a target was missed (--strict only).

For steady figures, run it on an idle machine:  npm run bench -- --json bench.json
To look at one thing:                           npm run bench -- --only 1 --rounds 3 --seconds 2`

const MEASURES = 19
const POSTGRES = ['embedded', 'stock']

// Many short rounds rather than few long ones: a machine that changes its speed within a minute then changes it for
// both sides of a round.
const FULL = {
  rounds: 9,
  seconds: 2,
  warmUp: true,
  warmUpSeconds: 2,
  tpcbSeconds: 2,
  /** Payments of a turn of measures 8 to 11. */
  payments: 10_000,
  creditWithinSeconds: 120,
  /** Events of a turn of measure 13, and how long they come at half load. */
  deliveryEvents: 20_000,
  waitSeconds: 10,
  lifeSeconds: 5,
  paceSeconds: 20,
  /** Lives for measures 17 and 18. */
  longSeconds: 600,
  /** How long the bank is down in measure 19. */
  outageSeconds: 60,
  history: 2_000_000,
  /** Each point of the curves of measures 1, 10 and 14. */
  curveSeconds: 3,
}
const QUICK = {
  rounds: 1,
  seconds: 1,
  warmUp: false,
  warmUpSeconds: 1,
  tpcbSeconds: 1,
  payments: 2_000,
  creditWithinSeconds: 20,
  deliveryEvents: 5_000,
  waitSeconds: 2,
  lifeSeconds: 3,
  paceSeconds: 3,
  longSeconds: 30,
  outageSeconds: 12,
  history: 10_000,
  curveSeconds: 0,
}

export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '64' },
      history: { type: 'string' },
      data: { type: 'string', default: DEFAULT_DATA },
      postgres: { type: 'string', default: POSTGRES[0] },
      standby: { type: 'boolean', default: false },
      processes: { type: 'string', default: '1' },
      json: { type: 'string' },
      markdown: { type: 'string' },
      strict: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return { help: HELP }
  if (values.standby && values.postgres !== 'stock') throw new Error('--standby needs --postgres stock')
  const defaults = values.quick ? QUICK : FULL
  return {
    ...defaults,
    quick: values.quick,
    only: values.only?.split(',').map((id) => whole('only', id.trim(), MEASURES)),
    rounds: whole('rounds', values.rounds ?? defaults.rounds),
    seconds: whole('seconds', values.seconds ?? defaults.seconds),
    connections: whole('connections', values.connections),
    history: whole('history', values.history ?? defaults.history),
    data: values.data,
    postgres: oneOf('postgres', values.postgres, POSTGRES),
    standby: values.standby,
    processes: whole('processes', values.processes),
    json: values.json,
    markdown: values.markdown,
    strict: values.strict,
  }
}

function whole(name, given, max = Infinity) {
  const number = Number(given)
  if (Number.isInteger(number) && number >= 1 && number <= max) return number
  throw new Error(`--${name} takes whole numbers from 1${max === Infinity ? '' : ` to ${max}`}, not ${given}`)
}

function oneOf(name, given, known) {
  if (known.includes(given)) return given
  throw new Error(`--${name} takes ${known.join(' or ')}, not ${given}`)
}
