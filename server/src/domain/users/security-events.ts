import { queryOne, transact, type Tx } from '../../db/tx.ts'
import { IS_SIGN_IN, writeAudit, type Actor, type AuditAction, type Change } from '../core/audit-log.ts'
import type { UserKind } from './users.ts'
import type { Core } from '../core/core.ts'

// Sign-in and its settings in the audit log, for the account holder and for the operator.

export type SecurityAction = Extract<
  AuditAction,
  | `session.${string}`
  | `password.${'changed' | 'reset'}`
  | `second_factor.${string}`
  | `passkey.${string}`
  | `recovery_code${string}`
>

/** The person acted themselves. */
export async function auditSecurity(
  { pool, now }: Core,
  userId: string,
  action: SecurityAction,
  details: object = {},
): Promise<void> {
  await transact(pool, (tx) => auditSecurityIn(tx, now(), userId, { action, details }))
}

/** Without an actor it was the person themselves. `isChanged`: the person's row of `users` was changed too. */
export async function auditSecurityIn(
  tx: Tx,
  now: Date,
  userId: string,
  {
    actor,
    isChanged = false,
    ...change
  }: Pick<Change, 'action' | 'details' | 'reason'> & {
    actor?: Actor
    isChanged?: boolean
  },
): Promise<void> {
  const { kind, email, accountId } = await tx.one<{ kind: UserKind; email: string; accountId: string | null }>(
    `select u.kind, u.email, (
       select m.account_id from members m where m.user_id = u.id and m.removed_at is null
       order by m.used_at desc nulls last, m.added_at limit 1
     ) as "accountId" from users u where u.id = $1`,
    [userId],
  )
  const rows = isChanged ? [['user', userId] as const] : []
  await writeAudit(tx, now, actor ?? { kind, name: email }, { ...change, subject: `user ${userId}`, accountId, rows })
}

/** Whether the person signed in before, and never from this network. The first sign-in is news to nobody. */
export async function isNewPlace(core: Core, userId: string, network: string): Promise<boolean> {
  const { isNew } = await queryOne<{ isNew: boolean | null }>(
    core.pool,
    `select not bool_or(l.details ->> 'network' = $2) as "isNew" from users u
     join audit_log l on l.actor = u.email and l.action = 'session.opened' and l.subject = 'user ' || u.id
     where u.id = $1`,
    [userId, network],
  )
  return isNew ?? false
}

/** False if it was verified before. */
export async function markEmailVerified(tx: Tx, now: Date, userId: string): Promise<boolean> {
  const sql = 'update users set email_verified = true, updated_at = $2 where id = $1 and not email_verified'
  return (await tx.run(sql, [userId, now])) > 0
}

// ---- Retention ----

const DAY_MS = 24 * 3_600_000
// Keeps the locks of a purge to milliseconds.
const PURGE_LIMIT = 1_000

/**
 * Deletes lines about sign-ins and invitations, and the invitations themselves, after RETAIN_SIGN_INS_DAYS. A line that
 * proves whose e-mail is confirmed, or who has a second factor, stays.
 */
export async function purgeSignIns({ pool, now, settings }: Core): Promise<'more' | 'idle'> {
  const { signInsDays } = settings.retention
  if (signInsDays === 0) return 'idle'
  const before = new Date(now().getTime() - signInsDays * DAY_MS)
  return transact(pool, async (tx) => {
    // There are few invitations, which operators make one by one.
    for (const table of ['invitations', 'member_invitations'])
      await tx.run(`delete from ${table} where expires_at < $1`, [before])
    const deleted = await tx.run(
      `delete from audit_log where id in (
         select id from audit_log where ${IS_SIGN_IN} and at < $1 and rows is null order by at limit $2
         for update skip locked
       )`,
      [before, PURGE_LIMIT],
    )
    return deleted === PURGE_LIMIT ? 'more' : 'idle'
  })
}
