import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { prepareHome } from './home.ts'
import { readRunning, stopPostmaster } from './postmaster.ts'
import { hasPid } from './process.ts'

/**
 * Runs `work` with a second home in a folder of the home. Afterwards the folder is removed, with the database in it and
 * what killed processes left: `work` moves out what it keeps.
 */
export async function withHomeAside<Result>(
  home: string,
  prefix: string,
  work: (aside: string) => Promise<Result>,
): Promise<Result> {
  for (const name of await readdir(home))
    if (name.startsWith(prefix) && !hasPid(Number(name.slice(prefix.length)))) await stopAndRemove(join(home, name))
  const aside = await prepareHome(join(home, `${prefix}${process.pid}`))
  try {
    return await work(aside)
  } finally {
    await stopAndRemove(aside)
  }
}

async function stopAndRemove(home: string): Promise<void> {
  const data = join(home, 'data')
  const running = await readRunning(data)
  if (running) await stopPostmaster(data, running.pid)
  await rm(home, { recursive: true, force: true, maxRetries: 3 })
}
