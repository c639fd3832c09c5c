import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { Fault } from '../../base/fault.ts'
import { isOperatorScope, requireScope } from '../../domain/accounts/callers.ts'
import { findSession, isFresh, type Session } from '../../domain/accounts/sessions.ts'
import type { Context } from '../../domain/context.ts'
import type { SignInSettings } from '../../domain/core/settings.ts'
import { makeRateLimiter, type SharedLimiter } from '../server/rate-limit.ts'
import { checkRouteScope, limitRate, scopeOf } from './api-key-auth.ts'
import { cookieNames, cookieSecret, readSignedCookie } from './session-cookie.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** In the dashboard: whether the user must have given the password recently. Ignored for API keys. */
    fresh?: boolean
  }
  interface FastifyRequest {
    /** Set before any handler behind requireSession runs. */
    session: Session
  }
}

/** The path of the dashboard's own API. Fastify prepends it to the routes shared with /api. */
export const DASHBOARD_PREFIX = '/dashboard'

/**
 * Guards the dashboard as requireKeys guards the API: the same routes, a session instead of a key, and the scopes of
 * the person's role.
 */
export function requireSession(app: FastifyInstance, ctx: Context, limitAccount: SharedLimiter): void {
  const limiter = makeRateLimiter(ctx.settings.rateLimit)

  app.decorateRequest('caller')
  app.decorateRequest('operator')
  app.decorateRequest('session')
  app.decorateRequest('stillMay')
  app.addHook('onRoute', (route) => {
    checkRouteScope(route, `${DASHBOARD_PREFIX}/api/operator`)
    checkRouteFresh(route)
    // OpenAPI describes only what keys can call.
    route.schema = { ...route.schema, hide: true }
  })
  refuseForeignOrigins(app, ctx)
  app.addHook('onRequest', async (request, reply) => {
    const session = requireSignedIn(await readVisitor(ctx, request))
    const { caller } = session
    limitRate(limiter(session.sessionId, ctx.now()), reply)
    if (caller.kind === 'account') {
      const ofAccount = await limitAccount(caller.accountId)
      if (ofAccount && !ofAccount.isAdmitted) limitRate(ofAccount, reply)
    }
    requireSameAccount(request, session)
    admit(request, session)
    request.stillMay = async () =>
      admit(request, requireSignedIn(await readVisitor(ctx, request, { isUnattended: true })))
    if (request.routeOptions.config.fresh) requireFresh(session, ctx.now())
  })

  function admit(request: FastifyRequest, session: Session) {
    const { caller } = session
    request.session = session
    const scope = scopeOf(request)
    if (isOperatorScope(scope)) {
      if (caller.kind !== 'operator')
        throw new Fault('scope_missing', 'Only operators can do this, and you are signed in as an account holder')
      requireSecondFactor(session, ['operators', 'everybody'])
      request.operator = caller
    } else {
      if (caller.kind !== 'account')
        throw new Fault('scope_missing', 'Only account holders can do this, and you are signed in as an operator')
      requireSecondFactor(session, ['everybody'])
      requireScope(caller, { scope, orScope: request.routeOptions.config.orScope })
      request.caller = caller
    }
  }

  function requireSecondFactor(session: Session, demands: SignInSettings['requireSecondFactor'][]): void {
    const isDemanded = session.requiresSecondFactor || demands.includes(ctx.settings.signIn.requireSecondFactor)
    if (isDemanded && !session.isTwoFactor && !session.isByPasskey)
      throw new Fault('second_factor_required', 'Turn on two-step verification in the settings first')
  }
}

/** Every route that changes something must say whether it needs a recent password, or the start fails. */
export function checkRouteFresh({ method, url, config }: RouteOptions): void {
  const isChange = [method].flat().some((name) => !SAFE_METHODS.has(name.toUpperCase()))
  if (isChange && typeof config?.fresh !== 'boolean')
    throw new Error(`route ${String(method)} ${url} must say fresh: true or fresh: false`)
}

/** Who sends a request, as its cookies say. */
export type Visitor = {
  /** A valid one: not expired, not idle for too long, not of a disabled operator. */
  session: Session | undefined
  token: string | undefined
  /** A sign-in that waits for its second factor. */
  challenge: string | undefined
}

export async function readVisitor(
  ctx: Context,
  request: FastifyRequest,
  // Our pages set this header when the user has been away. Lying about it gains nothing: a click does the same. They
  // open streams by themselves, and cannot set a header there.
  {
    isUnattended = request.headers['guiche-unattended'] === 'true' || request.routeOptions.config.isStream === true,
  } = {},
): Promise<Visitor> {
  const { cookie } = request.headers
  // Without a cookie the secret is not needed, and it is created on first use.
  if (cookie === undefined) return { session: undefined, token: undefined, challenge: undefined }
  const names = cookieNames(ctx.settings.publicUrl)
  const secret = cookieSecret(ctx.settings)
  const token = readSignedCookie(cookie, names.session, secret)
  const session = token === undefined ? undefined : await findSession(ctx, token, { isUnattended })
  if (session) request.identity = { ...session.caller, userId: session.userId }
  return { session, token, challenge: readSignedCookie(cookie, names.secondStep, secret) }
}

export function requireSignedIn({ session }: Visitor): Session {
  if (!session) throw new Fault('not_signed_in', 'Sign in first')
  return session
}

/** Another tab may have chosen another account since this page was loaded. Our pages name theirs. */
export function requireSameAccount(request: FastifyRequest, { caller }: Session): void {
  const named = request.headers['guiche-account']
  if (caller.kind === 'account' && named !== undefined && named !== caller.accountId)
    throw new Fault('account_switched', 'Another tab chose another account: load this page again', {
      details: { accountId: caller.accountId },
    })
}

export function requireFresh(session: Session, now: Date): void {
  if (!isFresh(session, now)) throw new Fault('reauthentication_required', 'Confirm your password to continue')
}

const SAFE_METHODS = new Set(['GET', 'HEAD'])

/**
 * A browser attaches the cookie to requests that other sites trigger, but names their origin truthfully. SameSite=Lax
 * stops most of these requests; this check stops the rest.
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
  // In production the service has one name. Trusting Host would admit pages of the same host over plain http.
  if (own.protocol === 'https:' || mode === 'live') return false
  const { protocol, host: originHost } = new URL(origin)
  // Reached by another name than PUBLIC_URL, such as 127.0.0.1 for localhost: page and request name the same host.
  return /^https?:$/.test(protocol) && originHost === host?.toLowerCase()
}
