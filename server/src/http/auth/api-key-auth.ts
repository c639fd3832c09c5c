import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Fault } from '../../base/fault.ts'
import { hashKey, identify, identifyForMetrics, recall } from '../../domain/accounts/api-keys.ts'
import {
  isOperatorScope,
  requireAccount,
  requireOperator,
  requireScope,
  type Caller,
  type OperatorCaller,
  type OperatorScope,
  type Scope,
} from '../../domain/accounts/callers.ts'
import type { KeyCaller } from '../../domain/accounts/key-cache.ts'
import type { Context } from '../../domain/context.ts'
import { addressOf } from '../server/client-address.ts'
import { isUnder } from '../server/envelope.ts'
import {
  makeGuessGuard,
  makeKeyLimiter,
  makeRefusalDelay,
  type Admission,
  type SharedLimiter,
} from '../server/rate-limit.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that a key needs to call this route. */
    scope?: Scope | OperatorScope
  }
  interface FastifyRequest {
    /** Set before any handler for account holders runs. */
    caller: Caller
    /** Set before any handler for operators runs, but for that of /metrics, which METRICS_TOKEN opens too. */
    operator: OperatorCaller
  }
}

/** Every route here needs a key and names its scope. The key is checked before the body is read. */
export function requireKeys(app: FastifyInstance, ctx: Context, limitAccount: SharedLimiter): void {
  const limiter = makeKeyLimiter(ctx, limitAccount)
  const delayRefusal = makeRefusalDelay()
  const guardedIdentify = makeGuardedIdentify(ctx)
  // The last valid key of each connection: most clients use one, and hashing it costs more than the rest of the check.
  const lastKeys = new WeakMap<Socket, { key: string; hash: string }>()

  app.decorateRequest('caller')
  app.decorateRequest('operator')
  app.addHook('onRoute', (route) => checkRouteScope(route, OPERATOR_PREFIX))
  app.addHook('onRequest', (request, reply, done) => {
    const key = presentedKey(request)
    if (key === undefined) throw new Fault('key_missing', 'Missing API key')
    if (isForMetrics(request) && ctx.settings.isMetricsToken(key)) return done()
    const known = recallOn(request.raw.socket, key)
    const waiting = known
      ? admit(request, reply, known)
      : guardedIdentify(request, key).then((caller) => admit(request, reply, caller))
    if (waiting) waiting.then(() => done(), done)
    else done()
  })

  /** As recall(), but hashes a key only if this connection did not send it last. */
  function recallOn(connection: Socket, key: string): KeyCaller | undefined {
    const last = lastKeys.get(connection)
    if (last?.key === key) return recall(ctx, last.hash)
    const hash = hashKey(key)
    const known = recall(ctx, hash)
    // An invalid key is not kept: it may be as long as the limit of the headers.
    if (known) lastKeys.set(connection, { key, hash })
    return known
  }

  /** Returns a promise only if there is something to await: creating one costs more than the whole check. */
  function admit(request: FastifyRequest, reply: FastifyReply, caller: KeyCaller): Promise<void> | undefined {
    request.identity = caller
    const admission = limiter(caller)
    if (!(admission instanceof Promise)) return enter(request, reply, caller, admission)
    return admission.then((late) => enter(request, reply, caller, late))
  }

  function enter(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: KeyCaller,
    admission: Admission | undefined,
  ): Promise<void> | undefined {
    try {
      limitRate(admission, reply)
    } catch (refusal) {
      return delayRefusal(caller.keyId, ctx.now()).then(() => {
        throw refusal
      })
    }
    setCaller(request, caller)
    return undefined
  }
}

function setCaller(request: FastifyRequest, caller: KeyCaller): void {
  const scope = scopeOf(request)
  if (isOperatorScope(scope)) {
    request.operator = requireOperator(caller, scope)
  } else {
    request.caller = requireAccount(caller)
    requireScope(request.caller, scope)
  }
}

const OPERATOR_PREFIX = '/api/operator'
/** Where Prometheus looks by default. */
export const METRICS_PATH = '/metrics'

function isForMetrics({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === METRICS_PATH
}

export function checkRouteScope({ url, config }: RouteOptions, operatorPrefix: string): void {
  // A route without a scope must fail at start, not be open to every caller.
  if (!config?.scope) throw new Error(`route ${url} names no scope`)
  // The same goes for an operators' route with an account's scope, and the other way round.
  const isForOperators = isUnder(url, operatorPrefix) || url === METRICS_PATH
  if (isForOperators !== isOperatorScope(config.scope))
    throw new Error(`route ${url} has the scope ${config.scope}: ${operatorPrefix} is for operators, and only that`)
}

/** The scope of the route, which checkRouteScope guarantees. */
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

export function tooMany(retryAfterSeconds: number): Fault {
  return new Fault('rate_limited', 'Too many requests', { retryAfterSeconds })
}
