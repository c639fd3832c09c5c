import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Fault } from '../../base/fault.ts'
import { actorOf, refuseSuspended } from '../../domain/accounts/callers.ts'
import {
  inviteMember,
  listMemberInvitations,
  revokeMemberInvitation,
} from '../../domain/accounts/member-invitations.ts'
import {
  changeRole,
  demandSecondFactor,
  isSecondFactorDemanded,
  listMembers,
  removeMember,
} from '../../domain/accounts/members.ts'
import { ROLE_NAMES } from '../../domain/accounts/roles.ts'
import type { Context } from '../../domain/context.ts'
import { readerOf } from '../server/language.ts'
import { emailField, oneOf, response, time, toApi, type Api } from '../server/schemas.ts'
import { memberInvitationEmail } from './emails.ts'
import { makeSignInLimits } from './sign-in-limits.ts'
import { requireMail } from './sign-up.ts'

/** In the dashboard only: a leaked key must not let anyone in. */
export function memberRoutes(api: Api, ctx: Context): void {
  const reading = { scope: 'members:read' } as const
  const writing = { scope: 'members:write', fresh: true } as const
  const limits = makeSignInLimits(ctx)

  api.get('/api/members', { schema: membersRoute, config: reading }, async ({ caller: { accountId } }) => ({
    success: true as const,
    members: (await listMembers(ctx, accountId)).map(toApi),
    invitations: (await listMemberInvitations(ctx, accountId)).map(({ invitationId, ...invitation }) => ({
      id: invitationId,
      ...toApi(invitation),
    })),
    requiresSecondFactor: await isSecondFactorDemanded(ctx, accountId),
  }))

  api.post('/api/members/invitations', { schema: inviteRoute, config: writing }, async (request, reply) => {
    const { caller, body } = request
    refuseSuspended(caller)
    requireMail(ctx)
    limits.requestEmail(request, 'member', body.email)
    const invited = await inviteMember(ctx, actorOf(caller), { accountId: caller.accountId, ...body })
    reply.code(201)
    return { success: true as const, link: sendInvitation(request, invited) }
  })

  const invitation = '/api/members/invitations/:id'
  api.post(`${invitation}/resend`, { schema: resendRoute, config: writing }, async (request) => {
    const { caller, params } = request
    refuseSuspended(caller)
    requireMail(ctx)
    const invitations = await listMemberInvitations(ctx, caller.accountId)
    const found = invitations.find(({ invitationId }) => invitationId === params.id)
    if (!found) throw new Fault('not_found', 'Invitation not found')
    limits.requestEmail(request, 'member', found.email)
    const { email, role } = found
    const invited = await inviteMember(ctx, actorOf(caller), { accountId: caller.accountId, email, role })
    return { success: true as const, link: sendInvitation(request, invited) }
  })

  api.delete(invitation, { schema: revokeRoute, config: writing }, async ({ caller, params }) => {
    await revokeMemberInvitation(ctx, actorOf(caller), caller.accountId, params.id)
    return { success: true as const }
  })

  const member = '/api/members/:userId'
  api.patch(member, { schema: roleRoute, config: writing }, async ({ caller, params, body }) => {
    await changeRole(ctx, actorOf(caller), { accountId: caller.accountId, ...params, ...body })
    return { success: true as const }
  })

  api.delete(member, { schema: removeRoute, config: writing }, async ({ caller, params }) => {
    await removeMember(ctx, actorOf(caller), caller.accountId, params.userId)
    return { success: true as const }
  })

  api.put('/api/members/second-factor', { schema: demandRoute, config: writing }, async ({ caller, body }) => {
    await demandSecondFactor(ctx, actorOf(caller), caller.accountId, body.required)
    return { success: true as const }
  })

  /** The link is shown only in a sandbox without a mail server, as that of a confirmation is. */
  function sendInvitation(
    request: FastifyRequest,
    { invitation: { email: to }, token, accountName }: Awaited<ReturnType<typeof inviteMember>>,
  ): string | null {
    const link = `${ctx.settings.publicUrl}/join?invitation=${token}`
    ctx.mailer.send(memberInvitationEmail(readerOf(request).language, { to, link, accountName }))
    return ctx.mailer.sendsMail ? null : link
  }
}

const role = oneOf('role', ROLE_NAMES)
const done = { response: { 200: response('', {}) } }
const memberSchema = z.object({
  userId: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(ROLE_NAMES),
  addedAt: time,
  hasSecondFactor: z.boolean(),
})
const invitationSchema = z.object({
  id: z.string(),
  email: z.string(),
  role: z.enum(ROLE_NAMES),
  invitedBy: z.string(),
  createdAt: time,
  expiresAt: time,
})
const membersRoute = {
  response: {
    200: response('', {
      members: memberSchema.array(),
      invitations: invitationSchema.array(),
      requiresSecondFactor: z.boolean(),
    }),
  },
}
const invitationParams = z.object({ id: z.string() })
const memberParams = z.object({ userId: z.string() })
const link = { link: z.string().nullable() }
const inviteRoute = { body: z.object({ email: emailField, role }), response: { 201: response('', link) } }
const resendRoute = { params: invitationParams, response: { 200: response('', link) } }
const revokeRoute = { params: invitationParams, ...done }
const roleRoute = { params: memberParams, body: z.object({ role }), ...done }
const removeRoute = { params: memberParams, ...done }
const demandRoute = { body: z.object({ required: z.boolean('required must be true or false') }), ...done }
