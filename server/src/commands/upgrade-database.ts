import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { rehearseUpgrade, upgrade } from '../db/embedded/upgrade.ts'
import { addCommand } from './arguments.ts'
import { runAudit } from './audit.ts'
import { withProgress } from './progress.ts'
import type { Terminal } from './terminal.ts'

export function upgradeDatabaseCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'upgrade-database', '--dry-run', '')
    .description('move the embedded database to the PostgreSQL of this installation, if that is newer')
    .option('--dry-run', 'copy and audit beside the running service, and change nothing')
    .addHelpText(
      'after',
      `
Stop every guiche process first; a dry run needs no stop. All rows are copied into a new database, which is audited and
then takes the place of the old one. It needs free space for a second copy. The old database stays in GUICHE_HOME, in
before-upgrade-<version>. To go back, stop the service, move data away, and move what is in that folder to its place.`,
    )
    .action((options: { dryRun?: boolean }) => runUpgrade(terminal, options))
}

async function runUpgrade(terminal: Terminal, { dryRun = false }: { dryRun?: boolean }): Promise<void> {
  const config = terminal.loadConfig()
  if (config.databaseUrl)
    throw new OperatorError(
      'The command upgrade-database is for the embedded database, and DATABASE_URL names another one',
    )
  const { home } = config
  const check = async (databaseUrl: string) => {
    const { differences } = await runAudit(terminal, {}, { config: { ...config, databaseUrl } })
    return differences.length === 0
  }
  const done = await withProgress(terminal.screen, (onProgress) =>
    (dryRun ? rehearseUpgrade : upgrade)({ home, say: terminal.say, onProgress, check }),
  )
  if (!done) return terminal.say('The database has the newest version that is installed here: there is nothing to do.')
  const versions = `from PostgreSQL ${done.from} to ${done.to}`
  if (!done.isRight) throw new OperatorError('The audit of the copy found differences, so nothing was changed')
  if (done.kept === undefined) return terminal.print(`The upgrade ${versions} would work. Nothing was changed.`)
  terminal.print(`Upgraded ${versions}. The old database is kept in ${done.kept}.`)
}
