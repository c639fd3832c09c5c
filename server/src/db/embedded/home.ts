import { OperatorError } from '../../base/operator-error.ts'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmod, chown, lstat, mkdir, open, readFile, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { flush } from './binaries.ts'
import { codeOf, identity, ifExists, run, tail, type Owner } from './process.ts'

/** The longest that Linux and macOS both accept. */
const SOCKET_PATH_MAX = 103
const SOCKET_NAME = '.s.PGSQL.5432'
/** Complete data, for the moment in which they replace the old ones. */
export const UPGRADED = 'data.upgraded'
/** A second usually, and tens on a slow disk or an emulated processor. */
const INITDB_TIMEOUT_MS = 180_000
/** It may have to replay the log of a crash first. */
const SINGLE_USER_TIMEOUT_MS = 180_000
const SMALL_TIMEOUT_MS = 10_000

/**
 * Returns the real path, so that every process uses one name. Under root, others may pass through: the database runs as
 * another user. An existing home keeps its mode.
 */
export async function prepareHome(home: string): Promise<string> {
  if (await makeDirectory(home)) await chmod(home, process.getuid?.() === 0 ? 0o711 : 0o700)
  return realpath(home)
}

/** PostgreSQL refuses to run as root. The owner of existing data stays the owner. */
export async function chooseOwner(data: string): Promise<Owner> {
  const present = await stat(data).catch(() => undefined)
  const self = process.getuid?.() ?? 0
  if (self !== 0) {
    if (present && present.uid !== self)
      throw new OperatorError(
        `${data} belongs to the user with id ${present.uid}: run as that user, or set GUICHE_HOME`,
      )
    return ownerOfSelf()
  }
  const users = await readPasswd()
  if (present && present.uid !== 0) {
    const owner = users.find((user) => user.uid === present.uid)
    if (!owner)
      throw new OperatorError(`${data} belongs to the user id ${present.uid}, which /etc/passwd does not name`)
    return owner
  }
  const candidate = (names: string[], among: Owner[]) =>
    names.flatMap((name) => among.find((user) => user.name === name) ?? [])[0]
  const known = candidate(['guiche', 'postgres'], users)
  if (known) return known
  await run('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'guiche'], {
    timeoutMs: SMALL_TIMEOUT_MS,
  })
  const fallback = candidate(['guiche', '_postgres', 'nobody'], await readPasswd())
  if (!fallback)
    throw new OperatorError(
      'PostgreSQL does not run as root and /etc/passwd names no user guiche, postgres or nobody: ' +
        'create one with "useradd --system guiche", or set DATABASE_URL',
    )
  return fallback
}

/** Names the first directory that the database's user cannot pass. */
export function checkReach(home: string, owner: Owner): void {
  if (process.getuid?.() !== 0 || reaches(home, owner)) return
  const parents = [home]
  for (let path = home; path !== dirname(path); path = dirname(path)) parents.unshift(dirname(path))
  const closed = parents.find((path) => !reaches(path, owner)) ?? home
  throw new OperatorError(
    `The database's user "${owner.name}" cannot pass through ${closed}: ` +
      `set GUICHE_HOME to a directory outside of it, or run "chmod o+x ${closed}"`,
  )
}

/** Only the database's user and root may enter it. */
export async function prepareSocketDirectory(home: string, owner: Owner): Promise<string> {
  const near = join(home, 'run')
  if (Buffer.byteLength(join(near, SOCKET_NAME)) <= SOCKET_PATH_MAX) return ownDirectory(near, owner)
  const name = createHash('sha256').update(home).digest('hex').slice(0, 16)
  return ownDirectory(join('/tmp', `guiche-${owner.uid}-${name}`), owner)
}

/** `fresh`: the database does not know it yet. */
export async function readPassword(home: string): Promise<{ password: string; fresh: boolean }> {
  const kept = (await ifExists(readFile(join(home, 'database-password'), 'utf8')))?.trim() ?? ''
  if (/^[0-9a-f]{64}$/.test(kept)) return { password: kept, fresh: false }
  return { password: randomBytes(32).toString('hex'), fresh: true }
}

/** After the database knows it, so that the file is always right. */
export async function keepPassword(home: string, password: string): Promise<void> {
  const path = join(home, 'database-password')
  const temporary = `${path}.new-${process.pid}`
  await rm(temporary, { force: true })
  await writeSynced(temporary, `${password}\n`)
  await rename(temporary, path)
  await flush(home)
}

type Making = { home: string; bin: string; major: number; owner: Owner; password: string }

/** The rename comes last, so `data` is always complete. */
export async function createCluster({ home, bin, major, owner, password }: Making): Promise<void> {
  const made = join(home, `data.new-${process.pid}`)
  await ownDirectory(made, owner)
  try {
    await fillCluster({ made, home, bin, major, owner, password })
    await rename(made, join(home, 'data'))
    await flush(home)
  } finally {
    await rm(made, { recursive: true, force: true })
  }
}

async function fillCluster({ made, home, bin, major, owner, password }: Making & { made: string }): Promise<void> {
  const initdb = await run(
    join(bin, 'initdb'),
    ['-D', made, '-U', 'postgres', '-E', 'UTF8', '--data-checksums', '--auth=peer', ...localeOptions(major)],
    { owner, timeoutMs: INITDB_TIMEOUT_MS },
  )
  if (!initdb.ok) throw new OperatorError(`The database could not be created in ${home}: ${tail(initdb.output)}`)
  await writeSynced(join(made, 'pg_hba.conf'), accessRules, owner)
  await nameSuperusers(made, owner)
  await singleUser({ bin, data: made, owner }, [
    `create role guiche login createdb password '${password}'`,
    'create database guiche owner guiche',
  ])
  await keepPassword(home, password)
}

/** Root backs up as itself. Restored data may belong to another user now. */
export async function nameSuperusers(data: string, owner: Owner): Promise<void> {
  const path = join(data, 'pg_ident.conf')
  const users = `owner "${owner.name}" postgres\nowner "root" postgres\n`
  if ((await ifExists(readFile(path, 'utf8'))) !== users) await writeSynced(path, users, owner)
}

/** Only while the database does not run. */
export async function resetPassword(options: { bin: string; data: string; owner: Owner; password: string }) {
  await singleUser(options, [`alter role guiche password '${options.password}'`])
}

/** Also finishes the switch of a killed upgrade. */
export async function removeLeftovers(home: string): Promise<void> {
  const names = await readdir(home)
  if (names.includes(UPGRADED) && !names.includes('data')) await rename(join(home, UPGRADED), join(home, 'data'))
  for (const name of names)
    if (name === UPGRADED || name.startsWith('data.new-') || name.startsWith('database-password.new-'))
      await rm(join(home, name), { recursive: true, force: true, maxRetries: 3 })
}

/**
 * The superuser needs no password, by peer authentication. The role `guiche` may create databases but not read files or
 * run programs.
 */
const accessRules = 'local all postgres peer map=owner\nlocal all all scram-sha-256\n'

/** Sorts by code point, so an update of the C library cannot corrupt an index. */
function localeOptions(major: number): string[] {
  if (major >= 17) return ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  return process.platform === 'linux' ? ['--locale=C', '--lc-ctype=C.UTF-8'] : ['--locale=C']
}

async function singleUser(where: { bin: string; data: string; owner: Owner }, statements: string[]) {
  const ran = await run(join(where.bin, 'postgres'), ['--single', '-D', where.data, 'template1'], {
    owner: where.owner,
    input: statements.map((statement) => `${statement}\n`).join(''),
    timeoutMs: SINGLE_USER_TIMEOUT_MS,
  })
  // The exit code is 0 even if a statement fails, and the output may hold the password.
  const errors = ran.output.split('\n').filter((line) => /\b(ERROR|FATAL|PANIC):/.test(line))
  if (!ran.ok || errors.length > 0)
    throw new OperatorError(`The database could not be set up: ${tail(errors.join('\n')) || tail(ran.output, 1)}`)
}

/** Node's recursive mkdir hangs on /proc. */
export async function makeDirectory(path: string): Promise<boolean> {
  const make = () => mkdir(path, { mode: 0o755 })
  try {
    await make().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await makeDirectory(dirname(path))
      await make()
    })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()) return false
    throw error
  }
}

export async function ownDirectory(path: string, owner: Owner): Promise<string> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const found = await lstat(path)
  const self = process.getuid?.() ?? 0
  // Another user could have put a link here.
  if (!found.isDirectory() || (found.uid !== owner.uid && found.uid !== self))
    throw new OperatorError(`${path} must be a directory of the user "${owner.name}": remove what is there`)
  if (found.uid !== owner.uid) await chown(path, owner.uid, owner.gid)
  if ((found.mode & 0o777) !== 0o700) await chmod(path, 0o700)
  return path
}

async function writeSynced(path: string, content: string, owner?: Owner) {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(content)
    if (owner && process.getuid?.() === 0) await file.chown(owner.uid, owner.gid)
    await file.sync()
  } finally {
    await file.close()
  }
}

function ownerOfSelf(): Owner {
  try {
    const { uid, gid, username: name } = userInfo()
    return { uid, gid, name }
  } catch {
    throw new OperatorError(
      `PostgreSQL needs a name for its user, and /etc/passwd has none for the id ${process.getuid?.()}: ` +
        'add one, or set DATABASE_URL',
    )
  }
}

function reaches(path: string, owner: Owner): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'cd "$1"', 'sh', path], {
      cwd: '/',
      stdio: 'ignore',
      timeout: SMALL_TIMEOUT_MS,
      ...identity(owner),
    })
    return true
  } catch {
    return false
  }
}

async function readPasswd(): Promise<Owner[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  return lines.flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    // macOS writes -2 for nobody.
    return name && uid && gid && !line.startsWith('#') ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }] : []
  })
}
