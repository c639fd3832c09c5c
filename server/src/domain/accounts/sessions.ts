import { Fault } from '../../base/fault.ts'
import { isUuid } from '../../base/ids.ts'
import { query, transact } from '../../db/tx.ts'
import { overridesColumn } from './terms.ts'
import { checkReason, writeAudit, type Actor } from '../core/audit-log.ts'
import type { TermsOverrides } from './pricing.ts'
import { SCOPES, type Caller, type OperatorCaller } from './callers.ts'
import { callerFromRow } from './api-keys.ts'
import { isPassword } from '../users/users.ts'
import { endVerifications } from '../users/verifications.ts'
import type { Core } from '../core/core.ts'

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

// Inactivity is measured in minutes, so a session that is busy is written this often and no more.
const NOTE_USE_MS = 60_000

/**
 * Read for every request, by one statement: a session that was ended is refused from the next request on, everywhere. A request that a page made by itself
 * (isUnattended) does not count as use.
 */
export async function findSession(
  core: Core,
  token: string,
  { isUnattended }: { isUnattended: boolean },
): Promise<Session | undefined> {
  const now = core.now()
  const [row] = await query<SessionRow>(
    core.pool,
    `select s.id as session_id, s.user_id, s.authenticated_at, greatest(s.authenticated_at, s.last_used_at) as used_at,
       u.name, u.two_factor_enabled, u.email,
       a.id as account_id, a.name as account_name, a.suspended_at, a.suspended_reason, ${overridesColumn('a')} as overrides,
       o.id as operator_id
     from sessions s join users u on u.id = s.user_id
       left join accounts a on a.user_id = u.id
       left join operators o on o.user_id = u.id and o.disabled_at is null
     where s.token = $1 and s.expires_at > $2 and coalesce(a.id, o.id) is not null`,
    [token, now],
  )
  if (!row) return undefined
  const { idleMinutes } = core.settings.signIn.sessions[row.operator_id === null ? 'account' : 'operator']
  const unusedMs = now.getTime() - row.used_at.getTime()
  if (idleMinutes > 0) {
    if (unusedMs >= idleMinutes * 60_000) return undefined
    if (unusedMs >= NOTE_USE_MS && !isUnattended) await touchLastUsed(core, now, row.session_id)
  }
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

async function touchLastUsed(core: Core, now: Date, sessionId: string): Promise<void> {
  await query(core.pool, 'update sessions set last_used_at = $2 where id = $1', [sessionId, now])
}

type SessionRow = {
  session_id: string
  user_id: string
  authenticated_at: Date
  used_at: Date
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
export async function reauthenticate(core: Core, { sessionId, userId }: Session, password: string): Promise<boolean> {
  const [credential] = await query<{ password: string }>(
    core.pool,
    'select password from credentials where user_id = $1',
    [userId],
  )
  if (!credential || !(await isPassword(credential.password, password))) return false
  // Not if the password was changed while this one was being checked.
  const [made] = await query(
    core.pool,
    `update sessions s set authenticated_at = $2 from credentials c
     where s.id = $1 and c.user_id = s.user_id and c.password = $3 returning s.id`,
    [sessionId, core.now(), credential.password],
  )
  return made !== undefined
}

/** How long a new session of this person may last, in milliseconds; undefined for an operator who was disabled, who gets none. */
export async function sessionLifeMs(core: Core, userId: string): Promise<number | undefined> {
  const [user] = await query<{ kind: 'account' | 'operator'; isDisabled: boolean }>(
    core.pool,
    `select u.kind, o.disabled_at is not null as "isDisabled"
     from users u left join operators o on o.user_id = u.id where u.id = $1`,
    [userId],
  )
  if (!user || user.isDisabled) return undefined
  return core.settings.signIn.sessions[user.kind].hours * 3_600_000
}

/** For somebody else's sessions, who may have lost a device or should not be in any more. Returns how many there were. */
export async function endSessions(core: Core, actor: Actor, accountId: string, reason: string): Promise<number> {
  const checked = checkReason(reason)
  return transact(core.pool, async (tx) => {
    const [account] = isUuid(accountId)
      ? await tx.rows<{ userId: string }>('select user_id as "userId" from accounts where id = $1', [accountId])
      : []
    if (!account) throw new Fault('not_found', 'Account not found')
    const ended = await tx.run('delete from sessions where user_id = $1', [account.userId])
    await endVerifications(tx, account.userId)
    await writeAudit(tx, core.now(), actor, {
      action: 'sessions.ended',
      subject: `user ${account.userId}`,
      accountId,
      reason: checked,
      details: { ended },
    })
    return ended
  })
}

// A purge that holds its locks for milliseconds only.
const PURGE_LIMIT = 1_000

export async function purgeSessions(core: Core, now: Date): Promise<void> {
  for (const table of ['sessions', 'verifications']) {
    await transact(core.pool, (tx) =>
      tx.run(
        `delete from ${table} where id in (
           select id from ${table} where expires_at <= $1 order by expires_at limit $2 for update skip locked
         )`,
        [now, PURGE_LIMIT],
      ),
    )
  }
}
