import { createHash, randomBytes } from 'node:crypto'
import { Fault, invalidField } from '../../base/fault.ts'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, type Tx } from '../../db/tx.ts'
import { writeAudit, SYSTEM, type Actor } from '../core/audit-log.ts'
import { checkEmail } from './users.ts'
import type { Core } from '../core/core.ts'

export type Invitation = {
  invitationId: string
  /** Null: anybody with the link may use it. */
  email: string | null
  madeBy: string
  createdAt: Date
  expiresAt: Date
  usedAt: Date | null
  revokedAt: Date | null
}

export const INVITATION_DAYS = { default: 7, max: 90 }

const DAY_MS = 24 * 3_600_000
// More than anybody reads; older ones have long expired.
const MAX_LISTED = 200
const COLUMNS = `id as "invitationId", email, made_by as "madeBy", created_at as "createdAt", expires_at as "expiresAt",
  used_at as "usedAt", revoked_at as "revokedAt"`

/** Returns the token, which is shown once and never stored. */
export async function createInvitation(
  tx: Tx,
  now: Date,
  wanted: { email: string | null; expiresInDays?: number },
  actor: Actor,
): Promise<{ invitation: Invitation; token: string }> {
  const days = wanted.expiresInDays ?? INVITATION_DAYS.default
  if (!Number.isInteger(days) || days < 1 || days > INVITATION_DAYS.max)
    throw invalidField('expiresInDays', `An invitation must be valid for 1 to ${INVITATION_DAYS.max} days`)
  const token = randomBytes(24).toString('base64url')
  const invitation: Invitation = {
    invitationId: newUuid7(now),
    email: wanted.email === null ? null : checkEmail(wanted.email),
    madeBy: actor.name,
    createdAt: now,
    expiresAt: new Date(now.getTime() + days * DAY_MS),
    usedAt: null,
    revokedAt: null,
  }
  await insertRow(tx, 'invitations', {
    id: invitation.invitationId,
    token_hash: hashOf(token),
    email: invitation.email,
    made_by_kind: actor.kind,
    made_by: actor.name,
    created_at: now,
    expires_at: invitation.expiresAt,
  })
  await writeAudit(tx, now, actor, { action: 'invitation.created', ...auditOf(invitation) })
  return { invitation, token }
}

export function invitationLink(publicUrl: string, token: string): string {
  return `${publicUrl}/sign-up?invitation=${token}`
}

export function listInvitations(core: Core): Promise<Invitation[]> {
  return query<Invitation>(core.pool, `select ${COLUMNS} from invitations order by id desc limit $1`, [MAX_LISTED])
}

/** Revoking twice changes nothing. A used invitation cannot be revoked. */
export async function revokeInvitation(tx: Tx, now: Date, invitationId: string, actor: Actor): Promise<Invitation> {
  const [found] = isUuid(invitationId)
    ? await tx.rows<Invitation>(`select ${COLUMNS} from invitations where id = $1 for update`, [invitationId])
    : []
  if (!found) throw new Fault('not_found', 'Invitation not found')
  if (found.usedAt) throw new Fault('invitation_used', 'This invitation has already been used')
  return found.revokedAt ? found : revoke(tx, now, invitationId, actor)
}

/** For the page behind the link, which shows the e-mail, or says why the invitation cannot be used. */
export async function findInvitation(core: Core, token: string): Promise<Invitation> {
  const [found] = await query<Invitation>(core.pool, BY_TOKEN, [hashOf(token)])
  return usable(core.now(), found)
}

/** Locks the invitation: the second of two people who use it at once finds it used. */
export async function lockInvitation(tx: Tx, now: Date, token: string, email: string): Promise<Invitation> {
  const [found] = await tx.rows<Invitation>(`${BY_TOKEN} for update`, [hashOf(token)])
  const invitation = usable(now, found)
  if (invitation.email !== null && invitation.email !== email)
    throw new Fault('invitation_other_email', 'This invitation is for another e-mail address')
  return invitation
}

const BY_TOKEN = `select ${COLUMNS} from invitations where token_hash = $1`

function usable(now: Date, invitation: Invitation | undefined): Invitation {
  if (!invitation) throw new Fault('not_found', 'Invitation not found')
  // One refusal for both: endInvitation() revokes, and must not tell that the e-mail had an account.
  if (invitation.usedAt || invitation.revokedAt)
    throw new Fault('invitation_used', 'This invitation has been used or revoked: ask for a new one')
  if (invitation.expiresAt <= now)
    throw new Fault('invitation_expired', 'This invitation has expired: ask for a new one')
  return invitation
}

export async function markInvitationUsed(
  tx: Tx,
  now: Date,
  { invitationId, accountId }: { invitationId: string; accountId: string },
): Promise<void> {
  await tx.run('update invitations set used_at = $2, used_by = $3 where id = $1', [invitationId, now, accountId])
}

/** After somebody tried it with an e-mail that has an account. */
export async function endInvitation(tx: Tx, now: Date, invitationId: string): Promise<void> {
  await revoke(tx, now, invitationId, SYSTEM, 'tried with an e-mail that has an account')
}

async function revoke(tx: Tx, now: Date, invitationId: string, actor: Actor, reason?: string): Promise<Invitation> {
  const invitation = await tx.one<Invitation>(
    `update invitations set revoked_at = $2 where id = $1 returning ${COLUMNS}`,
    [invitationId, now],
  )
  await writeAudit(tx, now, actor, { action: 'invitation.revoked', ...auditOf(invitation), reason: reason ?? null })
  return invitation
}

function auditOf({ invitationId, email, expiresAt }: Invitation) {
  return { subject: `invitation ${invitationId}`, details: { email, expiresAt } }
}

// Plain SHA-256: the token is 192 random bits, which no dictionary holds.
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
