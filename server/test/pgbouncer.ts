import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../scripts/free-port.mjs'

// A real pooler, from Debian's package pgbouncer. Without one its tests are skipped and say so.

const PATH = process.env['PGBOUNCER_PATH'] ?? '/usr/sbin/pgbouncer'
const LISTENS_WITHIN_MS = 30_000

/** The reason to skip tests with PgBouncer, or undefined if it is installed. */
export const NO_PGBOUNCER = existsSync(PATH)
  ? undefined
  : `there is no PgBouncer at ${PATH}: install it (apt-get install pgbouncer), or set PGBOUNCER_PATH`

export type PoolMode = 'transaction' | 'session' | 'statement'

/** Starts PgBouncer in front of a PostgreSQL that listens on a socket. Most of PgBouncer's defaults apply. */
export async function launchPgBouncer(
  clusterUrl: string,
  { directory, mode, connectQuery }: { directory: string; mode: PoolMode; connectQuery?: string },
): Promise<{ url: string; child: ChildProcess }> {
  if (NO_PGBOUNCER) throw new Error(NO_PGBOUNCER)
  const { username, password, pathname, searchParams } = new URL(clusterUrl.replace('@/', '@socket/'))
  const socketDirectory = searchParams.get('host')!
  const port = await freePort()
  const first = connectQuery ? ` connect_query='${connectQuery}'` : ''
  const ini = `[databases]
* = host=${socketDirectory} port=5432 user=${username} password=${password}${first}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
max_client_conn = 2000
server_idle_timeout = 5
`
  mkdirSync(directory, { recursive: true })
  const file = join(directory, 'pgbouncer.ini')
  writeFileSync(file, ini)
  chmodSync(file, 0o644)
  // PgBouncer refuses to run as root. Only the owner of the database may open the socket's directory.
  const { uid, gid } = statSync(socketDirectory)
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(directory, uid, gid)
  const child = spawn(PATH, [file], { stdio: 'ignore', cwd: '/', ...(isRoot && { uid, gid }) })
  for (const end = Date.now() + LISTENS_WITHIN_MS; !(await isOpen(port)); await sleep(20)) {
    if (child.exitCode !== null || Date.now() > end) throw new Error('PgBouncer does not listen')
  }
  return { url: `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}`, child }
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
