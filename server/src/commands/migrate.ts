import type { Command } from 'commander'
import { withDatabaseUrl } from '../open-database.ts'
import { findMissingMigrations, migrate } from '../db/migrate.ts'
import { addCommand } from './arguments.ts'
import type { Terminal } from './terminal.ts'

export function migrateCommand(program: Command, terminal: Terminal): void {
  const { print, say } = terminal
  addCommand(program, 'migrate', '--dry-run')
    .description('create or migrate the database; prints the applied migrations')
    .option('--dry-run', 'print what would be applied, and change nothing')
    .addHelpText(
      'after',
      '\nThe service migrates when it starts. Other commands refuse a database that is not migrated.',
    )
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      await withDatabaseUrl(terminal.loadConfig(), say, { migrates: !dryRun }, async (databaseUrl) => {
        const names = dryRun ? await findMissingMigrations(databaseUrl) : await migrate(databaseUrl, { say })
        for (const name of names) print(name)
        if (names.length === 0) say('The database is up to date.')
        else say(dryRun ? 'Nothing was applied: this was a dry run.' : 'The database was migrated.')
      })
    })
}
