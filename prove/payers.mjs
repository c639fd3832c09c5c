// Proves that nobody else's money is credited where a deposit requires its payer, that it goes back once, and that the
// number of a payer is nowhere in clear. See prove/README.md.

import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'
import { makeRandom } from './money/random.mjs'

const CLAIMS = {
  answers: 'every deposit was made, and no request was answered with a 500',
  credited: 'required money of another person is not credited, and all other money is, once',
  refunded: 'required money of another person went back to its payer once, and no other money did',
  told: 'the record of each deposit says who paid, and one event told it',
  calls: 'without faults, the bank is asked once for each payment',
  secret: 'no number of a payer is in a table, a log line, an answer, a backup or a file of the database',
  audit: 'guiche audit finds no difference',
}

const WORKERS = 8
const ROUNDS = 4
// One in three is made without faults, and paid by the right person.
const CALM_SHARE = 1 / 3
const FAULTS = [
  { payerErrorRate: 0.3 },
  { payerLagMs: 15_000 },
  { errorRate: 0.05, payerErrorRate: 0.1 },
  { dropNotifications: 0.5, payerLagMs: 5_000 },
  { latencyMs: 30 },
]
// As many numbers are looked for in each file, byte by byte.
const CANARIES = 4
// The bank must say for a minute that another person paid, and longer if it was away.
const END_WITHIN_MS = 4 * 60_000
const PER_SEED_MS = 500

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    seeds: { type: 'string', default: '90' },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/payers.mjs [--seed N] [--seeds 90] [--dist DIR]

Each of the seeds is a deposit that names its payer, by either policy, and that this person or another one pays. The bank
lags, fails and is away, and the service is killed between answer and credit.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}
const SEEDS = Number(options.seeds)
let [bank, service, note, api, account, books, home] = []
await proveClaims({
  name: 'payers',
  claims: CLAIMS,
  prove,
  env: { RECONCILE_SECONDS: '2', LOG_LEVEL: 'debug', FEE_BPS: '100' },
  withinMs: SEEDS * PER_SEED_MS + 2 * END_WITHIN_MS,
  dist: options.dist,
})

async function prove({ openBooks, ...parts }) {
  ;({ bank, service, note, home } = parts)
  console.log(`seed ${options.seed}, ${SEEDS} seeds`)
  await service.start()
  books = await openBooks()
  account = { key: /^API key: (.+)$/m.exec(service.output())?.[1] }
  api = makeApi({ url: service.url, note, counts: new Map() })
  const random = makeRandom(options.seed)
  const isCalm = (nth) => nth < SEEDS * CALM_SHARE
  const deposits = Array.from({ length: SEEDS }, (_, nth) => plan(random.stream(`seed ${nth}`), nth, isCalm(nth)))
  await runCalm(deposits.filter(({ nth }) => isCalm(nth)))
  const rest = deposits.filter(({ nth }) => !isCalm(nth))
  for (let round = 0; round < ROUNDS; round++)
    await runRound(
      random.stream(`round ${round}`),
      rest.filter((_, index) => index % ROUNDS === round),
    )
  await bank.faults({})
  await decided(END_WITHIN_MS)
  await judge(deposits)
  await judgeSecrets(deposits)
}

function plan(random, nth, isCalm) {
  const [payer, other] = [taxId(random.stream('payer')), taxId(random.stream('other'))]
  const isOther = !isCalm && random.chance(0.4)
  const policy = random.pick(['verify', 'require'])
  return { nth, payer, policy, isOther, paidBy: isOther ? other : payer, value: random.int(1_00, 900_00) }
}

/** A CPF, or a CNPJ with letters. */
function taxId(random) {
  const isCompany = random.chance(0.3)
  const characters = isCompany ? '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ' : '0123456789'
  let text = Array.from({ length: isCompany ? 12 : 9 }, () => characters[random.int(0, characters.length - 1)]).join('')
  const second = isCompany ? [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2] : [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]
  for (const weights of [second.slice(1), second]) {
    const sum = weights.reduce((total, weight, at) => total + weight * (text.charCodeAt(at) - 48), 0)
    text += sum % 11 < 2 ? 0 : 11 - (sum % 11)
  }
  return text
}

function written(number) {
  return number.length === 11
    ? number.replace(/^(...)(...)(...)(..)$/, '$1.$2.$3-$4')
    : number.replace(/^(..)(...)(...)(....)(..)$/, '$1.$2.$3/$4-$5')
}

async function asked() {
  return (await bank.stats()).calls['GET /pix by payer'] ?? 0
}

async function runCalm(deposits) {
  const before = await asked()
  await runAll(deposits)
  await decided(END_WITHIN_MS)
  const calls = (await asked()) - before
  if (calls !== deposits.length) note('calls', `${calls} questions for ${deposits.length} payments`)
}

async function runRound(random, deposits) {
  await bank.faults({ ...random.pick(FAULTS), seed: random.int(0, 2 ** 31) })
  const paying = runAll(deposits)
  await sleep(random.int(50, 400))
  await service.kill()
  await bank.faults({ isUnreachable: true })
  await service.start()
  await sleep(random.int(100, 1_000))
  await bank.faults({ ...random.pick(FAULTS), seed: random.int(0, 2 ** 31) })
  await paying
  await sleep(random.int(0, 300))
  await service.kill()
  await service.start()
}

async function runAll(deposits) {
  const left = [...deposits]
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) await makeAndPay(next)
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
}

async function makeAndPay(deposit) {
  const { nth, payer, policy, value, paidBy } = deposit
  const body = { value, payer: { taxId: nth % 2 === 0 ? written(payer) : payer, policy } }
  await refused(payer)
  for (const end = Date.now() + END_WITHIN_MS; Date.now() < end; await sleep(100)) {
    const { status, json } = await api(account, 'POST', '/api/deposit', { body, key: `seed ${nth}` })
    if (status === 201) {
      const [pix] = await bank.pay({ emv: json.charge.emv, payer: paidBy })
      Object.assign(deposit, { charge: json.charge, endToEndId: pix.endToEndId })
      return
    }
    if (![0, 409, 502, 503].includes(status)) {
      note('answers', `seed ${nth} was answered with ${status}: ${JSON.stringify(json)}`)
      return
    }
  }
  note('answers', `seed ${nth} got no answer`)
}

/** What is wrong with a request must not be answered, or kept, with the number in it. */
async function refused(payer) {
  for (const wrong of [payer, { taxId: `${payer}0` }, { [payer]: 'require' }, { taxId: payer, policy: payer }]) {
    const { status, json } = await api(account, 'POST', '/api/deposit', { body: { value: 100, payer: wrong } })
    if (status !== 400 && status !== 0) note('answers', `a payer that is none was answered with ${status}`)
    if (JSON.stringify(json).includes(payer)) note('secret', `an answer says it: ${JSON.stringify(json)}`)
  }
}

/** Until every payment is in the books, and nobody asks about it or waits for its refund. */
async function decided(withinMs) {
  const made = await bank.payments()
  for (const end = Date.now() + withinMs; ; await sleep(250)) {
    const recorded = await books.recorded()
    const [{ n }] = await books.rows(`
      select (select count(*) from checks where kind = 'payer') + (select count(*) from refunds where status = 'PROCESSING') as n`)
    if (Number(n) === 0 && made.every(({ endToEndId }) => recorded.has(endToEndId))) return
    if (Date.now() > end) throw new Error(`${n} questions and refunds are still open`)
  }
}

async function judge(deposits) {
  const returned = await returnedBy()
  const events = await books.rows(`select body from events where kind = 'DEPOSIT_PAYER_CHECKED'`)
  const told = new Map()
  for (const { data } of events.map(({ body }) => JSON.parse(body)))
    told.set(data.endToEndId, [...(told.get(data.endToEndId) ?? []), data.payerMatch])
  const credits = await books.rows(`
    select p.end_to_end_id as id, count(*) as n from transfers t join payments p on p.id = t.payment_id
    where t.kind in ('deposit', 'matched_deposit') group by 1`)
  const credited = new Map(credits.map(({ id, n }) => [id, Number(n)]))
  for (const deposit of deposits.filter(({ endToEndId }) => endToEndId)) {
    const { nth, policy, isOther, endToEndId, charge, value } = deposit
    const what = `seed ${nth} (${policy}, paid by ${isOther ? 'another person' : 'its payer'})`
    const isBack = policy === 'require' && isOther
    const times = credited.get(endToEndId) ?? 0
    if (times !== (isBack ? 0 : 1)) note('credited', `${what} was credited ${times} times`)
    const back = returned.get(endToEndId) ?? []
    if (String(back) !== (isBack ? String(value) : ''))
      note('refunded', `${what}: ${back.join(', ') || 'nothing'} went back`)
    const { json } = await api(account, 'GET', `/api/deposits/${charge.paymentLinkId}`)
    const wanted = isOther ? 'mismatched' : 'matched'
    const { payerMatch, status } = json.deposit ?? {}
    if (payerMatch !== wanted || String(told.get(endToEndId)) !== wanted)
      note('told', `${what} is ${status}, ${payerMatch}, and was told as ${told.get(endToEndId)}`)
  }
  const otherCount = deposits.filter(({ isOther, policy }) => isOther && policy === 'require').length
  console.log(`${deposits.length} payments, ${otherCount} of which had to go back`)
}

/** By endToEndId, what the bank gave back, in cents. */
async function returnedBy() {
  const returned = new Map()
  for (const { pix = [] } of await bank.charges())
    for (const { endToEndId, devolucoes = [] } of pix)
      returned.set(
        endToEndId,
        devolucoes.map(({ valor }) => Math.round(Number(valor) * 100)),
      )
  return returned
}

async function judgeSecrets(deposits) {
  const numbers = new Set(deposits.flatMap(({ payer, paidBy }) => [payer, paidBy, written(payer), written(paidBy)]))
  const look = (where, text) => {
    for (const [, found] of text.matchAll(/(?=(\d{3}\.\d{3}\.\d{3}-\d{2}|\d{11}|[0-9A-Z]{14}|[0-9A-Z./-]{18}))/g))
      if (numbers.has(found)) note('secret', `${where} has ${found}`)
  }
  for (const { name } of await books.rows(`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'public'`))
    for (const { text } of await books.rows(`select t::text as text from ${name} t`)) look(name, text)
  const copy = `${home}-backup`
  const backup = await service.command('backup', copy)
  if (backup.code !== 0) throw new Error(`guiche backup ended with ${backup.code}: ${backup.stderr}`)
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
  const log = readFileSync(join(home, 'service.log'), 'utf8')
  look('the log', log)
  // Those of requests that were refused too.
  const canaries = deposits.slice(-CANARIES).flatMap(({ payer }) => [payer, written(payer)])
  const forms = canaries.flatMap((text) => [Buffer.from(text), Buffer.from(btoa(text)), Buffer.from(toHex(text))])
  const files = [...filesIn(home), ...filesIn(copy)]
  for (const path of files) {
    const bytes = readFileSync(path)
    for (const form of forms) if (bytes.includes(form)) note('secret', `${path} has ${form.toString()}`)
  }
  rmSync(copy, { recursive: true })
  console.log(
    `looked for ${numbers.size} texts in tables and ${log.length} characters of log, and in ${files.length} files`,
  )
}

/** The bank, whose files are there too, knows who paid. */
function filesIn(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(home, 'bank')))
    .map((entry) => join(entry.parentPath, entry.name))
}

function toHex(text) {
  return Buffer.from(text).toString('hex')
}
