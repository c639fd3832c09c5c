// The proof itself, in a network and a process table of its own: see failover.mjs, which starts it.

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FOLLOW_CLAIMS, judgePositions, judgeReaders, startHeads, startReaders } from '../history/follow.mjs'
import { makeApi } from '../money/api.mjs'
import { openBooks } from '../money/books.mjs'
import { makeService } from '../money/service.mjs'
import { makeWorld, startService } from '../money/setup.mjs'
import {
  CLAIMS as STEADY_CLAIMS,
  countBreaches,
  describeClaims,
  judgeSteadyLoad,
  startSteadyLoad,
} from '../money/steady.mjs'
import { openCluster } from './cluster.mjs'
import { inflict } from './faults.mjs'
import { readVersions } from './programs.mjs'
import { readDataAge } from './reports.mjs'

const CLAIMS = {
  ...STEADY_CLAIMS,
  ...FOLLOW_CLAIMS,
  fenced: 'what a leader acknowledged while or after it was frozen or cut off is in the database',
  reports: 'a process with DATABASE_READ_URL reads reports from a standby, and says how old their data are',
  alone: 'a leader without any standby acknowledged nothing',
  recovered: 'deposits were acknowledged again after every fault, by both processes',
}
// Readers pause after a failure.
const READ_WITHIN_MS = 60_000
const QUICK = ['kill', 'freeze', 'kill', 'partition']
const FULL = ['kill', 'freeze', 'kill', 'partition', 'kill', 'freeze-heads', 'kill', 'partition', 'kill-alone']

const options = JSON.parse(process.argv[2])
const began = performance.now()
try {
  process.exit(await prove())
} catch (error) {
  console.error(`The proof could not run (seed ${options.seed}): ${error.stack ?? error}`)
  process.exit(2)
}

async function prove() {
  const { text: versions, settings } = await readVersions()
  if (options.asynchronous) settings.SYNCHRONOUS_MODE = 'off'
  console.log(`seed ${options.seed}; ${versions}; synchronous_mode ${settings.SYNCHRONOUS_MODE}`)
  const cluster = await openCluster({ home: options.home, settings })
  say(`three machines run: ${(await cluster.leader()).name} leads`)
  const w = await makeWorld({ dist: options.dist, seed: options.seed, home: options.home, say })
  // The receiver never fails, so the service has lost whatever does not arrive.
  w.receiver.failsSome = false
  const services = await makeServices(w, cluster.urls)
  await startService(w)
  await services[1].start()
  say('two guiche processes run: one knows the three addresses, one goes through HAProxy')
  const load = startSteadyLoad(w, services)
  const history = await followHistory(w, services)
  const faults = []
  for (const kind of options.faults?.split(',') ?? (options.quick ? QUICK : FULL)) {
    const fault = await inflict(kind, { cluster, load, note: w.note, say })
    if (!fault) return sayUnrecovered(w)
    faults.push(fault)
  }
  await load.stop()
  say('all faults are over; repeating every request, and comparing the books')
  const age = await askForReports(w, services[1])
  w.databaseUrl = cluster.urls.haproxy
  w.books = await openBooks(w)
  const read = await history.judge()
  const { facts, breaches } = await judgeSteadyLoad(w, services)
  for (const claim of Object.keys(FOLLOW_CLAIMS)) breaches[claim] = w.notes.get(claim) ?? []
  breaches.fenced = await findUnfenced(cluster, faults)
  breaches.recovered = []
  breaches.alone = w.notes.get('alone') ?? []
  breaches.reports = age.trouble ? [age.trouble] : []
  console.log(describe(w, { facts, faults, breaches, age, read }))
  return Object.values(breaches).some((texts) => texts.length > 0) ? 1 : 0
}

/** Reports this claim alone: without a working database, nothing else can be judged. */
function sayUnrecovered({ notes }) {
  const recovered = notes.get('recovered')
  console.log(['', ...describeClaims({ recovered: CLAIMS.recovered }, { recovered })].join('\n'))
  return 1
}

/** Makes the processes without starting them. The first is `w.service`, whose address the bank knows. */
async function makeServices(w, urls) {
  const secret = { SECRET_KEY: randomBytes(32).toString('hex') }
  const make = (name, env) => {
    const home = join(w.home, name)
    mkdirSync(home)
    const ended = (text) => w.note('process', `${name}: ${text}`)
    // Sweeps often, because a notification may arrive while there is no database.
    const all = { ...w.env, ...secret, RECONCILE_SECONDS: '10', ...env }
    return makeService({ dist: w.dist, home, clock: w.clock, ended, env: all })
  }
  w.service = await make('guiche-hosts', { DATABASE_URL: urls.hosts })
  w.api = makeApi({ url: w.service.url, note: w.note, counts: w.statuses })
  return [
    w.service,
    await make('guiche-haproxy', {
      DATABASE_URL: urls.haproxy,
      DATABASE_READ_URL: urls.replicas,
      PUBLIC_URL: w.service.url,
    }),
  ]
}

/** Reads the histories of all accounts at both processes, in each way, while the faults happen. */
async function followHistory(w, services) {
  const { makeGuiche } = await import(pathToFileURL(join(w.dist, '../sdk/dist/client.js')).href)
  const breach = (claim) => (text) => w.note(claim, text)
  const accounts = w.accounts.map((account, number) => ({ ...account, number }))
  const urls = services.map(({ url }) => url)
  const readers = startReaders({ accounts, urls, makeGuiche, breach })
  const heads = startHeads({ account: accounts[0], urls, breach })
  return {
    /** The books must be open. */
    async judge() {
      const { rows } = w.books
      for (const { id, email } of await rows('select id, email from accounts'))
        Object.assign(accounts.find((account) => account.email === email) ?? {}, { id })
      const judging = { rows, withinMs: READ_WITHIN_MS, breach }
      await judgeReaders(readers, judging)
      await heads.stop()
      return { events: await judgePositions(judging), readers: readers.all.length, heads: heads.count() }
    },
  }
}

/** Asks the process with DATABASE_READ_URL. The first start printed the password. */
function askForReports(w, { url }) {
  const password = /^Password: (.+)$/m.exec(w.service.output())?.[1]
  return readDataAge({ url, origin: w.service.url, email: w.accounts[0].email, password })
}

async function findUnfenced(cluster, faults) {
  const acknowledged = faults.flatMap(({ written }) => written.acknowledged)
  const { isOk, output } = await (await cluster.leader()).sql('select id from probes')
  if (!isOk) return [`what was written cannot be read: ${output}`]
  const kept = new Set(output.split('\n'))
  return acknowledged.filter((id) => !kept.has(id)).map((id) => `${id} was acknowledged, and is gone`)
}

function describe(w, { facts, faults, breaches, age, read }) {
  const { lost, doubled } = countBreaches(breaches)
  const count = (kind) => faults.filter((fault) => fault.kind.startsWith(kind)).length
  const acknowledged = [...w.scenarios.values()].filter(({ charge }) => charge).length
  const tries = faults.reduce((sum, { written }) => sum + written.tries, 0)
  const acks = faults.reduce((sum, { written }) => sum + written.acknowledged.length, 0)
  const answers = [...w.statuses].toSorted(([a], [b]) => a - b).map(([status, times]) => `${status}: ${times}`)
  const seconds = (value) => value.toFixed(1).padStart(10)
  return [
    '',
    `faults                     kills ${count('kill')}, freezes ${count('freeze')}, partitions ${count('partition')}`,
    `deposits acknowledged      ${acknowledged} of ${w.scenarios.size} requested; answers ${answers.join(', ')} (0: none)`,
    `payments acknowledged      ${facts.bank.payments.length} by the bank`,
    `webhooks delivered         ${w.receiver.events.size} by ${w.receiver.deliveries} requests`,
    `writes at a lost leader    ${tries} tried, ${acks} acknowledged`,
    `reports                    from a standby, ${age.seconds} s old`,
    `history                    ${read.events} events, ${read.readers} readers, ${read.heads} heads`,
    `lost ${lost + breaches.fenced.length}, doubled ${doubled}`,
    '',
    'seconds to recovery                        hosts   HAProxy',
    ...faults.map(
      ({ says, name, seconds: [hosts, haproxy] }) =>
        `  ${`${says} of ${name}`.padEnd(36)}${seconds(hosts)}${seconds(haproxy)}`,
    ),
    '',
    ...describeClaims(CLAIMS, breaches),
    '',
    `took ${Math.round((performance.now() - began) / 1000)} s, seed ${options.seed}`,
  ].join('\n')
}

function say(text) {
  console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${text}`)
}
