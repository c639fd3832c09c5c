import Fastify, { type FastifyRequest } from 'fastify'
import { OPERATOR_SCOPE, type Caller } from '../domain/accounts/callers.ts'
import type { Context } from '../domain/context.ts'
import type { Actor } from '../domain/core/audit-log.ts'
import type { Core } from '../domain/core/core.ts'
import { findWebhookOwner } from '../domain/webhooks/webhooks.ts'
import { accountRoutes } from './operator/accounts.ts'
import { auditLogRoutes } from './operator/audit-log.ts'
import { operatorSearchRoutes } from './operator/search.ts'
import { readJsonOnly } from './server/body.ts'
import { answerRefusals } from './server/envelope.ts'
import { withZod, type Api } from './server/schemas.ts'
import { makeStreams } from './server/streams.ts'

/** The API key with which the console acts for all accounts. */
export const ALL_ACCOUNTS = 'all-accounts'

/**
 * The API for commands on the machine of the service, as a `fetch`. It never listens. `actor` may do what operators
 * may, and act for every account: the API key is the id of that account, or ALL_ACCOUNTS. Failures with a status of 500
 * or more are thrown as they are.
 */
export async function makeConsole(core: Core, actor: Actor): Promise<typeof fetch> {
  const app = Fastify({ logger: false })
  let failure: unknown
  answerRefusals(app, { refused: () => {}, failed: (_request, error) => void (failure = error) })
  // Writes `account` too, which the schemas leave out.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer))
  readJsonOnly(app, { limitBytes: MAX_BODY_BYTES })
  app.decorateRequest('caller')
  app.decorateRequest('operator')
  app.addHook('onRequest', (request) => identify(core, actor, request))
  const api = withZod(app)
  accountRoutes(api, core)
  auditLogRoutes(api, core)
  operatorSearchRoutes(api, core)
  if (isContext(core)) await contextRoutes(api, core)

  return async (url, init = {}) => {
    failure = undefined
    const { statusCode, headers, payload } = await app.inject({
      method: init.method as 'GET',
      url: url as string,
      headers: init.headers as Record<string, string>,
      ...(init.body && { payload: init.body as string }),
    })
    if (failure !== undefined) throw failure
    return new Response(payload, { status: statusCode, headers: headers as Record<string, string> })
  }
}

const MAX_BODY_BYTES = 16 * 1024

function isContext(core: Core): core is Context {
  return 'providers' in core
}

/** Loaded only if they are needed: it takes as long as all the rest. */
async function contextRoutes(api: Api, ctx: Context): Promise<void> {
  const [webhooks, stats, { eventRoutes }, { exceptionRoutes }, ...operators] = await Promise.all([
    import('./api/webhooks.ts'),
    import('./api/webhook-stats.ts'),
    import('./api/events.ts'),
    import('./operator/exceptions.ts'),
    import('./operator/refunds.ts'),
    import('./operator/payouts.ts'),
    import('./operator/disputes.ts'),
    import('./operator/reversals.ts'),
  ])
  const unlimited = async () => undefined
  webhooks.webhookRoutes(api, ctx, unlimited)
  stats.webhookStatsRoutes(api, ctx, unlimited)
  eventRoutes(api, ctx, makeStreams({ max: 1, maxPerOwner: 1 }))
  exceptionRoutes(api, ctx)
  const [{ operatorRefundRoutes }, { operatorPayoutRoutes }, { operatorDisputeRoutes }, { reversalRoutes }] = operators
  operatorRefundRoutes(api, ctx)
  operatorPayoutRoutes(api, ctx)
  operatorDisputeRoutes(api, ctx)
  reversalRoutes(api, ctx)
}

async function identify(core: Core, actor: Actor, request: FastifyRequest): Promise<void> {
  const key = request.headers.authorization!.slice('Bearer '.length)
  const { webhookId } = request.params as { webhookId?: string }
  // A command names a webhook by its id alone.
  const accountId = webhookId === undefined ? key : await findWebhookOwner(core, webhookId)
  const console = { actor, seesAllAccounts: accountId === ALL_ACCOUNTS }
  // As much of a caller as these routes read.
  request.caller = { kind: 'account', keyId: null, accountId, console } as Caller
  const { name: email } = actor
  request.operator = { kind: 'operator', keyId: null, operatorId: '', email, scope: OPERATOR_SCOPE, console }
}
