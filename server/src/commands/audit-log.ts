import type { Command } from 'commander'
import { apiAction, type Api } from './api.ts'
import { addCommand, AS_JSON, limit, ONLY_ACCOUNT, time } from './arguments.ts'
import { cut, moment } from './format.ts'
import { printList, withDatabase, type JsonOption, type Terminal } from './terminal.ts'

// Programs read all of it as JSON.
const DETAILS_LENGTH = 100

export function auditLogCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'audit-log', '--email ana@loja.example --action account.terms_changed')
    .description('show who changed what and why, newest first')
    .option(...ONLY_ACCOUNT)
    .option('--actor <name>', 'only changes by this e-mail or terminal user')
    .option('--action <action>', 'only this action, such as account.terms_changed')
    .option('--from <time>', 'only from this time on', time)
    .option('--to <time>', 'only before this time', time)
    .option(...limit(50))
    .option(...AS_JSON)
    .action(apiAction(terminal, showAuditLog, withDatabase))
}

type Options = JsonOption & {
  email?: string
  actor?: string
  action?: string
  from?: Date
  to?: Date
  limit: number
}

async function showAuditLog(api: Api, terminal: Terminal, { json, email, ...filter }: Options): Promise<void> {
  const accountId = email && (await api.accountId(email))
  const { items } = await api.list('listAuditLog', { ...filter, accountId })
  printList(terminal, { json }, items, {
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
