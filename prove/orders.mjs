// Proves that an order never has two codes that can be paid, whoever asks for its deposit, how often and with which
// values. See prove/README.md.

import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'
import { makeRandom } from './money/random.mjs'

const CLAIMS = {
  codes: 'no order has two codes that the bank takes money for',
  held: 'of the payments of an order at most one is credited, and every other is held, in the books and by the API',
  answers: 'every answer has the value that was asked for, or says that the order was paid; none is a 500',
  last: 'when the faults are over, each order has its one payable code, or is paid',
  lost: 'every payment at the bank is in the books once',
  audit: 'guiche audit finds no difference',
}

const ORDERS = 3
const CALLERS = 64
// Most callers agree. The others replace each other's codes for as long as they ask.
const VALUES = [50_00, 50_00, 50_00, 60_00, 70_00]
// A caller that is not answered by then is gone. The second number is for rounds with a kill: a restart takes seconds.
const CALLER_WITHIN_MS = 3_000
const CALLER_OF_KILLED_WITHIN_MS = 8_000
const END_WITHIN_MS = 60_000
// Each fault by itself, so that a round stays short: a lost answer costs the service seconds.
const FAULTS = [
  {},
  { latencyMs: 30 },
  { errorRate: 0.03 },
  { dropNotifications: true },
  { duplicateNotifications: 2 },
  { loseAnswerRate: 0.01 },
]
const KILLED_EVERY = 4
const ROUND_WITHIN_MS = 2 * 60_000

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    seeds: { type: 'string', default: '12' },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const SEEDS = Number(options.seeds)
if (options.help) {
  console.log(`node prove/orders.mjs [--seed N] [--seeds 12] [--dist DIR]

In each round ${CALLERS} callers ask for the deposit of each of ${ORDERS} orders at once, with values that change, while the codes are
paid. The service is killed in every ${KILLED_EVERY}th round. Round n of seed N is round 1 of seed N + n - 1.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}
let bank
let service
let note
let api
let account
await proveClaims({
  name: 'orders',
  claims: CLAIMS,
  prove,
  env: { PENDING_MAX_PER_ACCOUNT: '0', RECONCILE_SECONDS: '2' },
  withinMs: Math.max(5 * 60_000, SEEDS * ROUND_WITHIN_MS),
  dist: options.dist,
})

async function prove({ openBooks, ...parts }) {
  ;({ bank, service, note } = parts)
  console.log(`seed ${options.seed}, ${SEEDS} rounds`)
  await service.start()
  const books = await openBooks()
  account = { key: /^API key: (.+)$/m.exec(service.output())?.[1] }
  api = makeApi({ url: service.url, note, counts: new Map() })
  const counts = { answered: 0, codes: 0, paid: 0 }
  for (let round = 0; round < SEEDS; round++) await runRound(Number(options.seed) + round, counts)
  console.log(`${counts.answered} answers, ${counts.codes} codes, ${counts.paid} payments`)
  await judgeBooks(books)
}

async function runRound(seed, counts) {
  const random = makeRandom(String(seed))
  const orders = Array.from({ length: ORDERS }, (_, index) => makeOrder(random, `${seed}-${index}`))
  const beganAtMs = Date.now()
  await bank.faults({ ...random.pick(FAULTS), seed })
  const isKilled = seed % KILLED_EVERY === 0
  const killing = isKilled ? kill(random.stream('kill')) : undefined
  const withinMs = isKilled ? CALLER_OF_KILLED_WITHIN_MS : CALLER_WITHIN_MS
  await Promise.all(orders.map((order) => Promise.all([askAll(order, withinMs), payNowAndThen(order)])))
  await killing
  await bank.faults({})
  for (const order of orders) await endOrder(order)
  const charges = bank.charges({ sinceMs: Date.now() - beganAtMs + 60_000 })
  for (const order of orders) judgeCodes(order, charges)
  for (const order of orders) await judgeMoney(order)
  counts.answered += orders.reduce((sum, { answered }) => sum + answered, 0)
  counts.codes += orders.reduce((sum, { codes }) => sum + codes.size, 0)
  counts.paid += orders.reduce((sum, { payments }) => sum + payments.length, 0)
}

/** `codes` are those that were answered, with their value, oldest first. */
function makeOrder(random, name) {
  return {
    name: `order/${name}`,
    random: random.stream(name),
    way: random.pick(['unpaid', 'once', 'once', 'twice', 'wrong amount', 'late', 'late']),
    codes: new Map(),
    payments: [],
    answered: 0,
    isOver: false,
  }
}

async function kill(random) {
  await sleep(random.int(50, 800))
  await service.kill()
  await service.start()
}

/** All begin at once, and go on until they are answered. */
async function askAll(order, withinMs) {
  await Promise.all(
    Array.from({ length: CALLERS }, (_, index) => {
      const random = order.random.stream(`caller ${index}`)
      return askUntilAnswered(order, random.pick(VALUES), random, withinMs)
    }),
  )
  order.isOver = true
}

async function askUntilAnswered(order, value, random, withinMs) {
  for (const end = Date.now() + withinMs; Date.now() < end;) {
    const answer = await ask(order, value)
    if (answer) return answer
    await sleep(random.int(20, 400))
  }
  return undefined
}

/** Returns the deposit, or 'paid' if the order was paid with another value. Undefined: it must be repeated. */
async function ask(order, value) {
  const path = `/api/orders/${encodeURIComponent(order.name)}/deposit`
  const { status, headers, json } = await api(account, 'PUT', path, { body: { value, description: order.name } })
  const code = headers.get('guiche-error')
  if (status === 409 && code === 'order_paid') return 'paid'
  if (status !== 200 && status !== 201) {
    const isTransient = [0, 502, 503].includes(status) || (status === 409 && code === 'in_flight')
    if (!isTransient) note('answers', `${order.name} was answered with ${status}: ${JSON.stringify(json)}`)
    return undefined
  }
  const { deposit } = json
  order.answered += 1
  order.codes.set(deposit.id, deposit.originalValue)
  const isRight = deposit.originalValue === value && ['PENDING', 'COMPLETED'].includes(deposit.status)
  if (!isRight)
    note('answers', `${order.name} is ${deposit.status} with ${deposit.originalValue}, ${value} was asked for`)
  return deposit
}

/** The payer tries every code, the oldest first: the bank refuses those that were withdrawn. */
async function payNowAndThen(order) {
  const random = order.random.stream('payer')
  while (!order.isOver) {
    await sleep(random.int(20, 300))
    if (['unpaid', 'late'].includes(order.way) || order.payments.length > 0) continue
    for (const [txid, amountCents] of order.codes) {
      if (order.way === 'wrong amount') await pay(order, { txid, amountCents: amountCents - 1 })
      else if (await pay(order, { txid })) {
        if (order.way === 'twice') await pay(order, { txid, amountCents, force: true })
      }
      if (order.way === 'wrong amount') break
    }
  }
}

async function pay(order, what) {
  const made = await bank.pay(what)
  order.payments.push(...(made ?? []))
  return made
}

/** The bank is healthy. Whatever was asked for before, the order gets its code, and is paid. */
async function endOrder(order) {
  const { random } = order
  const value = random.pick(VALUES)
  const deposit = await askUntilAnswered(order, value, random, END_WITHIN_MS)
  if (!deposit) return note('last', `${order.name} got no answer although the bank is healthy`)
  if (deposit === 'paid' || deposit.status === 'COMPLETED') return
  // The bank takes no more money for a code that was paid with another amount.
  if (deposit.heldValue > 0) return
  if (order.way === 'late') return payLate(order, deposit)
  if (!(await pay(order, { txid: deposit.id })))
    note('last', `${order.name} was answered with a code that cannot be paid`)
  else await requirePaid(order, value)
}

/** An answer may be from the books, if the bank was slow. */
async function requirePaid(order, value) {
  for (const end = Date.now() + END_WITHIN_MS; Date.now() < end; await sleep(100))
    if ((await askUntilAnswered(order, value, order.random, END_WITHIN_MS))?.status === 'COMPLETED') return
  note('last', `${order.name} was paid, and is not COMPLETED`)
}

/**
 * The deposit is canceled, the order gets the next one, and the bank takes money for both. No notification tells of it:
 * the list does, or the withdrawal of the second code. Both are paid at once, or the second when the first is in the
 * books.
 */
async function payLate(order, late) {
  const value = late.originalValue
  await bank.faults({ dropNotifications: true })
  const { status } = await api(account, 'POST', `/api/deposit/${late.paymentLinkId}/cancel`)
  const next = await askUntilAnswered(order, value, order.random, END_WITHIN_MS)
  if (status !== 200 || next?.status !== 'PENDING' || next.id === late.id)
    return note('last', `${order.name} was not renewed after its deposit was canceled (${status})`)
  const isLastInBooks = order.random.pick([true, false])
  await pay(order, { txid: late.id, amountCents: value, force: true })
  if (isLastInBooks) await untilCompleted(order, late)
  await pay(order, { txid: next.id, amountCents: value, force: true })
  await requirePaid(order, value)
  await bank.faults({})
}

async function untilCompleted(order, { id, paymentLinkId }) {
  for (const end = Date.now() + END_WITHIN_MS; Date.now() < end; await sleep(50)) {
    const { json } = await api(account, 'GET', `/api/deposits/${paymentLinkId}`)
    if (json.deposit?.status === 'COMPLETED') return
  }
  note('last', `${order.name}: the payment of ${id} came late, and is not in the books`)
}

/** The description of a charge holds its order. */
function judgeCodes(order, charges) {
  const own = charges.filter((cob) => cob.solicitacaoPagador === order.name)
  const payable = own.filter((cob) => cob.status === 'ATIVA')
  if (payable.length > 1) note('codes', `${order.name} has ${payable.length} payable codes`)
  const exact = new Set(
    order.payments.filter(({ txid, amountCents }) => order.codes.get(txid) === amountCents).map(({ txid }) => txid),
  )
  // The bank takes money for a code that it withdrew.
  if (exact.size > 1 && order.way !== 'late') note('codes', `${order.name} was paid by ${exact.size} codes`)
}

async function judgeMoney(order) {
  const received = order.payments.reduce((sum, { amountCents }) => sum + amountCents, 0)
  let shown
  for (const end = Date.now() + END_WITHIN_MS; Date.now() < end; await sleep(200)) {
    const { json } = await api(account, 'GET', `/api/orders/${encodeURIComponent(order.name)}?limit=100`)
    const deposits = json.deposits ?? []
    const completed = deposits.filter(({ status }) => status === 'COMPLETED')
    const credited = completed.reduce((sum, { value }) => sum + value, 0)
    const held = deposits.reduce((sum, { heldValue }) => sum + heldValue, 0)
    shown = `${completed.length} deposits with ${credited} cents are COMPLETED, and ${held} cents are held`
    if (completed.length <= 1 && credited + held === received) return
    // COMPLETED is final.
    if (completed.length > 1) break
  }
  note('held', `${order.name} received ${received} cents in ${order.payments.length} payments; ${shown}`)
}

async function judgeBooks(books) {
  const recorded = await books.recorded()
  for (const { endToEndId } of await bank.payments())
    if (!recorded.has(endToEndId)) note('lost', `${endToEndId} is at the bank and not in the books`)
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
}
