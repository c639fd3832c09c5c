import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { onStopSignal } from '../process/stop-signals.ts'
import { VERSION } from '../base/version.ts'
import { recordBackup } from '../domain/core/backups.ts'
import { backUp, deleteOldBackups, nameOfBackup } from '../db/embedded/backup.ts'
import type { Manifest } from '../db/embedded/backup-files.ts'
import { withDatabaseUrl } from '../open-database.ts'
import { addCommand, wholeNumber } from './arguments.ts'
import { mebibytes } from './format.ts'
import { withProgress, type Progress } from './progress.ts'
import type { Terminal } from './terminal.ts'

/** Ten years of daily backups. */
const MAX_KEPT = 3_650
/** `doctor` prints it in a line. */
const MAX_PLACE = 200

export function backupCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'backup', '/mnt/backups/guiche-2026-01-31', '--keep 14 /mnt/backups', '--record s3://backups')
    .description('copy the embedded database and the secrets of GUICHE_HOME, while the service runs or not')
    .argument(
      '<directory>',
      'new or empty directory for the backup; with --keep, a directory of backups; with --record, a name of the place',
    )
    .option(
      '--keep <n>',
      'name the backup after its time, and then delete all but the newest n of that directory',
      wholeNumber({ min: 1, max: MAX_KEPT }),
    )
    .option('--record', 'copy nothing, and record that a backup made by other means has ended now')
    .addHelpText(
      'after',
      `
The backup holds everything that was committed before it ended, and a manifest with a checksum of each file. Keep it
secret: it holds the secret key, unless SECRET_KEY sets it. With DATABASE_URL, back up with PostgreSQL's tools, and
then run guiche backup --record; see docs/operations.md.`,
    )
    .action((directory: string, { record = false, ...options }: Options & { record?: boolean }) =>
      record ? recordOther(terminal, directory) : runBackup(terminal, resolve(directory), options),
    )
}

type Options = { keep?: number }

async function runBackup(terminal: Terminal, directory: string, { keep }: Options): Promise<void> {
  const config = terminal.loadConfig()
  if (config.databaseUrl)
    throw new OperatorError(
      'Backup copies the embedded database, and DATABASE_URL names another one: ' +
        'back that one up with pgBackRest or WAL-G, as docs/operations.md shows',
    )
  const { home } = config
  const target = keep === undefined ? directory : join(directory, nameOfBackup())
  const startMs = performance.now()
  const manifest = await untilStopped((signal) =>
    withDatabaseUrl(config, terminal.say, {}, async (databaseUrl) => {
      const made = await withProgress(terminal.screen, (show) =>
        backUp({ home, databaseUrl, target, guiche: VERSION, signal, onProgress: bytesShown(show, 'copying') }),
      )
      const backup = { endedAt: new Date(made.end.at), place: target, bytes: made.bytes }
      // A backup that is made before an update: the table that records it does not exist yet.
      await recordBackup(databaseUrl, backup).catch((error: Error) =>
        terminal.say(`The backup is whole, and could not be recorded: ${error.message}`),
      )
      return made
    }),
  )
  const seconds = Math.round((performance.now() - startMs) / 100) / 10
  terminal.print([`backup     ${target}`, ...describeBackup(manifest), `took       ${seconds} s`].join('\n'))
  if (keep !== undefined) for (const name of await deleteOldBackups(directory, keep)) terminal.say(`Deleted ${name}.`)
  terminal.say(`Check it now and then: npx guiche restore ${target} --dry-run`)
}

/** Of a database that is backed up with PostgreSQL's tools. */
async function recordOther(terminal: Terminal, place: string): Promise<void> {
  const name = place.trim()
  if (name === '' || name.length > MAX_PLACE)
    throw new OperatorError(`The name of the place has 1 to ${MAX_PLACE} characters`)
  const backup = { endedAt: null, place: name, bytes: null }
  const { loadConfig, say, print } = terminal
  await withDatabaseUrl(loadConfig(), say, {}, (databaseUrl) => recordBackup(databaseUrl, backup))
  print(`backup     ${name}, recorded`)
}

export function describeBackup(manifest: Manifest): string[] {
  return [
    `size       ${mebibytes(manifest.bytes)} in ${manifest.files.length} files`,
    `holds      everything committed before ${manifest.end.at}`,
    `made by    guiche ${manifest.guiche}, PostgreSQL ${manifest.postgresql}`,
  ]
}

export function bytesShown(show: Progress['show'], doing: string): (done: number, all: number) => void {
  return (done, all) => show(done / Math.max(all, 1), `${doing}, ${mebibytes(done)} of ${mebibytes(all)}`)
}

/** Ctrl-C stops the work at the next file and removes what was written. */
export async function untilStopped<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const stopping = new AbortController()
  const stopped = new OperatorError('Stopped; nothing was kept')
  const unlisten = onStopSignal(
    () => stopping.abort(stopped),
    () => process.exit(1),
  )
  try {
    return await work(stopping.signal)
  } catch (error) {
    // The operator can fix a full disk or a directory without permission.
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new OperatorError(`${error.message}; nothing was kept`, { cause: error })
  } finally {
    unlisten()
  }
}
