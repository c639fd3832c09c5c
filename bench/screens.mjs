// How long it takes from a payment at the bank until the screens show it, with very many screens open, and what memory
// they cost. See README.md.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { withService } from './own-service.mjs'
import { percentile } from './turns.mjs'

const EMAIL = 'ana@loja.example'
/** The service admits 50 streams from an address. */
const PER_ADDRESS = 40
/** Opened at once. */
const AT_ONCE = 50
/** Between two payments: a busy shop, and not a flood. */
const PAY_EVERY_MS = 200
/** Without a notification: two sweeps and a little more. */
const SHOWN_WITHIN_MS = 150_000
/** Until the memory of what was made before is free again. */
const REST_MS = 3_000
const GOAL_MS = 500

const { values: options } = parseArgs({
  options: {
    pages: { type: 'string', default: '1000' },
    counters: { type: 'string', default: '100' },
    payments: { type: 'string', default: '100' },
    missed: { type: 'string', default: '20' },
    dist: { type: 'string', default: join(root, 'server/dist') },
    data: { type: 'string', default: '/var/tmp' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node bench/screens.mjs [--pages 1000] [--counters 100] [--payments 100] [--missed 20] [--dist DIR] [--data DIR]

Opens --pages payment pages and --counters counters of their account, each a stream on a socket of its own, on one process
of the service. Then pays --payments of the charges at the bank, one every ${PAY_EVERY_MS} ms, and --missed more while the bank
sends no notification. The table has p50 and p99 of the time from each payment to its page and to every counter, and the
memory of the service without and with the streams.

Exit 0: with notifications p50 is at most ${GOAL_MS} ms. 1: it is not, or the bench failed.`)
  process.exit(0)
}

const [pages, counters, payments, missed] = ['pages', 'counters', 'payments', 'missed'].map((name) =>
  Number(options[name]),
)
if (payments + missed > pages) throw new Error('--pages must be at least --payments and --missed together')
await ensureBuilt()
await withService({ name: 'screens', dist: options.dist, data: options.data }, measure)

async function measure(service) {
  const cookie = await service.signIn(EMAIL, await service.create('account', EMAIL))
  const charges = await inTurns(pages, () => makeCharge(service, cookie))
  const { cursor } = (await ask(service.url, '/dashboard/api/me', { cookie })).me
  await sleep(REST_MS)
  const before = memoryOf(service.pid)

  const screens = { page: new Map(), counter: new Map(), paidMs: new Map() }
  await inTurns(pages, (place) => watchPage(service.url, charges[place], place, screens))
  const path = `/dashboard/api/events/stream?after=${cursor}`
  await inTurns(counters, () => watchCounter(service.url + path, cookie, screens))
  await sleep(REST_MS)
  const memory = memoryOf(service.pid)
  console.log(`${pages} payment pages and ${counters} counters are open`)
  console.log(`memory of the service: ${before} MB, with them ${memory} MB`)

  console.log(`\n${'from payment to'.padEnd(34)} ${'p50'.padStart(9)} ${'p99'.padStart(9)}`)
  const [p50] = await payAll('with notifications', service, charges.slice(0, payments), screens)
  await setFaults(service, { dropNotifications: true })
  if (missed > 0) await payAll('without', service, charges.slice(payments, payments + missed), screens)
  console.log(
    `\nWithout a notification the sweep of every minute finds a payment, unless somebody asks about it first.`,
  )
  console.log(p50 <= GOAL_MS ? `With one, p50 is at most ${GOAL_MS} ms.` : `With one, p50 is above ${GOAL_MS} ms.`)
  return p50 <= GOAL_MS
}

/** Resolves to the p50 of pages. */
async function payAll(how, { bankUrl }, charges, { page, counter, paidMs }) {
  for (const { id, emv } of charges) {
    paidMs.set(id, performance.now())
    await ask(bankUrl, '/bank/pay', {}, { method: 'POST', body: { emv } })
    await sleep(PAY_EVERY_MS)
  }
  const deadline = performance.now() + SHOWN_WITHIN_MS
  const isShown = ({ id }) => page.has(id) && (counter.get(id)?.length ?? 0) >= counters
  while (!charges.every(isShown)) {
    if (performance.now() > deadline)
      throw new Error(`${how}: ${charges.filter((one) => !isShown(one)).length} payments were not shown`)
    await sleep(100)
  }
  const took = charges.map(({ id }) => page.get(id) - paidMs.get(id))
  const tookCounters = charges.flatMap(({ id }) => counter.get(id).map((atMs) => atMs - paidMs.get(id)))
  const line = (what, values) => {
    const figures = [0.5, 0.99].map((share) => percentile(values, share))
    console.log(`${`${what}, ${how}`.padEnd(34)} ${figures.map((ms) => `${Math.round(ms)} ms`.padStart(9)).join(' ')}`)
    return figures
  }
  if (counters > 0) line('a counter', tookCounters)
  return line('the payment page', took)
}

// ---- Streams, as EventSource opens them ----

async function watchPage(url, { id, paymentLinkId }, place, { page }) {
  await listen(
    `${url}/payment-link/${paymentLinkId}/events`,
    { localAddress: `127.0.1.${1 + Math.floor(place / PER_ADDRESS)}` },
    (data) => {
      if (data.includes('COMPLETED')) page.set(id, performance.now())
    },
  )
}

async function watchCounter(url, cookie, { counter }) {
  await listen(url, { headers: { cookie } }, (data) => {
    if (!data.includes('DEPOSIT_ASSET_SUCCESS')) return
    const id = JSON.parse(data).data.transactionId
    const seen = counter.get(id) ?? []
    counter.set(id, [...seen, performance.now()])
  })
}

/** Resolves once the stream is open and has said something. */
async function listen(url, options, onData) {
  const [answer] = await once(get(url, { ...options, agent: false }), 'response')
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode}`)
  let rest = ''
  answer.setEncoding('utf8')
  answer.on('error', () => {})
  answer.on('data', (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) if (line.startsWith('data: ')) onData(line.slice('data: '.length))
  })
  await once(answer, 'data')
}

// ---- The service and the bank ----

async function makeCharge({ url }, cookie) {
  const body = { value: 5_000, expiresIn: 86_400 }
  return (await ask(url, '/dashboard/api/deposit', { cookie, origin: url }, { method: 'POST', body })).charge
}

function setFaults({ bankUrl }, faults) {
  return ask(bankUrl, '/bank/faults', {}, { method: 'PUT', body: faults })
}

async function ask(url, path, headers, { method = 'GET', body } = {}) {
  const answer = await fetch(url + path, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

function memoryOf(pid) {
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024)
}

async function inTurns(count, work) {
  const results = []
  for (let done = 0; done < count; done += AT_ONCE)
    results.push(
      ...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, place) => work(done + place)))),
    )
  return results
}
