import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { actorOf, requireAccount } from '../../domain/accounts/callers.ts'
import { findMemberInvitation, joinAccount, joinWithNewSignIn } from '../../domain/accounts/member-invitations.ts'
import { removeMember } from '../../domain/accounts/members.ts'
import { ROLE_NAMES } from '../../domain/accounts/roles.ts'
import { listMemberships, switchAccount } from '../../domain/accounts/sessions.ts'
import type { Context } from '../../domain/context.ts'
import { checkNotBreached } from '../../domain/users/password-rules.ts'
import { nameField, response, type Api } from '../server/schemas.ts'
import { requireFresh, requireSameAccount, requireSignedIn } from './session.ts'
import type { SignInLimits } from './sign-in-limits.ts'
import { AUTH_PATH, HIDDEN, NOT_FRESH } from './sign-in-refusals.ts'

/** What a person does about their own memberships, whatever their role. */
export function membershipRoutes(app: Api, ctx: Context, limits: SignInLimits): void {
  const path = `${AUTH_PATH}/membership`
  const signedIn = async (request: FastifyRequest) => {
    request.session = requireSignedIn(request.visitor)
    if (request.routeOptions.config.fresh) requireFresh(request.session, ctx.now())
  }
  const own = { config: NOT_FRESH, onRequest: signedIn }

  // The token is in the body: addresses end up in logs.
  app.post(`${path}/invitation`, { schema: findRoute, config: NOT_FRESH }, async (request) => {
    const giveBack = limits.guess(request)
    const { accountId: _, ...invitation } = await findMemberInvitation(ctx, request.body.invitation)
    giveBack()
    return { success: true as const, invitation }
  })

  app.post(`${path}/join`, { schema: joinRoute, ...own }, async (request) => {
    const { body, session } = request
    const giveBack = limits.guess(request)
    const { userId, caller } = session
    const accountId = await joinAccount(ctx, body.invitation, { userId, email: requireAccount(caller).email })
    await switchAccount(ctx, session, accountId)
    giveBack()
    return { success: true as const }
  })

  app.post(`${path}/sign-up`, { schema: signUpRoute, config: NOT_FRESH }, async (request) => {
    const { invitation, ...wanted } = request.body
    limits.signUp(request)
    await checkNotBreached(ctx, wanted.password)
    return { success: true as const, ...(await joinWithNewSignIn(ctx, invitation, wanted)) }
  })

  app.post(`${path}/switch`, { schema: switchRoute, ...own }, async ({ session, body }) => {
    if (!(await switchAccount(ctx, session, body.accountId)))
      throw new Fault('not_found', 'You are no member of this account')
    return { success: true as const }
  })

  app.post(`${path}/leave`, { schema: leaveRoute, ...own, config: { fresh: true } }, async (request) => {
    const { session } = request
    const caller = requireAccount(session.caller)
    requireSameAccount(request, session)
    await removeMember(ctx, actorOf(caller), caller.accountId, session.userId)
    const [next] = await listMemberships(ctx, session.userId)
    if (next) await switchAccount(ctx, session, next.accountId)
    return { success: true as const }
  })
}

const invitation = z.string('invitation must be a text')
const done = { response: { 200: response('', {}) } }
const invitationSchema = z.object({
  accountName: z.string(),
  email: z.string(),
  role: z.enum(ROLE_NAMES),
  hasSignIn: z.boolean(),
})
const findRoute = {
  ...HIDDEN,
  body: z.object({ invitation }),
  response: { 200: response('', { invitation: invitationSchema }) },
}
const joinRoute = { ...HIDDEN, body: z.object({ invitation }), ...done }
const signUpRoute = {
  ...HIDDEN,
  body: z.object({ invitation, name: nameField, password: z.string('password must be a text') }),
  response: { 200: response('', { email: z.string() }) },
}
const switchRoute = { ...HIDDEN, body: z.object({ accountId: z.string('accountId must be a text') }), ...done }
const leaveRoute = { ...HIDDEN, ...done }
