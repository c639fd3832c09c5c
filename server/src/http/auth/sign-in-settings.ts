import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { transact, type Tx } from '../../db/tx.ts'
import {
  endOtherSessions,
  endSession,
  listSessions,
  reauthenticate,
  renewToken,
  type Session,
} from '../../domain/accounts/sessions.ts'
import type { SecondStepCode } from '../../domain/accounts/sign-in.ts'
import type { Context } from '../../domain/context.ts'
import { storePassword } from '../../domain/users/passwords.ts'
import {
  checkCode,
  createSecondFactor,
  disableSecondFactor,
  enableSecondFactor,
  replaceRecoveryCodes,
  takeCode,
  totpUri,
} from '../../domain/users/second-factor.ts'
import { auditSecurity, auditSecurityIn } from '../../domain/users/security-events.ts'
import { hashPassword } from '../../domain/users/users.ts'
import type { Api } from '../server/schemas.ts'
import { passkeyRoutes } from './passkeys.ts'
import { sessionCookie } from './session-cookie.ts'
import { requireFresh, requireSignedIn } from './session.ts'
import type { SignInLimits } from './sign-in-limits.ts'
import { AUTH_PATH, HIDDEN, NOT_FRESH, SignInRefusal, WRONG_CODE } from './sign-in-refusals.ts'
import { checkChosen } from './sign-up.ts'

/** How and where a person signs in: password, second factor, sessions. */
export function signInSettingsRoutes(app: Api, ctx: Context, limits: SignInLimits): void {
  const signedIn = async (request: FastifyRequest) => {
    request.session = requireSignedIn(request.visitor)
    if (request.routeOptions.config.fresh) requireFresh(request.session, ctx.now())
  }
  const post = <Body extends z.ZodType>(body: Body, config: { fresh: boolean }) => ({
    schema: { ...HIDDEN, body },
    config,
    onRequest: signedIn,
  })

  passkeyRoutes(app, ctx, { signedIn, prove })

  app.post('/dashboard/api/reauthenticate', post(passwordBody, NOT_FRESH), async ({ session, body }) => {
    const giveBack = limits.inSession(session.sessionId)
    if (!(await reauthenticate(ctx, session, body.password))) throw new Fault('password_wrong', 'Wrong password')
    giveBack()
    return { success: true }
  })

  app.post(`${AUTH_PATH}/two-factor/enable`, post(proofBody, NOT_FRESH), async ({ session, body }) => {
    await prove(session, body)
    if (session.isTwoFactor) throw new SignInRefusal(400, 'TOTP_ALREADY_ENABLED', 'Two-step verification is already on')
    const { secret, codes } = await createSecondFactor(ctx, session.userId)
    return { totpURI: totpUri(secret, session.caller.email), backupCodes: codes }
  })

  app.post(`${AUTH_PATH}/two-factor/disable`, post(proofBody, FRESH), async ({ session, body }, reply) => {
    await prove(session, body)
    requireTwoFactor(session)
    await changeSignIn(ctx, session, reply, async (tx) => {
      await disableSecondFactor(tx, ctx.now(), session.userId)
      await auditSecurityIn(tx, ctx.now(), session.userId, { action: 'second_factor.disabled', isChanged: true })
    })
    return { status: true }
  })

  app.post(`${AUTH_PATH}/two-factor/generate-backup-codes`, post(proofBody, NOT_FRESH), async ({ session, body }) => {
    await prove(session, body)
    requireTwoFactor(session)
    const backupCodes = await replaceRecoveryCodes(ctx, session.userId)
    await auditSecurity(ctx, session.userId, 'recovery_codes.made')
    return { status: true, backupCodes }
  })

  const listing = { schema: HIDDEN, onRequest: signedIn, exposeHeadRoute: false }
  app.get(`${AUTH_PATH}/list-sessions`, listing, ({ session }) => listSessions(ctx, session))

  app.post(`${AUTH_PATH}/revoke-session`, post(tokenBody, FRESH), async ({ session, body }) => {
    await prove(session, body)
    await endSession(ctx, session, body.token)
    return { status: true }
  })

  app.post(`${AUTH_PATH}/revoke-other-sessions`, post(codeBody, FRESH), async ({ session, body }) => {
    await prove(session, body)
    await transact(ctx.pool, (tx) => endOtherSessions(tx, session))
    return { status: true }
  })

  app.post(`${AUTH_PATH}/change-password`, post(changeBody, NOT_FRESH), async ({ session, body }, reply) => {
    const { currentPassword, newPassword, revokeOtherSessions, code } = body
    const { userId, name, caller } = session
    const user = { email: caller.email, name }
    await prove(session, { password: currentPassword, code }, () => checkChosen(ctx, newPassword, user))
    const passwordHash = await hashPassword(newPassword)
    await changeSignIn(ctx, session, revokeOtherSessions ? reply : undefined, async (tx) => {
      await storePassword(tx, ctx.now(), userId, passwordHash)
      await auditSecurityIn(tx, ctx.now(), userId, { action: 'password.changed' })
      if (revokeOtherSessions) await endOtherSessions(tx, session)
    })
    return { user }
  })

  /**
   * With a second factor, a stolen session and the password must not be enough to take the account over. So these
   * changes ask for a code as signing in does. A right code is used up, and only after the password was found right.
   */
  async function prove(
    session: Session,
    { password, code }: { password?: string; code: string },
    check: () => Promise<void> = async () => {},
  ): Promise<void> {
    const giveBack = limits.inSession(session.sessionId)
    await check()
    if (password !== undefined && !(await reauthenticate(ctx, session, password)))
      throw new SignInRefusal(400, 'INVALID_PASSWORD', 'Invalid password')
    if (session.isTwoFactor) {
      const how = /^\s*(?:\d\s*){6}$/.test(code) ? 'app_code' : 'recovery_code'
      await useCode(ctx, session, { code, how, at: Date.now() })
    }
    giveBack()
  }
}

/** The first code of the app that is right turns the second factor on. */
export async function confirmAppCode(
  ctx: Context,
  limits: SignInLimits,
  session: Session,
  code: SecondStepCode,
  reply: FastifyReply,
): Promise<object> {
  const giveBack = limits.inSession(session.sessionId)
  await useCode(ctx, session, code)
  giveBack()
  if (!session.isTwoFactor && code.how === 'app_code')
    await changeSignIn(ctx, session, reply, async (tx) => {
      await enableSecondFactor(tx, ctx.now(), session.userId)
      await auditSecurityIn(tx, ctx.now(), session.userId, { action: 'second_factor.enabled', isChanged: true })
    })
  return { status: true }
}

async function useCode(ctx: Context, { userId }: Session, code: SecondStepCode): Promise<void> {
  const checked = await checkCode(ctx, userId, code)
  if (checked.is !== 'right') throw WRONG_CODE
  const isTaken = await transact(ctx.pool, async (tx) => {
    if (!(await takeCode(tx, userId, checked.code))) return false
    if (code.how === 'recovery_code') await auditSecurityIn(tx, ctx.now(), userId, { action: 'recovery_code.used' })
    return true
  })
  if (!isTaken) throw WRONG_CODE
}

/** Gives the session a new cookie, if there is a reply to send it in: a copy of the old one opens nothing. */
async function changeSignIn(
  ctx: Context,
  session: Session,
  reply: FastifyReply | undefined,
  change: (tx: Tx) => Promise<void>,
): Promise<void> {
  const renewed = await transact(ctx.pool, async (tx) => {
    await change(tx)
    return reply && renewToken(tx, session)
  })
  if (renewed) reply?.header('set-cookie', sessionCookie(ctx.settings, renewed, ctx.now()))
}

function requireTwoFactor({ isTwoFactor }: Session): void {
  if (!isTwoFactor) throw new SignInRefusal(400, 'TWO_FACTOR_NOT_ENABLED', 'Two-step verification is off')
}

const FRESH = { fresh: true } as const
const code = z.string('code must be a text').default('')
const password = z.string('password must be a text')
const passwordBody = z.object({ password })
const proofBody = z.object({ password, code })
const codeBody = z.object({ code })
const tokenBody = z.object({ token: z.string('token must be a text'), code })
const changeBody = z.object({
  currentPassword: z.string('currentPassword must be a text'),
  newPassword: z.string('newPassword must be a text'),
  revokeOtherSessions: z.boolean('revokeOtherSessions must be true or false').default(false),
  code,
})
