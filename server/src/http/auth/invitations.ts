import { z } from 'zod'
import { transact } from '../../db/tx.ts'
import type { Context } from '../../domain/context.ts'
import {
  createInvitation,
  INVITATION_DAYS,
  invitationLink,
  listInvitations,
  revokeInvitation,
  type Invitation,
} from '../../domain/users/invitations.ts'
import { OPERATOR_SCOPE, actorOf } from '../../domain/accounts/callers.ts'
import type { Api } from '../server/schemas.ts'
import { readerOf } from '../server/language.ts'
import { invitationLetter } from './emails.ts'
import { response } from '../server/schemas.ts'

/** Of the dashboard alone: a key that leaks must not let anybody in. */
export function invitationRoutes(api: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const

  api.get('/api/operator/invitations', { schema: listSchema, config }, async () => ({
    success: true as const,
    invitations: (await listInvitations(ctx)).map(present),
  }))

  const fresh = { ...config, fresh: true }
  api.post('/api/operator/invitations', { schema: createSchema, config: fresh }, async (request, reply) => {
    const { email, expiresInDays } = request.body
    const { invitation, token } = await transact(ctx.pool, (tx) =>
      createInvitation(tx, ctx.now(), { email: email ?? null, expiresInDays }, actorOf(request.operator)),
    )
    const link = invitationLink(ctx.settings.publicUrl, token)
    if (invitation.email !== null)
      ctx.mailer.send(invitationLetter(readerOf(request).language, { to: invitation.email, link }))
    reply.code(201)
    return { success: true as const, invitation: present(invitation), link }
  })

  api.delete('/api/operator/invitations/:id', { schema: revokeSchema, config: fresh }, async (request) => {
    const invitation = await transact(ctx.pool, (tx) =>
      revokeInvitation(tx, ctx.now(), request.params.id, actorOf(request.operator)),
    )
    return { success: true as const, invitation: present(invitation) }
  })
}

function present({ invitationId, createdAt, expiresAt, usedAt, revokedAt, ...rest }: Invitation) {
  return {
    id: invitationId,
    ...rest,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    usedAt: usedAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
  }
}

const invitationSchema = z.object({
  id: z.string(),
  email: z.string().nullable(),
  madeBy: z.string(),
  createdAt: z.string(),
  expiresAt: z.string(),
  usedAt: z.string().nullable(),
  revokedAt: z.string().nullable(),
})

const daysRule = `expiresInDays must be an integer from 1 to ${INVITATION_DAYS.max}`

const listSchema = { response: { 200: response('', { invitations: invitationSchema.array() }) } }
const createSchema = {
  body: z.object({
    email: z.email('email must be an e-mail address, or null').nullish(),
    expiresInDays: z.int(daysRule).min(1, daysRule).max(INVITATION_DAYS.max, daysRule).default(INVITATION_DAYS.default),
  }),
  response: { 201: response('', { invitation: invitationSchema, link: z.string() }) },
}
const revokeSchema = {
  params: z.object({ id: z.string() }),
  response: { 200: response('', { invitation: invitationSchema }) },
}
