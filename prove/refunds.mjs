// Proves that a refund that the bank made is never called FAILED, however late or wrong its answers are, and that the
// books follow a bank that takes refunds back and makes them again. See prove/README.md.

import { randomInt } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { makeApi } from './money/api.mjs'
import { openBank } from './money/bank.mjs'
import { openBooks } from './money/books.mjs'
import { makeService } from './money/service.mjs'

const CLAIMS = {
  audit: 'guiche audit finds no difference',
  refunded: 'every refund at the bank is DONE in the books, once, with its amount, as the one that was requested',
  released: 'no refund that the bank made was called FAILED, at any time',
  cash: 'the books hold what the bank holds, after a wrong list and while it takes refunds back and makes them again',
  named: 'guiche reconcile or guiche audit names what the bank contradicts, until it is decided',
  again: 'an operator decides on a refund that was made again only if its money was given away before',
  balance: 'the account has what was paid to it less what the bank gave back',
  rest: 'all work finished, and no refund stayed in doubt',
  answers: 'no answer was a 500',
  process: 'the service never exited unasked',
}

const MINUTE_MS = 60_000
const DEPOSITS = 12
const VALUE_CENTS = 10_00
// Half of the answers are garbage although the work was done, and lookups lag by this long.
const FAULTS = { garbageRate: 0.5, refundLagMs: 30 * MINUTE_MS }
// The worker retries after 2, 4 and 8 seconds, so the second process is refused a few times before lookups catch up.
const REFUSED_FOR_MS = 16_000
const REST_WITHIN_MS = 60_000
// Longer than the lease on a refund check.
const LEASE_IS_OVER_MS = 2 * MINUTE_MS

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(
    'node prove/refunds.mjs [--seed N] [--dist DIR]\n\nExit 0: all claims held. 1: a claim failed. 2: the proof could not run.',
  )
  process.exit(0)
}
if (!options.dist) await ensureBuilt()
const dist = resolve(options.dist ?? join(root, 'server/dist'))
const home = mkdtempSync(join(tmpdir(), 'guiche-prove-refunds-'))
// If we are root, PostgreSQL runs as another user, who must be able to enter this directory.
chmodSync(home, 0o755)
/** @type {{ claim: string, text: string }[]} */
const breaches = []
const note = (claim, text) => void breaches.push({ claim, text })
const clock = { laterMs: 0, now: () => new Date(Date.now() + clock.laterMs) }
const began = performance.now()
let bank
let service
let books
try {
  await prove()
  report()
  process.exitCode = breaches.length > 0 ? 1 : 0
} catch (error) {
  console.error(`The proof could not run (seed ${options.seed}): ${error.stack ?? error}`)
  process.exitCode = 2
} finally {
  await tearDown()
}

async function prove() {
  const { openSandbox } = await import(pathToFileURL(join(dist, 'sandbox/server.js')).href)
  bank = await openBank({ openSandbox, home, clock })
  const env = { PROVIDER_SANDBOX_URL: bank.url, FEE_BPS: '0', REFUNDS_BY_ACCOUNTS: 'true', RATE_LIMIT_PER_SECOND: '0' }
  service = await makeService({ dist, home, clock, env, ended: (text) => note('process', text) })
  await service.start()
  const [, email, key] = /^E-mail: (.*)\nPassword: .*\nAPI key: (.*)$/m.exec(service.output())
  const account = { email, key }
  const api = makeApi({ url: service.url, note, counts: new Map() })
  const charges = await completeDeposits(api, account)

  await bank.faults({ ...FAULTS, seed: Number(options.seed) % 2 ** 31 })
  // One after another, so that failures of one do not open the breaker for the next.
  for (const { paymentLinkId } of charges) {
    await requestUntilAnswered(api, account, `/api/deposit/${paymentLinkId}/refund`, { key: `refund-${paymentLinkId}` })
  }
  await service.kill()
  await bank.faults({ refundLagMs: FAULTS.refundLagMs })
  await service.start()
  books = await openBooks({ dist, home })
  await sleep(REFUSED_FOR_MS)
  await noteReleased('while lookups lag')

  await service.kill()
  await bank.faults({})
  clock.laterMs += 2 * FAULTS.refundLagMs
  await service.start()
  const isOver = async () => (await books.refunds()).every((refund) => refund.status !== 'PROCESSING')
  await until(isOver).catch(() => note('rest', `refunds are PROCESSING ${REST_WITHIN_MS} ms after the bank is healthy`))
  const made = madeAtBank()
  await judgeRefunds(made)
  await changeMinds(account, made)
  await judgeMoney(api, account, made)
}

async function completeDeposits(api, account) {
  const charges = []
  for (let number = 0; number < DEPOSITS; number++) {
    const { charge } = await requestUntilAnswered(api, account, '/api/deposit', {
      body: { value: VALUE_CENTS },
      key: `deposit-${number}`,
    })
    await bank.pay({ emv: charge.emv })
    await until(async () => {
      const { json } = await api(account, 'GET', `/api/deposit/${charge.paymentLinkId}`)
      return json.charge?.status === 'COMPLETED'
    })
    charges.push(charge)
  }
  return charges
}

/** The bank contradicts what it said before: first only in its list, then in earnest, and then once more. */
async function changeMinds(account, made) {
  const paidCents = DEPOSITS * VALUE_CENTS
  const leftCents = paidCents - sumOf(made)
  await bank.faults({ refundsListedFailed: true })
  await requireNamed('reconcile', 'a list that calls refunds failed')
  await noteCash(leftCents, 'after a list called refunds failed that the bank made')

  await bank.faults({ refundsFailed: true })
  await reconcile()
  // The kill comes before, while or after the service asks the bank.
  await service.kill()
  clock.laterMs += LEASE_IS_OVER_MS
  await service.start()
  await noteCash(paidCents, 'after the bank took refunds back')
  const undone = await books.openExceptions('undone_refund')
  const givenAway = undone.slice(0, Math.ceil(undone.length / 2))
  for (const id of givenAway) await resolveException(id, '--credit', account.email)

  await bank.faults({})
  await requireNamed('audit', 'refunds that the bank made again')
  await reconcile()
  await noteCash(leftCents, 'after the bank made them again')
  const foreign = await books.openExceptions('foreign_refund')
  const open = await books.openExceptions('undone_refund')
  if (foreign.length !== givenAway.length || open.length > 0)
    note('again', `${givenAway.length} were credited, and ${foreign.length} and ${open.length} are to be decided`)
  for (const id of foreign) await resolveException(id, '--charge-account')
}

/** Notes a breach unless the books soon hold `wantedCents`, with no refund left to ask about. */
async function noteCash(wantedCents, when) {
  const agrees = async () => (await books.refundChecks()) === 0 && (await books.cashCents()) === wantedCents
  await until(agrees).catch(async () => {
    const text = `the bank holds ${wantedCents} cents, our books ${await books.cashCents()}`
    note('cash', `${when}, ${text}, and ${await books.refundChecks()} refunds are to be asked about`)
  })
}

async function requireNamed(command, what) {
  const { code, stdout } = command === 'audit' ? await service.command('audit', '--json') : await reconcile()
  if (code !== 1) note('named', `guiche ${command} exited with ${code} for ${what}: ${stdout}`.slice(0, 500))
}

function reconcile() {
  const from = new Date(Date.now() - 2 * 60 * MINUTE_MS).toISOString()
  return service.command('reconcile', '--from', from, '--to', clock.now().toISOString())
}

async function resolveException(id, ...how) {
  const { code, stderr } = await service.command('exceptions', 'resolve', id, ...how, '--reason', 'because')
  if (code !== 0) throw new Error(`exception ${id} could not be resolved by ${how.join(' ')}: ${stderr}`)
}

/** Retries under the same key until it is answered: the machine may be busy. */
async function requestUntilAnswered(api, account, path, request) {
  let answer
  await until(async () => {
    answer = await api(account, 'POST', path, request)
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 409)
      throw new Error(`${path} was answered with ${answer.status}: ${JSON.stringify(answer.json)}`)
    return answer.status === 201
  })
  return answer.json
}

async function judgeRefunds(made) {
  const booked = await books.refunds()
  for (const { id, endToEndId, cents } of made) {
    const done = booked.filter((refund) => refund.provider_refund_id === id && refund.status === 'DONE')
    const found = done.map((refund) => `${refund.source} ${refund.amount_cents}`).join(', ')
    if (found !== `balance ${cents}`)
      note('refunded', `refund ${id} of ${cents} cents of ${endToEndId} is booked as [${found}]`)
  }
  for (const { provider_refund_id: id, status } of booked)
    if (status === 'DONE' && !made.some((refund) => refund.id === id))
      note('refunded', `refund ${id} is not at the bank`)
  await noteReleased('in the end')
  console.log(`${made.length} refunds at the bank of ${DEPOSITS} deposits`)
  if (made.length < DEPOSITS / 2) throw new Error('the bank made too few refunds to prove anything')
}

async function judgeMoney(api, account, made) {
  const { json } = await api(account, 'GET', '/api/balance')
  const wanted = DEPOSITS * VALUE_CENTS - sumOf(made)
  if (json.balance !== wanted) note('balance', `it has ${json.balance} cents, and should have ${wanted}`)
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0)
    note('audit', `it exited with ${audit.code}: ${audit.stdout.trim()} ${audit.stderr.trim()}`.slice(0, 2_000))
}

function sumOf(refunds) {
  return refunds.reduce((sum, { cents }) => sum + cents, 0)
}

async function noteReleased(when) {
  const made = madeAtBank()
  for (const { provider_refund_id: id, status } of await books.refunds())
    if (status === 'FAILED' && made.some((refund) => refund.id === id))
      note('released', `refund ${id} is FAILED ${when}`)
}

function madeAtBank() {
  return bank
    .charges()
    .flatMap(({ pix = [] }) =>
      pix.flatMap(({ endToEndId, devolucoes = [] }) =>
        devolucoes.map(({ id, valor }) => ({ id, endToEndId, cents: Number(valor.replace('.', '')) })),
      ),
    )
}

function report() {
  console.log(`took ${Math.round((performance.now() - began) / 1000)} s, seed ${options.seed}\n`)
  for (const [claim, says] of Object.entries(CLAIMS)) {
    const texts = breaches.filter((breach) => breach.claim === claim).map((breach) => breach.text)
    console.log(`${texts.length === 0 ? 'held    ' : 'NOT HELD'} ${claim}: ${says}`)
    for (const text of texts.slice(0, 5)) console.log(`           ${text}`)
  }
}

async function until(isTrue) {
  const end = Date.now() + REST_WITHIN_MS
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('timed out')
    await sleep(200)
  }
}

async function tearDown() {
  await service?.close()
  await books?.close().catch(() => undefined)
  try {
    process.kill(Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0]), 'SIGQUIT')
  } catch {
    // The database has already stopped.
  }
  await bank?.stop()
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}
