// Measures what one operation costs: CPU time from /proc, and bytes of write-ahead log. Without /proc, CPU times are 0.
import { readdirSync, readFileSync } from 'node:fs'

// Linux counts CPU time in ticks of 10 ms, whatever the processor.
const TICK_MICROSECONDS = 10_000

/** `pid` is the process that is measured. `work` resolves to an object that counts its operations as `requests`. */
export async function withCost({ database }, pid, work) {
  const read = async () => ({
    node: familyMicroseconds(pid),
    postgres: familyMicroseconds(database.postmaster()),
    walBytes: await database.walBytes(),
  })
  const before = await read()
  const result = await work()
  const after = await read()
  const each = (name) => Math.round((after[name] - before[name]) / result.requests)
  const cost = { nodeMicroseconds: each('node'), postgresMicroseconds: each('postgres'), walBytes: each('walBytes') }
  return { ...result, cost }
}

/** Adds up the CPU time of a process and its children, including children that have ended. */
function familyMicroseconds(pid) {
  const root = readStat(pid)
  if (!root) return 0
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(readStat)
    .filter((stat) => stat?.parent === pid)
  return (root.own + root.reaped + children.reduce((sum, child) => sum + child.own, 0)) * TICK_MICROSECONDS
}

/** Reads the fields of /proc/<pid>/stat that follow the name. The name may contain any character. */
function readStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const sum = (first) => Number(fields[first]) + Number(fields[first + 1])
    return { parent: Number(fields[1]), own: sum(11), reaped: sum(13) }
  } catch {
    return undefined
  }
}

/**
 * Starts to measure CPU steal: time that this virtual machine was ready to run while its host ran something else. The
 * returned function gives the steal since then as a share of busy time plus steal.
 */
export function watchSteal() {
  const before = readMachineTicks()
  return () => {
    const now = readMachineTicks()
    const steal = now.steal - before.steal
    return steal / Math.max(1, now.busy - before.busy + steal)
  }
}

function readMachineTicks() {
  try {
    const [line] = readFileSync('/proc/stat', 'latin1').split('\n', 1)
    const [user, nice, system, , , irq, softirq, steal] = line.split(/\s+/).slice(1).map(Number)
    return { busy: user + nice + system + irq + softirq, steal }
  } catch {
    return { busy: 0, steal: 0 }
  }
}
