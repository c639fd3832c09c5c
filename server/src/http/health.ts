import type { FastifyInstance } from 'fastify'
import { makeSingleFlight } from '../base/single-flight.ts'
import { databaseTrouble, type DatabaseTrouble } from '../db/ready.ts'
import type { Context } from '../domain/context.ts'
import type { Load } from './server/backpressure.ts'

/** /livez: the process answers. /readyz: send requests here. They differ while draining, while the database is away, and while the clock is wrong. */
export function healthRoutes(app: FastifyInstance, ctx: Context, load: Load): void {
  // Anybody may ask, so asking a lot must cost the database little.
  const askDatabase = makeSingleFlight<DatabaseTrouble | undefined>()

  app.get('/livez', { schema: { hide: true } }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'alive' }
  })

  app.get('/readyz', { schema: { hide: true } }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const reason =
      load.isLeaving || load.isDraining
        ? 'draining'
        : ((await askDatabase('ready', () => databaseTrouble(ctx.pool))) ?? clockTrouble())
    if (reason === undefined) return { status: 'ready' }
    // Trouble with the database is in the log already, once for all who ask.
    if (reason === 'draining') ctx.log.warn({ requestId: request.id, reason }, 'not ready')
    reply.code(503).header('retry-after', '1')
    return { status: 'not ready', reason }
  })

  function clockTrouble(): 'clock' | undefined {
    return ctx.clock.agrees() ? undefined : 'clock'
  }
}
