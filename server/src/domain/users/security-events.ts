import { query, transact, type Tx } from '../../db/tx.ts'
import { writeAudit, type Actor, type AuditAction } from '../core/audit-log.ts'
import { endVerifications } from './verifications.ts'
import type { Core } from '../core/core.ts'

// What happens around signing in, as the audit log keeps it: for the owner of the account, and for the operator.

export type SecurityAction =
  | 'session.opened'
  | 'password.changed'
  | 'password.reset'
  | 'second_factor.enabled'
  | 'second_factor.disabled'
  | 'second_factor.locked'
  | 'recovery_codes.made'
  | 'recovery_code.used'

/** By the person themselves. */
export async function auditSecurity(
  { pool, now }: Core,
  userId: string,
  action: SecurityAction,
  details: object = {},
): Promise<void> {
  await transact(pool, (tx) => auditSecurityIn(tx, now(), userId, { action, details }))
}

/** After a new password: links and half-done sign-ins from before end with the old one. */
export async function auditPasswordChange(
  { pool, now }: Core,
  userId: string,
  action: 'password.changed' | 'password.reset',
): Promise<void> {
  await transact(pool, async (tx) => {
    await endVerifications(tx, userId)
    // Following the link of a reset proves control of the mailbox.
    if (action === 'password.reset')
      await tx.run('update users set email_verified = true, updated_at = $2 where id = $1 and not email_verified', [
        userId,
        now(),
      ])
    await auditSecurityIn(tx, now(), userId, { action, details: {} })
  })
}

/** Without an actor: the person themselves. */
export async function auditSecurityIn(
  tx: Tx,
  now: Date,
  userId: string,
  {
    action,
    details,
    actor,
    reason = null,
  }: { action: AuditAction; details: object; actor?: Actor; reason?: string | null },
): Promise<void> {
  const [user] = await tx.rows<{ kind: 'account' | 'operator'; email: string; accountId: string | null }>(
    `select u.kind, u.email, a.id as "accountId" from users u left join accounts a on a.user_id = u.id where u.id = $1`,
    [userId],
  )
  const { kind, email, accountId } = user!
  const change = { action, subject: `user ${userId}`, accountId, reason, details }
  await writeAudit(tx, now, actor ?? { kind, name: email }, change)
}

/** Who has this e-mail, for the log. */
export async function findUserId(core: Core, email: string): Promise<string | undefined> {
  const [user] = await query<{ id: string }>(core.pool, 'select id from users where email = $1', [email])
  return user?.id
}

// ---- The second factor ----

/** The encrypted secret of the authenticator app. */
export async function findSecondFactor(core: Core, userId: string): Promise<{ secret: string } | undefined> {
  const [row] = await query<{ secret: string }>(core.pool, 'select secret from second_factors where user_id = $1', [
    userId,
  ])
  return row
}

/** False if a code of this time step or of a later one was accepted before. Of two at once, one is told true. */
export async function useTotpStep(core: Core, userId: string, step: number): Promise<boolean> {
  const rows = await query(
    core.pool,
    'update second_factors set last_step = $2 where user_id = $1 and last_step < $2 returning id',
    [userId, step],
  )
  return rows.length === 1
}

export async function isSecondFactorLocked(core: Core, userId: string): Promise<boolean> {
  // By the database's clock: better-auth writes the end of the lock by the machine's.
  const rows = await query(core.pool, 'select id from second_factors where user_id = $1 and locked_until > now()', [
    userId,
  ])
  return rows.length === 1
}
