// What a piece of work costs for each operation: processor time of each process, and bytes of write-ahead log.
import { familyMicroseconds, isKnown, ownMicroseconds, reapedMicroseconds } from './cpu.mjs'

/**
 * `node` is the process that is measured, with those that it started. `load` is the process that asks it; without one,
 * it is a program that ran to its end, such as wrk. `work` resolves to an object that counts its operations as
 * `requests`.
 */
export async function withCost(stage, { node, load }, work) {
  const before = await readMeters(stage, node, load)
  const result = await work()
  const after = await readMeters(stage, node, load)
  if (result.requests === 0) return result
  const each = (name) => Math.round((after[name] - before[name]) / result.requests)
  const cpu = isKnown
    ? { node: each('node'), postgres: each('postgres'), bank: each('bank'), load: each('load') }
    : undefined
  return { ...result, cost: { ...(cpu && { cpuMicroseconds: cpu }), walBytes: each('wal') } }
}

async function readMeters({ database, bank }, node, load) {
  return {
    node: familyMicroseconds(node),
    postgres: familyMicroseconds(database.postmaster()),
    bank: ownMicroseconds(bank.pid),
    load: load === undefined ? reapedMicroseconds() : ownMicroseconds(load),
    wal: await database.walBytes(),
  }
}
