// Proves that any process of a service may die at any time. See prove/README.md.

import { randomBytes, randomInt } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { makeApi } from './money/api.mjs'
import { openBooks } from './money/books.mjs'
import { makeService } from './money/service.mjs'
import { makeWorld, startService, tearDown } from './money/setup.mjs'
import { CLAIMS, countBreaches, describeClaims, judgeSteadyLoad, startSteadyLoad } from './money/steady.mjs'

const ROLES = ['api', 'worker', 'api', 'worker']
const WHOLE_WITHIN_MS = 10 * 60_000

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/processes.mjs [--seconds 60] [--seed N] [--dist DIR]

Two processes answer requests and two do what is due, on one database. Under load one of them is killed (kill -9) every
second, in turn, and started again at once.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}
if (!options.dist) await ensureBuilt()
const home = mkdtempSync(join(tmpdir(), 'guiche-prove-processes-'))
// If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
chmodSync(home, 0o755)
const dist = resolve(options.dist ?? join(root, 'server/dist'))
const w = await makeWorld({ dist, seed: options.seed, say: console.log, home })
// The receiver never fails, so the service has lost whatever does not arrive.
w.receiver.failsSome = false
let services = []
setTimeout(() => void abort(`not done within ${WHOLE_WITHIN_MS / 60_000} minutes`), WHOLE_WITHIN_MS).unref()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void abort(signal))
try {
  process.exit(await prove())
} catch (error) {
  await abort(error.stack ?? String(error))
}

async function prove() {
  console.log(`seed ${options.seed}`)
  w.books = await openBooks(w)
  services = await makeServices()
  await startService(w)
  await Promise.all(services.slice(1).map((service) => service.start()))
  console.log(`four processes run; killing one every second for ${options.seconds} s`)
  const load = startSteadyLoad(
    w,
    services.filter((_, index) => ROLES[index] === 'api'),
  )
  const kills = await killInTurn()
  await load.stop()
  console.log('repeating every request, and comparing the books')
  const { facts, breaches } = await judgeSteadyLoad(w, services)
  console.log(describe({ kills, facts, breaches }))
  const isBroken = Object.values(breaches).some((texts) => texts.length > 0)
  await close(isBroken)
  return isBroken ? 1 : 0
}

async function makeServices() {
  // The bank knows the address of the first process.
  const shared = { SECRET_KEY: randomBytes(32).toString('hex'), DATABASE_URL: w.books.databaseUrl }
  const made = []
  for (const [index, role] of ROLES.entries()) {
    const own = join(home, `${role}-${index}`)
    mkdirSync(own)
    const env = {
      ...w.env,
      ...shared,
      ROLE: role,
      RECONCILE_SECONDS: '10',
      ...(made[0] && { PUBLIC_URL: made[0].url }),
    }
    const ended = (text) => w.note('process', `${role}: ${text}`)
    made.push(await makeService({ dist, home: own, clock: w.clock, ended, env }))
  }
  w.service = made[0]
  w.api = makeApi({ url: w.service.url, note: w.note, counts: w.statuses })
  return made
}

/** Kills one process after another. Returns the number of kills when all run again. */
async function killInTurn() {
  const starting = []
  for (let kills = 0; kills < Number(options.seconds); kills++) {
    await sleep(1_000)
    const service = services[kills % services.length]
    await service.kill()
    starting.push(service.start())
    if (kills % 10 === 9) console.log(`  ${kills + 1} killed`)
  }
  await Promise.all(starting)
  return starting.length
}

function describe({ kills, facts, breaches }) {
  const { lost, doubled } = countBreaches(breaches)
  const acknowledged = [...w.scenarios.values()].filter(({ charge }) => charge).length
  return [
    '',
    `kills ${kills}, deposits acknowledged ${acknowledged}, payments ${facts.bank.payments.length}, webhooks ${w.receiver.events.size}`,
    `lost ${lost}, doubled ${doubled}`,
    '',
    ...describeClaims(CLAIMS, breaches),
  ].join('\n')
}

async function abort(why) {
  console.error(`The proof could not run (seed ${options.seed}): ${why}`)
  await close(true).catch(() => undefined)
  process.exit(2)
}

async function close(keepHome) {
  await Promise.all(services.map((service) => service.close()))
  await tearDown({ ...w, service: { close: async () => undefined } }, { keepHome })
  if (keepHome) console.log(`Kept for inspection: ${home}`)
}
