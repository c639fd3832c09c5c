import { Fault } from '../../base/fault.ts'
import { randomPassword } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { checkReason, type Actor } from '../core/audit-log.ts'
import { disableSecondFactor } from './second-factor.ts'
import { auditSecurityIn, markEmailVerified } from './security-events.ts'
import { checkNewPassword, hashPassword, type UserKind } from './users.ts'
import { endVerification, endVerifications } from './verifications.ts'
import type { Core } from '../core/core.ts'

// What operators do for people who cannot sign in. They must know the person: no mailbox proves who asks.

/** Ends the person's sessions and links. Without a password it makes a random one, which only this call returns. */
export async function setPassword(
  core: Core,
  wanted: { kind: UserKind; email: string; password: string | null; reason: string; publicUrl: string },
  actor: Actor,
): Promise<{ email: string; password: string }> {
  const reason = checkReason(wanted.reason)
  const { userId, email, name } = await requireUser(core, wanted.kind, wanted.email)
  const { publicUrl } = wanted
  const password = checkNewPassword(wanted.password ?? randomPassword(), { email, name, publicUrl })
  const passwordHash = await hashPassword(password)
  const now = core.now()
  await transact(core.pool, async (tx) => {
    await storePassword(tx, now, userId, passwordHash)
    const isChanged = await markEmailVerified(tx, now, userId)
    await tx.run('delete from sessions where user_id = $1', [userId])
    await auditSecurityIn(tx, now, userId, { action: 'password.set', actor, reason, isChanged })
  })
  return { email, password }
}

/** For a person who lost the device: turns two-step verification off, removes all passkeys and ends the sessions. */
export async function resetTwoStep(
  core: Core,
  wanted: { kind: UserKind; email: string; reason: string },
  actor: Actor,
): Promise<{ email: string; hadTwoStep: boolean; passkeys: number; sessions: number }> {
  const reason = checkReason(wanted.reason)
  const { userId, email } = await requireUser(core, wanted.kind, wanted.email)
  const now = core.now()
  return transact(core.pool, async (tx) => {
    const sql = 'select two_factor_enabled as "hadTwoStep" from users where id = $1 for no key update'
    const { hadTwoStep } = await tx.one<{ hadTwoStep: boolean }>(sql, [userId])
    if (hadTwoStep) await disableSecondFactor(tx, now, userId)
    const passkeys = await tx.run('delete from passkeys where user_id = $1', [userId])
    const sessions = await tx.run('delete from sessions where user_id = $1', [userId])
    await endVerifications(tx, userId)
    const details = { passkeys }
    const change = { action: 'second_factor.disabled', actor, reason, details, isChanged: hadTwoStep } as const
    await auditSecurityIn(tx, now, userId, change)
    return { email, hadTwoStep, passkeys, sessions }
  })
}

/** By a link that was mailed, which proves control of the mailbox. False if the link was used meanwhile. */
export async function resetPassword(
  core: Core,
  { userId, token, password }: { userId: string; token: string; password: string },
): Promise<boolean> {
  const passwordHash = await hashPassword(password)
  const now = core.now()
  return transact(core.pool, async (tx) => {
    if (!(await endVerification(tx, token))) return false
    await storePassword(tx, now, userId, passwordHash)
    const isChanged = await markEmailVerified(tx, now, userId)
    await tx.run('delete from sessions where user_id = $1', [userId])
    await auditSecurityIn(tx, now, userId, { action: 'password.reset', isChanged })
    return true
  })
}

/** Older links and sign-ins that wait for a code end. */
export async function storePassword(tx: Tx, now: Date, userId: string, passwordHash: string): Promise<void> {
  const sql = 'update credentials set password = $2, updated_at = $3 where user_id = $1'
  await tx.run(sql, [userId, passwordHash, now])
  await endVerifications(tx, userId)
}

/** Does what the link in the e-mail does. Confirming twice changes nothing. */
export async function confirmEmail(core: Core, email: string, reason: string, actor: Actor): Promise<void> {
  const checked = checkReason(reason)
  const { userId } = await requireUser(core, 'account', email)
  const now = core.now()
  await transact(core.pool, async (tx) => {
    if (!(await markEmailVerified(tx, now, userId))) return
    await auditSecurityIn(tx, now, userId, { action: 'email.confirmed', actor, reason: checked, isChanged: true })
  })
}

/** By the link that was mailed. */
export async function confirmMailbox(core: Core, email: string): Promise<void> {
  const now = core.now()
  const sql = 'select id from users where email = $1 and not email_verified'
  await transact(core.pool, async (tx) => {
    const [user] = await tx.rows<{ id: string }>(sql, [email])
    if (user && (await markEmailVerified(tx, now, user.id)))
      await auditSecurityIn(tx, now, user.id, { action: 'email.confirmed', isChanged: true })
  })
}

export async function isUnconfirmed(core: Core, email: string): Promise<boolean> {
  return (await query(core.pool, 'select id from users where email = $1 and not email_verified', [email])).length > 0
}

async function requireUser(core: Core, kind: UserKind, email: string) {
  const [user] = await query<{ userId: string; email: string; name: string }>(
    core.pool,
    'select id as "userId", email, name from users where email = lower($1) and kind = $2',
    [email.trim(), kind],
  )
  if (user) return user
  throw new Fault('not_found', `No ${kind} has the e-mail ${email}; \`guiche ${kind} list\` shows them`)
}
