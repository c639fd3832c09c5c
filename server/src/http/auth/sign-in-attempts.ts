import { createHmac } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../domain/context.ts'
import { findUserId, isSecondFactorLocked, auditSecurity } from '../../domain/users/security-events.ts'
import { addressOf, networkOf } from '../server/client-address.ts'
import { cookieSecret } from './session-cookie.ts'
import { named } from './sign-in-limits.ts'

// One log line and one metric for each attempt to sign in, so that an attack can be recognized and traced. Successful
// ones also go to the audit log.

export const SIGN_IN_OUTCOMES = [
  'signed_in',
  'wrong_password',
  'email_unconfirmed',
  'operator_disabled',
  'second_factor_wanted',
  'wrong_code',
  'code_used_before',
  'challenge_over',
  'second_factor_locked',
  'limited',
  'failed',
  'signed_out',
] as const

export type SignInOutcome = (typeof SIGN_IN_OUTCOMES)[number]

/** Our names for the codes of better-auth. */
const OUTCOME_OF_CODE: Record<string, SignInOutcome> = {
  INVALID_EMAIL_OR_PASSWORD: 'wrong_password',
  INVALID_EMAIL: 'wrong_password',
  PASSWORD_TOO_LONG: 'wrong_password',
  EMAIL_NOT_VERIFIED: 'email_unconfirmed',
  FAILED_TO_CREATE_SESSION: 'operator_disabled',
  INVALID_CODE: 'wrong_code',
  INVALID_BACKUP_CODE: 'wrong_code',
  INVALID_TWO_FACTOR_COOKIE: 'challenge_over',
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: 'challenge_over',
  ACCOUNT_TEMPORARILY_LOCKED: 'second_factor_locked',
}

export function outcomeOf(isOk: boolean, { code, twoFactorRedirect }: AuthAnswer): SignInOutcome {
  if (isOk) return twoFactorRedirect ? 'second_factor_wanted' : 'signed_in'
  return OUTCOME_OF_CODE[code ?? ''] ?? 'failed'
}

/** The parts of better-auth's responses that we use. */
export type AuthAnswer = {
  code?: string
  twoFactorRedirect?: boolean
  token?: string
  user?: { id: string; email: string }
}

export type Attempt = {
  outcome: SignInOutcome
  how: 'password' | 'app_code' | 'recovery_code' | 'none'
  userId?: string | undefined
  /** As typed. Never logged: what is no account's e-mail is often a password in the wrong field. */
  email?: string | undefined
}

export async function recordSignInAttempt(ctx: Context, request: FastifyRequest, attempt: Attempt): Promise<void> {
  const { outcome, how, email } = attempt
  ctx.metrics.signIns.inc({ outcome })
  // An attempt over the limit must not cost a query.
  const isLookedUp = attempt.userId === undefined && email !== undefined && outcome !== 'limited'
  const userId = isLookedUp ? await findUserId(ctx, named(email)) : attempt.userId
  const network = networkOf(addressOf(request))
  const fields = { requestId: request.id, outcome, how, network, userId, emailHash: email && hashEmail(ctx, email) }
  ctx.log.info(fields, 'sign-in')
  if (userId === undefined) return
  if (outcome === 'signed_in') {
    if (how === 'recovery_code') await auditSecurity(ctx, userId, 'recovery_code.used', { network })
    await auditSecurity(ctx, userId, 'session.opened', { network, how })
  }
  // The attempt that reaches the limit locks it. Later ones are refused and change nothing.
  if (outcome === 'wrong_code' && (await isSecondFactorLocked(ctx, userId)))
    await auditSecurity(ctx, userId, 'second_factor.locked', { network })
}

/** The same for the same e-mail, so that log lines can be related, and useless without our key. */
function hashEmail({ settings }: Context, email: string): string {
  return createHmac('sha256', cookieSecret(settings))
    .update(`log ${named(email)}`)
    .digest('hex')
    .slice(0, 16)
}
