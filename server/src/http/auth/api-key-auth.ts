import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import {
  isOperatorScope,
  type Caller,
  type OperatorCaller,
  type OperatorScope,
  type Scope,
  requireAccount,
  requireOperator,
  requireScope,
} from '../../domain/accounts/callers.ts'
import { identify } from '../../domain/accounts/api-keys.ts'
import { isUnder } from '../server/envelope.ts'
import {
  boundedMap,
  makeGuessGuard,
  makeRateLimiter,
  makeRefusalDelay,
  type RateLimiter,
} from '../server/rate-limit.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a key must be allowed to do to call this route. */
    scope?: Scope | OperatorScope
  }
  interface FastifyRequest {
    /** Set before any handler of the account holders' API runs. */
    caller: Caller
    /** Set before any handler of the operators' API runs. */
    operator: OperatorCaller
  }
}

/** Every route here needs a key, and says which scope; the key is looked at before the body is read. */
export function requireKeys(app: FastifyInstance, ctx: Context): void {
  const limiter = makeRateLimiter(ctx.settings.rateLimit)
  const delayRefusal = makeRefusalDelay()
  const identifyCaller = makeIdentify(ctx)

  app.decorateRequest('caller')
  app.decorateRequest('operator')
  app.addHook('onRoute', (route) => checkRouteScope(route, OPERATOR_PREFIX))
  app.addHook('onRequest', async (request, reply) => {
    const caller = await identifyCaller(request)
    try {
      limitRate(limiter, ctx.now(), caller.keyId!, reply)
    } catch (refusal) {
      await delayRefusal(caller.keyId!, ctx.now())
      throw refusal
    }
    const scope = request.routeOptions.config.scope!
    if (isOperatorScope(scope)) {
      request.operator = requireOperator(caller, scope)
    } else {
      const holder = requireAccount(caller)
      requireScope(holder, scope)
      request.caller = holder
    }
  })
}

const OPERATOR_PREFIX = '/api/operator'
/** Where Prometheus looks unless told otherwise. */
export const METRICS_PATH = '/metrics'

export function checkRouteScope({ url, config }: RouteOptions, operatorPrefix: string): void {
  // Forgetting it must fail at start and not open a route to every caller.
  if (!config?.scope) throw new Error(`route ${url} names no scope`)
  // So must opening a route of the operators to an account, or the other way round.
  const isForOperators = isUnder(url, operatorPrefix) || url === METRICS_PATH
  if (isForOperators !== isOperatorScope(config.scope))
    throw new Error(`route ${url} has the scope ${config.scope}: ${operatorPrefix} is for operators, and only that`)
}

/** The key of a request: undefined when there is none, and empty when one was meant that cannot be read. */
export function presentedKey(request: FastifyRequest): string | undefined {
  const { authorization } = request.headers
  if (authorization !== undefined) return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
  const header = request.headers['x-api-key']
  if (header !== undefined) return String(header)
  const query = request.query as Record<string, unknown>
  if (query['api_key'] !== undefined) return typeof query['api_key'] === 'string' ? query['api_key'] : ''
  return undefined
}

// Keys that were good a while ago are let through to the database although their address guesses: behind a proxy or an office's
// router the guesser and the customer have one address.
const MAX_KNOWN_KEYS = 10_000

function makeIdentify(ctx: Context): (request: FastifyRequest) => Promise<Caller | OperatorCaller> {
  const guard = makeGuessGuard()
  const known = boundedMap<true>(MAX_KNOWN_KEYS)

  return async (request) => {
    const key = presentedKey(request)
    if (key === undefined) throw new Fault('key_missing', 'Missing API key')
    const waitSeconds = guard.waitSeconds(request.ip, ctx.now())
    if (waitSeconds > 0 && !known.peek(digest(key))) throw tooMany(waitSeconds)
    try {
      const caller = await identify(ctx, key)
      known.touch(digest(key), () => true)
      return caller
    } catch (error) {
      if (error instanceof Fault && error.code === 'key_invalid') guard.recordFailure(request.ip, ctx.now())
      throw error
    }
  }
}

export function limitRate(limiter: RateLimiter, now: Date, keyId: string, reply: FastifyReply): void {
  const admission = limiter(keyId, now)
  if (!admission) return
  reply.headers(admission.headers)
  if (!admission.isAdmitted) throw tooMany(admission.retryAfterSeconds)
}

export function tooMany(retryAfterSeconds: number): Fault {
  return new Fault('rate_limited', 'Too many requests', { retryAfterSeconds })
}

// Memory can be dumped; a digest in it opens nothing.
function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64')
}
