import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { hasPid } from './process.ts'

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
