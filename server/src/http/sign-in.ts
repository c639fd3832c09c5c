import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../base/fault.ts'
import type { Context } from '../domain/context.ts'
import { DAY_ZONE } from '../domain/days.ts'
import { isFresh, noteSecurity, reauthenticate, type Session } from '../domain/sessions.ts'
import { signUp } from '../domain/sign-up.ts'
import type { Api } from './api.ts'
import { tooMany } from './auth.ts'
import { ADDRESS_HEADER, AUTH_PATH, loadAuth, type Auth } from './better-auth.ts'
import { readerOf } from './language.ts'
import { confirmationLetter, knownLetter } from './letters.ts'
import { networkOf } from './address.ts'
import { makeRateLimiter, type Admission } from './rate-limit.ts'
import { refuseForeignOrigins, requireFresh, requireSignedIn, sessionOf, tokenOf } from './session.ts'

/** Signing up, in and out, and what those need who are not signed in yet. Everything else is behind requireSession. */
export function signInRoutes(app: Api, ctx: Context): void {
  const { guess, join, mayMail } = makeGuards(ctx)
  let loading: Promise<Auth> | undefined
  const auth = () => (loading ??= loadAuth(ctx))

  refuseForeignOrigins(app, ctx)
  app.decorateRequest('session')
  const signedIn = async (request: FastifyRequest) => void (request.session = await requireSignedIn(ctx, request))
  // So that the first to sign in does not wait for it. Tests do not listen, and most of them never sign in.
  app.addHook('onListen', async () => void (await auth()))

  app.get('/dashboard/api/me', { schema: HIDDEN }, async (request) => {
    const session = await sessionOf(ctx, request)
    return { success: true, me: session ? presentMe(session, ctx.now()) : null, service: presentService(ctx) }
  })

  const asking = { schema: { ...HIDDEN, body: passwordBody }, onRequest: signedIn }
  app.post('/dashboard/api/reauthenticate', asking, async (request) => {
    guess(request, request.session.caller.email)
    if (!(await reauthenticate(ctx, request.session, request.body.password)))
      throw new Fault('bad_request', 'This is not your password')
    return { success: true }
  })

  app.post(`${AUTH_PATH}/sign-up/email`, { schema: { ...HIDDEN, body: signUpBody } }, async (request) => {
    const { invitation = null, ...person } = request.body
    guess(request, person.email)
    join(request)
    const made = await signUp(ctx, { ...person, invitation })
    const { language } = readerOf(request)
    const { publicUrl } = ctx.settings
    const to = made.email
    const user = { email: to, name: made.name, emailVerified: made.isEmailVerified }
    // Who tries again and again has had the letter.
    if (!mayMail(to).isAdmitted) return { token: null, user }
    if (!made.isNew) ctx.mailer.send(knownLetter(language, publicUrl, to))
    else if (!made.isEmailVerified)
      ctx.mailer.send(
        confirmationLetter(language, publicUrl, { to, token: await (await auth()).confirmationToken(to) }),
      )
    return { token: null, user }
  })

  for (const [path, route] of Object.entries(ROUTES)) {
    const [method, url] = path.split(' ') as ['GET' | 'POST', string]
    app.route({
      method,
      url: `${AUTH_PATH}${url}`,
      schema: HIDDEN,
      exposeHeadRoute: false,
      onRequest: route.isSignedIn ? [signedIn] : [],
      handler: async (request, reply) => {
        const sent = (method === 'GET' ? request.query : request.body) as Record<string, unknown> | null | undefined
        const fields = pick(sent, route.fields)
        if (route.isGuess) guess(request, route.isSignedIn ? request.session.caller.email : emailIn(fields))
        if (route.isMail) admit(mayMail(emailIn(fields) ?? ''))
        if (route.isFresh) requireFresh(request.session, ctx.now())
        const before = route.noted ? await sessionOf(ctx, request) : undefined
        const response = await (await auth()).handle(passedOn(ctx, request, { url, fields }))
        if (response.ok && before && isChange(route, before)) await noteSecurity(ctx, before.userId, route.noted!)
        const body = await response.text()
        const isList = url === '/list-sessions' && response.ok
        return reply
          .code(response.status)
          .headers({ 'set-cookie': response.headers.getSetCookie() })
          .type('application/json; charset=utf-8')
          .send(isList ? withCurrent(body, tokenOf(ctx, request)) : body)
      },
    })
  }
}

type Route = {
  /** What may be said; the rest would steer better-auth to places that we do not use. */
  fields: string[]
  /** A password, a code or a token can be tried out here. */
  isGuess?: true
  isMail?: true
  isSignedIn?: true
  isFresh?: true
  /** What the audit log says of it. */
  noted?: 'password.changed' | 'second_factor.enabled' | 'second_factor.disabled' | 'recovery_codes.made'
}

/** All of better-auth that can be reached. */
const ROUTES: Record<string, Route> = {
  'POST /sign-in/email': { fields: ['email', 'password', 'rememberMe'], isGuess: true },
  'POST /sign-out': { fields: [] },
  'POST /request-password-reset': { fields: ['email'], isGuess: true, isMail: true },
  'POST /reset-password': { fields: ['newPassword', 'token'], isGuess: true },
  'POST /send-verification-email': { fields: ['email'], isGuess: true, isMail: true },
  'GET /verify-email': { fields: ['token'] },
  'POST /two-factor/enable': { fields: ['password'], isGuess: true, isSignedIn: true },
  'POST /two-factor/verify-totp': { fields: ['code'], isGuess: true, noted: 'second_factor.enabled' },
  'POST /two-factor/verify-backup-code': { fields: ['code'], isGuess: true },
  'POST /two-factor/disable': {
    fields: ['password'],
    isGuess: true,
    isSignedIn: true,
    isFresh: true,
    noted: 'second_factor.disabled',
  },
  'POST /two-factor/generate-backup-codes': {
    fields: ['password'],
    isGuess: true,
    isSignedIn: true,
    noted: 'recovery_codes.made',
  },
  'GET /list-sessions': { fields: [], isSignedIn: true },
  'POST /revoke-session': { fields: ['token'], isSignedIn: true },
  'POST /revoke-other-sessions': { fields: [], isSignedIn: true },
  'POST /change-password': {
    fields: ['currentPassword', 'newPassword', 'revokeOtherSessions'],
    isGuess: true,
    isSignedIn: true,
    noted: 'password.changed',
  },
}

const HIDDEN = { hide: true } as const
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
    timeZone: DAY_ZONE,
  }
}

// ---- Guessing ----

// A person who has forgotten which password it was tries a handful; an office behind one address has a few of those. A guesser gets one
// try in five seconds from an address, and for one person's password one a minute from all addresses together.
const GUESSES_BY_ADDRESS = { perSecond: 1 / 5, burst: 40 }
const GUESSES_BY_PERSON = { perSecond: 1 / 60, burst: 10 }
// An account is made by hand, one at a time.
const JOINS_BY_ADDRESS = { perSecond: 1 / 60, burst: 10 }
// Nobody's mailbox is to be filled through us.
const LETTERS_BY_PERSON = { perSecond: 1 / 300, burst: 3 }

function makeGuards(ctx: Context) {
  const byAddress = makeRateLimiter(GUESSES_BY_ADDRESS)
  const byPerson = makeRateLimiter(GUESSES_BY_PERSON)
  const joins = makeRateLimiter(JOINS_BY_ADDRESS)
  const letters = makeRateLimiter(LETTERS_BY_PERSON)
  const named = (email: string) => email.trim().toLowerCase()
  return {
    // Every try is counted before it is judged, so that a hundred at once are not one.
    guess(request: FastifyRequest, email: string | undefined) {
      admit(byAddress(networkOf(request.ip), ctx.now())!)
      if (email !== undefined) admit(byPerson(named(email), ctx.now())!)
    },
    join: (request: FastifyRequest) => admit(joins(networkOf(request.ip), ctx.now())!),
    mayMail: (email: string) => letters(named(email), ctx.now())!,
  }
}

function admit({ isAdmitted, retryAfterSeconds }: Admission): void {
  if (!isAdmitted) throw tooMany(retryAfterSeconds)
}

function emailIn(fields: Record<string, unknown>): string | undefined {
  return typeof fields['email'] === 'string' ? fields['email'] : undefined
}

// ---- Passing on ----

function pick(sent: Record<string, unknown> | null | undefined, names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (sent?.[name] === undefined ? [] : [[name, sent[name]]])))
}

// A browser's name for itself is shown in the list of sessions, and needs no more room than this.
const MAX_USER_AGENT = 200

function passedOn(
  ctx: Context,
  request: FastifyRequest,
  { url, fields }: { url: string; fields: Record<string, unknown> },
): Request {
  const { origin } = new URL(ctx.settings.publicUrl)
  const isGet = request.method === 'GET'
  const query = isGet ? `?${new URLSearchParams(fields as Record<string, string>).toString()}` : ''
  const { cookie, 'user-agent': userAgent, 'accept-language': language } = request.headers
  return new Request(`${origin}${AUTH_PATH}${url}${query}`, {
    method: request.method,
    headers: {
      // The caller's was checked already, and may be another name of ours.
      origin,
      [ADDRESS_HEADER]: request.ip,
      ...(cookie !== undefined && { cookie }),
      ...(userAgent !== undefined && { 'user-agent': userAgent.slice(0, MAX_USER_AGENT) }),
      ...(language !== undefined && { 'accept-language': language }),
      ...(!isGet && { 'content-type': 'application/json' }),
    },
    ...(!isGet && { body: JSON.stringify(fields) }),
  })
}

/** A code that is checked while a second factor is set up turns it on; later ones change nothing. */
function isChange({ noted }: Route, before: Session): boolean {
  return noted !== 'second_factor.enabled' || !before.isTwoFactor
}

/** Which of the sessions is this one, for somebody who is about to end the others. */
function withCurrent(body: string, token: string | undefined): string {
  const sessions = JSON.parse(body) as { token: string }[]
  return JSON.stringify(sessions.map((one) => ({ ...one, isCurrent: one.token === token })))
}
