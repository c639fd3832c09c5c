import { OperatorError } from '../../base/operator-error.ts'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { provideBinaries, removeOldBinaries } from './binaries.ts'
import {
  checkReach,
  chooseOwner,
  createCluster,
  keepPassword,
  prepareHome,
  prepareSocketDirectory,
  readPassword,
  removeLeftovers,
  resetPassword,
} from './home.ts'
import { withHomeLock } from './lock.ts'
import { findPostmaster, readRunning, startPostmaster, stopPostmaster } from './postmaster.ts'
import { codeOf } from './process.ts'
import { joinPresence, type Presence } from '../presence.ts'

export { prepareHome }

/** A PostgreSQL of our own, shared by all processes on one home: the last one out stops it, whoever started it. */
export type Embedded = {
  databaseUrl: string
  /** Leaves the database. To be called last: other presences of this process would keep it running. */
  stop(): Promise<void>
}

type Home = { home: string; say: (line: string) => void; signal?: AbortSignal | undefined }

type Options = Home & {
  /** Whether a home without a database gets one. */
  mayCreate?: boolean
}

/** Another process may be at its first start on a slow disk: copying, initdb and a start. */
const OPEN_LOCK_MS = 180_000
/** Whoever holds the lock is stopping, which takes less, or opening, and then stays to stop it. */
const STOP_LOCK_MS = 6_000
/** A revival is tried again anyway, and must not hold up a shutdown that waits for it. */
const REVIVE_LOCK_MS = 1_000
/** A database may end, or recover from a crash, between being found and being joined: then both are done again. */
const JOIN_WITHIN_MS = 60_000
const JOIN_RETRY_MS = 100

export async function openEmbedded(options: Options): Promise<Embedded> {
  try {
    if (options.mayCreate === false && (await readMajor(join(options.home, 'data'))) === undefined)
      throw new OperatorError(`${options.home} holds no database yet: start the service, or run guiche migrate`)
    const home = { home: await prepareHome(options.home), say: options.say, signal: options.signal }
    const opened = await withHomeLock({ ...home, waitMs: OPEN_LOCK_MS }, () => startAndJoin(home))
    let stopped: Promise<void> | undefined
    return { databaseUrl: opened.databaseUrl, stop: () => (stopped ??= leaveAndStop(home, opened.presence)) }
  } catch (error) {
    throw explain(options.home, error)
  }
}

/** Joining comes before the lock is released, so that nobody can take the database for unused in between. */
async function startAndJoin(home: Home): Promise<{ databaseUrl: string; presence: Presence }> {
  for (const deadline = performance.now() + JOIN_WITHIN_MS; ; await sleep(JOIN_RETRY_MS)) {
    const running = await ensureRunning(home)
    try {
      const presence = await joinPresence(running.databaseUrl, { beforeRejoin: () => revive(home) })
      return { databaseUrl: running.databaseUrl, presence }
    } catch (error) {
      if (isAway(error) && performance.now() < deadline) continue
      if (running.started) await stopPostmaster(join(home.home, 'data'), running.pid)
      if (codeOf(error) !== '28P01') throw error
      throw new OperatorError(
        `the password in ${join(home.home, 'database-password')} is not the database's: ` +
          `stop every guiche process, delete the file and start again, and a new one is made`,
      )
    }
  }
}

async function leaveAndStop({ home, say }: Home, presence: Presence): Promise<void> {
  const data = join(home, 'data')
  try {
    await withHomeLock({ home, say, waitMs: STOP_LOCK_MS }, async () => {
      const running = await readRunning(data)
      const others = running && (await presence.others().catch(() => undefined))
      await presence.leave()
      if (running && others === 0) await stopPostmaster(data, running.pid)
      if (running && others === undefined) say('The database did not tell who else uses it, and was left running.')
    })
  } catch (error) {
    // The process is about to end: what cannot be stopped now is adopted by the next start.
    say(`The database was left running: ${messageOf(error)}`)
  } finally {
    await presence.leave()
  }
}

/** The database ended although we use it: killed, out of memory, or stopped by hand. Whoever notices first restarts it. */
async function revive({ home, say }: Home): Promise<void> {
  await withHomeLock({ home, say, waitMs: REVIVE_LOCK_MS }, async () => {
    if (await readRunning(join(home, 'data'))) return
    say('The database ended unexpectedly; starting it again…')
    await ensureRunning({ home, say })
  })
}

type Running = { databaseUrl: string; pid: number; started: boolean }

/** Adopts the database that runs in this home, or starts it, or makes it first. Only under the home's lock. */
async function ensureRunning({ home, say, signal }: Home): Promise<Running> {
  const data = join(home, 'data')
  const { password, fresh } = await readPassword(home)
  const adopted = await findPostmaster(data)
  if (adopted) {
    if (fresh) throw new OperatorError(`${home} has lost its file database-password: stop every guiche process first`)
    return { databaseUrl: urlOf(adopted.socketDirectory, password), pid: adopted.pid, started: false }
  }
  await removeLeftovers(home)
  const owner = await chooseOwner(data)
  checkReach(home, owner)
  const dataMajor = await readMajor(data)
  if (dataMajor === undefined) say('Preparing the database (first start)…')
  const { bin, major } = await provideBinaries({ home, dataMajor, say, signal })
  await removeOldBinaries(home, bin)
  signal?.throwIfAborted()
  if (dataMajor === undefined) await createCluster({ home, bin, major, owner, password })
  else if (fresh) {
    await resetPassword({ bin, data, owner, password })
    await keepPassword(home, password)
  }
  signal?.throwIfAborted()
  const socketDirectory = await prepareSocketDirectory(home, owner)
  const started = await startPostmaster({ home, bin, data, socketDirectory, owner, say })
  return { databaseUrl: urlOf(socketDirectory, password), pid: started.pid, started: true }
}

/** The version that wrote the data, or undefined if there are none yet. */
async function readMajor(data: string): Promise<number | undefined> {
  const names = await readdir(data).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (names.length === 0) return undefined
  const major = Number(await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => NaN))
  if (!major) throw new OperatorError(`${data} holds files but no database: move them away, or set GUICHE_HOME`)
  return major
}

/** The form that node-postgres and psql both take: an empty host, and the socket's directory as a parameter. */
function urlOf(socketDirectory: string, password: string): string {
  return `postgresql://guiche:${password}@/guiche?host=${encodeURIComponent(socketDirectory)}&port=5432`
}

/** Nobody listens, the connection broke, or the answer is that it is starting or stopping. */
function isAway(error: unknown): boolean {
  const away = ['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', '57P01', '57P02', '57P03']
  return away.includes(codeOf(error)) || messageOf(error).startsWith('Connection terminated')
}

/** What the file system refuses is for the operator to mend, so it becomes one line too. */
function explain(home: string, error: unknown): unknown {
  const mendable = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'EEXIST', 'ENOENT']
  if (!mendable.includes(codeOf(error))) return error
  return new OperatorError(`the database in ${home} cannot be opened: ${messageOf(error)}`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
