import { access, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OperatorError } from '../../base/operator-error.ts'
import { withClient } from '../connect.ts'
import { findMissingMigrations } from '../migrate.ts'
import {
  copyFile,
  damaged,
  eachAtOnce,
  HOME_ENTRIES,
  makeDirectories,
  requireSpace,
  type CopyProgress,
  type Manifest,
} from './backup-files.ts'
import { flush } from './binaries.ts'
import { checkReach, chooseOwner, prepareHome } from './home.ts'
import { readRunning } from './postmaster.ts'
import { ifExists } from './process.ts'
import { openEmbedded, withHomeAside, withHomeLock } from './server.ts'

type Options = {
  directory: string
  manifest: Manifest
  home: string
  say: (line: string) => void
  onProgress: CopyProgress
  /** Throws if the database, which runs aside, must not be used. */
  check: (databaseUrl: string, home: string) => Promise<void>
  signal?: AbortSignal
}

export type Restored = { missingMigrations: string[] }

const LOCK_MS = 30_000
/** The log is replayed at tens of megabytes a second. */
const RECOVER_WITHIN_MS = 4 * 3_600_000
const QUERY_TIMEOUT_MS = 60_000

/**
 * Recovers a backup in a folder of the home. Only then the files get their names, so after a failure the home is as
 * before.
 */
export async function restoreBackup(options: Options): Promise<Restored> {
  const isNew = (await ifExists(access(options.home).then(() => true))) === undefined
  await refuseOverwriting(options.home)
  const home = await prepareHome(options.home)
  try {
    return await withHomeAside(home, 'restore.new-', async (fresh) => {
      await copyBackup({ ...options, fresh })
      options.signal?.throwIfAborted()
      const restored = await recover(fresh, options)
      await withHomeLock({ home, waitMs: LOCK_MS, say: options.say }, async () => {
        await refuseOverwriting(home)
        await moveUp(fresh, home)
      })
      return restored
    })
  } catch (error) {
    if (isNew) await rmdir(home).catch(() => {})
    throw error
  }
}

export async function refuseOverwriting(home: string): Promise<void> {
  for (const name of HOME_ENTRIES.toReversed())
    if (await ifExists(access(join(home, name)).then(() => true)))
      throw new OperatorError(
        `${home} is in use: it holds ${name}, and a restore overwrites nothing. Name another home with --home`,
      )
}

async function copyBackup({ directory, manifest, fresh, onProgress, signal }: Options & { fresh: string }) {
  const owner = await chooseOwner(join(fresh, 'data'))
  checkReach(fresh, owner)
  const ownerOf = (path: string) => (path === 'data' || path.startsWith('data/') ? owner : undefined)
  await requireSpace(dirname(fresh), manifest.bytes)
  await makeDirectories(fresh, manifest.directories, ownerOf)
  let done = 0
  await eachAtOnce(manifest.files, signal, async ({ path, mode, sha256 }) => {
    const copied = await copyFile({
      from: join(directory, 'home', path),
      to: join(fresh, path),
      mode,
      owner: ownerOf(path),
      onBytes: (bytes) => onProgress((done += bytes), manifest.bytes),
    })
    if (copied?.sha256 !== sha256) throw damaged(directory, path, 'was changed')
  })
  for (const { path } of manifest.directories.toReversed()) await flush(join(fresh, path))
}

/** The first start replays the WAL. */
async function recover(fresh: string, { manifest, say, signal, check }: Options): Promise<Restored> {
  const embedded = await openEmbedded({ home: fresh, say, mayCreate: false, signal, readyWithinMs: RECOVER_WITHIN_MS })
  try {
    const options = { name: 'guiche-restore', queryTimeoutMs: QUERY_TIMEOUT_MS }
    const isWhole = await withClient(embedded.databaseUrl, options, async (client) => {
      const sql = 'select pg_current_wal_lsn() >= $1::pg_lsn as "isWhole"'
      return (await client.query<{ isWhole: boolean }>(sql, [manifest.end.lsn])).rows[0]?.isWhole
    })
    if (!isWhole) throw new Error(`The database did not recover to the end of the backup, ${manifest.end.lsn}`)
    await check(embedded.databaseUrl, fresh)
    return { missingMigrations: await findMissingMigrations(embedded.databaseUrl) }
  } finally {
    await embedded.stop()
  }
}

/** `data` comes last. The programs save their installation. */
async function moveUp(fresh: string, home: string): Promise<void> {
  if (await readRunning(join(fresh, 'data'))) throw new Error('The restored database does not stop')
  const present = new Set(await readdir(fresh))
  const programs = [...present].filter((name) => name.startsWith('postgres-'))
  const moved: string[] = []
  try {
    for (const name of [...programs, ...HOME_ENTRIES].filter((entry) => present.has(entry))) {
      if (programs.includes(name)) await rm(join(home, name), { recursive: true, force: true })
      await rename(join(fresh, name), join(home, name))
      moved.push(name)
    }
  } catch (error) {
    for (const name of moved.toReversed()) await rename(join(home, name), join(fresh, name))
    throw error
  }
  await flush(home)
}
