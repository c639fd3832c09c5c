import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../../base/fault.ts'
import type { Context } from '../../domain/context.ts'
import { checkPassword } from '../../domain/users/password-rules.ts'
import {
  findSecondFactor,
  auditPasswordChange,
  auditSecurity,
  useTotpStep,
} from '../../domain/users/security-events.ts'
import { PASSWORD_LENGTH } from '../../domain/users/users.ts'
import { totpStepOf } from '../../domain/users/totp.ts'
import { challengeOwner, resetOwner } from '../../domain/users/verifications.ts'
import { authRequest, pickFields, type Fields } from './auth-request.ts'
import { hashRecoveryCode, type Auth } from './better-auth.ts'
import { deviceCookie } from './device-cookie.ts'
import { confirmationLink } from './emails.ts'
import {
  recordSignInAttempt,
  outcomeOf,
  type Attempt,
  type AuthAnswer,
  type SignInOutcome,
} from './sign-in-attempts.ts'
import type { GiveBack, LetterKind, SignInLimits } from './sign-in-limits.ts'

// All of better-auth that can be reached, and what we ask before and note after it.

export type AuthRoute = {
  /** What may be said; the rest would steer better-auth to places that we do not use. */
  fields: string[]
  /** As for all routes of the dashboard that change something, see http/session.ts. */
  fresh?: boolean
  isSignedIn?: true
  /** What can be tried out here: a password or a code to sign in, a link's token, or a password in a session. */
  guessed?: 'password' | 'app_code' | 'recovery_code' | 'token' | 'session'
  letter?: LetterKind
  /** What the audit log says of it. */
  noted?: 'password.changed' | 'second_factor.enabled' | 'second_factor.disabled' | 'recovery_codes.made'
}

export const AUTH_ROUTES: Record<string, AuthRoute> = {
  'POST /sign-in/email': { fields: ['email', 'password', 'rememberMe'], fresh: false, guessed: 'password' },
  'POST /sign-out': { fields: [], fresh: false },
  'POST /request-password-reset': { fields: ['email'], fresh: false, letter: 'reset' },
  'POST /reset-password': { fields: ['newPassword', 'token'], fresh: false, guessed: 'token' },
  'POST /send-verification-email': { fields: ['email'], fresh: false, letter: 'confirm' },
  'GET /verify-email': { fields: ['token'] },
  // These ask for the password themselves.
  'POST /two-factor/enable': { fields: ['password'], fresh: false, isSignedIn: true, guessed: 'session' },
  'POST /two-factor/verify-totp': {
    fields: ['code'],
    fresh: false,
    guessed: 'app_code',
    noted: 'second_factor.enabled',
  },
  'POST /two-factor/verify-backup-code': { fields: ['code'], fresh: false, guessed: 'recovery_code' },
  'POST /two-factor/disable': {
    fields: ['password'],
    fresh: true,
    isSignedIn: true,
    guessed: 'session',
    noted: 'second_factor.disabled',
  },
  'POST /two-factor/generate-backup-codes': {
    fields: ['password'],
    fresh: false,
    isSignedIn: true,
    guessed: 'session',
    noted: 'recovery_codes.made',
  },
  'GET /list-sessions': { fields: [], isSignedIn: true },
  'POST /revoke-session': { fields: ['token'], fresh: false, isSignedIn: true },
  'POST /revoke-other-sessions': { fields: [], fresh: false, isSignedIn: true },
  'POST /change-password': {
    fields: ['currentPassword', 'newPassword', 'revokeOtherSessions'],
    fresh: false,
    isSignedIn: true,
    guessed: 'session',
    noted: 'password.changed',
  },
}

type Call = { ctx: Context; auth: Auth; request: FastifyRequest; route: AuthRoute; url: string; fields: Fields }

export async function answerAuth(
  parts: { ctx: Context; auth: Auth; limits: SignInLimits; route: AuthRoute; url: string },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { ctx, auth, limits, route, url } = parts
  const sent = (request.method === 'GET' ? request.query : request.body) as Fields | null | undefined
  const call: Call = { ctx, auth, request, route, url, fields: pickFields(sent, route.fields) }
  if (route.letter) {
    requireMail(ctx)
    limits.requestLetter(request, route.letter, emailIn(call.fields) ?? '')
  }
  const giveBack = await spendTry(call, limits)
  const { owner, refusal } = await prepare(call)
  if (refusal) return reply.code(refusal.status).send(refusal.body)

  const response = await auth.handle(authRequest(ctx, request, { url, fields: call.fields, judged: request.judged }))
  const body = await response.text()
  const answer = answerIn(body)
  if (response.ok) giveBack()
  const cookies = response.headers.getSetCookie()
  const known = response.ok ? await recordSuccess(call, answer, owner) : undefined
  const outcome = isSigningIn(call) ? outcomeOf(response.ok, answer) : undefined
  if (outcome) await recordSignInAttempt(ctx, request, attemptOf(call, outcome, answer.user?.id ?? owner?.userId))
  if (url === '/sign-out') await noteSignOut(call)
  if (known !== undefined) cookies.push(deviceCookie(ctx.settings, known))
  reply.headers({ 'set-cookie': cookies }).type('application/json; charset=utf-8')
  // An operator who was disabled learns nothing about the password.
  if (outcome === 'operator_disabled') {
    const { status, body: text } = url === '/sign-in/email' ? WRONG_PASSWORD : CHALLENGE_OVER
    return reply.code(status).send(text)
  }
  return reply.code(response.status).send(response.ok ? await withOurs(call, body) : body)
}

/** What the page needs and better-auth does not tell. */
async function withOurs({ ctx, auth, request, url, fields }: Call, body: string): Promise<string> {
  switch (url) {
    case '/list-sessions':
      return withCurrent(body, request.judged.token)
    case '/verify-email':
      return JSON.stringify({ status: true, email: auth.emailOfToken(textIn(fields, 'token')) })
    case '/send-verification-email':
      return JSON.stringify({ status: true, ...(await shownConfirmation(ctx, auth, emailIn(fields) ?? '')) })
    default:
      return body
  }
}

/**
 * In the sandbox without a mail server the page shows the link that would have been mailed. Where money is real it must prove that somebody reads the mail.
 * Every address gets one, also an unknown one: the answer tells nothing about who has an account.
 */
export async function shownConfirmation(
  { mailer, settings }: Pick<Context, 'mailer' | 'settings'>,
  auth: Auth,
  email: string,
): Promise<{ confirmationLink?: string }> {
  if (mailer.sendsMail || settings.mode !== 'test') return {}
  return { confirmationLink: confirmationLink(settings.publicUrl, await auth.confirmationToken(email)) }
}

/** Where nothing is mailed and money is real, no link that opens an account is made. */
export function requireMail({ mailer, settings }: Pick<Context, 'mailer' | 'settings'>): void {
  if (!mailer.sendsMail && settings.mode === 'live')
    throw new Fault(
      'mail_not_set_up',
      'This service sends no mail: ask whoever runs it to set a new password or to confirm your e-mail',
    )
}

// ---- Before ----

async function spendTry({ ctx, request, route, fields, ...call }: Call, limits: SignInLimits): Promise<GiveBack> {
  const { session } = request.judged
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
  /** Who is acted on, where only the link or the challenge tells. */
  owner?: { userId: string; email: string } | undefined
  refusal?: { status: number; body: object }
}

async function prepare(call: Call): Promise<Prepared> {
  const { ctx, request, url, fields } = call
  const { session, challenge } = request.judged
  switch (url) {
    case '/reset-password': {
      const owner = await resetOwner(ctx, ctx.now(), textIn(fields, 'token'))
      if (owner) checkChosen(call, owner)
      return { owner }
    }
    case '/change-password': {
      const { name, caller } = session!
      checkChosen(call, { name, email: caller.email })
      return {}
    }
    case '/two-factor/verify-backup-code':
    case '/two-factor/verify-totp': {
      const waiting = challenge === undefined ? undefined : await challengeOwner(ctx, ctx.now(), challenge)
      const owner = session ? { userId: session.userId, email: session.caller.email } : waiting
      if (url === '/two-factor/verify-backup-code') fields['code'] = hashRecoveryCode(textIn(fields, 'code'))
      else if (owner && (await isUsedBefore(call, owner.userId))) {
        await recordSignInAttempt(ctx, request, attemptOf(call, 'code_used_before', owner.userId))
        return { refusal: WRONG_CODE }
      }
      return { owner }
    }
    default:
      return {}
  }
}

function checkChosen({ ctx, fields }: Call, owner: { name: string; email: string }): void {
  const password = textIn(fields, 'newPassword')
  // better-auth says what is too short.
  if (password.length < PASSWORD_LENGTH.min) return
  checkPassword(password, { ...owner, publicUrl: ctx.settings.publicUrl })
}

/** Takes the code's time step, so that the same code does not open a second session. A code that is not valid is better-auth's to refuse and count. */
async function isUsedBefore({ ctx, auth, fields }: Call, userId: string): Promise<boolean> {
  const factor = await findSecondFactor(ctx, userId)
  if (!factor) return false
  // By the machine's clock, which better-auth judges codes by.
  const step = totpStepOf(await auth.totpSecret(factor.secret), textIn(fields, 'code'), Date.now())
  return step !== undefined && !(await useTotpStep(ctx, userId, step))
}

// ---- After ----

/** Returns whose known device this browser is from now on. */
async function recordSuccess(
  { ctx, request, route, url }: Call,
  { user, twoFactorRedirect }: AuthAnswer,
  owner: Prepared['owner'],
): Promise<string | undefined> {
  const { session } = request.judged
  if (session && isChange(route, session)) {
    // Of whom better-auth acted on. It was told one session only, so that anybody else would be our mistake.
    const userId = user?.id ?? session.userId
    if (userId !== session.userId)
      throw new Error('sign-in: better-auth acted on another person than the one who asked')
    if (route.noted === 'password.changed') await auditPasswordChange(ctx, userId, route.noted)
    else await auditSecurity(ctx, userId, route.noted!)
  }
  if (session && url === '/two-factor/verify-backup-code')
    await auditSecurity(ctx, session.userId, 'recovery_code.used')
  // Who has followed the link reads the person's mail.
  if (url === '/reset-password') return owner?.email
  const isSignedIn = url === '/sign-in/email' || (!session && url.startsWith('/two-factor/verify-'))
  return isSignedIn && !twoFactorRedirect ? user?.email : undefined
}

/** A code that is checked while a second factor is set up turns it on; later ones change nothing. */
function isChange({ noted }: AuthRoute, { isTwoFactor }: { isTwoFactor: boolean }): boolean {
  return noted !== undefined && (noted !== 'second_factor.enabled' || !isTwoFactor)
}

function isSigningIn({ request, route }: Call): boolean {
  if (route.guessed === 'password') return true
  return !request.judged.session && (route.guessed === 'app_code' || route.guessed === 'recovery_code')
}

function attemptOf({ route, fields }: Call, outcome: SignInOutcome, userId: string | undefined): Attempt {
  const how = route.guessed === 'app_code' || route.guessed === 'recovery_code' ? route.guessed : 'password'
  return { outcome, how, userId, email: emailIn(fields) }
}

async function noteSignOut({ ctx, request }: Call): Promise<void> {
  const userId = request.judged.session?.userId
  if (userId !== undefined) await recordSignInAttempt(ctx, request, { outcome: 'signed_out', how: 'none', userId })
}

// ---- In better-auth's own words ----

const WRONG_PASSWORD = {
  status: 401,
  body: { message: 'Invalid email or password', code: 'INVALID_EMAIL_OR_PASSWORD' },
}
const WRONG_CODE = { status: 401, body: { message: 'Invalid code', code: 'INVALID_CODE' } }
const CHALLENGE_OVER = {
  status: 401,
  body: { message: 'Invalid two factor cookie', code: 'INVALID_TWO_FACTOR_COOKIE' },
}

function answerIn(body: string): AuthAnswer {
  return body === '' ? {} : ((JSON.parse(body) as AuthAnswer | null) ?? {})
}

/** Which of the sessions is this one, for somebody who is about to end the others. */
function withCurrent(body: string, token: string | undefined): string {
  const sessions = JSON.parse(body) as { token: string }[]
  return JSON.stringify(sessions.map((one) => ({ ...one, isCurrent: one.token === token })))
}

function emailIn(fields: Fields): string | undefined {
  return typeof fields['email'] === 'string' ? fields['email'] : undefined
}

function textIn(fields: Fields, name: string): string {
  const value = fields[name]
  return typeof value === 'string' ? value : ''
}
