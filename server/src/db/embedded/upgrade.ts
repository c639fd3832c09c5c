import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '../../base/operator-error.ts'
import { migrate, requireMigrated } from '../migrate.ts'
import { flush, provideBinaries } from './binaries.ts'
import { copyTables } from './copy-tables.ts'
import { chooseOwner, keepPassword, ownDirectory, prepareHome, readPassword, UPGRADED } from './home.ts'
import { readRunning, stopPostmaster } from './postmaster.ts'
import { ifExists } from './process.ts'
import { ensureRunning, openEmbedded, readMajor, superuserUrl, withHomeAside, withHomeLock } from './server.ts'

type Options = {
  home: string
  say: (line: string) => void
  onProgress: (done: number, text: string) => void
  check: (databaseUrl: string) => Promise<boolean>
}

/** `kept`: where the old database is. Undefined after a rehearsal. */
export type Upgrade = { from: number; to: number; isRight: boolean; kept?: string }

const LOCK_MS = 10_000

/** Copies the database into the new version, checks the copy and removes it. The service may run. */
export async function rehearseUpgrade(options: Options): Promise<Upgrade | undefined> {
  const home = await prepareHome(options.home)
  const from = await requireMajor(home)
  const old = await openEmbedded({ home, say: options.say, mayCreate: false })
  try {
    return await withHomeAside(home, 'upgrade.new-', async (aside) => {
      const to = await newestMajor(aside, options)
      if (to <= from) return undefined
      return { from, to, isRight: await copyInto(aside, old.databaseUrl, { ...options, home }) }
    })
  } finally {
    await old.stop()
  }
}

/** Replaces the database by a copy that is right. No process may use it. */
export async function upgrade(options: Options): Promise<Upgrade | undefined> {
  const home = await prepareHome(options.home)
  const from = await requireMajor(home)
  const kept = join(home, `before-upgrade-${from}`)
  if ((await ifExists(readdir(join(kept, 'data'))))?.length)
    throw new OperatorError(`${kept} holds the database of an earlier upgrade: move it away first`)
  return withHomeLock({ home, say: options.say, waitMs: LOCK_MS }, async () => {
    if (await readRunning(join(home, 'data')))
      throw new OperatorError(`The database in ${home} is in use: stop every guiche process first`)
    return withHomeAside(home, 'upgrade.new-', async (aside) => {
      const to = await newestMajor(aside, options)
      if (to <= from) return undefined
      const old = await ensureRunning({ home, say: options.say })
      try {
        if (!(await copyInto(aside, old.databaseUrl, { ...options, home }))) return { from, to, isRight: false }
      } finally {
        await stopPostmaster(join(home, 'data'), old.pid)
      }
      await switchOver({ home, aside, kept })
      return { from, to, isRight: true, kept }
    })
  })
}

/** True if the copy is right. */
async function copyInto(aside: string, oldUrl: string, { home, say, onProgress, check }: Options): Promise<boolean> {
  await requireMigrated(oldUrl)
  const owner = await chooseOwner(join(home, 'data'))
  await ownDirectory(join(aside, 'data'), owner)
  const folder = await ownDirectory(join(aside, 'copy'), owner)
  await keepPassword(aside, (await readPassword(home)).password)
  const made = await ensureRunning({ home: aside, say })
  try {
    await migrate(made.databaseUrl, { say })
    const [from, to] = [superuserUrl(oldUrl), superuserUrl(made.databaseUrl)]
    await copyTables({ from, to, folder, onTable: (done, name) => onProgress(done, `copying ${name}`) })
    onProgress(1, 'copied')
    return await check(made.databaseUrl)
  } finally {
    await stopPostmaster(join(aside, 'data'), made.pid)
  }
}

/** The old data are kept with their programs. */
async function switchOver({ home, aside, kept }: { home: string; aside: string; kept: string }): Promise<void> {
  for (const each of [home, aside])
    if (await readRunning(join(each, 'data'))) throw new Error(`The database in ${each} does not stop`)
  await prepareHome(kept)
  await rename(join(aside, 'data'), join(home, UPGRADED))
  await flush(home)
  // A start that finds only the upgraded data finishes the switch.
  await rename(join(home, 'data'), join(kept, 'data'))
  await rename(join(home, UPGRADED), join(home, 'data'))
  await flush(kept)
  await flush(home)
  await movePrograms(home, kept)
  await movePrograms(aside, home)
}

async function movePrograms(from: string, to: string): Promise<void> {
  const names = (await readdir(from)).filter((name) => name.startsWith('postgres-'))
  for (const name of names) await rename(join(from, name), join(to, name))
}

async function newestMajor(aside: string, { say }: Options): Promise<number> {
  return (await provideBinaries({ home: aside, dataMajor: undefined, say })).major
}

async function requireMajor(home: string): Promise<number> {
  const major = await readMajor(join(home, 'data'))
  if (major === undefined) throw new OperatorError(`${home} holds no database yet: there is nothing to upgrade`)
  return major
}
