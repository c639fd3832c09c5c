import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Fault } from '../../base/fault.ts'
import {
  hashKey,
  identify,
  identifyForMetrics,
  recall,
  isOperatorScope,
  requireAccount,
  requireOperator,
  requireScope,
  type Caller,
  type OperatorCaller,
  type OperatorScope,
  type Scope,
  type KeyCaller,
} from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import { isUnder } from '../server/envelope.ts'
import {
  addressOf,
  makeGuessGuard,
  makeKeyLimiter,
  makeRefusalDelay,
  tooMany,
  type Admission,
  type SharedLimiter,
} from '../server/rate-limit.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that a key needs to call this route. */
    scope?: Scope | OperatorScope
    /** In the dashboard: with this scope people may call it too, and see or do less. */
    orScope?: Scope
  }
  interface FastifyRequest {
    /** Set before any handler for account holders runs. */
    caller: Caller
    /** Set before any handler for operators runs, but for that of /metrics, which METRICS_TOKEN opens too. */
    operator: OperatorCaller
    /** For an answer that goes on for long: throws once the caller may not have it any more. */
    stillMay: () => Promise<void>
  }
}

/** Every route here needs a key and names its scope. The key is checked before the body is read. */
export function requireKeys(app: FastifyInstance, ctx: Context, limitAccount: SharedLimiter): void {
  const limiter = makeKeyLimiter(ctx, limitAccount)
  const delayRefusal = makeRefusalDelay()
  const guardedIdentify = makeGuardedIdentify(ctx)

  app.decorateRequest('caller')
  app.decorateRequest('operator')
  app.decorateRequest('stillMay')
  app.addHook('onRoute', (route) => checkRouteScope(route, OPERATOR_PREFIX))
  app.addHook('onRequest', async (request, reply) => {
    const key = presentedKey(request)
    if (key === undefined) throw new Fault('key_missing', 'Missing API key')
    if (isForMetrics(request) && ctx.settings.isMetricsToken(key)) return
    const caller = recall(ctx, hashKey(key)) ?? (await guardedIdentify(request, key))
    request.identity = caller
    try {
      limitRate(await limiter(caller), reply)
    } catch (refusal) {
      await delayRefusal(caller.keyId, ctx.now())
      throw refusal
    }
    setCaller(request, caller)
    request.stillMay = async () => setCaller(request, await identify(ctx, key))
  })
}

function setCaller(request: FastifyRequest, caller: KeyCaller): void {
  const scope = scopeOf(request)
  if (isOperatorScope(scope)) {
    request.operator = requireOperator(caller, scope)
  } else {
    request.caller = requireAccount(caller)
    requireScope(request.caller, { scope })
  }
}

const OPERATOR_PREFIX = '/api/operator'
export const METRICS_PATH = '/metrics'

function isForMetrics({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === METRICS_PATH
}

export function checkRouteScope({ url, config }: RouteOptions, operatorPrefix: string): void {
  // A route without a scope must fail at start, not be open to every caller.
  if (!config?.scope) throw new Error(`route ${url} names no scope`)
  const isForOperators = isUnder(url, operatorPrefix) || url === METRICS_PATH
  if (isForOperators !== isOperatorScope(config.scope))
    throw new Error(`route ${url} has the scope ${config.scope}: ${operatorPrefix} is for operators, and only that`)
}

export function scopeOf({ routeOptions }: FastifyRequest): Scope | OperatorScope {
  return routeOptions.config.scope!
}

/** The key of a request. Undefined if there is none, empty if it cannot be read. */
function presentedKey(request: FastifyRequest): string | undefined {
  const { authorization } = request.headers
  if (authorization !== undefined) return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
  const header = request.headers['x-api-key']
  if (header !== undefined) return String(header)
  const { api_key: key } = request.query as Record<string, unknown>
  return key === undefined || typeof key === 'string' ? key : ''
}

function makeGuardedIdentify(ctx: Context) {
  const guard = makeGuessGuard()

  return async (request: FastifyRequest, key: string) => {
    const identifyCaller = isForMetrics(request) ? identifyForMetrics : identify
    try {
      // Behind a proxy the guesser and a customer share an address, so keys that were valid before are not blocked.
      return await identifyCaller(ctx, key, () => {
        const waitSeconds = guard.waitSeconds(addressOf(request), ctx.now())
        if (waitSeconds > 0) throw tooMany(waitSeconds)
      })
    } catch (error) {
      if (error instanceof Fault && error.code === 'key_invalid') guard.recordFailure(addressOf(request), ctx.now())
      throw error
    }
  }
}

export function limitRate(admission: Admission | undefined, reply: FastifyReply): void {
  if (!admission) return
  reply.headers(admission.headers)
  if (!admission.isAdmitted) throw tooMany(admission.retryAfterSeconds)
}
