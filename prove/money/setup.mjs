// Sets up bank, service and receiver, runs the phases, and lets all work finish.

import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { makeApi } from './api.mjs'
import { openBank } from './bank.mjs'
import { openBooks } from './books.mjs'
import { loseFirstAttempt, open, payLate, runScenario } from './scenarios.mjs'
import { makeRandom } from './random.mjs'
import { startReceiver } from './receiver.mjs'
import { makeService } from './service.mjs'
import { findSecondCodes } from './verdict.mjs'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const FEE_BPS = 137
const FEE_FIXED_CENTS = 2
const EXPIRES_SECONDS = 300
// Each jump is longer than a charge's five minutes and its minute of grace. All phases together stay below the day for
// which idempotency keys are kept.
const JUMP_MINUTES = [10, 80]
const LAST_JUMP_MINUTES = 180
const QUIET_WITHIN_MS = 90_000
// Longer than any phase lasts.
const WHOLE_PHASE_MS = 15 * MINUTE_MS

/** `as`: the bank takes the ways of this one alone. */
export async function setUp({ dist, seed, say, as }) {
  const home = mkdtempSync(join(tmpdir(), 'guiche-prove-'))
  // If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
  chmodSync(home, 0o755)
  const w = await makeWorld({ dist, seed, say, home, as })
  const ended = (text) => w.note('process', text)
  const service = await makeService({ dist, home, clock: w.clock, ended, env: w.env })
  return Object.assign(w, { service, api: makeApi({ url: service.url, note: w.note, counts: w.statuses }) })
}

/** Makes everything but the service, which runs with `w.env`. */
export async function makeWorld({ dist, seed, say, home, as }) {
  const clock = { laterMs: 0, now: () => new Date(Date.now() + clock.laterMs) }
  const random = makeRandom(seed)
  const notes = new Map()
  const note = (claim, text) => void notes.set(claim, [...(notes.get(claim) ?? []), text])
  const load = (path) => import(pathToFileURL(join(dist, path)).href)
  const { openSandbox } = await load('sandbox/server.js')
  const { settingsFor } = as ? await load('commands/sandbox.js') : {}
  const bank = await openBank({ openSandbox, home, clock, as, settingsFor })
  const receiver = await startReceiver(random.stream('receiver'))
  const env = {
    ...bank.settings,
    FEE_BPS: String(FEE_BPS),
    FEE_FIXED_CENTS: String(FEE_FIXED_CENTS),
    CHARGE_EXPIRES_SECONDS: String(EXPIRES_SECONDS),
    RATE_LIMIT_PER_SECOND: '0',
    PUBLIC_RATE_LIMIT_PER_SECOND: '0',
    PENDING_MAX_PER_ACCOUNT: '0',
  }
  return {
    dist,
    home,
    seed,
    say,
    clock,
    random,
    notes,
    note,
    bank,
    receiver,
    env,
    statuses: new Map(),
    priceOf,
    accounts: [],
    scenarios: new Map(),
    ways: new Map(),
    paysLater: [],
    counts: {
      requests: 0,
      replayed: 0,
      fresh: 0,
      stored: 0,
      forged: 0,
      kills: 0,
      databaseKills: 0,
      neverAnswered: 0,
      latePayments: 0,
    },
    notificationUrl: '',
    beganAtMs: Date.now(),
  }
}

/** The fee is rounded half up, as the operator's terms say. The account bears it. */
function priceOf(valueCents) {
  const feeCents = Number((BigInt(valueCents) * BigInt(FEE_BPS) + 5_000n) / 10_000n) + FEE_FIXED_CENTS
  return { feeCents, creditedCents: valueCents - feeCents }
}

export async function startService(w) {
  await w.service.start()
  const demo = {
    email: /^E-mail: (.+)$/m.exec(w.service.output())?.[1],
    key: /^API key: (.+)$/m.exec(w.service.output())?.[1],
  }
  if (!demo.key) throw new Error('the first start printed no API key')
  w.accounts.push(demo)
  for (const email of ['ana@loja.example', 'bia@loja.example']) {
    await requireSuccess(w.service.command('account', 'create', '--email', email))
    w.accounts.push({
      email,
      key: (await requireSuccess(w.service.command('key', 'create', '--email', email, '--name', 'prove'))).trim(),
    })
  }
  for (const account of w.accounts) {
    const { status, json } = await w.api(account, 'POST', '/api/webhooks', { body: { url: w.receiver.url } })
    if (status !== 201)
      throw new Error(`creating the webhook of ${account.email} was answered with ${status}: ${JSON.stringify(json)}`)
  }
  w.notificationUrl = await until('the notification URL is registered', () => w.bank.notificationUrl())
}

async function requireSuccess(running) {
  const { code, stdout, stderr } = await running
  if (code !== 0) throw new Error(`a command failed with ${code}: ${stderr}`)
  return stdout
}

/**
 * Runs scenarios side by side under one plan of faults, and kills the service meanwhile. After the last kill, time
 * passes before the next start.
 */
export async function runPhase(w, { name, plan, scenarios, atOnce, kills, databaseKills }) {
  const random = w.random.stream(`phase ${name}`)
  const faults = startFaults(w, random, plan)
  const beganAt = performance.now()
  let begun = 0
  const worker = async () => {
    while (begun < scenarios) {
      const number = ++begun
      await sleep(Math.max(0, beganAt + (faults.cycleMs * number) / scenarios - performance.now()))
      await runScenario(w, `${name}-${number}`)
    }
  }
  const killer = async () => {
    for (const [index, at] of randomMoments(random, { kills, scenarios }).entries()) {
      await until('the next kill is due', async () => begun >= at, QUIET_WITHIN_MS)
      await sleep(random.int(0, 600))
      if (index < databaseKills) await crashDatabase(w)
      await crashService(w, index === kills - 1 ? random.int(...JUMP_MINUTES) : 0)
    }
  }
  await Promise.all([killer(), ...Array.from({ length: atOnce }, worker)])
  const late = w.paysLater.splice(0)
  w.counts.latePayments += late.length
  for (const scenario of late) await payLate(w, scenario)
  await faults.stop()
  for (const text of findSecondCodes(w.bank.charges())) w.note('one-code', `after ${name}: ${text}`)
}

/** Starts steady faults, or waves of them. Scenarios are spread over all waves. */
function startFaults(w, random, plan) {
  const waves = Array.isArray(plan) ? plan : [{ ...plan, forMs: WHOLE_PHASE_MS }]
  const stopping = new AbortController()
  const run = async () => {
    for (let at = 0; !stopping.signal.aborted; at++) {
      const { forMs, ...faults } = waves[at % waves.length]
      await w.bank.faults({ ...faults, seed: random.int(0, 2 ** 31) })
      await sleep(forMs, undefined, { signal: stopping.signal }).catch(() => undefined) // the phase is over
    }
    await w.bank.faults({})
  }
  const running = run()
  return {
    cycleMs: Array.isArray(plan) ? waves.reduce((sum, { forMs }) => sum + forMs, 0) : 0,
    stop: () => {
      stopping.abort()
      return running
    },
  }
}

/** Each kill comes after this many scenarios have begun. */
function randomMoments(random, { kills, scenarios }) {
  return Array.from({ length: kills }, () => random.int(1, scenarios)).toSorted((a, b) => a - b)
}

async function crashService(w, minutes) {
  w.counts.kills += 1
  await w.service.kill()
  w.clock.laterMs += minutes * MINUTE_MS
  await w.service.start()
}

async function crashDatabase(w) {
  w.counts.databaseKills += 1
  w.service.killDatabase()
  await sleep(300)
}

/** Heals the bank, lets hours pass and all work finish. Returns the facts for the verdict. */
export async function finish(w) {
  w.receiver.failsSome = false
  await w.bank.faults({})
  await loseFirstAttempt(w)
  await retryUnanswered(w)
  // Calls that the bank never answers may delay the stop until the service is killed. That is as safe.
  await w.service.stop()
  w.clock.laterMs += LAST_JUMP_MINUTES * MINUTE_MS
  await w.service.start()
  const books = await openBooks(w)
  w.books = books
  await orNote(w, 'rest', 'some charges are still open', async () => (await books.unsettled()) === 0)
  await payClosed(w)
  await orNote(
    w,
    'rest',
    'the bank still has notifications to send',
    async () => (await w.bank.stats()).notifications.waiting === 0,
  )
  const missingBeforeSweep = (await missingWhenQuiet(w)).length
  await sweepPastMalformed(w)
  await sweep(w)
  await orNote(w, 'rest', 'some deliveries are still pending', async () => (await books.undelivered()) === 0)
  const balances = await readBalances(w)
  const code = await w.service.stop()
  if (code !== 0) w.note('process', `stopped when idle, it exited with ${code}`)
  return collect(w, { missingBeforeSweep, balances })
}

/** Half of the callers without an answer try again; the others are gone. */
async function retryUnanswered(w) {
  const unanswered = [...w.scenarios.values()].filter((scenario) => !scenario.charge)
  w.counts.neverAnswered = unanswered.length
  for (const scenario of unanswered.filter((_, index) => index % 2 === 0)) {
    if (!(await open(w, scenario, 20_000)))
      w.note('rest', `${scenario.key} was not answered although the bank is healthy`)
  }
}

/** Pays some EXPIRED and CANCELED charges. */
async function payClosed(w) {
  const random = w.random.stream('closed')
  const unpaid = [...w.scenarios.values()].filter((scenario) => scenario.charge && !scenario.isPaid)
  for (const scenario of unpaid) if (random.chance(0.3)) await payLate(w, scenario)
}

/** Payments at the bank that are not in the books. */
export async function missing(w) {
  const recorded = await w.books.recorded()
  return (await w.bank.payments()).filter((pix) => !recorded.has(pix.endToEndId))
}

/** Waits until nothing was recorded for a while. What is missing then needs the sweep. */
async function missingWhenQuiet(w) {
  let left = await missing(w)
  for (let quiet = 0; left.length > 0 && quiet < 6; quiet++) {
    await sleep(500)
    const now = await missing(w)
    if (now.length < left.length) quiet = 0
    left = now
  }
  return left
}

/** Finds payments without a notification in the bank's list. */
async function sweep(w) {
  const { code, stdout, stderr } = await reconcile(w)
  if (code !== 0) w.note('lost', `guiche reconcile exited with ${code}: ${stdout}${stderr}`)
  await missingWhenQuiet(w)
}

/** Sweeps a list with a malformed entry. That entry is a difference, so the command exits with 1. */
async function sweepPastMalformed(w) {
  await w.bank.faults({ malformedEntry: true, dropNotifications: 1 })
  await w.bank.pay({ txid: 'besideamalformedentry', amountCents: 777 })
  const { code, stdout, stderr } = await reconcile(w)
  const left = await missingWhenQuiet(w)
  if (left.length > 0) {
    w.note('list', `${left.length} payments are missing, and guiche reconcile exited with ${code}: ${stdout}${stderr}`)
  }
  await w.bank.faults({})
}

function reconcile(w) {
  const from = new Date(w.beganAtMs - HOUR_MS).toISOString()
  // The end of a window is exclusive, and payments of this second count too.
  const to = new Date(w.clock.now().getTime() + MINUTE_MS).toISOString()
  return w.service.command('reconcile', '--from', from, '--to', to)
}

/** Reads the balance of each account, and the sum of its statement. */
export async function readBalances(w) {
  const entries = await Promise.all(
    w.accounts.map(async (account) => {
      const { json } = await w.api(account, 'GET', '/api/balance')
      let lines = 0n
      for (let cursor = ''; cursor !== null;) {
        const page = await w.api(account, 'GET', `/api/statement?limit=100${cursor && `&cursor=${cursor}`}`)
        lines += page.json.lines.reduce((sum, line) => sum + BigInt(line.amount), 0n)
        cursor = page.json.nextCursor
      }
      return [account.email, { balance: json.balance, lines }]
    }),
  )
  return new Map(entries)
}

/** Collects the facts for the verdict, when all work is done. */
export async function collect(w, { missingBeforeSweep, balances }) {
  const audited = await w.service.command('audit', '--json')
  const stats = await w.bank.stats()
  const { dropped, abandoned } = stats.notifications
  return {
    notes: w.notes,
    scenarios: w.scenarios,
    accounts: w.accounts,
    priceOf,
    balances,
    missingBeforeSweep,
    unannounced: dropped + abandoned,
    events: w.receiver.events,
    audit:
      audited.code === 0
        ? []
        : [`it exited with ${audited.code}: ${audited.stdout.trim()} ${audited.stderr.trim()}`.slice(0, 3_000)],
    bank: { payments: await w.bank.payments(), charges: w.bank.charges(), stats },
    books: await w.books.read(),
  }
}

/** Stops everything. A failed proof keeps its home for inspection. */
export async function tearDown(w, { keepHome }) {
  await w.service.close()
  await w.books?.close().catch(() => undefined)
  killLeftDatabase(w.home)
  w.receiver.stop()
  await w.bank.stop()
  if (!keepHome) rmSync(w.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}

/** Stops the database of an aborted proof. */
function killLeftDatabase(home) {
  try {
    process.kill(Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0]), 'SIGQUIT')
  } catch {
    // The database has already stopped.
  }
}

/** Notes a breach if it is not true in time. */
export async function orNote(w, claim, text, isTrue, withinMs = QUIET_WITHIN_MS) {
  await until(text, isTrue, withinMs).catch(() => w.note(claim, `${text} after ${withinMs} ms`))
}

async function until(what, ask, boundMs = 30_000) {
  const end = Date.now() + boundMs
  for (;;) {
    const result = await ask()
    if (result) return result
    if (Date.now() > end) throw new Error(`timed out after ${boundMs} ms: ${what}`)
    await sleep(100)
  }
}
