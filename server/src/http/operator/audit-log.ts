import { z } from 'zod'
import { READABLE_RULE } from '../../base/readable-text.ts'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import { listAuditLog } from '../../domain/core/audit-log.ts'
import type { Core } from '../../domain/core/core.ts'
import { OPERATORS } from '../../domain/history/number-pending.ts'
import { sendExport } from '../api/history.ts'
import {
  describeOperations,
  idField,
  listQuery,
  nextCursor,
  response,
  text,
  time,
  toApi,
  type Api,
} from '../server/schemas.ts'

export function auditLogRoutes(app: Api, core: Core): void {
  const config = { scope: OPERATOR_SCOPE } as const
  app.get('/api/operator/audit-log', { schema: routes.listAuditLog, config }, async (request) => {
    const { changes, nextCursor } = await listAuditLog(core, request.query)
    return { success: true as const, entries: changes.map(toApi), nextCursor }
  })

  app.get(
    '/api/operator/audit-log/export',
    { schema: routes.exportAuditLog, exposeHeadRoute: false, config: { ...config, isStream: true } },
    async (_request, reply) => sendExport(core, reply, OPERATORS),
  )
}

const ACTION_ERROR = 'action must be the name of an action, such as account.suspended'
const auditLogQuery = z.object({
  accountId: idField('accountId', 'an account')
    .exactOptional()
    .meta({ description: 'Only entries about this account.' }),
  actor: text({ min: 1, max: 254 }, `actor must be 1 to 254 characters, ${READABLE_RULE}`)
    .exactOptional()
    .meta({ description: 'Only entries by this actor: an e-mail, or a user of the server’s terminal.' }),
  action: z
    .string({ error: ACTION_ERROR })
    .regex(/^[a-z_]{1,40}\.[a-z_]{1,40}$/, { error: ACTION_ERROR })
    .exactOptional()
    .meta({ description: 'Only this action.', examples: ['account.suspended'] }),
  ...listQuery,
})

const entrySchema = z
  .object({
    id: z.string(),
    at: time,
    actorKind: z.enum(['operator', 'account', 'console', 'system']),
    actor: z.string().meta({ description: 'Who did it: an e-mail, or a user of the server’s terminal.' }),
    keyId: z.string().nullable().meta({ description: 'The API key used, if any.' }),
    action: z.string().meta({ examples: ['account.terms_changed'] }),
    subject: z.string().meta({ description: 'What was changed: its kind and id.' }),
    accountId: z.string().nullable().meta({ description: 'The account concerned, if any.' }),
    reason: z.string().nullable(),
    details: z.looseObject({}).meta({ description: 'What changed, before and after. Never a secret.' }),
  })
  .meta({ id: 'AuditLogEntry' })

const routes = describeOperations('Operator', {
  listAuditLog: {
    summary: 'List the audit log',
    description:
      'Who changed what, when and why, newest first. Entries are never changed or deleted. Needs an operator’s key.',
    querystring: auditLogQuery,
    response: { 200: response('A page of entries.', { entries: entrySchema.array(), nextCursor }) },
  },
  exportAuditLog: {
    summary: 'Export the audit log',
    description:
      'The history of the operators as JSON Lines, up to the signed head that its first line holds. `guiche verify` proves it offline. Needs an operator’s key.',
    response: { 200: { description: 'The export', content: { 'application/jsonl': { schema: z.string() } } } },
  },
})
