// Proves that what a bank returns by itself is charged once, that what the balance lacks is owed and paid by what comes
// in next, and that everybody is told why. See prove/README.md.

import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'
import { makeRandom } from './money/random.mjs'

const CLAIMS = {
  once: 'each return at the bank is one refund in the books, with its amount and its reason',
  told: 'each reversal has one event, with its reason and who bore it, and each refund of ours one of its own',
  sums: 'each account has what was paid to it, less what went back and what was paid out; what it lacks it owes',
  debt: 'at no time does an account owe something and have a balance, or less than nothing',
  policy: 'an account whose terms say so is charged by an operator alone',
  reserved: 'what is reserved for a payout is not touched',
  answers: 'no answer was a 500',
  audit: 'guiche audit finds no difference',
}

const NATURES = {
  ORIGINAL: 'other',
  RETIRADA: 'other',
  MED_OPERACIONAL: 'operational',
  MED_FRAUDE: 'fraud',
  MED_PIX_AUTOMATICO: 'automatic',
}
const WORDS = Object.keys(NATURES)
const VALUE_CENTS = 10_00
const MANY = 30
const KILLS = 3
const WITHIN_MS = 90_000

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    many: { type: 'string', default: String(MANY) },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/reversals.mjs [--seed N] [--many N] [--dist DIR]

Returns payments for every reason: whole, in part, after a refund of ours, before guiche knew of the payment, with an empty
balance, and with terms that leave it to an operator. Then N at once (${MANY}), while the service is killed ${KILLS} times.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}
let bank
let service
let note
let api
let books
const random = makeRandom(options.seed)
const meanwhile = { isOver: false }

await proveClaims({
  name: 'reversals',
  claims: CLAIMS,
  prove,
  env: { FEE_BPS: '0', REFUNDS_BY_ACCOUNTS: 'true' },
  withinMs: 6 * WITHIN_MS,
  dist: options.dist,
})

async function prove({ openBooks, ...parts }) {
  ;({ bank, service, note } = parts)
  console.log(`seed ${options.seed}`)
  await service.start()
  books = await openBooks()
  api = makeApi({ url: service.url, note, counts: new Map() })
  const [charged, decided, emptied, busy] = await Promise.all(
    ['charged', 'decided', 'emptied', 'busy'].map((name) => openAccount(name)),
  )
  await run('account', 'terms', '--email', decided.email, '--reversal-policy', 'operator', '--reason', 'large shop')
  const watching = [charged, decided, emptied, busy].map((account) => watchBalance(account))
  await everyWay(charged)
  await beforeItIsKnown(charged)
  await leftToOperators(decided)
  await withEmptyBalance(emptied)
  await manyAtOnce(busy)
  await untilBooked()
  meanwhile.isOver = true
  await Promise.all(watching)
  await judge([charged, decided, emptied, busy])
}

async function openAccount(name) {
  const email = `${name}@loja.example`
  await run('account', 'create', '--email', email)
  const key = (await run('key', 'create', '--email', email, '--name', 'prove')).trim()
  return { email, key, paidOut: 0 }
}

async function run(...args) {
  const { code, stdout, stderr } = await service.command(...args)
  if (code !== 0) throw new Error(`guiche ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}

// ---- The ways ----

/** Every reason: whole, in two parts, after a refund of ours, and reported twice. */
async function everyWay(account) {
  for (const nature of WORDS) {
    const [whole, part, rest, twice] = await Promise.all(Array.from({ length: 4 }, () => paid(account)))
    await bank.reverse({ endToEndId: whole.endToEndId, nature })
    for (const amountCents of [3_00, 2_00]) await bank.reverse({ endToEndId: part.endToEndId, nature, amountCents })
    await refund(account, rest, 4_00)
    await bank.reverse({ endToEndId: rest.endToEndId, nature })
    await bank.faults({ duplicateNotifications: 3 })
    await bank.reverse({ endToEndId: twice.endToEndId, nature, freezeSeconds: 1 })
    await untilBooked()
    await bank.faults({})
  }
}

/** The bank returns it before guiche has heard of the payment. */
async function beforeItIsKnown(account) {
  const charge = await open(account)
  await service.kill()
  const [pix] = await bank.pay({ emv: charge.emv })
  await bank.reverse({ endToEndId: pix.endToEndId })
  await sleep(300)
  await service.start()
  await untilBooked()
}

async function leftToOperators(account) {
  const payments = await Promise.all(WORDS.map(() => paid(account)))
  for (const [index, nature] of WORDS.entries()) await bank.reverse({ endToEndId: payments[index].endToEndId, nature })
  await untilBooked()
  const exceptions = await books.openExceptions('foreign_refund')
  const { balance } = await balanceOf(account)
  if (exceptions.length !== WORDS.length || balance !== WORDS.length * VALUE_CENTS)
    note('policy', `${exceptions.length} exceptions are open, and the balance is ${balance}`)
  for (const [index, id] of exceptions.entries()) {
    const how = index % 2 === 0 ? '--charge-account' : '--write-off'
    await run('exceptions', 'resolve', id, how, '--reason', 'because')
    if (how === '--write-off') account.writtenOff = (account.writtenOff ?? 0) + VALUE_CENTS
  }
}

/** Some of it was paid out, and some is reserved for a payout that is rejected later. */
async function withEmptyBalance(account) {
  const payments = await Promise.all([1, 2, 3].map(() => paid(account)))
  await payOut(account, 2 * VALUE_CENTS - 1_00)
  const asked = await askForPayout(account, VALUE_CENTS)
  for (const { endToEndId } of payments) await bank.reverse({ endToEndId, nature: random.pick(WORDS) })
  await untilBooked()
  const before = await balanceOf(account)
  if (before.reserved !== VALUE_CENTS || before.available !== 0 || before.owed !== 3 * VALUE_CENTS - 1_00)
    note('reserved', `after the returns it is ${JSON.stringify(before)}`)
  await paid(account)
  await run('payouts', 'reject', asked, '--reason', 'no')
  const after = await balanceOf(account)
  if (after.owed !== VALUE_CENTS - 1_00 || after.balance !== 0)
    note('debt', `in the end it is ${JSON.stringify(after)}`)
}

/** Returns, payments and payouts of one account at once, with kills. */
async function manyAtOnce(account) {
  const many = Number(options.many)
  const payments = await Promise.all(Array.from({ length: many }, () => paid(account)))
  await payOut(account, (await balanceOf(account)).available)
  const own = random.stream('many')
  const returning = (async () => {
    for (const { endToEndId } of payments) {
      await bank.reverse({ endToEndId, nature: own.pick(WORDS), amountCents: own.int(1, VALUE_CENTS) })
      await sleep(own.int(0, 60))
    }
  })()
  const paying = Promise.all(Array.from({ length: Math.ceil(many / 3) }, () => paid(account)))
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(own.int(200, 900))
    await service.kill()
    await service.start()
  }
  await Promise.all([returning, paying])
}

// ---- Steps ----

async function open(account) {
  const key = `deposit-${account.email}-${random.int(1, 2 ** 31)}-${process.hrtime.bigint()}`
  const { json } = await untilAnswered(() =>
    api(account, 'POST', '/api/deposit', { body: { value: VALUE_CENTS }, key }),
  )
  return json.charge
}

/** A deposit that is paid and credited. */
async function paid(account) {
  const charge = await open(account)
  const [{ endToEndId }] = await bank.pay({ emv: charge.emv })
  await until('a payment is credited', async () => {
    const { json } = await api(account, 'GET', `/api/deposit/${charge.paymentLinkId}`)
    return json.charge?.status === 'COMPLETED'
  })
  return { ...charge, endToEndId }
}

async function refund(account, { paymentLinkId }, value) {
  const key = `refund-${paymentLinkId}`
  await untilAnswered(() => api(account, 'POST', `/api/deposit/${paymentLinkId}/refund`, { body: { value }, key }))
  await until('a refund is done', async () => {
    const { json } = await api(account, 'GET', `/api/deposit/${paymentLinkId}/refunds`)
    return json.refunds?.every(({ status }) => status === 'DONE')
  })
}

async function askForPayout(account, value) {
  const { json } = await untilAnswered(() =>
    api(account, 'POST', '/api/payouts', { body: { value }, key: `payout-${value}` }),
  )
  return json.payout.id
}

async function payOut(account, value) {
  await run('payouts', 'pay', await askForPayout(account, value), '--reference', 'E1')
  account.paidOut += value
}

/** Repeats what a dead service did not answer. */
async function untilAnswered(request) {
  let answer
  await until('a request is answered', async () => {
    answer = await request()
    if (answer.status >= 400 && ![409, 502, 503].includes(answer.status))
      throw new Error(`it was answered with ${answer.status}: ${JSON.stringify(answer.json)}`)
    return answer.status === 201
  })
  return answer
}

async function until(what, ask) {
  for (const end = Date.now() + WITHIN_MS; !(await ask()); await sleep(100))
    if (Date.now() > end) throw new Error(`waited ${WITHIN_MS} ms in vain: ${what}`)
}

async function balanceOf(account) {
  let answer
  await until('a balance is answered', async () => (answer = await api(account, 'GET', '/api/balance')).status === 200)
  return answer.json
}

async function watchBalance(account) {
  while (!meanwhile.isOver) {
    const { status, json } = await api(account, 'GET', '/api/balance')
    const { available, owed } = json
    if (status === 200 && (available < 0 || owed < 0 || (available > 0 && owed > 0)))
      note('debt', `${account.email}: ${JSON.stringify(json)}`)
    await sleep(50)
  }
}

/** Whatever notifications were lost with a killed process, a sweep finds. */
async function untilBooked() {
  await until('returns are booked', async () => {
    const made = await returned()
    const booked = await books.rows('select provider_refund_id as id from refunds')
    const ids = new Set(booked.map(({ id }) => id))
    if (made.length > 0 && made.every(({ id }) => ids.has(id))) return true
    const from = new Date(Date.now() - 3_600_000).toISOString()
    await service.command('reconcile', '--from', from, '--to', new Date().toISOString())
    return false
  })
}

/** The bank's own list. What it has frozen is not in it. */
async function returned() {
  const charges = await bank.charges()
  return charges.flatMap(({ pix = [] }) =>
    pix.flatMap(({ endToEndId, devolucoes = [] }) =>
      devolucoes.map(({ id, valor, natureza, status }) => ({
        id,
        endToEndId,
        status,
        nature: NATURES[natureza],
        cents: Number(valor.replace('.', '')),
      })),
    ),
  )
}

// ---- At the end ----

async function judge(accounts) {
  const made = await returned()
  const rows = await books.rows(
    `select r.provider_refund_id as id, r.source, r.nature, r.amount_cents as cents, r.status, p.end_to_end_id, p.credited, a.email
     from refunds r join payments p on p.id = r.payment_id left join accounts a on a.id = p.account_id`,
  )
  const reversals = judgeOnce(made, rows)
  const events = await books.rows(`select kind, body from events where kind like 'DEPOSIT_RE%'`)
  judgeTold(rows, reversals, events)
  for (const account of accounts) await judgeSums(account, rows)
  console.log(`${made.length} returns at the bank, ${reversals.length} of them reversals`)
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
}

function judgeOnce(made, rows) {
  if (rows.length !== made.length) note('once', `${made.length} at the bank, and ${rows.length} in the books`)
  for (const { id, endToEndId, cents, nature, status } of made) {
    const found = rows.filter((row) => row.id === id)
    const says = found
      .map((row) => `${row.status} ${row.cents} ${row.end_to_end_id} ${row.nature ?? 'ours'}`)
      .join(', ')
    const wanted = `DONE ${cents} ${endToEndId} ${found[0]?.source === 'balance' ? 'ours' : nature}`
    if (status === 'DEVOLVIDO' && says !== wanted) note('once', `${id} should be ${wanted}, and is [${says}]`)
  }
  return rows.filter(({ source, credited }) => source === 'provider' && credited)
}

function judgeTold(rows, reversals, events) {
  const told = new Map()
  for (const { kind, body } of events) {
    const { data } = JSON.parse(body)
    if (kind === 'DEPOSIT_REVERSED') {
      const name = `${data.endToEndId} ${data.reversedValue} ${data.nature}`
      told.set(name, (told.get(name) ?? 0) + 1)
      const { chargedValue, owedValue, reversedValue } = data
      if (chargedValue !== null && chargedValue + owedValue !== reversedValue) note('told', `${name}: ${body}`)
    }
  }
  const wanted = new Map()
  for (const { end_to_end_id: endToEndId, cents, nature } of reversals) {
    const name = `${endToEndId} ${cents} ${nature}`
    wanted.set(name, (wanted.get(name) ?? 0) + 1)
  }
  for (const name of new Set([...told.keys(), ...wanted.keys()]))
    if (told.get(name) !== wanted.get(name)) note('told', `${name}: ${told.get(name)} events of ${wanted.get(name)}`)
  const ours = rows.filter(({ source }) => source === 'balance').length
  const refunded = events.filter(({ kind }) => kind === 'DEPOSIT_REFUNDED').length
  if (ours !== refunded) note('told', `${ours} refunds of ours, and ${refunded} events DEPOSIT_REFUNDED`)
}

/** By the bank's list alone: what it credited, less what it gave back, less payouts. */
async function judgeSums(account, rows) {
  const [{ n }] = await books.rows(
    `select coalesce(sum(p.amount_cents), 0) as n from payments p join accounts a on a.id = p.account_id
     where p.credited and a.email = '${account.email}'`,
  )
  const back = rows
    .filter(({ email, credited }) => credited && email === account.email)
    .reduce((sum, { cents }) => sum + Number(cents), 0)
  const wanted = Number(n) - back - account.paidOut + (account.writtenOff ?? 0)
  const { balance, owed } = await balanceOf(account)
  if (balance - owed !== wanted || (balance > 0 && owed > 0))
    note('sums', `${account.email} has ${balance} and owes ${owed}, and should come to ${wanted}`)
}
