import type { Command } from 'commander'
import { listAuditLog, type LoggedChange } from '../domain/core/audit-log.ts'
import { requireAccount } from './account.ts'
import { time, wholeNumber } from './arguments.ts'
import { cut, json, moment, table, withDatabase, type Terminal } from './terminal.ts'

// Details are for programs, which take them as JSON; a person wants to see that there are some.
const DETAILS_LENGTH = 100

export function auditLogCommand(program: Command, terminal: Terminal): void {
  program
    .command('audit-log')
    .description('who changed what, and why; newest first')
    .option('--email <email>', 'what concerns this account')
    .option('--actor <name>', 'what this one did: an e-mail, or a user of the terminal')
    .option('--action <action>', 'such as account.terms_changed')
    .option('--from <time>', 'from this time on', time)
    .option('--to <time>', 'before this time', time)
    .option('--limit <n>', 'how many', wholeNumber({ min: 1, max: 1_000 }), 50)
    .option('--json', 'as JSON, for programs')
    .addHelpText(
      'after',
      '\nExample:\n  $ npx guiche audit-log --email ana@loja.example --action account.terms_changed',
    )
    .action((options) => showAuditLog(terminal, options))
}

type Options = {
  email?: string
  actor?: string
  action?: string
  from?: Date
  to?: Date
  limit: number
  json?: boolean
}

async function showAuditLog(terminal: Terminal, { email, json: asJson, ...filter }: Options): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    const account = email === undefined ? undefined : await requireAccount(core, email)
    const { changes } = await listAuditLog(core, { ...filter, ...(account && { accountId: account.accountId }) })
    if (asJson) return terminal.print(json(changes))
    if (changes.length === 0) return terminal.say('Nothing in the audit log matches.')
    terminal.print(table(['AT', 'WHO', 'ACTION', 'SUBJECT', 'REASON', 'DETAILS'], changes.map(rowOf)))
  })
}

function rowOf(change: LoggedChange): string[] {
  return [
    moment(change.at),
    `${change.actorKind} ${change.actor}`,
    change.action,
    change.subject,
    change.reason ?? '',
    cut(JSON.stringify(change.details), DETAILS_LENGTH),
  ]
}
