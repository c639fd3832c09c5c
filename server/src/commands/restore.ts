import { resolve } from 'node:path'
import type { Command } from 'commander'
import { makeMetrics } from '../base/metrics.ts'
import { OperatorError } from '../base/operator-error.ts'
import { makeDatabaseClock } from '../db/clock.ts'
import { verifyBackup, type Manifest } from '../db/embedded/backup-files.ts'
import { refuseOverwriting, restoreBackup } from '../db/embedded/restore.ts'
import { makePool } from '../db/pool.ts'
import { transact } from '../db/tx.ts'
import type { Context } from '../domain/context.ts'
import { makeCore } from '../domain/core/core.ts'
import { checkSecretKeys } from '../domain/core/secret-keys.ts'
import { beginRestoredHistory } from '../domain/history/number-pending.ts'
import { ProviderError } from '../domain/ports/provider.ts'
import { OVERLAP_MS, reconcileWindow } from '../domain/reconciliation/reconcile.ts'
import { logTo, makeLog } from '../log.ts'
import { addCommand } from './arguments.ts'
import { EXIT_NOT_COMPARED, runAudit } from './audit.ts'
import { bytesShown, describeBackup, untilStopped } from './backup.ts'
import { count } from './format.ts'
import { withProgress } from './progress.ts'
import { consoleActor, type Terminal } from './terminal.ts'

type Options = { home?: string; dryRun?: boolean }

export function restoreCommand(program: Command, terminal: Terminal): void {
  addCommand(
    program,
    'restore',
    '/mnt/backups/guiche-2026-01-31 --dry-run',
    '/mnt/backups/guiche-2026-01-31 --home /var/lib/guiche-restored',
  )
    .description('restore a backup of the embedded database into a home without one, and audit it')
    .argument('<directory>', 'directory that `backup` has made')
    .option('--home <directory>', 'home to restore into (default: GUICHE_HOME)')
    .option('--dry-run', 'only verify every file of the backup')
    .addHelpText(
      'after',
      `
Every checksum is verified first, and nothing is overwritten. If the restore fails, the home is as it was before.
Providers received payments after the backup: restore books them, as the service would at its start, and then audits.

Exit codes:
  0  restored, and the audit agrees; with --dry-run, the backup is whole
  1  refused or failed, or the audit found differences
  3  restored, but not everything could be compared; the output says what and why`,
    )
    .action((directory: string, options: Options) => runRestore(terminal, resolve(directory), options))
}

async function runRestore(terminal: Terminal, directory: string, { home: wanted, dryRun }: Options): Promise<void> {
  const config = terminal.loadConfig(wanted === undefined ? {} : { home: resolve(wanted) })
  const { home } = config
  if (!dryRun) {
    if (config.databaseUrl)
      throw new OperatorError('Restore makes an embedded database, and DATABASE_URL names another one: unset it')
    await refuseOverwriting(home)
  }
  const manifest = await untilStopped((signal) =>
    withProgress(terminal.screen, (show) =>
      verifyBackup(directory, { onProgress: bytesShown(show, 'verifying'), signal }),
    ),
  )
  terminal.print([`backup     ${directory}`, ...describeBackup(manifest)].join('\n'))
  if (dryRun) return terminal.say('The backup is whole. Nothing was restored: this was a dry run.')
  const { say } = terminal
  const { missingMigrations } = await untilStopped((signal) =>
    withProgress(terminal.screen, (show) =>
      restoreBackup({
        directory,
        manifest,
        home,
        say,
        signal,
        check: (databaseUrl, aside) => prepareRestored(terminal, databaseUrl, aside),
        onProgress: bytesShown(show, 'restoring'),
      }),
    ),
  )
  terminal.print(`restored   ${home}`)
  if (missingMigrations.length > 0) {
    say(`The backup lacks ${count(missingMigrations.length, 'migration')} of this guiche, so it was not audited.`)
    say('Run guiche migrate with this GUICHE_HOME, and then guiche audit.')
    return terminal.setExitCode(EXIT_NOT_COMPARED)
  }
  await runAudit(terminal, {}, { config, prepare: (ctx) => catchUp(ctx, terminal, manifest) })
}

/**
 * Without its key, secrets of webhooks cannot be read, and every charge looks forged. Readers may know positions that
 * the backup lacks, so another history begins.
 */
async function prepareRestored(terminal: Terminal, databaseUrl: string, home: string): Promise<void> {
  const { settings } = terminal.loadConfig({ home })
  const log = makeLog('error', logTo(terminal.screen))
  const pool = makePool(databaseUrl, log, { maxConnections: 1, sealer: settings.sealer })
  try {
    const clock = makeDatabaseClock(pool)
    const core = makeCore({ pool, clock, log, metrics: makeMetrics(), settings, instance: 0 })
    const otherKey = await checkSecretKeys(core)
    if (otherKey) throw new OperatorError(`${otherKey}. Nothing was restored`)
    await transact(pool, (tx) => beginRestoredHistory(tx, core.now()))
  } finally {
    await pool.end()
  }
}

/** Otherwise the audit would report payments since the backup as missing. */
async function catchUp(ctx: Context, terminal: Terminal, manifest: Manifest): Promise<void> {
  const window = { from: new Date(Date.parse(manifest.start.at) - OVERLAP_MS), to: ctx.now() }
  try {
    const { comparisons } = await reconcileWindow(ctx, consoleActor(), { ...window, provider: undefined })
    const booked = comparisons.reduce((sum, { settledCount }) => sum + settledCount, 0)
    terminal.print(`booked     ${count(booked, 'payment')} that providers list and the backup lacks`)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    terminal.say(`Payments since the backup were not booked: ${error.message}`)
  }
}
