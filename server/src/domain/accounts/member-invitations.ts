import { createHash, randomBytes } from 'node:crypto'
import { Fault } from '../../base/fault.ts'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import type { RowName } from '../core/seals.ts'
import { checkEmail, checkPerson, insertUser } from '../users/users.ts'
import { addMember, lockAccount, MAX_MEMBERS } from './members.ts'
import type { Role } from './roles.ts'

// An owner invites by e-mail. Following the link proves control of the mailbox, so whoever has no sign-in yet makes one
// with a confirmed e-mail. An invitation that was used or revoked is deleted.

export type MemberInvitation = {
  invitationId: string
  email: string
  role: Role
  invitedBy: string
  createdAt: Date
  expiresAt: Date
}

const EXPIRES_MS = 7 * 24 * 3_600_000

const COLUMNS = `i.id as "invitationId", i.email, i.role, i.invited_by as "invitedBy", i.created_at as "createdAt",
  i.expires_at as "expiresAt"`

export function listMemberInvitations(core: Core, accountId: string): Promise<MemberInvitation[]> {
  const sql = `select ${COLUMNS} from member_invitations i where i.account_id = $1 order by i.id desc`
  return query<MemberInvitation>(core.pool, sql, [accountId])
}

type WithToken = { invitation: MemberInvitation; token: string; accountName: string }

/** Returns the token, which is mailed and never stored. It replaces an earlier invitation of the same e-mail. */
export async function inviteMember(
  core: Core,
  actor: Actor,
  { accountId, role, ...wanted }: { accountId: string; email: string; role: Role },
): Promise<WithToken> {
  const email = checkEmail(wanted.email)
  const now = core.now()
  const token = randomBytes(24).toString('base64url')
  return transact(core.pool, async (tx) => {
    const { name: accountName } = await lockAccount(tx, accountId)
    await tx.run('delete from member_invitations where account_id = $1 and email = $2', [accountId, email])
    await checkRoom(tx, accountId, email)
    const invitation = { invitationId: newUuid7(now), email, role, invitedBy: actor.name, createdAt: now }
    const whole = { ...invitation, expiresAt: new Date(now.getTime() + EXPIRES_MS) }
    await insertRow(tx, 'member_invitations', {
      id: whole.invitationId,
      account_id: accountId,
      email,
      role,
      token_hash: hashOf(token),
      invited_by: actor.name,
      created_at: now,
      expires_at: whole.expiresAt,
      seal: tx.sealer.seal(sealedText(accountId, whole, token)),
    })
    const details = { email, role, expiresAt: whole.expiresAt }
    const subject = `invitation ${whole.invitationId}`
    await writeAudit(tx, now, actor, { action: 'member.invited', subject, accountId, details })
    return { invitation: whole, token, accountName }
  })
}

async function checkRoom(tx: Tx, accountId: string, email: string): Promise<void> {
  const { people, isMember } = await tx.one<{ people: number; isMember: boolean }>(
    `select count(*) + (select count(*) from member_invitations where account_id = $1) as people,
       coalesce(bool_or(u.email = $2), false) as "isMember"
     from members m join users u on u.id = m.user_id where m.account_id = $1 and m.removed_at is null`,
    [accountId, email],
  )
  if (isMember) throw new Fault('already_member', `${email} is a member of this account`)
  if (people >= MAX_MEMBERS)
    throw new Fault('member_limit', `An account can have at most ${MAX_MEMBERS} members and open invitations`, {
      details: { maxMembers: MAX_MEMBERS },
    })
}

export async function revokeMemberInvitation(
  core: Core,
  actor: Actor,
  accountId: string,
  invitationId: string,
): Promise<void> {
  await transact(core.pool, async (tx) => {
    await lockAccount(tx, accountId)
    const sql = 'delete from member_invitations where account_id = $1 and id = $2 returning email, role'
    const [gone] = isUuid(invitationId) ? await tx.rows<object>(sql, [accountId, invitationId]) : []
    if (!gone) throw new Fault('not_found', 'Invitation not found')
    const subject = `invitation ${invitationId}`
    await writeAudit(tx, core.now(), actor, { action: 'member.uninvited', subject, accountId, details: gone })
  })
}

// ---- Accepting ----

export type FoundInvitation = { accountId: string; accountName: string; email: string; role: Role; hasSignIn: boolean }

/** For the page behind the link. Only who reads that mailbox learns whether the e-mail has a sign-in. */
export async function findMemberInvitation(core: Core, token: string): Promise<FoundInvitation> {
  const [found] = await query<FoundInvitation & MemberInvitation>(core.pool, BY_TOKEN, [hashOf(token)])
  const { accountId, accountName, email, role, hasSignIn } = usable(core.now(), found)
  return { accountId, accountName, email, role, hasSignIn }
}

/** `person` is signed in with the e-mail of the invitation. Returns the account. */
export async function joinAccount(
  core: Core,
  token: string,
  person: { userId: string; email: string },
): Promise<string> {
  return transact(core.pool, (tx) => join(tx, core.now(), token, async () => person))
}

/** Makes the sign-in too. */
export async function joinWithNewSignIn(
  core: Core,
  token: string,
  wanted: { name: string; password: string },
): Promise<{ email: string }> {
  const { email } = await findMemberInvitation(core, token)
  const { publicUrl } = core.settings
  const checked = await checkPerson('A member', { ...wanted, email, publicUrl })
  const now = core.now()
  await transact(core.pool, (tx) =>
    join(tx, now, token, async () => {
      const userId = await insertUser(tx, now, { kind: 'account', ...checked })
      if (!userId) throw new Fault('email_taken', `${email} has a sign-in: sign in with it to join`)
      return { userId, email, isNew: true }
    }),
  )
  return { email }
}

async function join(
  tx: Tx,
  now: Date,
  token: string,
  findPerson: () => Promise<{ userId: string; email: string; isNew?: boolean }>,
): Promise<string> {
  const [seen] = await tx.rows<{ accountId: string }>(BY_TOKEN, [hashOf(token)])
  if (!seen) throw invitationGone()
  await lockAccount(tx, seen.accountId)
  const [found] = await tx.rows<FoundInvitation & MemberInvitation & { seal: Buffer }>(BY_TOKEN, [hashOf(token)])
  const invitation = usable(now, found)
  const { accountId, email, role } = invitation
  if (!tx.sealer.fits(invitation.seal, sealedText(accountId, invitation, token)))
    throw new Error(`Invitation ${invitation.invitationId} was not written by guiche, or altered since`)
  const person = await findPerson()
  if (person.email !== email) throw new Fault('invitation_other_email', 'This invitation is for another e-mail address')
  await tx.run('delete from member_invitations where id = $1', [invitation.invitationId])
  const member = await addMember(tx, now, { accountId, userId: person.userId, role })
  if (!member) throw new Fault('already_member', 'You are a member of this account')
  const rows: RowName[] = [member, ...(person.isNew ? [['user', person.userId] as const] : [])]
  const change = { subject: `user ${person.userId}`, accountId, details: { email, role }, rows }
  await writeAudit(tx, now, { kind: 'account', name: email }, { action: 'member.joined', ...change })
  return accountId
}

const BY_TOKEN = `select ${COLUMNS}, i.account_id as "accountId", i.seal, a.name as "accountName",
    exists (select from users u where u.email = i.email) as "hasSignIn"
  from member_invitations i join accounts a on a.id = i.account_id and a.erased_at is null where i.token_hash = $1`

function usable<Row extends MemberInvitation>(now: Date, invitation: Row | undefined): Row {
  if (!invitation) throw invitationGone()
  if (invitation.expiresAt <= now)
    throw new Fault('invitation_expired', 'This invitation has expired: ask for a new one')
  return invitation
}

function invitationGone(): Fault {
  return new Fault('invitation_used', 'This invitation has been used or revoked: ask for a new one')
}

/** The key of the seal is not in the database: a row that was written by hand lets nobody in. */
function sealedText(accountId: string, { invitationId, email, role, expiresAt }: MemberInvitation, token: string) {
  return JSON.stringify(['member_invitation', invitationId, accountId, email, role, expiresAt.getTime(), token])
}

// Plain SHA-256: the token is 192 random bits, which no dictionary holds.
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
