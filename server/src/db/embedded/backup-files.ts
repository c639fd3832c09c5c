import { createHash } from 'node:crypto'
import { chmod, chown, lstat, mkdir, open, readFile, readdir, statfs, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '../../base/operator-error.ts'
import { flush } from './binaries.ts'
import { codeOf, ifExists, type Owner } from './process.ts'

/** Relative to the folder `home` of the backup. */
export type DirectoryEntry = { path: string; mode: number }
export type FileEntry = { path: string; mode: number; size: number; sha256: string }

/** Written last, so a backup that was cut off has none. */
export type Manifest = {
  format: 1
  guiche: string
  postgresql: string
  migrations: string[]
  start: { lsn: string; at: string }
  /** Everything that was committed before is in the backup. */
  end: { lsn: string; at: string }
  bytes: number
  directories: DirectoryEntry[]
  files: FileEntry[]
}

/** Both are in bytes. */
export type CopyProgress = (done: number, all: number) => void

type Found = { path: string; mode: number; size: number; isDirectory: boolean }

/** In the order in which a restore moves them: a home without `data` holds no database. */
export const HOME_ENTRIES = ['sandbox', 'secret-key', 'database-password', 'data']

const MANIFEST = 'manifest.json'
const MANIFEST_SUM = 'manifest.json.sha256'
/** Each copy takes one buffer. */
const COPIES_AT_ONCE = 8
const BUFFER_BYTES = 1024 * 1024

/** Parents first. Leaves out what vanishes meanwhile. */
export async function listTree(root: string, path: string, keep: (path: string) => boolean): Promise<Found[]> {
  const stat = await ifExists(lstat(join(root, path)))
  if (!stat || !keep(path)) return []
  const isDirectory = stat.isDirectory()
  // A link leads out of the home.
  if (!isDirectory && !stat.isFile())
    throw new OperatorError(`${join(root, path)} is neither a file nor a directory, so it cannot be backed up`)
  const found = [{ path, mode: stat.mode & 0o777, size: isDirectory ? 0 : stat.size, isDirectory }]
  const names = isDirectory ? ((await ifExists(readdir(join(root, path)))) ?? []) : []
  for (const name of names.toSorted()) found.push(...(await listTree(root, `${path}/${name}`, keep)))
  return found
}

/** After a failure or an abort no further item begins, and none is left under way. */
export async function eachAtOnce<Item>(
  items: Item[],
  signal: AbortSignal | undefined,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const shared = (function* () {
    yield* items
  })()
  const workers = Array.from({ length: COPIES_AT_ONCE }, async () => {
    // An error ends the shared generator, and so the other loops.
    for (const item of shared) {
      signal?.throwIfAborted()
      await work(item)
    }
  })
  const failed = (await Promise.allSettled(workers)).find((worker) => worker.status === 'rejected')
  if (failed) throw failed.reason
}

type Copy = { from: string; to: string; mode: number; owner?: Owner | undefined; onBytes: (bytes: number) => void }

/** Undefined if the source has vanished. */
export async function copyFile(copy: Copy): Promise<{ size: number; sha256: string } | undefined> {
  const source = await ifExists(open(copy.from, 'r'))
  if (!source) return undefined
  try {
    const target = await create(copy)
    try {
      const copied = await digest(source, async (bytes) => {
        await target.writeFile(bytes)
        copy.onBytes(bytes.length)
      })
      await target.sync()
      return copied
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

export async function writeNew(path: string, content: Buffer, mode: number): Promise<{ size: number; sha256: string }> {
  const file = await create({ to: path, mode })
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  return { size: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

/** Sets the exact mode, whatever the umask is. */
async function create({ to, mode, owner }: Pick<Copy, 'to' | 'mode' | 'owner'>): Promise<FileHandle> {
  const file = await open(to, 'wx', 0o600)
  await file.chmod(mode)
  if (owner && process.getuid?.() === 0) await file.chown(owner.uid, owner.gid)
  return file
}

async function digest(file: FileHandle, each: (bytes: Buffer) => Promise<void>) {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  for (let size = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, BUFFER_BYTES)
    if (bytesRead === 0) return { size, sha256: hash.digest('hex') }
    const bytes = buffer.subarray(0, bytesRead)
    hash.update(bytes)
    size += bytesRead
    await each(bytes)
  }
}

/** After everything that it names, so that it never survives a power cut alone. */
export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  for (const { path } of manifest.directories.toReversed()) await flush(join(directory, 'home', path))
  await flush(join(directory, 'home'))
  const content = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`)
  const { sha256 } = await writeNew(join(directory, MANIFEST), content, 0o600)
  await writeNew(join(directory, MANIFEST_SUM), Buffer.from(`${sha256}  ${MANIFEST}\n`), 0o600)
  await flush(directory)
}

/** Reads every byte, and names what is missing, changed or not a part of it. */
export async function verifyBackup(
  directory: string,
  { onProgress, signal }: { onProgress: CopyProgress; signal?: AbortSignal },
): Promise<Manifest> {
  const manifest = await readManifest(directory)
  const wanted = new Map(manifest.files.map((file) => [file.path, file]))
  const folders = new Set(manifest.directories.map(({ path }) => path))
  const found = await listTree(directory, 'home', () => true)
  const inHome = found.slice(1).map((entry) => ({ ...entry, path: entry.path.slice('home/'.length) }))
  for (const { path, isDirectory } of inHome)
    if (isDirectory ? !folders.delete(path) : !wanted.has(path)) throw damaged(directory, path, 'is not a part of it')
  const files = inHome.filter(({ isDirectory }) => !isDirectory)
  const present = new Set(files.map(({ path }) => path))
  const missing = [...folders, ...wanted.keys()].find((path) => folders.has(path) || !present.has(path))
  if (missing !== undefined) throw damaged(directory, missing, 'is missing')
  let done = 0
  await eachAtOnce(files, signal, async ({ path }) => {
    const file = await open(join(directory, 'home', path), 'r')
    try {
      const { size, sha256 } = await digest(file, async (bytes) => onProgress((done += bytes.length), manifest.bytes))
      const kept = wanted.get(path)
      if (size !== kept?.size || sha256 !== kept.sha256) throw damaged(directory, path, 'was changed')
    } finally {
      await file.close()
    }
  })
  return manifest
}

async function readManifest(directory: string): Promise<Manifest> {
  const content = await readFile(join(directory, MANIFEST)).catch((error: unknown) => {
    if (!['ENOENT', 'ENOTDIR'].includes(codeOf(error))) throw error
    throw new OperatorError(`${directory} is not a whole backup: it has no ${MANIFEST}, which a backup gets at its end`)
  })
  const sum = await readFile(join(directory, MANIFEST_SUM), 'utf8').catch(() => '')
  if (sum.split(' ')[0] !== createHash('sha256').update(content).digest('hex'))
    throw new OperatorError(`The backup ${directory} is damaged: ${MANIFEST} was changed`)
  const manifest: Manifest = JSON.parse(content.toString())
  if (manifest.format !== 1) throw new OperatorError(`${directory} was made by a newer guiche: update guiche`)
  return manifest
}

export function damaged(directory: string, path: string, what: string): OperatorError {
  return new OperatorError(`The backup ${directory} is damaged: home/${path} ${what}`)
}

export async function requireSpace(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  const [needed, free] = [bytes, bavail * bsize].map((size) => `${Math.ceil(size / 1024 / 1024)} MiB`)
  if (bavail * bsize < bytes)
    throw new OperatorError(`The disk of ${directory} has ${free} of free space, and ${needed} are needed`)
}

/** Parents come first. */
export async function makeDirectories(
  root: string,
  entries: DirectoryEntry[],
  ownerOf: (path: string) => Owner | undefined = () => undefined,
): Promise<void> {
  for (const { path, mode } of entries) {
    const owner = ownerOf(path)
    await mkdir(join(root, path), { mode: 0o700 })
    await chmod(join(root, path), mode)
    if (owner && process.getuid?.() === 0) await chown(join(root, path), owner.uid, owner.gid)
  }
}
