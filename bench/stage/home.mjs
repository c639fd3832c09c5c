// Where the database of the bench lies: a new directory on a disk. In memory an fsync would cost nothing, and every
// figure about durable writes would be wrong.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

/** Survives a reboot by convention, so it is on a disk where /tmp may be in memory. */
export const DEFAULT_DATA = '/var/tmp'

const IN_MEMORY = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
])

export function makeHome(parent) {
  mkdirSync(parent, { recursive: true })
  const found = IN_MEMORY.get(statfsSync(parent).type)
  if (found) throw new Error(`${parent} is in memory (${found}): name a directory on a disk with --data`)
  const home = mkdtempSync(join(parent, 'guiche-bench-'))
  // As root, the database runs as another user, who must be able to enter.
  chmodSync(home, 0o755)
  return { home, remove: () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }) }
}
