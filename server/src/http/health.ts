import type { FastifyInstance } from 'fastify'
import { request as exchange } from 'undici'
import { makeSingleFlight } from '../base/single-flight.ts'
import { databaseTrouble, type DatabaseTrouble } from '../db/ready.ts'
import type { Context } from '../domain/context.ts'
import { checkSecretKeys } from '../domain/core/secret-keys.ts'
import { isSaturated, type Load } from './server/backpressure.ts'

const SANDBOX_TIMEOUT_MS = 1_000
const SANDBOX_DOWN = 'the sandbox bank does not answer: run guiche start or guiche sandbox on its home'

/**
 * /livez: the process runs. /readyz: it can take requests. A bank that is down does not make a process unready, since
 * most requests do not need it.
 */
export function healthRoutes(app: FastifyInstance, ctx: Context, load: Load): void {
  // Public, so concurrent requests share one query.
  const askDatabase = makeSingleFlight<DatabaseTrouble | 'SECRET_KEY' | undefined>()
  const askSandbox = makeSingleFlight<{ sandbox?: string }>()

  app.get('/livez', { schema: { hide: true } }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'alive' }
  })

  app.get('/readyz', { schema: { hide: true } }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const reason = loadTrouble() ?? (await askDatabase('ready', storedTrouble)) ?? clockTrouble()
    if (reason === undefined) return { status: 'ready', ...(await askSandbox('sandbox', sandboxTrouble)) }
    // Problems with the database are logged elsewhere, once for all requests.
    if (reason === 'draining') ctx.log.warn({ requestId: request.id, reason }, '/readyz: not ready')
    reply.code(503).header('retry-after', '1')
    return { status: 'not ready', reason }
  })

  async function sandboxTrouble(): Promise<{ sandbox?: string }> {
    const { sandboxBankUrl } = ctx.settings
    if (!sandboxBankUrl) return {}
    try {
      const { body } = await exchange(`${sandboxBankUrl}/faults`, { headersTimeout: SANDBOX_TIMEOUT_MS })
      await body.dump()
      return {}
    } catch {
      return { sandbox: SANDBOX_DOWN }
    }
  }

  async function storedTrouble(): Promise<DatabaseTrouble | 'SECRET_KEY' | undefined> {
    const trouble = await databaseTrouble(ctx.pool)
    if (trouble) return trouble
    try {
      return (await checkSecretKeys(ctx)) ? 'SECRET_KEY' : undefined
    } catch {
      return 'database'
    }
  }

  function loadTrouble(): 'draining' | 'overloaded' | undefined {
    if (load.isLeaving || load.isDraining) return 'draining'
    return isSaturated(load) ? 'overloaded' : undefined
  }

  function clockTrouble(): 'clock' | undefined {
    return ctx.clock.agrees() ? undefined : 'clock'
  }
}
