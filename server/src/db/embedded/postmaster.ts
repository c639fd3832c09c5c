import { OperatorError } from '../../base/operator-error.ts'
import { commandOf, startOf } from '../../base/processes.ts'
import { spawn } from 'node:child_process'
import { open, readFile, readdir, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { hasPid, identity, poll, quietEnvironment, tail, type Owner } from './process.ts'

/** The running server: PostgreSQL calls its first process the postmaster, and names it in `postmaster.pid`. */
export type Postmaster = { pid: number; socketDirectory: string }

type PidFile = Postmaster & { status: string }

/** After a crash the log is replayed, at most about 1 GB of it (max_wal_size): tens of seconds on a slow disk. */
const READY_TIMEOUT_MS = 180_000
/** A start that takes longer than this deserves a line on the terminal. */
const SAY_AFTER_MS = 1_500
/** A server told to stop by somebody else ends its clients and writes a checkpoint; more means it waits for a person. */
const VANISH_TIMEOUT_MS = 15_000
/** Sessions of a killed postmaster notice its death when they next wait, mostly at once, and hold the data till then. */
const ORPHANS_TIMEOUT_MS = 10_000
/** A pid file is written right after it is made, so one that stays empty this long is a crash's. */
const EMPTY_PID_FILE_MS = 1_000
/** Writes a checkpoint, so that the next start is quick. The whole service has 5 s to stop. */
const FAST_STOP_MS = 4_000
/** Without a checkpoint: the next start replays the log. Nothing committed is lost. */
const IMMEDIATE_STOP_MS = 800
/** A local socket answers at once or not at all. */
const SOCKET_ANSWER_MS = 500
/** Pools of a few processes and of tests side by side; a connection that is not open costs next to nothing. */
const MAX_CONNECTIONS = 200

/** The postmaster of this data directory, ready to be connected to; or undefined if none runs. */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const began = performance.now()
  const found = await poll(READY_TIMEOUT_MS, async () => {
    const running = await readRunning(data)
    if (!running) return 'none'
    if (running.status === 'ready') return running
    if (running.status === 'stopping' && performance.now() - began > VANISH_TIMEOUT_MS)
      throw new OperatorError(`the database in ${data} is being stopped and does not end (process ${running.pid})`)
    return undefined
  })
  if (found === undefined) throw new OperatorError(`the database in ${data} does not become ready`)
  return found === 'none' ? undefined : found
}

/** The postmaster of this data directory in whatever state; what a dead one left is no obstacle. */
export async function readRunning(data: string): Promise<PidFile | undefined> {
  const path = join(data, 'postmaster.pid')
  const written = await poll(EMPTY_PID_FILE_MS, async () => {
    const content = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    return content === undefined ? 'none' : parsePidFile(content)
  })
  if (written === 'none') return undefined
  if (written && (isPostmaster(written.pid, data) || (await answers(written.socketDirectory)))) return written
  // PostgreSQL itself takes over from a dead pid. It refuses for a pid that exists, though it be a zombie or, after a
  // restart of the machine, somebody else's process; and it refuses for an empty file.
  if (!written || hasPid(written.pid)) await rm(path, { force: true })
  return undefined
}

type Starting = {
  home: string
  bin: string
  data: string
  socketDirectory: string
  owner: Owner
  say: (line: string) => void
}

/** Only under the home's lock and when none runs. */
export async function startPostmaster(starting: Starting): Promise<Postmaster> {
  // The directory is ours alone, so what lies there is a dead server's; its lock could name a pid that exists again.
  await rm(join(starting.socketDirectory, '.s.PGSQL.5432.lock'), { force: true })
  const deadline = performance.now() + ORPHANS_TIMEOUT_MS
  for (;;) {
    const attempt = await tryStart(starting)
    if ('pid' in attempt) return attempt
    if (!/pre-existing shared memory block/.test(attempt.log) || performance.now() > deadline)
      throw new OperatorError(`the database in ${starting.home} does not start: ${tail(attempt.log)}`)
  }
}

/** Ends it with a checkpoint if time allows, without one if not. */
export async function stopPostmaster(data: string, pid: number): Promise<void> {
  const gone = () => (isPostmaster(pid, data) ? undefined : true)
  if (signal(pid, 'SIGINT') && !(await poll(FAST_STOP_MS, gone)) && signal(pid, 'SIGQUIT'))
    await poll(IMMEDIATE_STOP_MS, gone)
}

async function tryStart(starting: Starting): Promise<Postmaster | { log: string }> {
  const { data, socketDirectory, say } = starting
  const began = Date.now()
  const startLog = join(starting.home, 'start.log')
  const log = await open(startLog, 'w', 0o600)
  let ended: string | undefined
  const child = spawn(join(starting.bin, 'postgres'), ['-D', data, ...settings(socketDirectory)], {
    cwd: '/',
    env: quietEnvironment(),
    stdio: ['ignore', log.fd, log.fd],
    // In a session of its own, Ctrl-C at the terminal reaches us alone, and we stop it in order.
    detached: true,
    ...identity(starting.owner),
  })
  child.once('error', (error) => (ended = error.message))
  child.once('exit', (code, signal) => (ended ??= `it ended with ${signal ?? `exit code ${code}`}`))
  child.unref()
  await log.close()

  let told = false
  const status = await poll(READY_TIMEOUT_MS, async () => {
    if (ended !== undefined) return 'ended'
    if (!told && Date.now() - began > SAY_AFTER_MS) {
      told = true
      say('Starting the database…')
    }
    const written = await readFile(join(data, 'postmaster.pid'), 'utf8').then(parsePidFile, () => undefined)
    // The file may be an earlier server's until ours replaces it, so only our child's word counts.
    return written?.pid === child.pid && written?.status === 'ready' ? 'ready' : undefined
  })
  if (status === 'ready' && child.pid !== undefined) return { pid: child.pid, socketDirectory }
  if (status === undefined && child.pid !== undefined) await stopPostmaster(data, child.pid)
  const output = await readLogs(startLog, join(data, 'log'), began)
  return { log: output || ended || 'it does not become ready' }
}

function settings(socketDirectory: string): string[] {
  const values: Record<string, string | number> = {
    // No network at all: whoever may open the socket's directory may talk to it.
    listen_addresses: '',
    port: 5432,
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: MAX_CONNECTIONS,
    timezone: 'UTC',
    // One file a weekday, overwritten a week later: a log that never fills the disk by age.
    logging_collector: 'on',
    log_directory: 'log',
    log_filename: 'postgresql-%a.log',
    log_rotation_age: '1d',
    log_rotation_size: 0,
    log_truncate_on_rotation: 'on',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    // Statements would carry payers' names and documents into a file.
    log_min_error_statement: 'panic',
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** What the server said since it was started: first on its standard error, then to its log. */
async function readLogs(startLog: string, directory: string, since: number): Promise<string> {
  const names = await readdir(directory).catch(() => [])
  let text = await readFile(startLog, 'utf8').catch(() => '')
  for (const name of names) {
    const path = join(directory, name)
    if ((await stat(path)).mtimeMs >= since) text += await readFile(path, 'utf8')
  }
  // The collector's own announcements are not what went wrong.
  return text
    .split('\n')
    .filter((line) => !/redirecting log output|Future log output/.test(line))
    .join('\n')
    .trim()
}

function parsePidFile(content: string): PidFile | undefined {
  const lines = content.split('\n').map((line) => line.trim())
  const pid = Number(lines[0])
  return pid > 0 ? { pid, socketDirectory: lines[4] ?? '', status: lines[7] ?? 'starting' } : undefined
}

/** We always start it with its data directory in the arguments, and a postmaster never rewrites its own. */
function isPostmaster(pid: number, data: string): boolean {
  if (startOf(pid) === undefined) return false
  const command = `${commandOf(pid)} `
  return command.includes(`-D\0${data}\0`) || command.includes(`-D ${data} `)
}

/** For a server that somebody started by hand in another way: it lives if its socket takes connections. */
async function answers(socketDirectory: string): Promise<boolean> {
  if (!socketDirectory) return false
  return new Promise((resolve) => {
    const socket = connect(join(socketDirectory, '.s.PGSQL.5432'))
    const finish = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(SOCKET_ANSWER_MS, () => finish(false))
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
