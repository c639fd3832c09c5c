// Proves that every Pix of a lasting code is one deposit, or is held once, whatever happens meanwhile. See
// prove/README.md.

import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'
import { makeRandom } from './money/random.mjs'

const CLAIMS = {
  answers: 'every request for a code is answered with that code, and none with a 500',
  once: 'each payment of a code that is always open, inside its limits, is one deposit of its value and its code',
  held: 'each other payment is held once, or is one deposit if its code was closed and opened meanwhile',
  told: 'each payment that is held is told once, with its code, and each decision about one is told once',
  lost: 'every payment at the bank is in the books once',
  balance: 'the balance is the sum of what the deposits credited',
  audit: 'guiche audit finds no difference',
}

const CODES = 100
const PAYERS = 8
const PAYMENTS = 100
const MAX_CENTS = 90_00
// More than there are of a kind in all rounds.
const MAX_HELD = 1_000
// A list that lags shows a Pix after the sweep has passed its time. Less than the ten minutes that a sweep reads again.
const MAX_LAG_MS = 8 * 60_000
const FAULTS = [{}, { dropNotifications: true }, { duplicateNotifications: 2 }, { errorRate: 0.05 }, { latencyMs: 30 }]
const END_WITHIN_MS = 90_000
const ROUND_WITHIN_MS = 3 * 60_000

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    rounds: { type: 'string', default: '4' },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/codes.mjs [--seed N] [--rounds 4] [--dist DIR]

In each round ${PAYERS} payers pay ${PAYMENTS} times each, by ${CODES} codes, while some of the codes are closed, opened and limited, and the
service is killed. Then an operator decides about half of what is held.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}
const ROUNDS = Number(options.rounds)
// Nothing is paid before there are codes.
let madeMs = Infinity
let [bank, service, note, api, account] = []
await proveClaims({
  name: 'codes',
  claims: CLAIMS,
  prove,
  env: { RECONCILE_SECONDS: '2' },
  withinMs: ROUNDS * ROUND_WITHIN_MS + 2 * END_WITHIN_MS,
  dist: options.dist,
})

async function prove({ openBooks, ...parts }) {
  ;({ bank, service, note } = parts)
  console.log(`seed ${options.seed}, ${ROUNDS} rounds`)
  await service.start()
  const books = await openBooks()
  account = { key: /^API key: (.+)$/m.exec(service.output())?.[1] }
  api = makeApi({ url: service.url, note, counts: new Map() })
  const random = makeRandom(options.seed)
  const codes = Array.from({ length: CODES }, (_, index) => ({
    name: `customer/${index}`,
    isFixed: index % 4 !== 3,
    payments: [],
  }))
  await Promise.all(codes.map((code) => ensure(code)))
  madeMs = Date.now()
  await sleep(100)
  for (let round = 0; round < ROUNDS; round++) await runRound(random.stream(`round ${round}`), codes, round)
  await bank.faults({})
  await judge(codes, books)
}

async function runRound(random, codes, round) {
  await bank.faults({ ...random.pick(FAULTS), seed: round })
  let isOver = false
  const changing = changeCodes(random.stream('changes'), codes, () => isOver)
  const payers = Array.from({ length: PAYERS }, (_, index) => payMany(random.stream(`payer ${index}`), codes))
  await sleep(random.int(100, 600))
  await service.kill()
  await service.start()
  await Promise.all(payers)
  isOver = true
  await changing
}

async function payMany(random, codes) {
  for (let turn = 0; turn < PAYMENTS; turn++) {
    const code = random.pick([codes[0], random.pick(codes)])
    const amountCents = random.int(1_00, MAX_CENTS + 10_00)
    const lagMs = random.pick([0, 0, random.int(1, Math.min(MAX_LAG_MS, Date.now() - madeMs))])
    const at = new Date(Date.now() - lagMs).toISOString()
    const made = await bank.pay({ emv: code.emv, amountCents, at })
    code.payments.push(...made.map(({ endToEndId }) => ({ endToEndId, amountCents })))
    await sleep(random.int(0, 10))
  }
}

/** Of the codes that are not fixed, some are closed and opened, again and again. */
async function changeCodes(random, codes, isOver) {
  const changing = codes.filter(({ isFixed }) => !isFixed)
  while (!isOver()) {
    const code = random.pick(changing)
    if (random.pick([true, false])) await api(account, 'DELETE', pathOf(code))
    else await ensure(code)
    await sleep(random.int(5, 50))
  }
  for (const code of changing) await ensure(code)
}

function pathOf({ name }) {
  return `/api/codes/${encodeURIComponent(name)}`
}

async function ensure(code) {
  for (const end = Date.now() + END_WITHIN_MS; Date.now() < end; await sleep(100)) {
    const { status, json } = await api(account, 'PUT', pathOf(code), { body: { maxValue: MAX_CENTS } })
    if (status === 200 || status === 201) {
      if (code.emv !== undefined && json.code.emv !== code.emv)
        note('answers', `${code.name} has another code than before`)
      code.emv = json.code.emv
      return
    }
    if (![0, 502, 503].includes(status))
      note('answers', `${code.name} was answered with ${status}: ${JSON.stringify(json)}`)
  }
  note('answers', `${code.name} got no answer`)
}

async function judge(codes, books) {
  const made = await bank.payments()
  const until = Date.now() + END_WITHIN_MS
  while ((await books.recorded()).size < made.length && Date.now() < until) await sleep(500)
  const recorded = await books.recorded()
  for (const { endToEndId } of made)
    if (!recorded.has(endToEndId)) note('lost', `${endToEndId} is at the bank and not in the books`)
  const deposits = await listAll('/api/deposits', 'deposits')
  const exceptions = await heldOnes()
  const [byId, heldById] = [countBy(deposits), countBy(exceptions)]
  for (const code of codes) judgeCode(code, byId, heldById)
  await judgeTold(codes, exceptions, books)
  const credited = deposits.reduce((sum, { creditedValue }) => sum + creditedValue, 0)
  const { json } = await api(account, 'GET', '/api/balance')
  if (json.balance !== credited) note('balance', `it is ${json.balance}, and deposits credited ${credited}`)
  console.log(`${made.length} payments, ${deposits.length} deposits, ${exceptions.length} held`)
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
}

/** Writes off half of what is held. The service is killed meanwhile. */
async function judgeTold(codes, exceptions, books) {
  const decided = exceptions.filter((_, index) => index % 2 === 0)
  const email = 'o@ops.example'
  await service.command('operator', 'create', '--email', email)
  const key = (await service.command('operator', 'key', 'create', '--email', email, '--name', 'prove')).stdout.trim()
  const killing = sleep(200).then(async () => {
    await service.kill()
    await service.start()
  })
  await Promise.all([killing, ...decided.map(({ id }) => writeOff({ key }, id))])
  const codeOf = new Map(codes.flatMap(({ name, payments }) => payments.map(({ endToEndId }) => [endToEndId, name])))
  const events = await books.rows(`
    select kind, body::json -> 'data' ->> 'endToEndId' as "endToEndId", body::json -> 'data' ->> 'code' as code
    from events where kind in ('DEPOSIT_HELD', 'DEPOSIT_RELEASED')`)
  for (const [kind, wanted] of Object.entries({ DEPOSIT_HELD: exceptions, DEPOSIT_RELEASED: decided })) {
    const told = countBy(events.filter((event) => event.kind === kind))
    for (const { endToEndId } of wanted) {
      const found = told.get(endToEndId) ?? []
      if (found.length !== 1) note('told', `${endToEndId} is told ${found.length} times by ${kind}`)
      else if (found[0].code !== codeOf.get(endToEndId))
        note('told', `${endToEndId} is told as one of ${found[0].code}`)
    }
    if (told.size !== wanted.length)
      note('told', `${told.size} payments are told by ${kind}, and ${wanted.length} are so`)
  }
}

async function writeOff(operator, id) {
  const body = { how: 'write_off', reason: 'a proof' }
  for (const end = Date.now() + END_WITHIN_MS; Date.now() < end; await sleep(200)) {
    // 409: a repetition is told that it is resolved already.
    const { status, json } = await api(operator, 'POST', `/api/operator/exceptions/${id}/resolve`, { body })
    if (status === 200 || status === 409) return
    if (![0, 502, 503].includes(status))
      note('answers', `deciding on ${id} was answered with ${status}: ${JSON.stringify(json)}`)
  }
  note('answers', `deciding on ${id} got no answer`)
}

function judgeCode({ name, isFixed, payments }, byId, heldById) {
  for (const { endToEndId, amountCents } of payments) {
    const [deposits, held] = [byId.get(endToEndId) ?? [], heldById.get(endToEndId) ?? []]
    const isInside = amountCents <= MAX_CENTS
    const isDeposit = deposits.length === 1 && held.length === 0
    const isHeld = deposits.length === 0 && held.length === 1
    const what = `${endToEndId} of ${name} with ${amountCents} cents is ${deposits.length} deposits, and held ${held.length} times`
    if (isInside && isFixed && !isDeposit) note('once', what)
    if (isDeposit && (deposits[0].value !== amountCents || deposits[0].code !== name))
      note('once', `${endToEndId} is a deposit of ${deposits[0].value} cents of ${deposits[0].code}`)
    if (!(isInside && isFixed) && !isHeld && !(isDeposit && isInside)) note('held', what)
  }
}

function countBy(rows) {
  const found = new Map()
  for (const row of rows) found.set(row.endToEndId, [...(found.get(row.endToEndId) ?? []), row])
  return found
}

async function listAll(path, field) {
  const all = []
  for (let cursor = ''; cursor !== null;) {
    const { json } = await api(account, 'GET', `${path}?limit=100${cursor && `&cursor=${cursor}`}`)
    all.push(...json[field])
    cursor = json.nextCursor
  }
  return all
}

async function heldOnes() {
  const held = []
  for (const kind of ['code_limits', 'code_closed']) {
    const args = ['--kind', kind, '--limit', String(MAX_HELD), '--json']
    const { code, stdout, stderr } = await service.command('exceptions', 'list', ...args)
    const found = code === 0 ? JSON.parse(stdout) : []
    if (code !== 0 || found.length === MAX_HELD) throw new Error(`guiche exceptions list ended with ${code}: ${stderr}`)
    held.push(...found)
  }
  return held
}
