// Proves that every reader of an account's history gets every event once and in the same order. See prove/README.md.

import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { root } from '../scripts/bootstrap.mjs'
import { proveClaims } from './claims.mjs'
import { makeAccounts, openDatabase } from './history/database.mjs'
import {
  FOLLOW_CLAIMS,
  judgePositions,
  judgeReaders,
  makeStop,
  readHistories,
  startHeads,
  startReaders,
  within,
} from './history/follow.mjs'
import { bearer, readStream } from './history/readers.mjs'
import { makeService } from './money/service.mjs'

const CLAIMS = {
  ...FOLLOW_CLAIMS,
  late: 'an event whose transaction stays open delays no other one, and comes to every reader when it is committed',
  streams: 'each of 1,000 streams of one process got each event once',
  restored:
    'after a restore every payment at the bank is booked, old cursors are refused, and readers from the beginning get every event once',
  audit: 'guiche audit finds no difference',
}

const { values: options } = parseArgs({
  options: {
    dist: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/history.mjs [--quick] [--dist DIR]

Writers and readers of 50 accounts, at three processes that are killed in turn, and their database too. Then a backup is
taken while deposits are paid, and restored. Prints how long events take from their commit to a reader. About three
minutes; --quick one.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}

const ACCOUNTS = 50
const WRITERS = 8
const PROCESSES = 3
const STREAMS = 1_000
const TOLD_TO_EACH_STREAM = 5
const OPENED_AT_ONCE = 50
const KILL_EVERY_MS = 3_000
const WRITE_EVERY_MS = 100
const TELL_EVERY_MS = 250
const TIMEOUT_MS = 15_000
// The bank repeats a notification for half a minute, and then a sweep finds the payment.
const BOOKED_WITHIN_MS = 60_000
const READ_WITHIN_MS = options.quick ? 20_000 : 60_000
const WHOLE_WITHIN_MS = 10 * 60_000
const NAMED_MAX = 5
const RATES = [100, 1_000]
// One transaction for each 20 ms: two processors that also serve and read cannot commit a thousand times a second.
const BATCH_MS = 20
const LENGTHS = options.quick
  ? { killForMs: 8_000, holdForMs: 5_000, measureForMs: 3_000, loseForMs: 2_000 }
  : { killForMs: 40_000, holdForMs: 30_000, measureForMs: 10_000, loseForMs: 5_000 }

const dist = resolve(options.dist ?? join(root, 'server/dist'))
const env = { SECRET_KEY: randomBytes(32).toString('hex'), RECONCILE_SECONDS: '5', PENDING_MAX_PER_ACCOUNT: '0' }
const noted = new Map()
let bank
let services
let accounts
let database
let breach
await proveClaims({ name: 'history', claims: CLAIMS, prove, env, withinMs: WHOLE_WITHIN_MS, dist: options.dist })

async function prove({ service, home, note, ...parts }) {
  bank = parts.bank
  breach = (claim) => (text) => {
    noted.set(claim, (noted.get(claim) ?? 0) + 1)
    if (noted.get(claim) <= NAMED_MAX) note(claim, text)
  }
  services = await startServices(service, home)
  database = await openDatabase({ dist, home, secretKey: env.SECRET_KEY })
  accounts = await makeAccounts(database, { dist, count: ACCOUNTS })
  const { makeGuiche } = await import(pathToFileURL(join(dist, '../sdk/dist/client.js')).href)
  const urls = services.map(({ url }) => url)
  const readers = startReaders({ accounts, urls, makeGuiche, breach })
  const heads = startHeads({ account: accounts[0], urls, breach })
  const writers = startWriters()
  console.log(`${WRITERS} writers and ${readers.all.length} readers of ${ACCOUNTS} accounts, at ${PROCESSES} processes`)
  const kills = await killInTurn()
  await holdAnEvent(readers.all)
  const paid = await writers.stop()
  await untilPositions(paid)
  await judgeReaders(readers, { rows: database.rows, withinMs: READ_WITHIN_MS, breach })
  await heads.stop()
  // Figures of a service that is broken would tell nothing.
  if (noted.size === 0) for (const rate of RATES) await measure(rate)
  await judgeStreams()
  const events = await judgePositions({ rows: database.rows, withinMs: READ_WITHIN_MS, breach })
  console.log(
    `${events} events, ${paid} payments, ${kills.processes} processes and ${kills.databases} databases killed, ${heads.count()} heads`,
  )
  const audit = await services[0].command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
  const stopAll = async () => {
    await database.close()
    for (const one of services) await one.stop()
    await Promise.all(services.slice(1).map((other) => other.close()))
  }
  await judgeRestore(makeGuiche, stopAll)
}

// ---- The service, its accounts and its events ----

/** Processes of one home: whichever notices that their database died starts it again. */
async function startServices(first, home) {
  await first.start()
  const shared = { ...env, PROVIDER_SANDBOX_URL: bank.url, RATE_LIMIT_PER_SECOND: '0', PUBLIC_URL: first.url }
  const ended = (text) => console.log(`a process: ${text}`)
  const make = () => makeService({ dist, home, clock: { laterMs: 0 }, env: shared, ended })
  const others = await Promise.all(Array.from({ length: PROCESSES - 1 }, make))
  await Promise.all(others.map((other) => other.start()))
  return [first, ...others]
}

/** Request deposits, and pay each that is answered. `stop` returns how many were paid. */
function startWriters() {
  const over = new AbortController()
  let paid = 0
  const write = async () => {
    while (!over.signal.aborted) {
      const [{ url }, account] = [anyOf(services), anyOf(accounts)]
      const headers = { ...bearer(account), 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: '{"value":5000}', signal: AbortSignal.timeout(TIMEOUT_MS) }
      const answer = await fetch(`${url}/api/deposit`, init)
        .then((response) => response.json())
        .catch(() => ({}))
      if (answer.success && (await bank.pay({ emv: answer.charge.emv }))) paid++
      await sleep(WRITE_EVERY_MS)
    }
  }
  const writing = Promise.all(Array.from({ length: WRITERS }, write))
  return {
    async stop() {
      over.abort()
      await writing
      return paid
    },
  }
}

async function killInTurn() {
  const kills = { processes: 0, databases: 0 }
  const starting = []
  const until = performance.now() + LENGTHS.killForMs
  for (let turn = 0; performance.now() < until; turn++) {
    await sleep(KILL_EVERY_MS)
    const service = services[turn % PROCESSES]
    if (turn % 4 === 1) {
      service.killDatabase()
      kills.databases++
    }
    await service.kill()
    kills.processes++
    starting.push(service.start())
  }
  await Promise.all(starting)
  return kills
}

/** While a transaction is open that has written an event, the events of others must not wait for it. */
async function holdAnEvent(readers) {
  const [account] = accounts
  const held = await database.hold(account.id)
  const others = []
  const until = performance.now() + LENGTHS.holdForMs
  while (performance.now() < until) {
    const [body] = await database.tell([account.id])
    others.push({ body, at: performance.now() })
    await sleep(TELL_EVERY_MS)
  }
  const committed = performance.now()
  await held.commit()
  const isRead = () => readers.every((reader) => reader.account !== account || reader.arrivals.has(held.body))
  if (!(await within(READ_WITHIN_MS, isRead))) return breach('late')('the event that was held never came')
  // Those of the second half may still be on their way, to a reader that waits after a failure.
  const early = others.filter(({ at }) => at < committed - LENGTHS.holdForMs / 2)
  for (const { way, arrivals } of readers.filter((reader) => reader.account === account)) {
    if (arrivals.get(held.body) < committed) breach('late')(`${way} read the event before its commit`)
    const delayed = early.filter(({ body }) => !(arrivals.get(body) < committed))
    if (delayed.length > 0) breach('late')(`${way} got ${delayed.length} of ${early.length} events only after that one`)
  }
}

// ---- What must hold ----

/** Until every payment is booked, and every event has its position. */
async function untilPositions(paid, breached = breach('once')) {
  const isBooked = async () => {
    const [{ booked, waiting }] = await database.rows(
      `select (select count(*) from payments)::int as booked,
         (select count(*) from unnumbered where event_ids is not null)::int as waiting`,
    )
    return booked >= paid && waiting === 0
  }
  if (!(await within(BOOKED_WITHIN_MS, isBooked)))
    breached('after a minute some payments are not booked, or their events have no position')
}

/** A backup is taken while deposits are paid. What happened after it is lost, and the bank still knows the payments. */
async function judgeRestore(makeGuiche, stopAll) {
  const place = mkdtempSync(join(tmpdir(), 'guiche-prove-restored-'))
  // If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
  chmodSync(place, 0o755)
  const [backup, home] = [join(place, 'backup'), join(place, 'home')]
  mkdirSync(home)
  const writers = startWriters()
  await sleep(LENGTHS.loseForMs)
  await requireSuccess(services[0].command('backup', backup))
  await sleep(LENGTHS.loseForMs)
  await writers.stop()
  const cursors = await readCursors()
  await stopAll()

  const settings = { ...env, PROVIDER_SANDBOX_URL: bank.url, RATE_LIMIT_PER_SECOND: '0' }
  const ended = (text) => console.log(`the restored process: ${text}`)
  const restored = await makeService({ dist, home, clock: { laterMs: 0 }, env: settings, ended })
  try {
    await requireSuccess(restored.command('restore', backup))
    await restored.start()
    database = await openDatabase({ dist, home, secretKey: env.SECRET_KEY })
    await judgeRestored(restored, { makeGuiche, cursors })
    await database.close()
  } finally {
    await restored.close()
    rmSync(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
}

async function judgeRestored(restored, { makeGuiche, cursors }) {
  const judging = { rows: database.rows, withinMs: READ_WITHIN_MS, breach: () => breach('restored') }
  const following = { urls: [restored.url], breach: judging.breach }
  for (const account of accounts) {
    const cursor = cursors.get(account.id)
    const { status } = await fetch(`${restored.url}/api/events?after=${cursor}`, { headers: bearer(account) })
    if (status !== 409) breach('restored')(`the old cursor ${cursor} was answered with ${status}`)
  }
  const readers = startReaders({ accounts, makeGuiche, ...following })
  const heads = startHeads({ account: accounts[0], ...following })
  await untilPositions((await bank.payments()).length, breach('restored'))
  await judgeReaders(readers, judging)
  await heads.stop()
  const events = await judgePositions(judging)
  console.log(
    `${events} events after a restore, ${readers.all.length} readers from the beginning, ${heads.count()} heads`,
  )
  const audit = await restored.command('audit', '--json')
  if (audit.code !== 0) breach('restored')(`audit: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
}

/** Where the history of each account ends, as a reader has it. */
async function readCursors() {
  const last = await lastPositions()
  const { historyId } = await fetch(`${services[0].url}/api/events/head`, { headers: bearer(accounts[0]) }).then(
    (answer) => answer.json(),
  )
  return new Map(accounts.map(({ id }) => [id, `${historyId}.${last.get(id)}`]))
}

async function requireSuccess(running) {
  const { code, stdout, stderr } = await running
  if (code !== 0) throw new Error(`a command failed with ${code}: ${stdout} ${stderr}`)
}

async function lastPositions() {
  const rows = await database.rows('select account_id as id, max(position) as last from history group by account_id')
  const known = new Map(rows.map(({ id, last }) => [id, String(last)]))
  return new Map(accounts.map(({ id }) => [id, known.get(id) ?? '0']))
}

/** From the answer to the commit of the writer, to the event at a reader of a stream in the same process. */
async function measure(rate) {
  const last = await lastPositions()
  const stopping = makeStop()
  const arrivals = new Map()
  const take = (_, body) => void arrivals.set(body, performance.now())
  for (const account of accounts)
    await openStream({ account, after: last.get(account.id), take, signal: stopping.signal })
  const commits = new Map()
  const writing = []
  const began = performance.now()
  for (let batch = 0; batch < LENGTHS.measureForMs / BATCH_MS; batch++) {
    await sleep(Math.max(0, began + batch * BATCH_MS - performance.now()))
    const ids = Array.from({ length: (rate * BATCH_MS) / 1000 }, () => anyOf(accounts).id)
    const commit = async () => {
      const bodies = await database.tell(ids)
      const at = performance.now()
      for (const body of bodies) commits.set(body, at)
    }
    writing.push(commit())
  }
  await Promise.all(writing)
  const perSecond = Math.round((commits.size * 1000) / (performance.now() - began))
  if (!(await within(READ_WITHIN_MS, () => arrivals.size >= commits.size))) breach('same')('a stream lacks events')
  stopping.abort()
  const took = [...commits].map(([body, at]) => Math.max(0, arrivals.get(body) - at)).toSorted((a, b) => a - b)
  const quantile = (part) => Math.round(took[Math.floor((took.length - 1) * part)])
  console.log(
    `${perSecond} events a second: from commit to reader ${quantile(0.5)} ms (p50), ${quantile(0.99)} ms (p99)`,
  )
}

async function judgeStreams() {
  const last = await lastPositions()
  const stopping = makeStop()
  const streams = Array.from({ length: STREAMS }, (_, number) => {
    const [account, read] = [accounts[number % ACCOUNTS], []]
    return {
      account,
      read,
      after: last.get(account.id),
      take: (_at, body) => void read.push(body),
      signal: stopping.signal,
    }
  })
  for (let opened = 0; opened < STREAMS; opened += OPENED_AT_ONCE)
    await Promise.all(streams.slice(opened, opened + OPENED_AT_ONCE).map(openStream))
  for (let turn = 0; turn < TOLD_TO_EACH_STREAM; turn++) await database.tell(accounts.map(({ id }) => id))
  await within(READ_WITHIN_MS, () => streams.every(({ read }) => read.length >= TOLD_TO_EACH_STREAM))
  stopping.abort()
  const histories = await readHistories(database.rows)
  const wrong = streams.filter(({ account, read }) => {
    const told = histories.get(account.id).slice(-TOLD_TO_EACH_STREAM)
    return read.length !== told.length || told.some((body, place) => read[place] !== body)
  })
  if (wrong.length > 0)
    breach('streams')(`${wrong.length} of ${STREAMS} streams read ${wrong[0].read.length} events, or others`)
  console.log(`${STREAMS} streams at one process, ${TOLD_TO_EACH_STREAM} events for each`)
}

/** Resolves when the stream is admitted. It goes on until the signal. */
function openStream(stream) {
  return new Promise((resolve, reject) => {
    readStream({ url: services[0].url, ...stream, opened: resolve }).catch(reject)
  })
}

function anyOf(items) {
  return items[Math.floor(Math.random() * items.length)]
}
