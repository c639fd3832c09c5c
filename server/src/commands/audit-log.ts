import type { Command } from 'commander'
import { listAuditLog, type LoggedChange } from '../domain/core/audit-log.ts'
import type { Core } from '../domain/core/core.ts'
import type { toApi } from '../http/server/schemas.ts'
import { accountIdOf, findAccountAt } from './account-source.ts'
import { addCommand, AS_JSON, limit, ONLY_ACCOUNT, time } from './arguments.ts'
import { cut, moment } from './format.ts'
import type { Service } from './service.ts'
import { sourceAction, type Places } from './source.ts'
import { printList, withDatabase, type JsonOption, type Terminal } from './terminal.ts'

// The beginning is enough for people. Programs get all of it as JSON.
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
    .action(sourceAction(terminal, AUDIT_LOG, showAuditLog))
}

type Filter = { email?: string; actor?: string; action?: string; from?: Date; to?: Date; limit: number }
type Options = JsonOption & Filter
type Entry = ReturnType<typeof toApi<LoggedChange>>
type AuditLog = { list(filter: Filter): Promise<Entry[]> }

const AUDIT_LOG: Places<Core, AuditLog> = { open: withDatabase, inDatabase, atService }

async function inDatabase(core: Core): Promise<AuditLog> {
  const { toApi } = await import('../http/server/schemas.ts')
  return {
    async list({ email, ...filter }) {
      const accountId = await accountIdOf(core, email)
      const { changes } = await listAuditLog(core, { ...filter, ...(accountId && { accountId }) })
      return changes.map((change) => toApi(change))
    },
  }
}

function atService(service: Service): AuditLog {
  return {
    async list({ email, ...filter }) {
      const accountId = email === undefined ? undefined : await findAccountAt(service, email)
      const query = { ...filter, accountId }
      return (await service.list<Entry>('/api/operator/audit-log', 'entries', query)).items
    },
  }
}

async function showAuditLog(auditLog: AuditLog, terminal: Terminal, options: Options): Promise<void> {
  const { json: _, ...filter } = options
  printList(terminal, options, await auditLog.list(filter), {
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
