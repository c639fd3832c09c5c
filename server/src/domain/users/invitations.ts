import { createHash, randomBytes } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import { query, type Tx } from '../../db/tx.ts'
import { writeAudit, SYSTEM, type Actor, type AuditAction } from '../core/audit-log.ts'
import { checkEmail } from './users.ts'
import type { Core } from '../core/core.ts'

export type Invitation = {
  invitationId: string
  /** Null: for whoever has the link. */
  email: string | null
  madeBy: string
  createdAt: Date
  expiresAt: Date
  usedAt: Date | null
  revokedAt: Date | null
}

export const INVITATION_DAYS = { default: 7, max: 90 }

const DAY_MS = 24 * 3_600_000
const COLUMNS = `id as "invitationId", email, made_by as "madeBy", created_at as "createdAt", expires_at as "expiresAt",
  used_at as "usedAt", revoked_at as "revokedAt"`

/** Returns the token, which is shown once and stored nowhere. */
export async function createInvitation(
  tx: Tx,
  now: Date,
  wanted: { email: string | null; expiresInDays?: number },
  actor: Actor,
): Promise<{ invitation: Invitation; token: string }> {
  const days = wanted.expiresInDays ?? INVITATION_DAYS.default
  if (!Number.isInteger(days) || days < 1 || days > INVITATION_DAYS.max)
    throw new Fault('field_invalid', `an invitation is valid for 1 to ${INVITATION_DAYS.max} days`, {
      details: { field: 'expiresInDays' },
    })
  const email = wanted.email === null ? null : checkEmail(wanted.email)
  const token = randomBytes(24).toString('base64url')
  const [invitation] = await tx.rows<Invitation>(
    `insert into invitations (id, token_hash, email, made_by_kind, made_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7) returning ${COLUMNS}`,
    [newUuid7(now), hashOf(token), email, actor.kind, actor.name, now, new Date(now.getTime() + days * DAY_MS)],
  )
  await note(tx, now, actor, 'invitation.created', invitation!)
  return { invitation: invitation!, token }
}

export function invitationLink(publicUrl: string, token: string): string {
  return `${publicUrl}/sign-up?invitation=${token}`
}

// More than anybody reads; older ones have long expired.
const MAX_LISTED = 200

/** Newest first. */
export function listInvitations(core: Core): Promise<Invitation[]> {
  return query<Invitation>(core.pool, `select ${COLUMNS} from invitations order by id desc limit $1`, [MAX_LISTED])
}

/** Revoking twice is fine: the first time stands. One that was used is past revoking. */
export async function revokeInvitation(tx: Tx, now: Date, invitationId: string, actor: Actor): Promise<Invitation> {
  const [found] = isUuid(invitationId)
    ? await tx.rows<Invitation>(`select ${COLUMNS} from invitations where id = $1 for update`, [invitationId])
    : []
  if (!found) throw new Fault('not_found', 'Invitation not found')
  if (found.usedAt) throw new Fault('invitation_used', 'This invitation has already been used')
  if (found.revokedAt) return found
  await tx.run('update invitations set revoked_at = $2 where id = $1', [invitationId, now])
  await note(tx, now, actor, 'invitation.revoked', found)
  return { ...found, revokedAt: now }
}

/** Locks it, so that of two who come with one invitation the second finds it used. */
export async function lockInvitation(
  tx: Tx,
  now: Date,
  token: string,
  email: string,
): Promise<{ invitationId: string; email: string | null }> {
  const [found] = await tx.rows<{ invitationId: string; email: string | null }>(
    `select id as "invitationId", email from invitations
     where token_hash = $1 and used_at is null and revoked_at is null and expires_at > $2 for update`,
    [hashOf(token), now],
  )
  if (!found) throw new Fault('not_enabled', 'This invitation has been used or has expired: ask for a new one')
  if (found.email !== null && found.email !== email)
    throw new Fault('not_enabled', 'This invitation is for another e-mail address')
  return found
}

export async function markInvitationUsed(
  tx: Tx,
  now: Date,
  { invitationId, accountId }: { invitationId: string; accountId: string },
): Promise<void> {
  await tx.run('update invitations set used_at = $2, used_by = $3 where id = $1', [invitationId, now, accountId])
}

/** It was tried with an e-mail that has an account. */
export async function endInvitation(tx: Tx, now: Date, invitationId: string): Promise<void> {
  const [invitation] = await tx.rows<Invitation>(
    `update invitations set revoked_at = $2 where id = $1 returning ${COLUMNS}`,
    [invitationId, now],
  )
  await note(tx, now, SYSTEM, 'invitation.revoked', invitation!, 'tried with an e-mail that has an account')
}

function note(
  tx: Tx,
  now: Date,
  actor: Actor,
  action: AuditAction,
  invitation: Invitation,
  reason: string | null = null,
): Promise<void> {
  const { invitationId, email, expiresAt } = invitation
  const subject = `invitation ${invitationId}`
  return writeAudit(tx, now, actor, { action, subject, accountId: null, reason, details: { email, expiresAt } })
}

// Plain SHA-256: the token is 192 random bits, which no dictionary holds.
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
