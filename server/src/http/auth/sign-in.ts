import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { isFresh, reauthenticate, type Session } from '../../domain/accounts/sessions.ts'
import { signUp } from '../../domain/accounts/sign-up.ts'
import type { Context } from '../../domain/context.ts'
import { DAY_ZONE } from '../../domain/core/business-days.ts'
import { findInvitation } from '../../domain/users/invitations.ts'
import { checkNotBreached } from '../../domain/users/password-rules.ts'
import { readerOf } from '../server/language.ts'
import type { RefusalLog } from '../server/envelope.ts'
import { emailField, response, type Api } from '../server/schemas.ts'
import { answerAuth, AUTH_ROUTES, shownConfirmation } from './auth-routes.ts'
import { AUTH_PATH, loadAuth, type Auth } from './better-auth.ts'
import { alreadyRegisteredEmail, confirmationEmail } from './emails.ts'
import {
  checkRouteFresh,
  readVisitor,
  refuseForeignOrigins,
  requireFresh,
  requireSignedIn,
  type Visitor,
} from './session.ts'
import { makeSignInLimits } from './sign-in-limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of these routes runs. */
    visitor: Visitor
  }
}

/** Signing up, in and out, and everything that works without a session. The rest is behind requireSession. */
export function signInRoutes(app: Api, ctx: Context, log: RefusalLog): void {
  const limits = makeSignInLimits(ctx)
  let loading: Promise<Auth> | undefined
  const auth = () => (loading ??= loadAuth(ctx))

  app.addHook('onRoute', checkRouteFresh)
  refuseForeignOrigins(app, ctx)
  app.decorateRequest('session')
  app.decorateRequest('visitor')
  const visit = async (request: FastifyRequest) => void (request.visitor = await readVisitor(ctx, request))
  const signedIn = async (request: FastifyRequest) => {
    request.session = requireSignedIn(request.visitor)
    if (request.routeOptions.config.fresh) requireFresh(request.session, ctx.now())
  }

  app.get('/dashboard/api/me', { schema: getMeRoute, onRequest: visit }, async ({ visitor: { session } }) => {
    // Each page of the dashboard asks this first, so the code is loaded before anybody has typed a password. A service
    // without visitors never loads it. If it fails, the sign-in says so.
    if (!session) auth().catch(() => {})
    return { success: true as const, me: session ? presentMe(session, ctx.now()) : null, service: presentService(ctx) }
  })

  const confirming = { schema: { ...HIDDEN, body: passwordBody }, config: NOT_FRESH, onRequest: [visit, signedIn] }
  app.post('/dashboard/api/reauthenticate', confirming, async (request) => {
    const giveBack = limits.inSession(request.session.sessionId)
    if (!(await reauthenticate(ctx, request.session, request.body.password)))
      throw new Fault('password_wrong', 'Wrong password')
    giveBack()
    return { success: true }
  })

  const signingUp = { schema: { ...HIDDEN, body: signUpBody }, config: NOT_FRESH }
  app.post(`${AUTH_PATH}/sign-up/email`, signingUp, async (request) => {
    limits.signUp(request)
    await checkNotBreached(ctx, request.body.password)
    const { email: to, name, isNew, isEmailVerified } = await signUp(ctx, { invitation: null, ...request.body })
    const shown = isEmailVerified ? {} : await shownConfirmation(ctx, await auth(), to)
    const { language } = readerOf(request)
    const { publicUrl } = ctx.settings
    // A mailbox that got several e-mails gets no more for a while.
    if (limits.mayMail('sign_up', to)) {
      if (!isNew) ctx.mailer.send(alreadyRegisteredEmail(language, publicUrl, to))
      else if (!isEmailVerified)
        ctx.mailer.send(
          confirmationEmail(language, publicUrl, { to, token: await (await auth()).confirmationToken(to) }),
        )
    }
    return { token: null, user: { email: to, name, emailVerified: isEmailVerified }, ...shown }
  })

  // The token is in the body: addresses end up in logs.
  app.post(`${AUTH_PATH}/invitation`, { schema: findInvitationRoute, config: NOT_FRESH }, async (request) => {
    const giveBack = limits.guess(request)
    const { email } = await findInvitation(ctx, request.body.invitation)
    giveBack()
    return { success: true as const, invitation: { email } }
  })

  for (const [path, route] of Object.entries(AUTH_ROUTES)) {
    const [method, url] = path.split(' ') as ['GET' | 'POST', string]
    app.route({
      method,
      url: `${AUTH_PATH}${url}`,
      schema: HIDDEN,
      config: route.fresh === undefined ? {} : { fresh: route.fresh },
      exposeHeadRoute: false,
      onRequest: route.isSignedIn ? [visit, signedIn] : [visit],
      handler: async (request, reply) =>
        answerAuth({ ctx, auth: await auth(), limits, log, route, url }, request, reply),
    })
  }
}

const HIDDEN = { hide: true } as const
// For those who are about to give the password, or have none yet.
const NOT_FRESH = { fresh: false } as const
const passwordBody = z.object({ password: z.string('password must be a text') })
const invitationToken = z.string('invitation must be a text')
const findInvitationRoute = {
  ...HIDDEN,
  body: z.object({ invitation: invitationToken }),
  response: { 200: response('', { invitation: z.object({ email: z.string().nullable() }) }) },
}
const signUpBody = z.object({
  name: z.string('name must be a text'),
  email: emailField,
  password: z.string('password must be a text'),
  invitation: invitationToken.exactOptional(),
})

const meSchema = z.object({
  kind: z.enum(['account', 'operator']),
  email: z.string(),
  name: z.string(),
  accountId: z.string().nullable(),
  suspendedReason: z.string().nullable(),
  isTwoFactor: z.boolean(),
  isFresh: z.boolean(),
})

function presentMe(session: Session, now: Date) {
  const { caller, name, suspendedReason, isTwoFactor } = session
  const accountId = caller.kind === 'account' ? caller.accountId : null
  const { kind, email } = caller
  return { kind, email, name, accountId, suspendedReason, isTwoFactor, isFresh: isFresh(session, now) }
}

const serviceSchema = z.object({
  mode: z.enum(['test', 'live']),
  publicUrl: z.string(),
  signup: z.enum(['open', 'invite', 'closed']),
  sendsMail: z.boolean(),
  accountsMayRefund: z.boolean(),
  refundsReturnFee: z.boolean(),
  chargeExpiresSeconds: z.int(),
  timeZone: z.string(),
})

function presentService({ settings, mailer }: Context) {
  const { mode, publicUrl, signIn, refunds, chargeExpiresSeconds } = settings
  return {
    mode,
    publicUrl,
    signup: signIn.signup,
    sendsMail: mailer.sendsMail,
    accountsMayRefund: refunds.byAccounts,
    refundsReturnFee: refunds.returnFee,
    chargeExpiresSeconds,
    timeZone: DAY_ZONE,
  }
}

const getMeRoute = { ...HIDDEN, response: { 200: response('', { me: meSchema.nullable(), service: serviceSchema }) } }
