import type { FastifyRequest } from 'fastify'
import { reauthenticate, type Session } from '../../domain/accounts/sessions.ts'
import type { Context } from '../../domain/context.ts'
import { auditSecurity, findSecondFactor, useTotpStep } from '../../domain/users/security-events.ts'
import { totpStepOf } from '../../domain/users/totp.ts'
import { authRequest } from './auth-request.ts'
import type { Auth } from './better-auth.ts'

// With a second factor, a stolen session and the password must not be enough to take the account over. So what changes
// how the person signs in, and what ends sessions, asks for a code as signing in does.

export type Proof = {
  /** Undefined where the route needs a recent password and does not ask for it again. */
  password: string | undefined
  code: string
}

/** Which part is wrong, if any. A right code is used up, and only after the password was found right. */
export async function findWrongPart(
  parts: { ctx: Context; auth: Auth; request: FastifyRequest },
  { password, code }: Proof,
): Promise<'password' | 'code' | undefined> {
  const { ctx, request } = parts
  const { session } = request
  if (!session.isTwoFactor) return undefined
  if (password !== undefined && !(await reauthenticate(ctx, session, password))) return 'password'
  const typed = code.replaceAll(/\s/g, '')
  const isRight = /^\d{6}$/.test(typed) ? await useAppCode(parts, session, typed) : await useRecoveryCode(parts, typed)
  return isRight ? undefined : 'code'
}

async function useAppCode({ ctx, auth }: { ctx: Context; auth: Auth }, { userId }: Session, code: string) {
  const factor = await findSecondFactor(ctx, userId)
  const step = factor && totpStepOf(await auth.totpSecret(factor.secret), code, Date.now())
  return step !== undefined && (await useTotpStep(ctx, userId, step))
}

async function useRecoveryCode(
  { ctx, auth, request }: { ctx: Context; auth: Auth; request: FastifyRequest },
  code: string,
): Promise<boolean> {
  const fields = { code: await auth.storedRecoveryCode(request.session.userId, code) }
  const { visitor } = request
  const asked = authRequest(ctx, request, { url: '/two-factor/verify-backup-code', fields, visitor })
  const { ok } = await auth.handle(asked)
  if (ok) await auditSecurity(ctx, request.session.userId, 'recovery_code.used')
  return ok
}
