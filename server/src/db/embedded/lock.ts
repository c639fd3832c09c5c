import { OperatorError } from '../../base/operator-error.ts'
import { randomBytes } from 'node:crypto'
import { open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startOf } from './process.ts'

const PREFIX = 'lock-'
/** Each try waits this long and up to twice as long by chance, so that two that met do not meet again. */
const RETRY_MS = 15
/** What takes longer than this deserves a line on the terminal. */
const SAY_AFTER_MS = 1_000

/**
 * Does the work while no other process on this home starts or stops the database.
 *
 * Every contender makes a file named after itself and then looks whether another living one has a file too; if so it
 * takes its own away and tries later. Of two at once at least one made its file before the other looked, so never both
 * go on. A single lock file would need a way to break a dead owner's lock, and breaking is where two can race: here a
 * dead one's file has a name that nobody else will ever use, so anybody may remove it at any time.
 */
export async function withHomeLock<T>(
  options: { home: string; waitMs: number; say: (line: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  const mine = `${PREFIX}${process.pid}-${startOf(process.pid) ?? ''}-${randomBytes(6).toString('hex')}`
  const path = join(options.home, mine)
  const began = performance.now()
  for (let said = false; ;) {
    const file = await open(path, 'wx', 0o600)
    await file.close()
    const holder = await findOther(options.home, mine)
    if (holder === undefined) break
    await remove(path)
    const waitedMs = performance.now() - began
    if (waitedMs > options.waitMs)
      throw new OperatorError(
        `the process ${holder} has been starting or stopping the database in ${options.home} for too long`,
      )
    if (!said && waitedMs > SAY_AFTER_MS) {
      said = true
      options.say(`Waiting for the process ${holder}, which starts or stops the database…`)
    }
    await sleep(RETRY_MS * (1 + Math.random()))
  }
  try {
    return await work()
  } finally {
    await remove(path)
  }
}

/** The pid of another living contender; files of the dead are removed on the way. */
async function findOther(home: string, mine: string): Promise<number | undefined> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(PREFIX) || name === mine) continue
    const [pid, start] = name.slice(PREFIX.length).split('-')
    if (startOf(Number(pid)) === start) return Number(pid)
    await remove(join(home, name))
  }
  return undefined
}

async function remove(path: string) {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
