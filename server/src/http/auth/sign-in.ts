import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readHolder } from '../../domain/accounts/time-zone.ts'
import { endSession, isFresh, listMemberships, type Session } from '../../domain/accounts/sessions.ts'
import { PERSON_SCOPES, SCOPES } from '../../domain/accounts/callers.ts'
import { ROLE_NAMES } from '../../domain/accounts/roles.ts'
import {
  finishSignIn,
  signIn,
  signInWithPasskey,
  type SignedIn,
  type SignInRefused,
} from '../../domain/accounts/sign-in.ts'
import type { Context } from '../../domain/context.ts'
import { DAY_ZONE } from '../../domain/core/business-days.ts'
import { beginPasskeySignIn } from '../../domain/users/passkeys.ts'
import { historyCursor, readStand } from '../../domain/history/read-history.ts'
import { addressOf } from '../server/rate-limit.ts'
import type { RefusalLog } from '../server/envelope.ts'
import { response, type Api } from '../server/schemas.ts'
import { deviceCookie, endedCookie, secondStepCookie, sessionCookie } from './session-cookie.ts'
import { checkRouteFresh, readVisitor, refuseForeignOrigins, type Visitor } from './session.ts'
import { recordSignInAttempt, type Attempt } from './sign-in-attempts.ts'
import { membershipRoutes } from './membership.ts'
import { authenticationResponse } from './passkeys.ts'
import { makeSignInLimits, type GiveBack } from './sign-in-limits.ts'
import { confirmAppCode, signInSettingsRoutes } from './sign-in-settings.ts'
import { AUTH_PATH, HIDDEN, NOT_FRESH, SignInRefusal, WRONG_CODE } from './sign-in-refusals.ts'
import { signUpRoutes } from './sign-up.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of these routes runs. */
    visitor: Visitor
  }
}

/** Signing up, in and out, and everything that works without a session. The rest is behind requireSession. */
export function signInRoutes(app: Api, ctx: Context, log: RefusalLog): void {
  const limits = makeSignInLimits(ctx)
  const { settings } = ctx

  app.addHook('onRoute', checkRouteFresh)
  refuseForeignOrigins(app, ctx)
  app.decorateRequest('session')
  app.decorateRequest('visitor')
  app.addHook('onRequest', async (request) => void (request.visitor = await readVisitor(ctx, request)))
  app.setErrorHandler((error, request, reply) => {
    if (!(error instanceof SignInRefusal)) throw error
    const { status, code, message } = error
    log.refused(request, reply, { status, code })
    return reply.code(status).send({ message, code })
  })

  app.get('/dashboard/api/me', { schema: getMeRoute }, async ({ visitor: { session } }) => ({
    success: true as const,
    me: session ? await presentMe(ctx, session) : null,
    service: presentService(ctx),
  }))

  app.post(
    `${AUTH_PATH}/sign-in/email`,
    { schema: { ...HIDDEN, body: signInBody }, config: NOT_FRESH },
    async (request, reply) => {
      const { email, password, rememberMe } = request.body
      const attempt = { how: 'password', email } as const
      const giveBack = await spendTry(request, attempt, () => limits.signIn(request, email))
      const device = deviceOf(request)
      const done = await signIn(ctx, { email, password, isUntilClosed: !rememberMe, ...device })
      return answer(request, reply, { ...attempt, ...done }, giveBack)
    },
  )

  app.post(`${AUTH_PATH}/sign-out`, { schema: HIDDEN, config: NOT_FRESH }, async (request, reply) => {
    const { session, token } = request.visitor
    if (session && token !== undefined) {
      await endSession(ctx, session, token)
      await recordSignInAttempt(ctx, request, { outcome: 'signed_out', how: 'none', userId: session.userId })
    }
    // Not "cookies": that of the known device stays.
    reply.header('clear-site-data', '"cache", "storage"')
    reply.header('set-cookie', [endedCookie(settings, 'session'), endedCookie(settings, 'secondStep')])
    return { success: true }
  })

  signInByCode()
  signInByPasskey()
  signUpRoutes(app, ctx, limits)
  signInSettingsRoutes(app, ctx, limits)
  membershipRoutes(app, ctx, limits)

  function signInByCode(): void {
    for (const [path, how] of [
      ['verify-totp', 'app_code'],
      ['verify-backup-code', 'recovery_code'],
    ] as const)
      app.post(
        `${AUTH_PATH}/two-factor/${path}`,
        { schema: { ...HIDDEN, body: codeBody }, config: NOT_FRESH },
        async (request, reply) => {
          const { session, challenge = '' } = request.visitor
          const code = { code: request.body.code, how, at: Date.now() }
          if (session) return confirmAppCode(ctx, limits, session, code, reply)
          const giveBack = await spendTry(request, { how }, () => limits.guess(request))
          const done = await finishSignIn(ctx, { challenge, code, ...deviceOf(request) })
          if (done.userId !== undefined) request.identity ??= { userId: done.userId }
          return answer(request, reply, { how, ...done }, giveBack)
        },
      )
  }

  function signInByPasskey(): void {
    app.post(`${AUTH_PATH}/passkey/begin`, { schema: HIDDEN, config: NOT_FRESH }, async (request) => {
      limits.guess(request)
      return beginPasskeySignIn(ctx)
    })

    const passkeyRoute = { schema: { ...HIDDEN, body: passkeySignInBody }, config: NOT_FRESH }
    app.post(`${AUTH_PATH}/sign-in/passkey`, passkeyRoute, async (request, reply) => {
      const attempt = { how: 'passkey' } as const
      const giveBack = await spendTry(request, attempt, () => limits.guess(request))
      const { response, rememberMe } = request.body
      const done = await signInWithPasskey(ctx, { response, isUntilClosed: !rememberMe, ...deviceOf(request) })
      return answer(request, reply, { ...attempt, ...done }, giveBack)
    })
  }

  async function spendTry(
    request: FastifyRequest,
    attempt: Pick<Attempt, 'how' | 'email'>,
    take: () => GiveBack,
  ): Promise<GiveBack> {
    try {
      return take()
    } catch (error) {
      await recordSignInAttempt(ctx, request, { outcome: 'limited', ...attempt })
      throw error
    }
  }

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    done: SignedIn & Pick<Attempt, 'how' | 'email'>,
    giveBack: GiveBack,
  ): Promise<object> {
    await recordSignInAttempt(ctx, request, done)
    if (done.outcome !== 'signed_in' && done.outcome !== 'second_factor_wanted') throw refusalOf(done.outcome, done.how)
    giveBack()
    if (done.outcome === 'second_factor_wanted') {
      reply.header('set-cookie', secondStepCookie(settings, done.challenge))
      return { twoFactorRedirect: true }
    }
    const { userId: id, email, name, session } = done
    const ended = request.visitor.challenge === undefined ? [] : [endedCookie(settings, 'secondStep')]
    const cookies = [sessionCookie(settings, session, ctx.now()), ...ended, deviceCookie(settings, email)]
    reply.header('set-cookie', cookies)
    return { user: { id, email, name } }
  }
}

const WRONG_PASSWORD = new SignInRefusal(401, 'INVALID_EMAIL_OR_PASSWORD', 'Invalid email or password')
const CHALLENGE_OVER = new SignInRefusal(401, 'INVALID_TWO_FACTOR_COOKIE', 'Invalid two factor cookie')

function refusalOf(outcome: SignInRefused, how: Attempt['how']): SignInRefusal {
  switch (outcome) {
    case 'wrong_password':
      return WRONG_PASSWORD
    // Whether the password was right must not show, of a disabled operator or of a member who was removed.
    case 'operator_disabled':
    case 'no_account':
      return how === 'password' ? WRONG_PASSWORD : CHALLENGE_OVER
    case 'email_unconfirmed':
      return new SignInRefusal(403, 'EMAIL_NOT_VERIFIED', 'Email not verified')
    case 'wrong_passkey':
      return new SignInRefusal(401, 'INVALID_PASSKEY', 'Invalid passkey')
    case 'challenge_over':
      return CHALLENGE_OVER
    case 'second_factor_locked':
      return new SignInRefusal(429, 'ACCOUNT_TEMPORARILY_LOCKED', 'Too many wrong codes')
    case 'wrong_code':
    case 'code_used_before':
      return how === 'app_code' ? WRONG_CODE : new SignInRefusal(401, 'INVALID_BACKUP_CODE', 'Invalid recovery code')
  }
}

// Browsers send longer ones, but the list of sessions needs no more.
const MAX_USER_AGENT = 200

function deviceOf(request: FastifyRequest) {
  return { address: addressOf(request), userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null }
}

const codeBody = z.object({ code: z.string('code must be a text') })
const passkeySignInBody = z.object({
  response: authenticationResponse,
  rememberMe: z.boolean('rememberMe must be true or false').default(true),
})
const signInBody = z.object({
  email: z.string('email must be a text'),
  password: z.string('password must be a text'),
  rememberMe: z.boolean('rememberMe must be true or false').default(true),
})

const meSchema = z.object({
  kind: z.enum(['account', 'operator']),
  email: z.string(),
  name: z.string(),
  accountId: z.string().nullable(),
  // All that the person may act for, the newest used first.
  accounts: z.object({ accountId: z.string(), name: z.string(), role: z.enum(ROLE_NAMES) }).array(),
  role: z.enum(ROLE_NAMES).nullable(),
  scopes: z.enum([...SCOPES, ...PERSON_SCOPES]).array(),
  mustSetUpSecondFactor: z.boolean(),
  suspendedReason: z.string().nullable(),
  isTwoFactor: z.boolean(),
  isFresh: z.boolean(),
  // In which the days of an account begin, or those of the operators.
  timeZone: z.string(),
  // Where the account's history ends, from where its pages follow. What a page reads after this answer is not older.
  cursor: z.string().nullable(),
})

async function presentMe(ctx: Context, session: Session) {
  const { caller, name, suspendedReason, isTwoFactor, role } = session
  const accountId = caller.kind === 'account' ? caller.accountId : null
  const { kind, email } = caller
  const accounts = accountId === null ? [] : await listMemberships(ctx, session.userId)
  const stand = caller.kind === 'account' ? await readStand(ctx, caller.accountId) : undefined
  const cursor = stand ? historyCursor(stand.historyId, stand.last) : null
  const timeZone = accountId === null ? DAY_ZONE : (await readHolder(ctx, accountId)).timeZone
  return {
    kind,
    email,
    name,
    accountId,
    accounts,
    role,
    scopes: caller.kind === 'account' ? caller.scopes : [],
    suspendedReason,
    isTwoFactor,
    mustSetUpSecondFactor: session.requiresSecondFactor && !isTwoFactor && !session.isByPasskey,
    isFresh: isFresh(session, ctx.now()),
    timeZone,
    cursor,
  }
}

const serviceSchema = z.object({
  mode: z.enum(['test', 'live']),
  publicUrl: z.string(),
  signup: z.enum(['open', 'invite', 'closed']),
  sendsMail: z.boolean(),
  accountsMayRefund: z.boolean(),
  refundsReturnFee: z.boolean(),
  chargeExpiresSeconds: z.int(),
  chargeMaxExpiresSeconds: z.int(),
})

function presentService({ settings, mailer }: Context) {
  const { mode, publicUrl, signIn, refunds, chargeExpiresSeconds, chargeMaxExpiresSeconds } = settings
  return {
    mode,
    publicUrl,
    signup: signIn.signup,
    sendsMail: mailer.sendsMail,
    accountsMayRefund: refunds.byAccounts,
    refundsReturnFee: refunds.returnFee,
    chargeExpiresSeconds,
    chargeMaxExpiresSeconds,
  }
}

const getMeRoute = { ...HIDDEN, response: { 200: response('', { me: meSchema.nullable(), service: serviceSchema }) } }
