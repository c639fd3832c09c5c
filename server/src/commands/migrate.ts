import type { Command } from 'commander'
import { withDatabaseUrl } from '../open-database.ts'
import { findMissingMigrations, migrate } from '../db/migrate.ts'
import type { Terminal } from './terminal.ts'

export function migrateCommand(program: Command, terminal: Terminal): void {
  const { print, say } = terminal
  program
    .command('migrate')
    .description('bring the database to this version; lists what was applied')
    .option('--dry-run', 'list what would be applied, and alter nothing')
    .addHelpText(
      'after',
      '\nThe service migrates by itself when it starts. Other commands do not: they refuse a database that is behind.',
    )
    .action(async (options: { dryRun?: true }) => {
      const isDry = options.dryRun === true
      await withDatabaseUrl(terminal.loadConfig(), say, { migrates: !isDry }, async (databaseUrl) => {
        const names = isDry ? await findMissingMigrations(databaseUrl) : await migrate(databaseUrl, { say })
        for (const name of names) print(name)
        if (names.length === 0) say('The database is up to date.')
        else say(isDry ? 'Nothing was applied: this was a dry run.' : 'The database was migrated.')
      })
    })
}
