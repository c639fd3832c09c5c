// The load, in a process of its own: callers of the API, the payers and their bank, and the receiver of webhooks.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerQuestions } from './questions.mjs'
import { makeClient } from './raw-http.mjs'
import { percentile } from './turns.mjs'

const BODY = JSON.stringify({ value: 5_000 })
const CONNECTIONS = 64
const LIVES_AT_ONCE = 128
const NOTIFIERS = 4
// The most Pix in one notification. At low load a notification has only a few.
const MAX_PER_POST = 100
// Longer than any turn takes, so a service that loses an event does not hang the bench.
const ARRIVE_WITHIN_MS = 120_000

let sequence = 0
let onEvent = () => {}

const receiver = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    response.end()
    onEvent(Buffer.concat(chunks))
  })
})
receiver.keepAliveTimeout = 600_000
await once(receiver.listen(0, '127.0.0.1'), 'listening')

answerQuestions({
  receiverUrl: () => `http://127.0.0.1:${receiver.address().port}/hook`,
  /** Requests the paths in turn, over all connections. */
  get: ({ url, headers, paths, seconds }) =>
    loadFor(seconds, url, headers, (client) => client.get(paths[sequence++ % paths.length])),
  post: ({ url, headers, path, seconds }) =>
    loadFor(seconds, url, headers, (client) => client.post(path, BODY, newKey())),
  create: ({ url, headers, count }) =>
    connected(url, { connections: CONNECTIONS, headers }, (client) =>
      Promise.all(Array.from({ length: count }, () => createDeposit(client, '/api/deposit'))),
    ),
  notify: ({ url, payments, perPost, connections }) => notify(url, payments, { perPost, connections }),
  receive: ({ count }) => receive(count),
  live: (side) => live(side),
})

async function connected(url, options, work) {
  const client = makeClient(url, options)
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

function newKey() {
  return `idempotency-key: ${process.pid}-${++sequence}\r\n`
}

async function createDeposit(client, path) {
  return JSON.parse(await client.post(path, BODY, newKey())).charge
}

/** Closed loop: each connection sends its next request when it has the answer to the last one. */
async function loadFor(seconds, url, headers, ask) {
  const tookMs = []
  const beganMs = performance.now()
  const endMs = beganMs + seconds * 1000
  await connected(url, { connections: CONNECTIONS, headers }, (client) => {
    const line = async () => {
      for (let askedMs = performance.now(); askedMs < endMs; askedMs = performance.now()) {
        await ask(client)
        tookMs.push(performance.now() - askedMs)
      }
    }
    return Promise.all(Array.from({ length: CONNECTIONS }, line))
  })
  const perSecond = (tookMs.length * 1000) / (performance.now() - beganMs)
  return { perSecond, requests: tookMs.length, ...timesOf(tookMs) }
}

function timesOf(tookMs) {
  return { p50Ms: percentile(tookMs, 0.5), p99Ms: percentile(tookMs, 0.99) }
}

/** Posts notifications as a bank does, as fast as they are answered. */
async function notify(url, payments, { perPost, connections }) {
  const { origin, pathname } = new URL(url)
  const bodies = []
  for (let at = 0; at < payments.length; at += perPost) bodies.push(bodyOf(payments.slice(at, at + perPost)))
  const beganMs = performance.now()
  await connected(origin, { connections }, (client) => Promise.all(bodies.map((body) => client.post(pathname, body))))
  return { requests: bodies.length, perSecond: (bodies.length * 1000) / (performance.now() - beganMs) }
}

function bodyOf(payments) {
  const pix = payments.map(({ endToEndId, txid, at }) => ({ endToEndId, txid, valor: '50.00', horario: at }))
  return JSON.stringify({ pix })
}

/** Waits for `count` events. Returns the rate at which they arrived, and the body of the first. */
async function receive(count) {
  let [seen, firstMs, lastMs, body] = [0, 0, 0, '']
  const all = new Promise((resolve) => {
    onEvent = (bytes) => {
      lastMs = performance.now()
      if (seen++ === 0) [firstMs, body] = [lastMs, bytes.toString()]
      if (seen === count) resolve()
    }
  })
  await within(ARRIVE_WITHIN_MS, all, () => `Only ${seen} of ${count} events arrived`)
  return { perSecond: ((count - 1) * 1000) / (lastMs - firstMs), requests: count, body }
}

// ---- Whole lives ----

/**
 * Runs whole lives of deposits: created, paid at the bank, notified, and ended by a webhook to the account holder. A
 * fixed number runs at once. Only lives that end in time are counted, but all are waited for.
 */
async function live({ url, headers, path, notifyUrl, bankUrl, seconds }) {
  /** For each txid, the function to call when its event arrives. */
  const living = new Map()
  const toPay = []
  onEvent = (bytes) => {
    const { event, data } = JSON.parse(bytes.toString())
    if (event === 'DEPOSIT_ASSET_SUCCESS') living.get(data.transactionId)?.()
  }
  const liveOnce = async (client) => {
    const { id: txid } = await createDeposit(client, path)
    await new Promise((resolve) => {
      living.set(txid, resolve)
      toPay.push(txid)
    })
    living.delete(txid)
  }
  const tookMs = []
  let inTime = 0
  const endMs = performance.now() + seconds * 1000
  const lines = connected(url, { connections: CONNECTIONS, headers }, (client) => {
    const line = async () => {
      for (let beganMs = performance.now(); beganMs < endMs; beganMs = performance.now()) {
        await liveOnce(client)
        tookMs.push(performance.now() - beganMs)
        if (performance.now() < endMs) inTime++
      }
    }
    return Promise.all(Array.from({ length: LIVES_AT_ONCE }, line))
  })
  const late = () => `${living.size} lives did not end in time`
  let isOver = false
  const paying = payAndNotify({ toPay, bankUrl, notifyUrl, isOver: () => isOver })
  await Promise.race([within(ARRIVE_WITHIN_MS, lines, late), paying])
  isOver = true
  await paying
  return { perSecond: inTime / seconds, requests: tookMs.length, ...timesOf(tookMs) }
}

/** Acts as the payers and their bank: pays the created charges and notifies of them, in batches. */
async function payAndNotify({ toPay, bankUrl, notifyUrl, isOver }) {
  const { origin, pathname } = new URL(notifyUrl)
  const connections = NOTIFIERS
  await connected(bankUrl, { connections }, (bank) =>
    connected(origin, { connections }, (notified) => {
      const turn = async () => {
        while (!isOver()) {
          const txids = toPay.splice(0, MAX_PER_POST)
          if (txids.length === 0) await sleep(1)
          else await notified.post(pathname, bodyOf(JSON.parse(await bank.post('/pay', JSON.stringify({ txids })))))
        }
      }
      return Promise.all(Array.from({ length: NOTIFIERS }, turn))
    }),
  )
}

async function within(ms, work, describe) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(describe())), ms)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}
