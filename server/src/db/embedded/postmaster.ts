import { OperatorError } from '../../base/operator-error.ts'
import { commandOf, startOf } from '../../base/pids.ts'
import { spawn } from 'node:child_process'
import { open, readFile, readdir, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { hasPid, identity, ifExists, poll, quietEnvironment, tail, type Owner } from './process.ts'

export type Postmaster = { pid: number; socketDirectory: string }

type PidFile = Postmaster & { status: string }

/** Replaying 1 GB of log after a crash takes tens of seconds on a slow disk. */
const READY_TIMEOUT_MS = 180_000
const SAY_AFTER_MS = 1_500
/** A slower stop waits for a person. */
const VANISH_TIMEOUT_MS = 15_000
/** Sessions of a killed postmaster hold the data until they notice. */
const ORPHANS_TIMEOUT_MS = 10_000
/** An empty pid file is left from a crash. */
const EMPTY_PID_FILE_MS = 1_000
/** With a checkpoint. */
const FAST_STOP_MS = 4_000
/** Without a checkpoint: the next start replays the log. */
const IMMEDIATE_STOP_MS = 800
const SOCKET_ANSWER_MS = 500
const MAX_CONNECTIONS = 200

/** Undefined if none runs. Waits until it is ready. */
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

/** In any state. Removes the pid file of a dead one. */
export async function readRunning(data: string): Promise<PidFile | undefined> {
  const path = join(data, 'postmaster.pid')
  const written = await poll(EMPTY_PID_FILE_MS, async () => {
    const content = await ifExists(readFile(path, 'utf8'))
    return content === undefined ? 'none' : parsePidFile(content)
  })
  if (written === 'none') return undefined
  if (written && (isPostmaster(written.pid, data) || (await answers(written.socketDirectory)))) return written
  // PostgreSQL refuses a pid that exists, even as another program after a reboot, and an empty file.
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

export async function startPostmaster(starting: Starting): Promise<Postmaster> {
  // Only we use the directory, so this is a dead server's.
  await rm(join(starting.socketDirectory, '.s.PGSQL.5432.lock'), { force: true })
  const deadline = performance.now() + ORPHANS_TIMEOUT_MS
  for (;;) {
    const attempt = await tryStart(starting)
    if ('pid' in attempt) return attempt
    if (!/pre-existing shared memory block/.test(attempt.log) || performance.now() > deadline)
      throw new OperatorError(`The database in ${starting.home} does not start: ${tail(attempt.log)}`)
  }
}

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
    return written?.pid === child.pid && written?.status === 'ready' ? 'ready' : undefined
  })
  if (status === 'ready' && child.pid !== undefined) return { pid: child.pid, socketDirectory }
  if (status === undefined && child.pid !== undefined) await stopPostmaster(data, child.pid)
  const output = await readLogs(startLog, join(data, 'log'), began)
  return { log: output || ended || 'it did not become ready' }
}

function settings(socketDirectory: string): string[] {
  const values: Record<string, string | number> = {
    // Access to the socket's directory is the access control.
    listen_addresses: '',
    port: 5432,
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: MAX_CONNECTIONS,
    timezone: 'UTC',
    // Until a table is analyzed, the planner takes it for nearly empty.
    autovacuum_naptime: '10s',
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

async function readLogs(startLog: string, directory: string, since: number): Promise<string> {
  const names = await readdir(directory).catch(() => [])
  let text = await readFile(startLog, 'utf8').catch(() => '')
  for (const name of names) {
    const path = join(directory, name)
    if ((await stat(path)).mtimeMs >= since) text += await readFile(path, 'utf8')
  }
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

/** A postmaster never rewrites its arguments. */
function isPostmaster(pid: number, data: string): boolean {
  if (startOf(pid) === undefined) return false
  const command = `${commandOf(pid)} `
  return command.includes(`-D\0${data}\0`) || command.includes(`-D ${data} `)
}

/** For a server that was started by hand. */
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
