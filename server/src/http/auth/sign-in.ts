import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import { DAY_ZONE } from '../../domain/core/business-days.ts'
import { isFresh, reauthenticate, type Session } from '../../domain/accounts/sessions.ts'
import { signUp } from '../../domain/accounts/sign-up.ts'
import type { Api } from '../server/schemas.ts'
import { judgeCookies, type Judged } from './auth-request.ts'
import { answerAuth, AUTH_ROUTES, shownConfirmation } from './auth-routes.ts'
import { AUTH_PATH, loadAuth, type Auth } from './better-auth.ts'
import { readerOf } from '../server/language.ts'
import { confirmationLetter, alreadyRegisteredEmail } from './emails.ts'
import { checkRouteFresh, refuseForeignOrigins, requireFresh, sessionOf } from './session.ts'
import { makeSignInLimits } from './sign-in-limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of these routes runs. */
    judged: Judged
  }
}

/** Signing up, in and out, and what those need who are not signed in yet. Everything else is behind requireSession. */
export function signInRoutes(app: Api, ctx: Context): void {
  const limits = makeSignInLimits(ctx)
  let loading: Promise<Auth> | undefined
  const auth = () => (loading ??= loadAuth(ctx))

  app.addHook('onRoute', checkRouteFresh)
  refuseForeignOrigins(app, ctx)
  app.decorateRequest('session')
  app.decorateRequest('judged')
  const judge = async (request: FastifyRequest) => void (request.judged = await judgeCookies(ctx, request))
  const signedIn = async (request: FastifyRequest) => {
    const { session } = request.judged
    if (!session) throw new Fault('not_signed_in', 'Sign in first')
    if (request.routeOptions.config.fresh) requireFresh(session, ctx.now())
    request.session = session
  }
  // So that the first to sign in does not wait for it. Tests do not listen, and most of them never sign in.
  app.addHook('onListen', async () => void (await auth()))

  app.get('/dashboard/api/me', { schema: HIDDEN }, async (request) => {
    const session = await sessionOf(ctx, request)
    return { success: true, me: session ? presentMe(session, ctx.now()) : null, service: presentService(ctx) }
  })

  const asking = { schema: { ...HIDDEN, body: passwordBody }, config: STALE, onRequest: [judge, signedIn] }
  app.post('/dashboard/api/reauthenticate', asking, async (request) => {
    const giveBack = limits.inSession(request.session.sessionId)
    if (!(await reauthenticate(ctx, request.session, request.body.password)))
      throw new Fault('bad_request', 'This is not your password')
    giveBack()
    return { success: true }
  })

  const joining = { schema: { ...HIDDEN, body: signUpBody }, config: STALE }
  app.post(`${AUTH_PATH}/sign-up/email`, joining, async (request) => {
    const { invitation = null, ...person } = request.body
    limits.join(request)
    const made = await signUp(ctx, { ...person, invitation })
    const { language } = readerOf(request)
    const { publicUrl } = ctx.settings
    const to = made.email
    const user = { email: to, name: made.name, emailVerified: made.isEmailVerified }
    const shown = made.isEmailVerified ? {} : await shownConfirmation(ctx, await auth(), to)
    // Who tries again and again has had the letter.
    if (!limits.mayMail('sign_up', to)) return { token: null, user, ...shown }
    if (!made.isNew) ctx.mailer.send(alreadyRegisteredEmail(language, publicUrl, to))
    else if (!made.isEmailVerified)
      ctx.mailer.send(
        confirmationLetter(language, publicUrl, { to, token: await (await auth()).confirmationToken(to) }),
      )
    return { token: null, user, ...shown }
  })

  for (const [path, route] of Object.entries(AUTH_ROUTES)) {
    const [method, url] = path.split(' ') as ['GET' | 'POST', string]
    app.route({
      method,
      url: `${AUTH_PATH}${url}`,
      schema: HIDDEN,
      config: route.fresh === undefined ? {} : { fresh: route.fresh },
      exposeHeadRoute: false,
      onRequest: route.isSignedIn ? [judge, signedIn] : [judge],
      handler: async (request, reply) => answerAuth({ ctx, auth: await auth(), limits, route, url }, request, reply),
    })
  }
}

const HIDDEN = { hide: true } as const
// Whoever is about to give the password, or has none yet, is not asked for it.
const STALE = { fresh: false } as const
const passwordBody = z.object({ password: z.string('password must be a text') })
const signUpBody = z.object({
  name: z.string('name must be a text'),
  email: z.email('email must be an e-mail address'),
  password: z.string('password must be a text'),
  invitation: z.string('invitation must be a text').optional(),
})

function presentMe(session: Session, now: Date) {
  const { caller, name, suspendedReason, isTwoFactor } = session
  const accountId = caller.kind === 'account' ? caller.accountId : null
  const { kind, email } = caller
  return { kind, email, name, accountId, suspendedReason, isTwoFactor, isFresh: isFresh(session, now) }
}

function presentService({ settings, mailer }: Context) {
  const { mode, publicUrl, signIn, refunds } = settings
  const { sendsMail } = mailer
  return {
    mode,
    publicUrl,
    signup: signIn.signup,
    sendsMail,
    accountsMayRefund: refunds.byAccounts,
    refundsReturnFee: refunds.returnFee,
    timeZone: DAY_ZONE,
  }
}
