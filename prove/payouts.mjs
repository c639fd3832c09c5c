// Proves that a payout is asked for, reserved and ended once, whoever decides on it and whatever is killed meanwhile.
// See prove/README.md.

import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'
import { makeRandom } from './money/random.mjs'

const CLAIMS = {
  once: 'every request made one payout, however often it was repeated, and there are no others',
  ended: 'a payout ended as the first answer about it says, and every later decision was refused or the same',
  never: 'at no time is more reserved than was there: what is available is never below zero',
  told: 'every end is one event and every step one line of the statement',
  sums: 'the balance is what was credited, less what was paid',
  answers: 'every answer is one that the request may get; none is a 500',
  audit: 'guiche audit finds no difference',
}

const PAYOUTS = 200
const ASKERS = 16
const OPERATORS = 5
const KILLS = 5
const FUNDED_CENTS = 20_000_00
// All of them together are more than there is, so some wait until others are rejected.
const MAX_CENTS = 500_00
const WITHIN_MS = 5 * 60_000
const PAGE = 100

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/payouts.mjs [--seed N] [--dist DIR]

${ASKERS} programs ask for ${PAYOUTS} payouts while ${OPERATORS} operators pay and reject them, and the service and its database are
killed ${KILLS} times.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}
let bank
let service
let note
let api
let account
const random = makeRandom(options.seed)
/** By the key of the request: the id of its payout. */
const made = new Map()
/** By payout: the decision that was answered with 200. */
const decided = new Map()
const counts = { repeated: 0, refused: 0, tooSmall: 0 }
const meanwhile = { isOver: false }

await proveClaims({
  name: 'payouts',
  claims: CLAIMS,
  prove,
  env: { FEE_BPS: '0' },
  withinMs: 2 * WITHIN_MS,
  dist: options.dist,
})

async function prove(parts) {
  ;({ bank, service, note } = parts)
  console.log(`seed ${options.seed}, ${PAYOUTS} payouts`)
  await service.start()
  account = { key: /^API key: (.+)$/m.exec(service.output())?.[1] }
  api = makeApi({ url: service.url, note, counts: new Map() })
  await fund()
  const operators = []
  for (let index = 0; index < OPERATORS; index++) operators.push(await makeOperator(`o${index}@ops.example`))
  const asking = Promise.all(Array.from({ length: ASKERS }, (_, index) => askSome(index)))
  const others = [...operators.map((operator) => decideSome(operator)), watchBalance(), killNowAndThen()]
  await asking
  await untilEnded(operators[0])
  meanwhile.isOver = true
  await Promise.all(others)
  await judge()
  console.log(
    `${made.size} payouts; ${counts.repeated} requests and decisions were repeated, ${counts.refused} decisions came second, ${counts.tooSmall} requests had to wait for money`,
  )
}

async function fund() {
  const { json } = await api(account, 'POST', '/api/deposit', { body: { value: FUNDED_CENTS } })
  await bank.pay({ emv: json.charge.emv })
  await api(account, 'GET', `/api/deposit/${json.charge.paymentLinkId}`)
}

async function makeOperator(email) {
  await run('operator', 'create', '--email', email)
  return {
    email,
    random: random.stream(email),
    key: (await run('operator', 'key', 'create', '--email', email, '--name', 'prove')).trim(),
  }
}

async function run(...args) {
  const { code, stdout, stderr } = await service.command(...args)
  if (code !== 0) throw new Error(`guiche ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}

// ---- Those who ask ----

async function askSome(asker) {
  const own = random.stream(`asker ${asker}`)
  for (let index = asker; index < PAYOUTS; index += ASKERS) {
    const body = { value: own.int(1, MAX_CENTS), note: `payout ${index}` }
    await askUntilMade(own, `key-${index}`, body)
  }
}

/** Some send the same request twice at once, and everybody repeats what was not answered. */
async function askUntilMade(own, key, body) {
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await sleep(own.int(20, 300))) {
    const twice = own.chance(0.3) ? 2 : 1
    const answers = await Promise.all(
      Array.from({ length: twice }, () => api(account, 'POST', '/api/payouts', { body, key })),
    )
    for (const { status, headers, json } of answers) {
      if (status === 201) noteMade(key, body, json.payout)
      else if (status === 409 && headers.get('guiche-error') === 'balance_too_small') counts.tooSmall += 1
      else if (!isTransient(status) && headers.get('guiche-error') !== 'payout_limit')
        note('answers', `${key} was answered with ${status}: ${JSON.stringify(json)}`)
    }
    if (made.has(key)) return
    counts.repeated += 1
  }
  note('once', `${key} was never made`)
}

function noteMade(key, body, { id, value, note: text }) {
  if ((made.get(key) ?? id) !== id) note('once', `${key} made both ${made.get(key)} and ${id}`)
  if (value !== body.value || text !== body.note) note('once', `${key} asked for ${body.value} and made ${value}`)
  made.set(key, id)
}

function isTransient(status) {
  return status === 0 || status === 503
}

// ---- Operators, who do not know of each other ----

async function decideSome(operator) {
  const { random: own } = operator
  while (!meanwhile.isOver) {
    const { status, json } = await api(operator, 'GET', '/api/operator/payouts?status=REQUESTED&limit=100')
    if (status === 200 && json.payouts.length > 0) await decideOn(operator, own.pick(json.payouts).id)
    await sleep(own.int(50, 300))
  }
}

/** Repeats a decision until it is answered. */
async function decideOn(operator, id) {
  const isPaid = operator.random.chance(0.25)
  const body = isPaid ? { reference: `E-${operator.email}` } : { reason: `rejected by ${operator.email}` }
  const path = `/api/operator/payouts/${id}/${isPaid ? 'pay' : 'reject'}`
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await sleep(200)) {
    const { status, headers, json } = await api(operator, 'POST', path, { body })
    if (status === 200) return noteDecided(id, json.payout)
    if (status === 409 && headers.get('guiche-error') === 'payout_ended') return void (counts.refused += 1)
    if (!isTransient(status)) note('answers', `${path} was answered with ${status}: ${JSON.stringify(json)}`)
    counts.repeated += 1
  }
}

function noteDecided(id, { status, reference, reason }) {
  const end = `${status} ${reference ?? reason}`
  if ((decided.get(id) ?? end) !== end) note('ended', `${id} was answered as ${decided.get(id)}, and as ${end}`)
  decided.set(id, end)
}

async function untilEnded(operator) {
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await sleep(300)) {
    const { status, json } = await api(operator, 'GET', '/api/operator/payouts?status=REQUESTED&limit=1')
    if (status === 200 && json.payouts.length === 0) return
  }
  note('ended', 'payouts are still REQUESTED')
}

// ---- What happens meanwhile ----

async function watchBalance() {
  while (!meanwhile.isOver) {
    const { status, json } = await api(account, 'GET', '/api/balance')
    const { balance, available, reserved } = json
    const isRight = available >= 0 && reserved >= 0 && balance === available + reserved && balance <= FUNDED_CENTS
    if (status === 200 && !isRight) note('never', JSON.stringify(json))
    await sleep(20)
  }
}

async function killNowAndThen() {
  const own = random.stream('kill')
  for (let kill = 0; kill < KILLS && !meanwhile.isOver; kill++) {
    await sleep(own.int(300, 1_500))
    if (kill === 2) await service.killDatabase()
    else {
      await service.kill()
      await service.start()
    }
  }
}

// ---- At the end ----

async function judge() {
  const payouts = await readAll('/api/payouts', 'payouts')
  const ids = new Set(made.values())
  if (ids.size !== PAYOUTS || payouts.length !== PAYOUTS)
    note('once', `${made.size} keys made ${ids.size} payouts, and there are ${payouts.length}`)
  const paid = payouts.filter(({ status }) => status === 'PAID')
  for (const { id, status, reference, reason } of payouts) {
    if (!ids.has(id)) note('once', `${id} was asked for by nobody`)
    const end = `${status} ${reference ?? reason}`
    if ((decided.get(id) ?? end) !== end) note('ended', `${id} is ${end}, and was answered as ${decided.get(id)}`)
  }
  const paidCents = paid.reduce((sum, { value }) => sum + value, 0)
  console.log(`${paid.length} paid with ${paidCents} cents, ${payouts.length - paid.length} rejected`)
  await judgeTold(payouts)
  const { json } = await api(account, 'GET', '/api/balance')
  const left = FUNDED_CENTS - paidCents
  if (json.balance !== left || json.available !== left || json.reserved !== 0)
    note('sums', `${JSON.stringify(json)}, and ${left} cents are left`)
  const body = { value: left + 1 }
  const { status, headers } = await api(account, 'POST', '/api/payouts', { body, key: 'one cent more than there is' })
  if (headers.get('guiche-error') !== 'balance_too_small')
    note('never', `one cent more than is left was answered with ${status}`)
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
}

async function judgeTold(payouts) {
  const lines = (await readAll('/api/statement', 'lines')).filter(({ payoutId }) => payoutId !== null)
  const events = (await readAll('/api/events', 'events')).filter(({ event }) => event.startsWith('PAYOUT_'))
  const isPaid = (status) => status === 'PAID'
  for (const { id, status } of payouts) {
    const kinds = lines.filter(({ payoutId }) => payoutId === id).map(({ kind }) => kind)
    const wanted = isPaid(status) ? 'payout_reserved' : 'payout_returned payout_reserved'
    if (kinds.join(' ') !== wanted) note('told', `${id} is ${status}, and the statement says ${kinds.join(' ')}`)
    const told = events.filter(({ data }) => data.payoutId === id).map(({ event }) => event)
    if (told.join(' ') !== `PAYOUT_${status}`) note('told', `${id} is ${status}, and was told as ${told.join(' ')}`)
  }
}

async function readAll(path, field) {
  const items = []
  let cursor = null
  do {
    const { status, json } = await api(account, 'GET', `${path}?limit=${PAGE}${cursor ? `&cursor=${cursor}` : ''}`)
    if (status !== 200) throw new Error(`${path} was answered with ${status}`)
    items.push(...json[field])
    cursor = json.nextCursor
  } while (cursor !== null)
  return items
}
