import { randomBytes } from 'node:crypto'
import { open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startOf } from './pids.ts'

const PREFIX = 'lock-'
/** Each retry waits up to twice as long by chance, so that two that met do not meet again. */
const RETRY_MS = 15

/** `name` is the lock's file, which no other lock ever has. */
export type Lock = { name: string; release(): Promise<void> }

export type Holder = { name: string; pid: number }

/**
 * Takes the lock of a directory, unless another living process has it. Every contender creates a file named after
 * itself and then looks whether another living one has a file too; if so, it removes its own. Of two at once, at least
 * one created its file before the other looked, so never both get the lock. Two may refuse each other, so a refusal is
 * worth a retry. A single lock file would need a way to break a dead owner's lock, in which two can race. Processes
 * that do not see each other's pids (containers that share a volume) must not share a directory.
 */
export async function tryLock(directory: string): Promise<Lock | { heldBy: Holder }> {
  const name = `${PREFIX}${process.pid}-${startOf(process.pid) ?? ''}-${randomBytes(6).toString('hex')}`
  const path = join(directory, name)
  const file = await open(path, 'wx', 0o600)
  await file.close()
  const [other] = (await findHolders(directory)).filter((holder) => holder.name !== name)
  if (!other) return { name, release: () => remove(path) }
  await remove(path)
  return { heldBy: other }
}

/** Living processes that have the lock or try to get it. Removes the files of dead ones. */
export async function findHolders(directory: string): Promise<Holder[]> {
  const holders: Holder[] = []
  for (const name of await readdir(directory)) {
    if (!name.startsWith(PREFIX)) continue
    const [pid, start] = name.slice(PREFIX.length).split('-')
    if (startOf(Number(pid)) === start) holders.push({ name, pid: Number(pid) })
    else await remove(join(directory, name))
  }
  return holders
}

export function waitToRetry(): Promise<void> {
  return sleep(RETRY_MS * (1 + Math.random()))
}

async function remove(path: string) {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
