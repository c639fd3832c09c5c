import { readFile, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ifExists } from './process.ts'

/** Not in HOME_ENTRIES: a restored home was not backed up yet. */
const LAST_BACKUP = 'last-backup'

export type HomeState = { freeBytes: number; lastBackupAt: Date | null }

export async function readHomeState(home: string): Promise<HomeState> {
  const { bavail, bsize } = await statfs(home)
  const text = await ifExists(readFile(join(home, LAST_BACKUP), 'utf8'))
  const at = new Date(text?.trim() ?? NaN)
  return { freeBytes: bavail * bsize, lastBackupAt: Number.isNaN(at.getTime()) ? null : at }
}

export async function recordBackup(home: string, at: string): Promise<void> {
  await writeFile(join(home, LAST_BACKUP), `${at}\n`)
}
