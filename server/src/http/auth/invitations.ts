import { z } from 'zod'
import { transact } from '../../db/tx.ts'
import { actorOf, OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import {
  createInvitation,
  INVITATION_DAYS,
  invitationLink,
  listInvitations,
  revokeInvitation,
  type Invitation,
} from '../../domain/users/invitations.ts'
import { readerOf } from '../server/language.ts'
import { response, time, toApi, type Api } from '../server/schemas.ts'
import { invitationEmail } from './emails.ts'

/** In the dashboard only: a leaked key must not let anyone in. */
export function invitationRoutes(api: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const
  const fresh = { ...config, fresh: true } as const

  api.get('/api/operator/invitations', { schema: listInvitationsRoute, config }, async () => ({
    success: true as const,
    invitations: (await listInvitations(ctx)).map(presentInvitation),
  }))

  api.post('/api/operator/invitations', { schema: createInvitationRoute, config: fresh }, async (request, reply) => {
    const { email, expiresInDays } = request.body
    const { invitation, token } = await transact(ctx.pool, (tx) =>
      createInvitation(tx, ctx.now(), { email: email ?? null, expiresInDays }, actorOf(request.operator)),
    )
    const link = invitationLink(ctx.settings.publicUrl, token)
    if (invitation.email !== null)
      ctx.mailer.send(invitationEmail(readerOf(request).language, { to: invitation.email, link }))
    reply.code(201)
    return { success: true as const, invitation: presentInvitation(invitation), link }
  })

  api.delete('/api/operator/invitations/:id', { schema: revokeInvitationRoute, config: fresh }, async (request) => {
    const invitation = await transact(ctx.pool, (tx) =>
      revokeInvitation(tx, ctx.now(), request.params.id, actorOf(request.operator)),
    )
    return { success: true as const, invitation: presentInvitation(invitation) }
  })
}

const DAYS_ERROR = `expiresInDays must be an integer from 1 to ${INVITATION_DAYS.max}`
const newInvitationBody = z.object({
  email: z.email('email must be an e-mail address, or null').nullish(),
  expiresInDays: z
    .int(DAYS_ERROR)
    .min(1, DAYS_ERROR)
    .max(INVITATION_DAYS.max, DAYS_ERROR)
    .default(INVITATION_DAYS.default),
})

const invitationSchema = z.object({
  id: z.string(),
  email: z.string().nullable(),
  madeBy: z.string(),
  createdAt: time,
  expiresAt: time,
  usedAt: time.nullable(),
  revokedAt: time.nullable(),
})

function presentInvitation({ invitationId, ...invitation }: Invitation) {
  return { id: invitationId, ...toApi(invitation) }
}

const listInvitationsRoute = { response: { 200: response('', { invitations: invitationSchema.array() }) } }
const createInvitationRoute = {
  body: newInvitationBody,
  response: { 201: response('', { invitation: invitationSchema, link: z.string() }) },
}
const revokeInvitationRoute = {
  params: z.object({ id: z.string() }),
  response: { 200: response('', { invitation: invitationSchema }) },
}
