import { createHmac } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../domain/context.ts'
import { auditSecurity, isNewPlace } from '../../domain/users/security-events.ts'
import { keepLanguage } from '../../domain/notices/list-notices.ts'
import { readerOf } from '../server/language.ts'
import { addressOf, networkOf } from '../server/rate-limit.ts'
import { cookieSecret } from './session-cookie.ts'
import { named } from './sign-in-limits.ts'

// One log line and one metric for each attempt to sign in, so that an attack can be recognized and traced. Successful
// ones also go to the audit log.

export const SIGN_IN_OUTCOMES = [
  'signed_in',
  'wrong_password',
  'email_unconfirmed',
  'operator_disabled',
  'no_account',
  'second_factor_wanted',
  'wrong_code',
  'wrong_passkey',
  'code_used_before',
  'challenge_over',
  'second_factor_locked',
  'limited',
  'signed_out',
] as const

export type SignInOutcome = (typeof SIGN_IN_OUTCOMES)[number]

export type Attempt = {
  outcome: SignInOutcome
  how: 'password' | 'app_code' | 'recovery_code' | 'passkey' | 'none'
  userId?: string | undefined
  /** As typed. Never logged: what is no account's e-mail is often a password in the wrong field. */
  email?: string | undefined
  /** This wrong code locked the second factor. Later ones are refused and change nothing. */
  isLocking?: boolean
}

export async function recordSignInAttempt(ctx: Context, request: FastifyRequest, attempt: Attempt): Promise<void> {
  const { outcome, how, userId, email } = attempt
  ctx.metrics.signIns.inc({ outcome })
  const network = networkOf(addressOf(request))
  const fields = { requestId: request.id, outcome, how, network, userId, emailHash: email && hashEmail(ctx, email) }
  ctx.log.info(fields, 'sign-in')
  if (userId === undefined) return
  if (outcome === 'signed_in') {
    if (how === 'recovery_code') await auditSecurity(ctx, userId, 'recovery_code.used', { network })
    const isNew = await isNewPlace(ctx, userId, network)
    await keepLanguage(ctx, userId, readerOf(request).language)
    await auditSecurity(ctx, userId, 'session.opened', { network, how, ...(isNew && { isNew }) })
  }
  if (attempt.isLocking) await auditSecurity(ctx, userId, 'second_factor.locked', { network })
}

/** The same for the same e-mail, so that log lines can be related, and useless without our key. */
function hashEmail({ settings }: Context, email: string): string {
  return createHmac('sha256', cookieSecret(settings))
    .update(`log ${named(email)}`)
    .digest('hex')
    .slice(0, 16)
}
