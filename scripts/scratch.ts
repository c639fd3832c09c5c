// Tests keep their databases and home directories in memory if there is room, so that none of them waits for a disk.

import { statfsSync } from 'node:fs'

const MEMORY = '/dev/shm'
/** Several times what a whole run holds at once. A container often has 64 MB. */
const ENOUGH_BYTES = 4 * 1024 ** 3

/** Sets TMPDIR, which all of the run's processes inherit, unless it was set by hand. */
export function useScratch(): void {
  if (!process.env['TMPDIR'] && freeBytes(MEMORY) >= ENOUGH_BYTES) process.env['TMPDIR'] = MEMORY
}

function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return 0
  }
}
