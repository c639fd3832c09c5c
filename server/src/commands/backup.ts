import { resolve } from 'node:path'
import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { onStopSignal } from '../base/stop-signals.ts'
import { backUp } from '../db/embedded/backup.ts'
import type { Manifest } from '../db/embedded/backup-files.ts'
import { withDatabaseUrl } from '../open-database.ts'
import { addCommand } from './arguments.ts'
import { mebibytes } from './format.ts'
import { withProgress, type Progress } from './progress.ts'
import type { Terminal } from './terminal.ts'

export function backupCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'backup', '/mnt/backups/guiche-2026-01-31')
    .description('copy the embedded database and the secrets of GUICHE_HOME, while the service runs or not')
    .argument('<directory>', 'new or empty directory for the backup')
    .addHelpText(
      'after',
      `
The backup holds everything that was committed before it ended, and a manifest with a checksum of each file. Keep it
secret: it holds the secret key, unless SECRET_KEY sets it. With DATABASE_URL, back up with PostgreSQL's tools; see
docs/operations.md.`,
    )
    .action((directory: string) => runBackup(terminal, resolve(directory), program.version() ?? ''))
}

async function runBackup(terminal: Terminal, target: string, guiche: string): Promise<void> {
  const config = terminal.loadConfig()
  if (config.databaseUrl)
    throw new OperatorError(
      'backup copies the embedded database, and DATABASE_URL names another one: ' +
        'back that one up with pgBackRest or WAL-G, as docs/operations.md shows',
    )
  const { home } = config
  const startMs = performance.now()
  const manifest = await untilStopped((signal) =>
    withDatabaseUrl(config, terminal.say, {}, (databaseUrl) =>
      withProgress(terminal.screen, (show) =>
        backUp({ home, databaseUrl, target, guiche, signal, onProgress: bytesShown(show, 'copying') }),
      ),
    ),
  )
  const seconds = Math.round((performance.now() - startMs) / 100) / 10
  terminal.print([`backup     ${target}`, ...describeBackup(manifest), `took       ${seconds} s`].join('\n'))
  terminal.say(`Check it now and then: npx guiche restore ${target} --dry-run`)
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

/** Ctrl-C ends the work at its next file, and what it has written is removed. */
export async function untilStopped<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const stopping = new AbortController()
  const stopped = new OperatorError('stopped; nothing was kept')
  const unlisten = onStopSignal(
    () => stopping.abort(stopped),
    () => process.exit(1),
  )
  try {
    return await work(stopping.signal)
  } catch (error) {
    // A full disk, a closed directory: the operator can fix what the system refuses.
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new OperatorError(`${error.message}; nothing was kept`, { cause: error })
  } finally {
    unlisten()
  }
}
