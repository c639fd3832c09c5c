import type { Pool } from '../db/pool.ts'
import { read, transact } from '../db/tx.ts'
import { overridesColumn } from './account-terms.ts'
import { noteChange } from './audit-log.ts'
import type { Context } from './context.ts'
import type { TermsOverrides } from './fees.ts'
import { SCOPES, type Caller, type OperatorCaller } from './key-cache.ts'
import { callerFromRow } from './keys.ts'
import { isPassword } from './sign-in.ts'

/** Somebody who is signed in to the dashboard. */
export type Session = {
  sessionId: string
  userId: string
  name: string
  isTwoFactor: boolean
  /** When the password was last given. */
  authenticatedAt: Date
  suspendedReason: string | null
  caller: Caller | OperatorCaller
}

// Long enough to set a few things up, short enough that a browser left open gives nobody a key.
const FRESH_MS = 15 * 60_000

/** Read for every request, by one statement: a session that was ended is refused from the next request on, everywhere. */
export async function findSession(ctx: Pick<Context, 'pool' | 'now'>, token: string): Promise<Session | undefined> {
  const [row] = await read<SessionRow>(
    ctx.pool,
    `select s.id as session_id, s.user_id, s.authenticated_at, u.name, u.two_factor_enabled, u.email,
       a.id as account_id, a.name as account_name, a.suspended_at, a.suspended_reason, ${overridesColumn('a')} as overrides,
       o.id as operator_id
     from sessions s join users u on u.id = s.user_id
       left join accounts a on a.user_id = u.id
       left join operators o on o.user_id = u.id and o.disabled_at is null
     where s.token = $1 and s.expires_at > $2 and coalesce(a.id, o.id) is not null`,
    [token, ctx.now()],
  )
  if (!row) return undefined
  return {
    sessionId: row.session_id,
    userId: row.user_id,
    name: row.name,
    isTwoFactor: row.two_factor_enabled,
    authenticatedAt: row.authenticated_at,
    suspendedReason: row.suspended_reason,
    caller: callerFromRow({ ...row, id: null, scopes: [...SCOPES] }),
  }
}

type SessionRow = {
  session_id: string
  user_id: string
  authenticated_at: Date
  name: string
  two_factor_enabled: boolean
  email: string
  suspended_at: Date | null
  suspended_reason: string | null
  overrides: TermsOverrides
} & (
  | { account_id: string; operator_id: null; account_name: string }
  | { account_id: null; operator_id: string; account_name: null }
)

export function isFresh(session: Session, now: Date): boolean {
  // A clock that steps back must not keep a session fresh, hence the absolute value.
  return Math.abs(now.getTime() - session.authenticatedAt.getTime()) < FRESH_MS
}

/** With the right password, what changes security may be done for a while. */
export async function reauthenticate(
  ctx: Pick<Context, 'pool' | 'now'>,
  { sessionId, userId }: Session,
  password: string,
): Promise<boolean> {
  const [credential] = await read<{ password: string }>(
    ctx.pool,
    'select password from credentials where user_id = $1',
    [userId],
  )
  if (!credential || !(await isPassword(credential.password, password))) return false
  // Not if the password was changed while this one was being checked.
  const [made] = await read(
    ctx.pool,
    `update sessions s set authenticated_at = $2 from credentials c
     where s.id = $1 and c.user_id = s.user_id and c.password = $3 returning s.id`,
    [sessionId, ctx.now(), credential.password],
  )
  return made !== undefined
}

/** False for operators who were disabled: they get no further than the password. */
export async function maySignIn(pool: Pool, userId: string): Promise<boolean> {
  const rows = await read(pool, 'select id from operators where user_id = $1 and disabled_at is not null', [userId])
  return rows.length === 0
}

/** Whoever could follow the link that we mailed reads that mail. */
export async function markEmailVerified(pool: Pool, now: Date, userId: string): Promise<void> {
  await read(pool, 'update users set email_verified = true, updated_at = $2 where id = $1 and not email_verified', [
    userId,
    now,
  ])
}

/** For the owner of the account, and for the operator: what somebody changed about how they sign in. */
export async function noteSecurity(
  { pool, now }: Pick<Context, 'pool' | 'now'>,
  userId: string,
  action:
    | 'password.changed'
    | 'password.reset'
    | 'second_factor.enabled'
    | 'second_factor.disabled'
    | 'recovery_codes.made',
): Promise<void> {
  await transact(pool, async (tx) => {
    const [user] = await tx.rows<{ kind: 'account' | 'operator'; email: string; accountId: string | null }>(
      `select u.kind, u.email, a.id as "accountId" from users u left join accounts a on a.user_id = u.id where u.id = $1`,
      [userId],
    )
    const { kind, email, accountId } = user!
    const change = { action, subject: `user ${userId}`, accountId, reason: null, details: {} }
    await noteChange(tx, now(), { kind, name: email }, change)
  })
}

// A purge that holds its locks for milliseconds only.
const PURGE_LIMIT = 1_000

export async function purgeSessions(pool: Pool, now: Date): Promise<void> {
  for (const table of ['sessions', 'verifications']) {
    await transact(pool, (tx) =>
      tx.run(
        `delete from ${table} where id in (
           select id from ${table} where expires_at <= $1 order by expires_at limit $2 for update skip locked
         )`,
        [now, PURGE_LIMIT],
      ),
    )
  }
}
