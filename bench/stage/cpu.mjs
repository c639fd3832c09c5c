// Processor time of processes, from /proc. Where there is no /proc, nothing is known, and the table says so.
import { readdirSync, readFileSync } from 'node:fs'

// Linux counts in these, whatever the processor does.
const TICK_MICROSECONDS = 10_000

export const isKnown = readStat('self') !== undefined

/** Fields of /proc/<pid>/stat after the name, which may hold anything. */
function readStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return {
      parent: Number(fields[1]),
      own: Number(fields[11]) + Number(fields[12]),
      reaped: Number(fields[13]) + Number(fields[14]),
    }
  } catch {
    return undefined
  }
}

/** Of one process alone. */
export function ownMicroseconds(pid) {
  return (readStat(pid)?.own ?? 0) * TICK_MICROSECONDS
}

/** Of a process, its children, and those of its children that have ended. */
export function familyMicroseconds(pid) {
  const root = readStat(pid)
  if (!root) return 0
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(readStat)
    .filter((stat) => stat?.parent === pid)
  return (root.own + root.reaped + children.reduce((sum, child) => sum + child.own, 0)) * TICK_MICROSECONDS
}

/** Of programs that this process ran to their end. */
export function reapedMicroseconds() {
  return (readStat('self')?.reaped ?? 0) * TICK_MICROSECONDS
}

/**
 * CPU steal since an earlier reading: time that this virtual machine was ready to run while its host ran something
 * else, as a share of busy time and steal together. Undefined where there is no /proc.
 */
export function stealSince(before) {
  const now = readMachineTicks()
  if (!before || !now) return undefined
  const steal = now.steal - before.steal
  const wanted = now.busy - before.busy + steal
  return wanted > 0 ? steal / wanted : 0
}

/** Of all processors, since the machine started. */
export function readMachineTicks() {
  try {
    const [line] = readFileSync('/proc/stat', 'latin1').split('\n', 1)
    const [user, nice, system, , , irq, softirq, steal] = line.split(/\s+/).slice(1).map(Number)
    return { busy: user + nice + system + irq + softirq, steal }
  } catch {
    return undefined
  }
}

/** Memory of a process in bytes. */
export function residentBytes(pid) {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
  return Number(found?.[1] ?? 0) * 1024
}
