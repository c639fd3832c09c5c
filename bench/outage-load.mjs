// Account holders while their bank is down: deposits at a steady rate, by clients that try again as the SDK does, and
// queries of other accounts beside them.
import { setTimeout as sleep } from 'node:timers/promises'
import { answerQuestions } from './stage/questions.mjs'
import { makeClient } from './stage/raw-http.mjs'

const BODY = JSON.stringify({ value: 5_000 })
const CREATES_PER_SECOND = 60
const QUERIES_PER_SECOND = 60
// More than ever wait for an answer, so that no request waits for a connection.
const CONNECTIONS = 2_000
// As sdk/src/http.ts has it.
const MAX_RETRIES = 3
const FIRST_PAUSE_MS = 500

let holder
let others
let sequence = 0
let isOver = true
let answers = []
const open = new Set()

answerQuestions({
  open({ url, headers, holders }) {
    holder = makeClient(url, { connections: CONNECTIONS, headers })
    others = holders.map(({ headers: own, ...paths }) => ({
      client: makeClient(url, { connections: CONNECTIONS, headers: own }),
      ...paths,
    }))
  },
  begin() {
    isOver = false
    void pace(
      CREATES_PER_SECOND,
      () => create(`${process.pid}-${++sequence}`),
      () => isOver,
    )
    void pace(QUERIES_PER_SECOND, queryNext, () => isOver)
  },
  /** What was answered since the last time, as { kind, status, ms, atMs }. */
  answers: () => answers.splice(0),
  async end() {
    isOver = true
    while (open.size > 0) await Promise.all(open)
  },
  /** One kind of request alone, at a steady rate and without retries. Resolves to how many there were. */
  async only({ kind, perSecond, seconds }) {
    const count = perSecond * seconds
    let begun = 0
    const ask = () => (kind === 'create' ? attempt(`${process.pid}-${++sequence}`) : query(kind))
    await pace(perSecond, ask, () => begun++ >= count)
    while (open.size > 0) await Promise.all(open)
    return count
  },
})

/** Begins so many a second, whether or not the ones before are done. */
async function pace(perSecond, begin, isEnough) {
  const beganMs = performance.now()
  for (let index = 0; !isEnough(); index++) {
    const dueMs = beganMs + (index * 1000) / perSecond
    if (dueMs > performance.now()) await sleep(dueMs - performance.now())
    const work = begin().finally(() => open.delete(work))
    open.add(work)
  }
}

async function create(key) {
  for (let turn = 0; turn <= MAX_RETRIES; turn++) {
    const { status, retryAfterSeconds } = await attempt(key)
    if (status === 201 || turn === MAX_RETRIES) return
    await sleep(Math.max(retryAfterSeconds * 1000, FIRST_PAUSE_MS * 2 ** turn * (1 - Math.random() / 2)))
  }
}

function attempt(key) {
  return timed('create', holder.post('/api/deposit', BODY, `idempotency-key: ${key}\r\n`))
}

const KINDS = ['balance', 'completed', 'pending']

function queryNext() {
  return query(KINDS[++sequence % KINDS.length])
}

function query(kind) {
  const { client, completed, pending } = others[++sequence % others.length]
  const paths = { balance: ['/api/balance'], completed, pending }[kind]
  return timed(kind, client.get(paths[++sequence % paths.length]))
}

async function timed(kind, answering) {
  const beganMs = performance.now()
  // A lost connection is an answer too: what the caller sees.
  const { status, retryAfterSeconds } = await answering.catch(() => ({ status: 0, retryAfterSeconds: 0 }))
  const atMs = performance.now()
  answers.push({ kind, status, ms: atMs - beganMs, atMs })
  return { status, retryAfterSeconds }
}
