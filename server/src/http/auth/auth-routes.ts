import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../../base/fault.ts'
import { endSession } from '../../domain/accounts/sessions.ts'
import type { Context } from '../../domain/context.ts'
import { checkNotBreached, checkPassword } from '../../domain/users/password-rules.ts'
import {
  findSecondFactor,
  auditPasswordChange,
  auditSecurity,
  useTotpStep,
} from '../../domain/users/security-events.ts'
import { PASSWORD_LENGTH } from '../../domain/users/users.ts'
import { totpStepSoon } from '../../domain/users/totp.ts'
import { challengeOwner, resetOwner } from '../../domain/users/verifications.ts'
import type { RefusalLog } from '../server/envelope.ts'
import { authRequest, pickFields, type Fields } from './auth-request.ts'
import type { Auth } from './better-auth.ts'
import { confirmationLink } from './emails.ts'
import { findWrongPart } from './full-reauthentication.ts'
import {
  recordSignInAttempt,
  outcomeOf,
  type Attempt,
  type AuthAnswer,
  type SignInOutcome,
} from './sign-in-attempts.ts'
import { deviceCookie } from './session-cookie.ts'
import type { EmailKind, GiveBack, SignInLimits } from './sign-in-limits.ts'

// The routes of better-auth that can be reached, with our checks before and our records after each call.

export type AuthRoute = {
  /** The fields that are passed on. Others could make better-auth do what we do not use. */
  fields: string[]
  /** As for every dashboard route that changes something, see session.ts. */
  fresh?: boolean
  isSignedIn?: true
  /** Where a second factor is on, a code besides the password: see full-reauthentication.ts. */
  needsCode?: true
  /** What could be guessed here: a password or a code to sign in, the token of a link, or a password in a session. */
  guessed?: 'password' | 'app_code' | 'recovery_code' | 'token' | 'session'
  /** The e-mail that it sends. */
  sends?: EmailKind
  /** The action that goes to the audit log. */
  audited?: 'password.changed' | 'second_factor.enabled' | 'second_factor.disabled' | 'recovery_codes.made'
}

// These ask for the password themselves.
const GIVES_PASSWORD = { fresh: false, isSignedIn: true, guessed: 'session' } as const
// Whoever stole a session must not lock the owner out.
const ENDS_SESSIONS = { fresh: true, isSignedIn: true, guessed: 'session', needsCode: true } as const

export const AUTH_ROUTES: Record<string, AuthRoute> = {
  'POST /sign-in/email': { fields: ['email', 'password', 'rememberMe'], fresh: false, guessed: 'password' },
  'POST /sign-out': { fields: [], fresh: false },
  'POST /request-password-reset': { fields: ['email'], fresh: false, sends: 'reset' },
  'POST /reset-password': { fields: ['newPassword', 'token'], fresh: false, guessed: 'token' },
  'POST /send-verification-email': { fields: ['email'], fresh: false, sends: 'confirm' },
  'GET /verify-email': { fields: ['token'] },
  'POST /two-factor/enable': { fields: ['password'], ...GIVES_PASSWORD, needsCode: true },
  'POST /two-factor/verify-totp': {
    fields: ['code'],
    fresh: false,
    guessed: 'app_code',
    audited: 'second_factor.enabled',
  },
  'POST /two-factor/verify-backup-code': { fields: ['code'], fresh: false, guessed: 'recovery_code' },
  'POST /two-factor/disable': {
    fields: ['password'],
    ...GIVES_PASSWORD,
    fresh: true,
    needsCode: true,
    audited: 'second_factor.disabled',
  },
  'POST /two-factor/generate-backup-codes': {
    fields: ['password'],
    ...GIVES_PASSWORD,
    needsCode: true,
    audited: 'recovery_codes.made',
  },
  'GET /list-sessions': { fields: [], isSignedIn: true },
  'POST /revoke-session': { fields: ['token'], ...ENDS_SESSIONS },
  'POST /revoke-other-sessions': { fields: [], ...ENDS_SESSIONS },
  'POST /change-password': {
    fields: ['currentPassword', 'newPassword', 'revokeOtherSessions'],
    ...GIVES_PASSWORD,
    needsCode: true,
    audited: 'password.changed',
  },
}

type Call = { ctx: Context; auth: Auth; request: FastifyRequest; route: AuthRoute; url: string; fields: Fields }

export async function answerAuth(
  parts: { ctx: Context; auth: Auth; limits: SignInLimits; log: RefusalLog; route: AuthRoute; url: string },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { ctx, auth, limits, log, route, url } = parts
  const sent = (request.method === 'GET' ? request.query : request.body) as Fields | null | undefined
  const call: Call = { ctx, auth, request, route, url, fields: pickFields(sent, route.fields) }
  if (route.sends) {
    requireMail(ctx)
    limits.requestEmail(request, route.sends, emailIn(call.fields) ?? '')
  }
  const refuse = ({ status, body }: AuthRefusal) => {
    log.refused(request, reply, { status, code: body.code })
    return reply.code(status).send(body)
  }
  const giveBack = await spendTry(call, limits)
  const { owner, appCode, refusal } = await prepare(call, textIn(sent ?? {}, 'code'))
  if (owner) request.identity ??= { userId: owner.userId }
  if (refusal) return refuse(refusal)

  const response = await auth.handle(authRequest(ctx, request, { url, fields: call.fields, visitor: request.visitor }))
  const body = await response.text()
  const answer = answerIn(body)
  if (response.ok && appCode && !(await useAppCode(call, appCode, answer))) return refuse(WRONG_CODE)
  if (response.ok) giveBack()
  const cookies = response.headers.getSetCookie()
  const deviceOwner = response.ok ? await recordSuccess(call, answer, owner) : undefined
  const outcome = isSigningIn(call) ? outcomeOf(response.ok, answer) : undefined
  if (outcome) await recordSignInAttempt(ctx, request, attemptOf(call, outcome, answer.user?.id ?? owner?.userId))
  if (url === '/sign-out') {
    await recordSignOut(call)
    // Not "cookies": better-auth ends that of the session, and that of the known device stays.
    reply.header('clear-site-data', '"cache", "storage"')
  }
  if (deviceOwner !== undefined) cookies.push(deviceCookie(ctx.settings, deviceOwner))
  reply.headers({ 'set-cookie': cookies }).type('application/json; charset=utf-8')
  // The response to a disabled operator must not reveal whether the password was right.
  if (outcome === 'operator_disabled') return refuse(url === '/sign-in/email' ? WRONG_PASSWORD : CHALLENGE_OVER)
  if (!response.ok) log.refused(request, reply, { status: response.status, code: answer.code ?? 'unknown' })
  return reply.code(response.status).send(response.ok ? await withOurFields(call, body) : body)
}

/** Adds what the page needs and better-auth does not return. */
async function withOurFields({ ctx, auth, request, url, fields }: Call, body: string): Promise<string> {
  switch (url) {
    case '/list-sessions':
      return withCurrent(body, request.visitor.token)
    case '/verify-email':
      return JSON.stringify({ status: true, email: auth.emailOfToken(textIn(fields, 'token')) })
    case '/send-verification-email':
      return JSON.stringify({ status: true, ...(await shownConfirmation(ctx, auth, emailIn(fields) ?? '')) })
    default:
      return body
  }
}

/**
 * In a sandbox without a mail server the page shows the link that would have been mailed. With real money the link must
 * prove control of the mailbox. Unknown addresses get a link too, which hides who has an account.
 */
export async function shownConfirmation(
  { mailer, settings }: Pick<Context, 'mailer' | 'settings'>,
  auth: Auth,
  email: string,
): Promise<{ confirmationLink?: string }> {
  if (mailer.sendsMail || settings.mode !== 'test') return {}
  return { confirmationLink: confirmationLink(settings.publicUrl, await auth.confirmationToken(email)) }
}

/** With real money and no mail server, no link that opens an account is created. */
function requireMail({ mailer, settings }: Pick<Context, 'mailer' | 'settings'>): void {
  if (!mailer.sendsMail && settings.mode === 'live')
    throw new Fault(
      'mail_not_set_up',
      'This service sends no e-mail: ask its operator to set a new password or to confirm your e-mail',
    )
}

// ---- Before ----

async function spendTry({ ctx, request, route, fields, ...call }: Call, limits: SignInLimits): Promise<GiveBack> {
  const { session } = request.visitor
  if (route.guessed === undefined) return () => {}
  if (session && route.guessed !== 'password' && route.guessed !== 'token') return limits.inSession(session.sessionId)
  try {
    return route.guessed === 'password' ? limits.signIn(request, emailIn(fields) ?? '') : limits.guess(request)
  } catch (error) {
    const limited = { ctx, request, route, fields, ...call }
    if (isSigningIn(limited)) await recordSignInAttempt(ctx, request, attemptOf(limited, 'limited', undefined))
    throw error
  }
}

type Prepared = {
  /** Whose password or code it is, if only the link or the challenge tells. */
  owner?: { userId: string; email: string } | undefined
  /** The code of an authenticator app, which is used up if better-auth accepts it. */
  appCode?: { userId: string; step: number | undefined }
  refusal?: AuthRefusal
}

async function prepare(call: Call, code: string): Promise<Prepared> {
  const prepared = await prepareFields(call)
  if (prepared.refusal || !call.route.needsCode) return prepared
  const { fields } = call.route
  const field = ['password', 'currentPassword'].find((name) => fields.includes(name))
  const wrong = await findWrongPart(call, { password: field && textIn(call.fields, field), code })
  if (wrong) return { refusal: wrong === 'code' ? WRONG_CODE : WRONG_CURRENT_PASSWORD }
  return prepared
}

async function prepareFields(call: Call): Promise<Prepared> {
  const { ctx, request, url, fields } = call
  const { session, challenge } = request.visitor
  switch (url) {
    case '/reset-password': {
      const owner = await resetOwner(ctx, textIn(fields, 'token'))
      if (owner) await checkChosen(call, owner)
      return { owner }
    }
    case '/change-password': {
      const { name, caller } = request.session
      await checkChosen(call, { name, email: caller.email })
      return {}
    }
    case '/verify-email':
      return call.auth.emailOfToken(textIn(fields, 'token')) === undefined ? { refusal: WRONG_TOKEN } : {}
    case '/two-factor/verify-backup-code':
    case '/two-factor/verify-totp': {
      const waiting = challenge === undefined ? undefined : await challengeOwner(ctx, challenge)
      const owner = session ? { userId: session.userId, email: session.caller.email } : waiting
      if (!owner) return { owner }
      if (url === '/two-factor/verify-totp') return { owner, ...(await prepareAppCode(call, owner.userId)) }
      fields['code'] = await call.auth.storedRecoveryCode(owner.userId, textIn(fields, 'code'))
      return { owner }
    }
    default:
      return {}
  }
}

async function checkChosen({ ctx, fields }: Call, owner: { name: string; email: string }): Promise<void> {
  const password = textIn(fields, 'newPassword')
  // better-auth refuses one that is too short.
  if (password.length < PASSWORD_LENGTH.min) return
  checkPassword(password, { ...owner, publicUrl: ctx.settings.publicUrl })
  await checkNotBreached(ctx, password)
}

/** Refuses a code that was used before. Whether it is right, and whether it may be tried, better-auth decides. */
async function prepareAppCode(call: Call, userId: string): Promise<Pick<Prepared, 'appCode' | 'refusal'>> {
  const { ctx, auth, fields } = call
  const factor = await findSecondFactor(ctx, userId)
  if (!factor) return {}
  // By the clock of the machine, which better-auth uses too.
  const step = totpStepSoon(await auth.totpSecret(factor.secret), textIn(fields, 'code'), Date.now())
  if (step === undefined || step > factor.lastStep) return { appCode: { userId, step } }
  await recordUsedBefore(call, userId)
  return { refusal: WRONG_CODE }
}

// ---- After ----

/**
 * Records the step of a code that better-auth has accepted, so that a code opens one session only. Of two requests at
 * once with the same code, the second gets false, and the session that better-auth has made for it ends unseen.
 */
async function useAppCode(
  call: Call,
  { userId, step }: NonNullable<Prepared['appCode']>,
  { token }: AuthAnswer,
): Promise<boolean> {
  const { ctx, request } = call
  if (step !== undefined && (await useTotpStep(ctx, userId, step))) return true
  if (!request.visitor.session && token !== undefined) await endSession(ctx, userId, token)
  await recordUsedBefore(call, userId)
  return false
}

function recordUsedBefore(call: Call, userId: string): Promise<void> {
  return recordSignInAttempt(call.ctx, call.request, attemptOf(call, 'code_used_before', userId))
}

/** Returns the person for whom this browser is a known device from now on. */
async function recordSuccess(
  { ctx, request, route, url }: Call,
  { user, twoFactorRedirect }: AuthAnswer,
  owner: Prepared['owner'],
): Promise<string | undefined> {
  const { session } = request.visitor
  const action = session && actionOf(route, session)
  if (action) {
    // better-auth was given one session only, so acting on another person would be a bug of ours.
    const userId = user?.id ?? session.userId
    if (userId !== session.userId) throw new Error('sign-in: better-auth acted on a person who did not ask for it')
    if (action === 'password.changed') await auditPasswordChange(ctx, userId, action)
    else await auditSecurity(ctx, userId, action)
  }
  if (session && url === '/two-factor/verify-backup-code')
    await auditSecurity(ctx, session.userId, 'recovery_code.used')
  // Following the mailed link proves control of the mailbox.
  if (url === '/reset-password') return owner?.email
  const isSignedIn = url === '/sign-in/email' || (!session && url.startsWith('/two-factor/verify-'))
  return isSignedIn && !twoFactorRedirect ? user?.email : undefined
}

/** The first code that is verified turns the second factor on; later ones change nothing. */
function actionOf({ audited }: AuthRoute, { isTwoFactor }: { isTwoFactor: boolean }): AuthRoute['audited'] {
  return audited === 'second_factor.enabled' && isTwoFactor ? undefined : audited
}

function isSigningIn({ request, route }: Call): boolean {
  if (route.guessed === 'password') return true
  return !request.visitor.session && (route.guessed === 'app_code' || route.guessed === 'recovery_code')
}

function attemptOf({ route, fields }: Call, outcome: SignInOutcome, userId: string | undefined): Attempt {
  const how = route.guessed === 'app_code' || route.guessed === 'recovery_code' ? route.guessed : 'password'
  return { outcome, how, userId, email: emailIn(fields) }
}

async function recordSignOut({ ctx, request }: Call): Promise<void> {
  const userId = request.visitor.session?.userId
  if (userId !== undefined) await recordSignInAttempt(ctx, request, { outcome: 'signed_out', how: 'none', userId })
}

// ---- Responses as better-auth words them ----

type AuthRefusal = { status: number; body: { message: string; code: string } }

const WRONG_PASSWORD = {
  status: 401,
  body: { message: 'Invalid email or password', code: 'INVALID_EMAIL_OR_PASSWORD' },
}
const WRONG_CURRENT_PASSWORD = { status: 400, body: { message: 'Invalid password', code: 'INVALID_PASSWORD' } }
const WRONG_TOKEN = { status: 401, body: { message: 'Invalid token', code: 'INVALID_TOKEN' } }
const WRONG_CODE = { status: 401, body: { message: 'Invalid code', code: 'INVALID_CODE' } }
const CHALLENGE_OVER = {
  status: 401,
  body: { message: 'Invalid two factor cookie', code: 'INVALID_TWO_FACTOR_COOKIE' },
}

function answerIn(body: string): AuthAnswer {
  return body === '' ? {} : ((JSON.parse(body) as AuthAnswer | null) ?? {})
}

/** Marks the current session in the list. */
function withCurrent(body: string, token: string | undefined): string {
  const sessions = JSON.parse(body) as { token: string }[]
  return JSON.stringify(sessions.map((session) => ({ ...session, isCurrent: session.token === token })))
}

function emailIn(fields: Fields): string | undefined {
  return typeof fields['email'] === 'string' ? fields['email'] : undefined
}

function textIn(fields: Fields, name: string): string {
  const value = fields[name]
  return typeof value === 'string' ? value : ''
}
