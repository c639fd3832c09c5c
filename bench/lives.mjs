// Whole lives of deposits: created by the API, paid at the bank, notified, settled, and told to the account holder,
// whose receiver is this process. A life ends when its event arrives. It also posts deposits at a steady rate.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from './measures/turns.mjs'
import { answerQuestions } from './stage/questions.mjs'
import { expectOk, makeClient } from './stage/raw-http.mjs'

const BODY = JSON.stringify({ value: 5_000 })
// As much as a bank may put into one notification here; few come together when the load is low.
const MAX_PER_POST = 100
const BANK_TURNS = 4
const CONNECTIONS = 64
const END_WITHIN_MS = 60_000

/** Where the service, the bank and the bank's notifications go, and the holder's key. */
let addresses
let service
let sequence = 0
/** By txid: what to do when its event arrives. */
const living = new Map()
const toPay = []

const receiver = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    response.end()
    const { event, data } = JSON.parse(Buffer.concat(chunks).toString())
    if (event === 'DEPOSIT_ASSET_SUCCESS') living.get(data.transactionId)?.()
  })
})
receiver.keepAliveTimeout = 600_000
await once(receiver.listen(0, '127.0.0.1'), 'listening')

answerQuestions({
  open(given) {
    addresses = given
    return `http://127.0.0.1:${receiver.address().port}/hook`
  },
  live: ({ atOnce, seconds }) => connected(() => liveFor(atOnce, seconds * 1000)),
  pace: ({ perSecond, seconds }) => connected(() => paceFor(perSecond, seconds)),
})

/** Anew for each question: the service may have been restarted. */
async function connected(work) {
  const { serviceUrl, headers } = addresses
  service = makeClient(serviceUrl, { connections: CONNECTIONS, headers })
  try {
    return await work()
  } finally {
    service.close()
  }
}

/** So many lives at once, each followed by the next. Counts those that end in time, but ends all of them. */
async function liveFor(atOnce, forMs) {
  const beganMs = performance.now()
  const endMs = beganMs + forMs
  const done = { posts: [], lives: [], inTime: 0 }
  let isOver = false
  const turns = payAndNotify(() => isOver)
  const line = async () => {
    while (performance.now() < endMs) {
      const { postMs, lifeMs } = await live()
      done.posts.push(postMs)
      done.lives.push(lifeMs)
      if (performance.now() < endMs) done.inTime++
    }
  }
  await within(END_WITHIN_MS + forMs, Promise.all(Array.from({ length: atOnce }, line)))
  isOver = true
  await turns
  return {
    perSecond: (done.inTime * 1000) / forMs,
    requests: done.lives.length,
    p50Ms: percentile(done.posts, 0.5),
    p99Ms: percentile(done.posts, 0.99),
    lifeP50Ms: percentile(done.lives, 0.5),
    lifeP99Ms: percentile(done.lives, 0.99),
  }
}

async function live() {
  const beganMs = performance.now()
  const txid = await createDeposit()
  const postMs = performance.now() - beganMs
  await new Promise((resolve) => {
    living.set(txid, resolve)
    toPay.push(txid)
  })
  living.delete(txid)
  return { postMs, lifeMs: performance.now() - beganMs }
}

async function createDeposit() {
  const { text } = await expectOk(
    service.post('/api/deposit', BODY, `idempotency-key: ${process.pid}-${++sequence}\r\n`),
  )
  return JSON.parse(text).charge.id
}

/** As the payers and their bank: pays what was created, and notifies of it, a few at a time. */
async function payAndNotify(isOver) {
  const { origin, pathname } = new URL(addresses.notifyUrl)
  const bank = makeClient(addresses.bankUrl, { connections: BANK_TURNS })
  const notified = makeClient(origin, { connections: BANK_TURNS })
  const turn = async () => {
    while (!isOver()) {
      const txids = toPay.splice(0, MAX_PER_POST)
      if (txids.length === 0) {
        await sleep(1)
        continue
      }
      const paid = JSON.parse((await expectOk(bank.post('/control/pay', JSON.stringify({ txids })))).text)
      const pix = paid.map(({ endToEndId, txid, at }) => ({ endToEndId, txid, valor: '50.00', horario: at }))
      await expectOk(notified.post(pathname, JSON.stringify({ pix })))
    }
  }
  await Promise.all(Array.from({ length: BANK_TURNS }, turn))
  bank.close()
  notified.close()
}

/** Creates deposits at a steady rate, whether or not they are answered. Resolves to each with how long it took. */
async function paceFor(perSecond, seconds) {
  const beganMs = performance.now()
  const posts = []
  for (let index = 0; index < perSecond * seconds; index++) {
    const dueMs = beganMs + (index * 1000) / perSecond
    if (dueMs > performance.now()) await sleep(dueMs - performance.now())
    const postedMs = performance.now()
    posts.push(createDeposit().then((txid) => ({ txid, tookMs: performance.now() - postedMs })))
  }
  return Promise.all(posts)
}

async function within(ms, work) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${living.size} lives did not end in time`)), ms)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}
