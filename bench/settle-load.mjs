// Settles payments through the public function, in a process of its own: batches one after another, or several in
// flight. Nothing else runs in it.
import { makePool } from '../server/dist/db/pool.js'
import { transact } from '../server/dist/db/tx.js'
import { settle } from '../server/dist/domain/deposits/settle.js'
import { answerQuestions } from './stage/questions.mjs'

const BATCH = 200

const log = { debug() {}, info() {}, warn: console.error, error: console.error }
let pool

answerQuestions({
  open({ databaseUrl }) {
    pool = makePool(databaseUrl, log)
  },
  async settle({ payments, inFlight }) {
    const batches = []
    for (let at = 0; at < payments.length; at += BATCH) batches.push(payments.slice(at, at + BATCH))
    let completed = 0
    const work = async () => {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        const settled = await transact(pool, (tx) => settle(tx, new Date(), batch))
        completed += settled.completed.length
      }
    }
    const beganMs = performance.now()
    await Promise.all(Array.from({ length: inFlight }, work))
    const tookMs = performance.now() - beganMs
    if (completed !== payments.length) throw new Error(`only ${completed} of ${payments.length} payments were credited`)
    return { perSecond: (completed * 1000) / tookMs }
  },
})
