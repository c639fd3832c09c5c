import { createHmac } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { signUp } from '../../domain/accounts/sign-up.ts'
import type { Context } from '../../domain/context.ts'
import { findInvitation } from '../../domain/users/invitations.ts'
import { checkNotBreached, checkPassword } from '../../domain/users/password-rules.ts'
import { confirmMailbox, isUnconfirmed, resetPassword } from '../../domain/users/passwords.ts'
import { PASSWORD_LENGTH } from '../../domain/users/users.ts'
import { createReset, resetOwner } from '../../domain/users/verifications.ts'
import { readerOf } from '../server/language.ts'
import { emailField, response, type Api } from '../server/schemas.ts'
import { alreadyRegisteredEmail, confirmationEmail, confirmationLink, passwordEmail } from './emails.ts'
import { cookieSecret, deviceCookie, isSame } from './session-cookie.ts'
import { named, type SignInLimits } from './sign-in-limits.ts'
import { AUTH_PATH, HIDDEN, NOT_FRESH, SignInRefusal } from './sign-in-refusals.ts'

/** What a person does by a link in an e-mail: sign up, confirm the e-mail, choose a new password. */
export function signUpRoutes(app: Api, ctx: Context, limits: SignInLimits): void {
  const { publicUrl } = ctx.settings
  const post = <Body extends z.ZodType>(body: Body) => ({ schema: { ...HIDDEN, body }, config: NOT_FRESH })

  app.post(`${AUTH_PATH}/sign-up/email`, post(signUpBody), async (request) => {
    limits.signUp(request)
    await checkNotBreached(ctx, request.body.password)
    const { email: to, name, isNew, isEmailVerified } = await signUp(ctx, { invitation: null, ...request.body })
    // Limits the e-mails that a stranger can send to one mailbox.
    if (limits.mayMail('sign_up', to)) {
      if (!isNew) ctx.mailer.send(alreadyRegisteredEmail(readerOf(request).language, publicUrl, to))
      else if (!isEmailVerified) mailConfirmation(request, to)
    }
    const shown = isEmailVerified ? {} : shownConfirmation(to)
    return { token: null, user: { email: to, name, emailVerified: isEmailVerified }, ...shown }
  })

  // The token is in the body: addresses end up in logs.
  app.post(`${AUTH_PATH}/invitation`, { schema: findInvitationRoute, config: NOT_FRESH }, async (request) => {
    const giveBack = limits.guess(request)
    const { email } = await findInvitation(ctx, request.body.invitation)
    giveBack()
    return { success: true as const, invitation: { email } }
  })

  app.post(`${AUTH_PATH}/send-verification-email`, post(emailBody), async (request) => {
    const email = named(request.body.email)
    requireMail(ctx)
    limits.requestEmail(request, 'confirm', email)
    if (await isUnconfirmed(ctx, email)) mailConfirmation(request, email)
    return { status: true, ...shownConfirmation(email) }
  })

  const confirming = { schema: { ...HIDDEN, querystring: tokenQuery }, exposeHeadRoute: false }
  app.get(`${AUTH_PATH}/verify-email`, confirming, async (request) => {
    const email = confirmedEmail(ctx, request.query.token)
    await confirmMailbox(ctx, email)
    return { status: true, email }
  })

  app.post(`${AUTH_PATH}/request-password-reset`, post(emailBody), async (request) => {
    const email = named(request.body.email)
    requireMail(ctx)
    limits.requestEmail(request, 'reset', email)
    const reset = await createReset(ctx, email)
    if (reset) ctx.mailer.send(passwordEmail(readerOf(request).language, publicUrl, { to: email, token: reset.token }))
    return { status: true }
  })

  app.post(`${AUTH_PATH}/reset-password`, post(resetBody), async (request, reply) => {
    const { token, newPassword } = request.body
    const giveBack = limits.guess(request)
    const owner = await resetOwner(ctx, token)
    if (!owner) throw WRONG_LINK
    request.identity ??= { userId: owner.userId }
    await checkChosen(ctx, newPassword, owner)
    if (!(await resetPassword(ctx, { userId: owner.userId, token, password: newPassword }))) throw WRONG_LINK
    giveBack()
    reply.header('set-cookie', deviceCookie(ctx.settings, owner.email))
    return { status: true }
  })

  function mailConfirmation(request: FastifyRequest, to: string): void {
    const token = confirmationToken(ctx, to)
    ctx.mailer.send(confirmationEmail(readerOf(request).language, publicUrl, { to, token }))
  }

  /**
   * In a sandbox without a mail server the page shows the link that would have been mailed. With real money the link
   * must prove control of the mailbox. Unknown addresses get a link too, which hides who has an account.
   */
  function shownConfirmation(email: string): { confirmationLink?: string } {
    if (ctx.mailer.sendsMail || ctx.settings.mode !== 'test') return {}
    return { confirmationLink: confirmationLink(publicUrl, confirmationToken(ctx, email)) }
  }
}

/** All rules for a password that somebody chooses in the dashboard. */
export async function checkChosen(ctx: Context, password: string, owner: { name: string; email: string }) {
  const { min, max } = PASSWORD_LENGTH
  if (password.length < min) throw new SignInRefusal(400, 'PASSWORD_TOO_SHORT', 'Password too short')
  if (password.length > max) throw new SignInRefusal(400, 'PASSWORD_TOO_LONG', 'Password too long')
  checkPassword(password, { ...owner, publicUrl: ctx.settings.publicUrl })
  await checkNotBreached(ctx, password)
}

/** With real money and no mail server, no link that opens an account is created. */
export function requireMail({ mailer, settings }: Context): void {
  if (!mailer.sendsMail && settings.mode === 'live')
    throw new Fault(
      'mail_not_set_up',
      'This service sends no e-mail: ask its operator to set a new password or to confirm your e-mail',
    )
}

const WRONG_LINK = new SignInRefusal(400, 'INVALID_TOKEN', 'Invalid token')

// ---- The token of a link that confirms an e-mail ----

const CONFIRM_WITHIN_MS = 24 * 3_600_000

function confirmationToken(ctx: Context, email: string): string {
  const claims = { email, expiresAtMs: ctx.now().getTime() + CONFIRM_WITHIN_MS }
  const text = Buffer.from(JSON.stringify(claims)).toString('base64url')
  return `${text}.${signConfirmation(text, ctx.settings.publicUrl, cookieSecret(ctx.settings))}`
}

/** The e-mail that a token confirms. */
function confirmedEmail(ctx: Context, token: string): string {
  const [text = '', signature = ''] = token.split('.')
  const expected = signConfirmation(text, ctx.settings.publicUrl, cookieSecret(ctx.settings))
  if (!isSame(signature, expected)) throw new SignInRefusal(401, 'INVALID_TOKEN', 'Invalid token')
  const claims = JSON.parse(Buffer.from(text, 'base64url').toString()) as { email: string; expiresAtMs: number }
  if (claims.expiresAtMs <= ctx.now().getTime()) throw new SignInRefusal(401, 'TOKEN_EXPIRED', 'Token expired')
  return claims.email
}

/** The key signs other things too, so the purpose and the service are signed with the text. */
export function signConfirmation(text: string, publicUrl: string, secret: string, purpose = 'confirm-email'): string {
  return createHmac('sha256', secret)
    .update(`${purpose} ${new URL(publicUrl).origin} ${text}`)
    .digest('base64url')
}

// ---- Schemas ----

const password = z.string('password must be a text')
const invitationToken = z.string('invitation must be a text')
const emailBody = z.object({ email: z.string('email must be a text') })
const tokenQuery = z.object({ token: z.string().regex(/^[\w.-]*$/, 'token must be that of a link') })
const resetBody = z.object({
  token: z.string('token must be a text'),
  newPassword: z.string('newPassword must be a text'),
})
const findInvitationRoute = {
  ...HIDDEN,
  body: z.object({ invitation: invitationToken }),
  response: { 200: response('', { invitation: z.object({ email: z.string().nullable() }) }) },
}
const signUpBody = z.object({
  name: z.string('name must be a text'),
  email: emailField,
  password,
  invitation: invitationToken.exactOptional(),
})
