import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import { isOperatorScope, requireScope } from '../../domain/accounts/callers.ts'
import { findSession, isFresh, type Session } from '../../domain/accounts/sessions.ts'
import { checkRouteScope, limitRate } from './api-key-auth.ts'
import { makeRateLimiter } from '../server/rate-limit.ts'
import { readSignedCookie, sessionCookieName } from './session-cookie.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** In the dashboard: whether the password must have been given a short while ago. A key is not asked for more. */
    fresh?: boolean
  }
  interface FastifyRequest {
    /** Set before any handler runs whose door is requireSession. */
    session: Session
  }
}

/** Where the dashboard's own API is. Fastify puts it before the paths of the routes that are shared with /api. */
export const DASHBOARD_PREFIX = '/dashboard'

/** The door of the dashboard, as requireKeys is that of the API: the same routes behind it, a session instead of a key, every scope. */
export function requireSession(app: FastifyInstance, ctx: Context): void {
  const limiter = makeRateLimiter(ctx.settings.rateLimit)

  app.decorateRequest('caller')
  app.decorateRequest('operator')
  app.decorateRequest('session')
  app.addHook('onRoute', (route) => {
    checkRouteScope(route, `${DASHBOARD_PREFIX}/api/operator`)
    checkRouteFresh(route)
    // The document is of what keys open.
    route.schema = { ...route.schema, hide: true }
  })
  refuseForeignOrigins(app, ctx)
  app.addHook('onRequest', async (request, reply) => {
    const session = await requireSignedIn(ctx, request)
    limitRate(limiter, ctx.now(), session.sessionId, reply)
    request.session = session
    const { fresh } = request.routeOptions.config
    const scope = request.routeOptions.config.scope!
    const { caller } = session
    if (isOperatorScope(scope)) {
      if (caller.kind !== 'operator')
        throw new Fault('scope_missing', 'This is for operators, and you are signed in as an account holder')
      if (ctx.settings.signIn.requireSecondFactor === 'operators' && !session.isTwoFactor)
        throw new Fault('second_factor_required', 'Turn on two-step verification in the settings first')
      request.operator = caller
    } else {
      if (caller.kind !== 'account')
        throw new Fault('scope_missing', 'This is for account holders, and you are signed in as an operator')
      requireScope(caller, scope)
      request.caller = caller
    }
    if (fresh) requireFresh(session, ctx.now())
  })
}

/** Whoever adds a route that changes something decides whether an open browser is enough for it. Forgetting to decide fails at start. */
export function checkRouteFresh({ method, url, config }: RouteOptions): void {
  const isChange = [method].flat().some((one) => !SAFE_METHODS.has(one.toUpperCase()))
  if (isChange && typeof config?.fresh !== 'boolean')
    throw new Error(`route ${String(method)} ${url} must say fresh: true or fresh: false`)
}

/** Who is signed in, if somebody is. */
export async function sessionOf(ctx: Context, request: FastifyRequest): Promise<Session | undefined> {
  const token = tokenOf(ctx, request)
  return token === undefined ? undefined : findSession(ctx, token, { isUnattended: isUnattended(request) })
}

/** Our pages say so when nobody has touched them for a while. Whoever lies about it could as well press a key. */
export function isUnattended({ headers }: FastifyRequest): boolean {
  return headers['guiche-unattended'] === 'true'
}

export async function requireSignedIn(ctx: Context, request: FastifyRequest): Promise<Session> {
  const session = await sessionOf(ctx, request)
  if (!session) throw new Fault('not_signed_in', 'Sign in first')
  return session
}

export function requireFresh(session: Session, now: Date): void {
  if (!isFresh(session, now)) throw new Fault('reauthentication_required', 'Give your password again to do this')
}

/** Of a cookie that we signed; whether the session still stands only the database knows. */
export function tokenOf(ctx: Context, request: FastifyRequest): string | undefined {
  const { publicUrl, signIn } = ctx.settings
  const { cookie } = request.headers
  // Without one there is no need for the secret, which is made when first needed.
  return cookie === undefined ? undefined : readSignedCookie(cookie, sessionCookieName(publicUrl), signIn.secrets()[0]!)
}

const SAFE_METHODS = new Set(['GET', 'HEAD'])

/**
 * A browser sends the cookie along with what other sites make it send, and says truthfully which site that was. SameSite=Lax stops most of
 * it; this stops the rest, and programs that are no browsers.
 */
export function refuseForeignOrigins(app: FastifyInstance, ctx: Context): void {
  app.addHook('onRequest', async (request) => {
    if (SAFE_METHODS.has(request.method)) return
    const { origin, host } = request.headers
    if (origin === undefined || !isOwnOrigin(origin, host, ctx.settings))
      throw new Fault('foreign_origin', 'This request did not come from a page of this service')
  })
}

function isOwnOrigin(
  origin: string,
  host: string | undefined,
  { publicUrl, mode }: { publicUrl: string; mode: 'test' | 'live' },
): boolean {
  if (!URL.canParse(origin)) return false
  const own = new URL(publicUrl)
  if (origin === own.origin) return true
  // Whoever gives the service a name in earnest reaches it by that name. Host would let in the same host's pages over plain http.
  if (own.protocol === 'https:' || mode === 'live') return false
  const { protocol, host: originHost } = new URL(origin)
  // Reached by another name than PUBLIC_URL, as 127.0.0.1 for localhost: the page and the request name the same host.
  return /^https?:$/.test(protocol) && originHost === host?.toLowerCase()
}
