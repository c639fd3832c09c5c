// Settles payments by calling settle() of a build. It runs alone in its process, with two batches in flight.
import { join } from 'node:path'
import { answerQuestions } from './questions.mjs'
import { SECRET_KEY } from './service.mjs'

const BATCH = 200
const IN_FLIGHT = 2

const log = { debug() {}, info() {}, warn: console.error, error: console.error }
let settleBatch

answerQuestions({
  async open({ dist, databaseUrl }) {
    const { makePool } = await import(join(dist, 'db/pool.js'))
    const { transact } = await import(join(dist, 'db/tx.js'))
    const { settle } = await import(join(dist, 'domain/deposits/settle.js'))
    // The release 1.0.0-rc.1 has no seals.
    const { makeSealer } = await import(join(dist, 'base/sealer.js')).catch(() => ({}))
    const pool = makePool(databaseUrl, log, makeSealer && { sealer: makeSealer(() => [SECRET_KEY]) })
    settleBatch = (payments) => transact(pool, (tx) => settle(tx, new Date(), payments))
  },
  async settle({ payments }) {
    const batches = []
    for (let at = 0; at < payments.length; at += BATCH) batches.push(payments.slice(at, at + BATCH))
    let completed = 0
    const work = async () => {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        const settled = await settleBatch(batch)
        completed += settled.completed.length
      }
    }
    const beganMs = performance.now()
    await Promise.all(Array.from({ length: IN_FLIGHT }, work))
    const tookMs = performance.now() - beganMs
    if (completed !== payments.length) throw new Error(`Only ${completed} of ${payments.length} payments were credited`)
    return { perSecond: (completed * 1000) / tookMs, requests: completed }
  },
})
