import type { Command } from 'commander'
import { listAuditLog } from '../domain/core/audit-log.ts'
import type { Core } from '../domain/core/core.ts'
import { requireAccount } from './account.ts'
import { AS_JSON, examples, limit, ONLY_ACCOUNT, time } from './arguments.ts'
import { cut, databaseAction, moment, printList, type JsonOption, type Terminal } from './terminal.ts'

// The beginning is enough for people. Programs get all of it as JSON.
const DETAILS_LENGTH = 100

export function auditLogCommand(program: Command, terminal: Terminal): void {
  program
    .command('audit-log')
    .description('show who changed what and why, newest first')
    .option(...ONLY_ACCOUNT)
    .option('--actor <name>', 'only changes by this e-mail or terminal user')
    .option('--action <action>', 'only this action, such as account.terms_changed')
    .option('--from <time>', 'only from this time on', time)
    .option('--to <time>', 'only before this time', time)
    .option(...limit(50))
    .option(...AS_JSON)
    .addHelpText(...examples(['audit-log --email ana@loja.example --action account.terms_changed']))
    .action(databaseAction(terminal, showAuditLog))
}

type Options = JsonOption & { email?: string; actor?: string; action?: string; from?: Date; to?: Date; limit: number }

async function showAuditLog(core: Core, terminal: Terminal, options: Options): Promise<void> {
  const { email, json: _, ...filter } = options
  const account = email === undefined ? undefined : await requireAccount(core, email)
  const { changes } = await listAuditLog(core, { ...filter, ...(account && { accountId: account.accountId }) })
  printList(terminal, options, changes, {
    empty: 'No entry of the audit log matches.',
    columns: {
      AT: (change) => moment(change.at),
      WHO: (change) => `${change.actorKind} ${change.actor}`,
      ACTION: (change) => change.action,
      SUBJECT: (change) => change.subject,
      REASON: (change) => change.reason ?? '',
      DETAILS: (change) => cut(JSON.stringify(change.details), DETAILS_LENGTH),
    },
  })
}
