import { OperatorError } from '../../base/operator-error.ts'
import { commandOf, startOf } from '../../base/pids.ts'
import { spawn } from 'node:child_process'
import { open, readFile, readdir, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { hasPid, identity, ifExists, poll, quietEnvironment, tail, type Owner } from './process.ts'

/** The main process of the server, named in `postmaster.pid`. */
export type Postmaster = { pid: number; socketDirectory: string }

type PidFile = Postmaster & { status: string }

/** After a crash, about 1 GB of log (max_wal_size) is replayed: tens of seconds on a slow disk. */
const READY_TIMEOUT_MS = 180_000
/** After this long the terminal says so. */
const SAY_AFTER_MS = 1_500
/** A stop ends all clients and writes a checkpoint. A slower one waits for a person. */
const VANISH_TIMEOUT_MS = 15_000
/** Sessions of a killed postmaster hold the data until they notice, mostly at once. */
const ORPHANS_TIMEOUT_MS = 10_000
/** A pid file is written right after its creation. An empty one is left from a crash. */
const EMPTY_PID_FILE_MS = 1_000
/** With a checkpoint, so that the next start is fast. Nobody waits longer for a command or a stop. */
const FAST_STOP_MS = 4_000
/** Without a checkpoint: the next start replays the log, and nothing committed is lost. */
const IMMEDIATE_STOP_MS = 800
/** A local socket answers at once or not at all. */
const SOCKET_ANSWER_MS = 500
/** For the pools of a few processes. An unused slot costs next to nothing. */
const MAX_CONNECTIONS = 200

/** The postmaster of this data directory when it is ready; undefined if none runs. */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const began = performance.now()
  const found = await poll(READY_TIMEOUT_MS, async () => {
    const running = await readRunning(data)
    if (!running) return 'none'
    if (running.status === 'ready') return running
    if (running.status === 'stopping' && performance.now() - began > VANISH_TIMEOUT_MS)
      throw new OperatorError(`The database in ${data} does not stop (process ${running.pid})`)
    return undefined
  })
  if (found === undefined) throw new OperatorError(`The database in ${data} does not become ready`)
  return found === 'none' ? undefined : found
}

/** The postmaster of this data directory in any state. Removes the pid file of a dead one. */
export async function readRunning(data: string): Promise<PidFile | undefined> {
  const path = join(data, 'postmaster.pid')
  const written = await poll(EMPTY_PID_FILE_MS, async () => {
    const content = await ifExists(readFile(path, 'utf8'))
    return content === undefined ? 'none' : parsePidFile(content)
  })
  if (written === 'none') return undefined
  if (written && (isPostmaster(written.pid, data) || (await answers(written.socketDirectory)))) return written
  // PostgreSQL takes over from a dead pid itself. It refuses if the pid exists, even as a zombie or, after a reboot, as
  // another program, and it refuses an empty file.
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
  readyWithinMs?: number | undefined
}

/** Only under the home's lock, when none runs. */
export async function startPostmaster(starting: Starting): Promise<Postmaster> {
  // Only we use the directory, so the lock is a dead server's. Its pid may exist again.
  await rm(join(starting.socketDirectory, '.s.PGSQL.5432.lock'), { force: true })
  const deadline = performance.now() + ORPHANS_TIMEOUT_MS
  for (;;) {
    const attempt = await tryStart(starting)
    if ('pid' in attempt) return attempt
    if (!/pre-existing shared memory block/.test(attempt.log) || performance.now() > deadline)
      throw new OperatorError(`The database in ${starting.home} does not start: ${tail(attempt.log)}`)
  }
}

/** Stops it with a checkpoint if time allows. */
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
    // In its own session Ctrl-C does not reach it, and we stop it in order.
    detached: true,
    ...identity(starting.owner),
  })
  child.once('error', (error) => (ended = error.message))
  child.once('exit', (code, signal) => (ended ??= `it exited with ${signal ?? `exit code ${code}`}`))
  child.unref()
  await log.close()

  let isSaid = false
  const status = await poll(starting.readyWithinMs ?? READY_TIMEOUT_MS, async () => {
    if (ended !== undefined) return 'ended'
    if (!isSaid && Date.now() - began > SAY_AFTER_MS) {
      isSaid = true
      say('Starting the database…')
    }
    const written = await readFile(join(data, 'postmaster.pid'), 'utf8').then(parsePidFile, () => undefined)
    // Until our child replaces it, the file may be an earlier server's.
    return written?.pid === child.pid && written?.status === 'ready' ? 'ready' : undefined
  })
  if (status === 'ready' && child.pid !== undefined) return { pid: child.pid, socketDirectory }
  if (status === undefined && child.pid !== undefined) await stopPostmaster(data, child.pid)
  const output = await readLogs(startLog, join(data, 'log'), began)
  return { log: output || ended || 'it did not become ready' }
}

function settings(socketDirectory: string): string[] {
  const values: Record<string, string | number> = {
    // No network: access to the socket's directory is the access control.
    listen_addresses: '',
    port: 5432,
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: MAX_CONNECTIONS,
    timezone: 'UTC',
    // Until a table is analyzed for the first time, the planner takes it for nearly empty and chooses slow plans. The
    // default is to look once a minute.
    autovacuum_naptime: '10s',
    // One file per weekday, overwritten a week later, so the log does not grow forever.
    logging_collector: 'on',
    log_directory: 'log',
    log_filename: 'postgresql-%a.log',
    log_rotation_age: '1d',
    log_rotation_size: 0,
    log_truncate_on_rotation: 'on',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    // Statements may hold names and documents of payers.
    log_min_error_statement: 'panic',
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** The server's output since its start: its standard error, then its log. */
async function readLogs(startLog: string, directory: string, since: number): Promise<string> {
  const names = await readdir(directory).catch(() => [])
  let text = await readFile(startLog, 'utf8').catch(() => '')
  for (const name of names) {
    const path = join(directory, name)
    if ((await stat(path)).mtimeMs >= since) text += await readFile(path, 'utf8')
  }
  // Without the announcements of the log collector.
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

/** We start it with its data directory in the arguments, and a postmaster never rewrites them. */
function isPostmaster(pid: number, data: string): boolean {
  if (startOf(pid) === undefined) return false
  const command = `${commandOf(pid)} `
  return command.includes(`-D\0${data}\0`) || command.includes(`-D ${data} `)
}

/** For a server that was started by hand: it lives if its socket accepts connections. */
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
