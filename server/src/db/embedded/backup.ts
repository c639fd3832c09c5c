import { randomBytes } from 'node:crypto'
import { mkdir, readFile, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import type pg from 'pg'
import { OperatorError } from '../../base/operator-error.ts'
import { withClient } from '../connect.ts'
import {
  copyFile,
  eachAtOnce,
  HOME_ENTRIES,
  listTree,
  makeDirectories,
  requireSpace,
  writeManifest,
  writeNew,
  type CopyProgress,
  type FileEntry,
  type Manifest,
} from './backup-files.ts'
import { flush } from './binaries.ts'
import { makeDirectory } from './home.ts'
import { codeOf, hasPid, ifExists } from './process.ts'
import { superuserUrl } from './server.ts'

type Options = {
  home: string
  databaseUrl: string
  target: string
  guiche: string
  onProgress: CopyProgress
  signal?: AbortSignal
}

/** The start writes a checkpoint, which takes as long as the disk needs. */
const QUERY_TIMEOUT_MS = 10 * 60_000
const CONTROL_FILE = 'data/global/pg_control'
/** Written a few times a minute, so two reads in a row rarely differ. */
const CONTROL_READS = 20
/** WAL files have 16 MB, and are numbered in two parts of which the second counts to 256. */
const WAL_NAME = /^[0-9A-F]{24}$/
const WAL_FILES_PER_PART = 256

// See "Making a Base Backup Using the Low Level API" in PostgreSQL's manual.
const EMPTIED = ['wal', 'replslot', 'dynshmem', 'notify', 'serial', 'snapshots', 'stat_tmp', 'subtrans']
const LEFT_OUT = new RegExp(
  `^data/(pg_(${EMPTIED.join('|')})/|log/|(postmaster|backup_|tablespace_map|current_logfiles)[^/]*$)|/(pgsql_tmp|pg_internal\\.init)[^/]*$`,
)

/**
 * Copies the home of a running database into `target`, which gets its name when it is whole. The WAL that goes with the
 * files makes them consistent.
 */
export async function backUp(options: Options): Promise<Manifest> {
  const target = await prepareTarget(options)
  const part = `${target}.part-${process.pid}`
  await mkdir(part, { mode: 0o700 })
  try {
    await mkdir(join(part, 'home'), { mode: 0o700 })
    const manifest = await copyDatabase({ ...options, part, bytes: { done: 0, all: 0 } })
    await writeManifest(part, manifest)
    options.signal?.throwIfAborted()
    await rename(part, target)
    await flush(dirname(target))
    return manifest
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

/** Also removes what killed backups to this target left. */
async function prepareTarget({ home, target: wanted }: Options): Promise<string> {
  const contents = await ifExists(readdir(wanted)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOTDIR') throw new OperatorError(`${wanted} is a file: name a new or empty directory`)
    throw error
  })
  if (contents?.length) throw new OperatorError(`${wanted} is not empty: name a new or empty directory`)
  await makeDirectory(dirname(wanted))
  const parent = await realpath(dirname(wanted))
  const target = join(parent, basename(wanted))
  if (contents && (await stat(target)).dev !== (await stat(parent)).dev)
    throw new OperatorError(`${target} is a mount point, and a backup gets its name last: name a directory in it`)
  if (!relative(await realpath(home), target).startsWith('..'))
    throw new OperatorError(`${target} lies in ${home}, and would be lost with it: name a directory elsewhere`)
  for (const name of await readdir(parent)) {
    const pid = name.startsWith(`${basename(target)}.part-`) ? Number(name.split('.part-').at(-1)) : NaN
    if (pid > 0 && !hasPid(pid)) await rm(join(parent, name), { recursive: true, force: true })
  }
  return target
}

type Copying = Options & { part: string; bytes: { done: number; all: number } }

async function copyDatabase(copying: Copying): Promise<Manifest> {
  const { databaseUrl, guiche, part } = copying
  const options = { name: 'guiche-backup', queryTimeoutMs: QUERY_TIMEOUT_MS }
  return withClient(superuserUrl(databaseUrl), options, async (client) => {
    const start = await startBackup(client)
    const copied = await copyHome(copying, ['data'], (path) => !LEFT_OUT.test(path) && path !== CONTROL_FILE)
    const add = async (path: string, content: Buffer): Promise<FileEntry> => {
      return { path, mode: 0o600, ...(await writeNew(join(part, 'home', path), content, 0o600)) }
    }
    const control = await add(CONTROL_FILE, await readControlFile(join(copying.home, CONTROL_FILE)))
    const migrations = await readMigrations(client)
    const end = await stopBackup(client)
    const label = await add('data/backup_label', Buffer.from(end.label))
    const wal = await copyWal(copying, end)
    // After the database: a bank knows at least the payments that are in the books.
    const others = HOME_ENTRIES.filter((name) => name !== 'data')
    const rest = await copyHome(copying, others, (path) => !/\/lock-|\.new$/.test(path))
    const files = [...copied.files, control, label, ...wal, ...rest.files]
    return {
      format: 1 as const,
      guiche,
      postgresql: start.version,
      migrations,
      start: { lsn: start.lsn, at: start.at.toISOString() },
      end: { lsn: end.lsn, at: end.at.toISOString() },
      bytes: files.reduce((sum, file) => sum + file.size, 0),
      directories: [...copied.directories, ...rest.directories],
      files,
    }
  })
}

/** Until the session ends, the server keeps all WAL from here on. */
async function startBackup(client: pg.Client) {
  const slot = `guiche_backup_${randomBytes(6).toString('hex')}`
  await client.query('select pg_create_physical_replication_slot($1, true, true)', [slot])
  const { rows } = await client.query<{ lsn: string; at: Date; version: string }>(
    `select pg_backup_start('guiche backup', true)::text as lsn, clock_timestamp() as at,
       current_setting('server_version') as version`,
  )
  return rows[0]!
}

/** The last byte of the backup is the one before `lsn`. */
async function stopBackup(client: pg.Client) {
  const { rows: clock } = await client.query<{ at: Date }>('select clock_timestamp() as at')
  const { rows } = await client.query<{ lsn: string; label: string; lastWal: string }>(
    `select lsn::text, labelfile as label, pg_walfile_name(lsn - 1) as "lastWal" from pg_backup_stop(false)`,
  )
  return { ...rows[0]!, at: clock[0]!.at }
}

async function readMigrations(client: pg.Client): Promise<string[]> {
  const { rows: found } = await client.query<{ isThere: boolean }>(
    `select to_regclass('migrations') is not null as "isThere"`,
  )
  if (!found[0]!.isThere) return []
  const { rows } = await client.query<{ name: string }>('select name from migrations order by name')
  return rows.map(({ name }) => name)
}

async function copyWal(copying: Copying, end: { label: string; lastWal: string }): Promise<FileEntry[]> {
  const firstWal = /\(file ([0-9A-F]{24})\)/.exec(end.label)?.[1] ?? ''
  const isNeeded = (name: string) => name.endsWith('.history') || (name >= firstWal && name <= end.lastWal)
  const isWal = (name: string) => WAL_NAME.test(name) || name.endsWith('.history')
  const names = (await readdir(join(copying.home, 'data/pg_wal'))).filter((name) => isWal(name) && isNeeded(name))
  const segments = names.filter((name) => WAL_NAME.test(name)).length
  if (!firstWal || segments !== walNumber(end.lastWal) - walNumber(firstWal) + 1)
    throw new Error(`The WAL from ${firstWal} to ${end.lastWal} is not complete`)
  const { files } = await copyHome(
    copying,
    names.map((name) => `data/pg_wal/${name}`),
    () => true,
  )
  return files
}

function walNumber(name: string): number {
  return Number.parseInt(name.slice(8, 16), 16) * WAL_FILES_PER_PART + Number.parseInt(name.slice(16), 16)
}

async function copyHome(
  { home, part, bytes, onProgress, signal }: Copying,
  paths: string[],
  keep: (path: string) => boolean,
): Promise<Pick<Manifest, 'directories' | 'files'>> {
  const found = (await Promise.all(paths.map((path) => listTree(home, path, keep)))).flat()
  const directories = found.filter((entry) => entry.isDirectory).map(({ path, mode }) => ({ path, mode }))
  await makeDirectories(join(part, 'home'), directories)
  const listed = found.filter((entry) => !entry.isDirectory)
  for (const { size } of listed) bytes.all += size
  const files: FileEntry[] = []
  await requireSpace(dirname(part), bytes.all - bytes.done)
  await eachAtOnce(listed, signal, async ({ path, mode }) => {
    const copied = await copyFile({
      from: join(home, path),
      to: join(part, 'home', path),
      mode,
      onBytes: (copied) => onProgress((bytes.done += copied), bytes.all),
    })
    // A table that is dropped meanwhile takes its files along.
    if (copied) files.push({ path, mode, ...copied })
  })
  return { directories, files }
}

async function readControlFile(path: string): Promise<Buffer> {
  let last = await readFile(path)
  for (let read = 1; read < CONTROL_READS; read++) {
    const next = await readFile(path)
    if (next.equals(last)) return next
    last = next
  }
  throw new Error(`${path} changes all the time`)
}

// Backups that a timer makes, named after their time. Other names are left alone.

const NAME = /^guiche-\d{8}T\d{6}Z$/
/** Cut off, with the id of its process. */
const PART = /^guiche-\d{8}T\d{6}Z\.part-(\d+)$/

/** The database has the clock of this machine. */
export function nameOfBackup(): string {
  return `guiche-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
}

/** Also deletes what dead processes left. Resolves to the names, oldest first. */
export async function deleteOldBackups(directory: string, keep: number): Promise<string[]> {
  const names = (await readdir(directory)).toSorted()
  const backups = names.filter((name) => NAME.test(name))
  const parts = names.filter((name) => !hasPid(Number(PART.exec(name)?.[1] ?? process.pid)))
  const old = [...backups.slice(0, Math.max(0, backups.length - keep)), ...parts]
  for (const name of old) await rm(join(directory, name), { recursive: true, force: true })
  return old
}
