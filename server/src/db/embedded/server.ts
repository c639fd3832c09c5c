import { tryLock, waitToRetry } from '../../base/directory-lock.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { provideBinaries, removeOldBinaries } from './binaries.ts'
import {
  checkReach,
  chooseOwner,
  createCluster,
  keepPassword,
  nameSuperusers,
  prepareHome,
  prepareSocketDirectory,
  readPassword,
  removeLeftovers,
  resetPassword,
} from './home.ts'
import { findPostmaster, readRunning, startPostmaster, stopPostmaster } from './postmaster.ts'
import { codeOf, hasPid, ifExists } from './process.ts'
import { attach, type Attachment } from './attachment.ts'

/** A PostgreSQL of our own, shared by all processes of one home. */
export type Embedded = {
  databaseUrl: string
  /** The last process stops the database. */
  stop(): Promise<void>
}

type Home = {
  home: string
  say: (line: string) => void
  signal?: AbortSignal | undefined
  readyWithinMs?: number | undefined
}

type Options = Home & {
  /** Default: true. */
  mayCreate?: boolean
}

const OPEN_LOCK_MS = 180_000
const STOP_LOCK_MS = 6_000
const RESTART_LOCK_MS = 1_000
/** The database may stop between being found and being attached to. */
const ATTACH_WITHIN_MS = 60_000
const ATTACH_RETRY_MS = 100

export async function openEmbedded(options: Options): Promise<Embedded> {
  try {
    if (options.mayCreate === false && (await readMajor(join(options.home, 'data'))) === undefined)
      throw new OperatorError(`${options.home} holds no database yet: start the service, or run guiche migrate`)
    const { say, signal, readyWithinMs } = options
    const home = { home: await prepareHome(options.home), say, signal, readyWithinMs }
    const opened = await withHomeLock({ ...home, waitMs: OPEN_LOCK_MS }, () => startAndAttach(home))
    let stopped: Promise<void> | undefined
    return { databaseUrl: opened.databaseUrl, stop: () => (stopped ??= leaveAndStop(home, opened.attachment)) }
  } catch (error) {
    throw explain(options.home, error)
  }
}

/** Under the lock, so that no other process takes the database for unused. */
async function startAndAttach(home: Home): Promise<{ databaseUrl: string; attachment: Attachment }> {
  for (const deadline = performance.now() + ATTACH_WITHIN_MS; ; await sleep(ATTACH_RETRY_MS)) {
    const running = await ensureRunning(home)
    try {
      const attachment = await attach(running.databaseUrl, { beforeReturn: () => restart(home) })
      return { databaseUrl: running.databaseUrl, attachment }
    } catch (error) {
      if (isAway(error) && performance.now() < deadline) continue
      if (running.started) await stopPostmaster(join(home.home, 'data'), running.pid)
      if (codeOf(error) !== '28P01') throw error
      throw new OperatorError(
        `The password in ${join(home.home, 'database-password')} is wrong: ` +
          `stop every guiche process, delete the file and start again, which makes a new one`,
      )
    }
  }
}

async function leaveAndStop({ home, say }: Home, attachment: Attachment): Promise<void> {
  const data = join(home, 'data')
  try {
    await withHomeLock({ home, say, waitMs: STOP_LOCK_MS }, async () => {
      const running = await readRunning(data)
      const others = running && (await attachment.others().catch(() => undefined))
      await attachment.detach()
      if (running && others === 0) await stopPostmaster(data, running.pid)
      if (running && others === undefined) say('The database was left running: it did not say who else uses it.')
    })
  } catch (error) {
    say(`The database was left running: ${messageOf(error)}`)
  } finally {
    await attachment.detach()
  }
}

/** The process that notices first restarts the database. */
async function restart({ home, say }: Home): Promise<void> {
  await withHomeLock({ home, say, waitMs: RESTART_LOCK_MS }, async () => {
    if (await readRunning(join(home, 'data'))) return
    say('The database stopped unexpectedly; restarting it…')
    await ensureRunning({ home, say })
  })
}

type Running = { databaseUrl: string; pid: number; started: boolean }

/** Adopts the running database, or starts it, or creates it. Only under the home's lock. */
export async function ensureRunning({ home, say, signal, readyWithinMs }: Home): Promise<Running> {
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
  await nameSuperusers(data, owner)
  signal?.throwIfAborted()
  const socketDirectory = await prepareSocketDirectory(home, owner)
  const started = await startPostmaster({ home, bin, data, socketDirectory, owner, say, readyWithinMs })
  return { databaseUrl: urlOf(socketDirectory, password), pid: started.pid, started: true }
}

/** Undefined if there are no data yet. */
export async function readMajor(data: string): Promise<number | undefined> {
  if (!(await ifExists(readdir(data)))?.length) return undefined
  const major = Number(await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => NaN))
  if (!major) throw new OperatorError(`${data} holds files but no database: move them away, or set GUICHE_HOME`)
  return major
}

/** An empty host, and the socket's directory as a parameter. */
function urlOf(socketDirectory: string, password: string): string {
  return `postgresql://guiche:${password}@/guiche?host=${encodeURIComponent(socketDirectory)}&port=5432`
}

/** For processes of the database's user and of root. */
export function superuserUrl(databaseUrl: string): string {
  return databaseUrl.replace(/\/\/[^@]*@/, '//postgres@')
}

function isAway(error: unknown): boolean {
  const away = ['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', '57P01', '57P02', '57P03']
  return away.includes(codeOf(error)) || messageOf(error).startsWith('Connection terminated')
}

function explain(home: string, error: unknown): unknown {
  const fixable = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'EEXIST', 'ENOENT']
  if (!fixable.includes(codeOf(error))) return error
  return new OperatorError(`The database in ${home} cannot be opened: ${messageOf(error)}`, { cause: error })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const SAY_AFTER_MS = 1_000

export async function withHomeLock<T>(
  options: { home: string; waitMs: number; say: (line: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  const { home, waitMs, say } = options
  const began = performance.now()
  for (let said = false; ; await waitToRetry()) {
    const lock = await tryLock(home)
    if ('release' in lock) {
      try {
        return await work()
      } finally {
        await lock.release()
      }
    }
    const { pid } = lock.heldBy
    const waitedMs = performance.now() - began
    if (waitedMs > waitMs)
      throw new OperatorError(`The process ${pid} has been starting or stopping the database in ${home} for too long`)
    if (!said && waitedMs > SAY_AFTER_MS) {
      said = true
      say(`Waiting for the process ${pid}, which starts or stops the database…`)
    }
  }
}

/**
 * Runs `work` with a second home in a folder of the home. Afterwards the folder is removed, with the database in it and
 * what killed processes left: `work` moves out what it keeps.
 */
export async function withHomeAside<Result>(
  home: string,
  prefix: string,
  work: (aside: string) => Promise<Result>,
): Promise<Result> {
  for (const name of await readdir(home))
    if (name.startsWith(prefix) && !hasPid(Number(name.slice(prefix.length)))) await stopAndRemove(join(home, name))
  const aside = await prepareHome(join(home, `${prefix}${process.pid}`))
  try {
    return await work(aside)
  } finally {
    await stopAndRemove(aside)
  }
}

async function stopAndRemove(home: string): Promise<void> {
  const data = join(home, 'data')
  const running = await readRunning(data)
  if (running) await stopPostmaster(data, running.pid)
  await rm(home, { recursive: true, force: true, maxRetries: 3 })
}
