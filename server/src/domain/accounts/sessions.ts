import { randomBytes } from 'node:crypto'
import { isUuid, newUuid7 } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { readAccountRow } from './accounts.ts'
import { overridesColumn } from './terms.ts'
import { checkReason, writeAudit, type Actor } from '../core/audit-log.ts'
import { type Caller, type OperatorCaller, callerFromRow, type HolderRow } from './callers.ts'
import { ROLES, type Role } from './roles.ts'
import { isPassword } from '../users/users.ts'
import { endVerifications } from '../users/verifications.ts'
import type { Core } from '../core/core.ts'

/** A person who is signed in to the dashboard. */
export type Session = {
  sessionId: string
  userId: string
  name: string
  isTwoFactor: boolean
  /** A passkey is two factors at once. */
  isByPasskey: boolean
  /** When the person last gave the password. */
  authenticatedAt: Date
  suspendedReason: string | null
  /** Null for an operator. */
  role: Role | null
  /** The account demands a second factor of its members. */
  requiresSecondFactor: boolean
  caller: Caller | OperatorCaller
}

// Long enough to set a few things up, short enough that a browser left open gives away no key.
const FRESH_MS = 15 * 60_000

// Inactivity is measured in minutes, so a busy session is written no more often than this.
const LAST_USED_EVERY_MS = 60_000

/**
 * Read by one statement for every request, so that an ended session fails everywhere from the next request on. A
 * request that a page makes by itself (isUnattended) does not count as use.
 */
export async function findSession(
  core: Core,
  token: string,
  { isUnattended }: { isUnattended: boolean },
): Promise<Session | undefined> {
  const now = core.now()
  const [row] = await query<SessionRow>(
    core.pool,
    `select s.id as session_id, s.user_id, s.by_passkey, s.authenticated_at, greatest(s.authenticated_at, s.last_used_at) as used_at,
       u.name, u.two_factor_enabled, u.email,
       m.role, a.id as account_id, a.name as account_name, a.suspended_at, a.suspended_reason,
       a.requires_second_factor, ${overridesColumn('a')} as overrides, o.id as operator_id
     from sessions s join users u on u.id = s.user_id
       left join members m on m.user_id = u.id and u.kind = 'account' and m.removed_at is null
         and m.account_id = coalesce(s.account_id, (select c.id from accounts c where c.user_id = u.id))
       left join accounts a on a.id = m.account_id and a.erased_at is null
       left join operators o on o.user_id = u.id and o.disabled_at is null
     where s.token = $1 and s.expires_at > $2 and coalesce(a.id, o.id) is not null`,
    [token, now],
  )
  if (!row) return undefined
  const { idleMinutes } = core.settings.signIn.sessions[row.operator_id === null ? 'account' : 'operator']
  const unusedMs = now.getTime() - row.used_at.getTime()
  if (idleMinutes > 0) {
    if (unusedMs >= idleMinutes * 60_000) return undefined
    if (unusedMs >= LAST_USED_EVERY_MS && !isUnattended)
      await query(core.pool, 'update sessions set last_used_at = $2 where id = $1', [row.session_id, now])
  }
  return {
    sessionId: row.session_id,
    userId: row.user_id,
    name: row.name,
    isTwoFactor: row.two_factor_enabled,
    isByPasskey: row.by_passkey,
    authenticatedAt: row.authenticated_at,
    suspendedReason: row.suspended_reason,
    role: row.role,
    requiresSecondFactor: row.requires_second_factor ?? false,
    caller: callerFromRow({ ...row, id: null, scopes: row.role === null ? [] : [...ROLES[row.role]] }),
  }
}

type SessionRow = HolderRow<string | null> & {
  session_id: string
  user_id: string
  authenticated_at: Date
  used_at: Date
  name: string
  two_factor_enabled: boolean
  by_passkey: boolean
  suspended_reason: string | null
  role: Role | null
  requires_second_factor: boolean | null
}

export function isFresh(session: Session, now: Date): boolean {
  // A clock that steps back must not keep a session fresh, hence the absolute value.
  return Math.abs(now.getTime() - session.authenticatedAt.getTime()) < FRESH_MS
}

/** The right password makes the session fresh again. */
export async function reauthenticate(core: Core, { sessionId, userId }: Session, password: string): Promise<boolean> {
  const select = 'select password from credentials where user_id = $1'
  const [credential] = await query<{ password: string }>(core.pool, select, [userId])
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

// Some browsers are never closed.
const HOURS_UNTIL_CLOSED = 24

/** What the cookie of a session needs. */
export type SessionToken = { token: string; expiresAt: Date; isUntilClosed: boolean }

export type NewSession = {
  userId: string
  /** How long it lasts, unless it ends with the browser before. */
  hours: number
  isUntilClosed: boolean
  isByPasskey?: boolean
  address: string
  userAgent: string | null
}

/** Undefined for a disabled operator, and for a person who is a member of no account. */
export async function openSession(tx: Tx, now: Date, wanted: NewSession): Promise<SessionToken | undefined> {
  const { userId, isUntilClosed, isByPasskey = false, address, userAgent } = wanted
  const hours = isUntilClosed ? Math.min(wanted.hours, HOURS_UNTIL_CLOSED) : wanted.hours
  const expiresAt = new Date(now.getTime() + hours * 3_600_000)
  const [opened] = await tx.rows<SessionToken>(
    `insert into sessions (id, user_id, token, created_at, expires_at, authenticated_at, until_closed, ip_address,
       user_agent, by_passkey, account_id)
     select $1, u.id, $3, $4, $5, $4, $6, $7, $8, $9, m.account_id
     from users u left join operators o on o.user_id = u.id
       left join lateral (${MEMBERSHIPS} and m.user_id = u.id order by ${NEWEST_USED} limit 1) m on u.kind = 'account'
     where u.id = $2 and o.disabled_at is null and coalesce(m.account_id, o.id) is not null returning ${TOKEN}`,
    [newUuid7(now), userId, newToken(), now, expiresAt, isUntilClosed, address, userAgent, isByPasskey],
  )
  return opened
}

const MEMBERSHIPS = `select m.account_id, m.role, a.name from members m join accounts a on a.id = m.account_id
  where m.removed_at is null and a.erased_at is null`
const NEWEST_USED = 'm.used_at desc nulls last, m.added_at, m.account_id'

export type Membership = { accountId: string; name: string; role: Role }

// Enough for an accountant; a menu with more could not be read.
const MAX_MEMBERSHIPS = 100

/** The accounts that the person may act for, the newest used first. */
export async function listMemberships(core: Core, userId: string): Promise<Membership[]> {
  return query<Membership>(
    core.pool,
    `select account_id as "accountId", name, role from (${MEMBERSHIPS} and m.user_id = $1
     order by ${NEWEST_USED} limit ${MAX_MEMBERSHIPS}) m`,
    [userId],
  )
}

/** From the next request on the session acts for this account. False if the person is no member of it. */
export function switchAccount(core: Core, session: Session, accountId: string): Promise<boolean> {
  return transact(core.pool, async (tx) => {
    const used = `update members m set used_at = $3 from accounts a where m.user_id = $1 and m.account_id = $2
      and m.removed_at is null and a.id = m.account_id and a.erased_at is null`
    if (!isUuid(accountId) || (await tx.run(used, [session.userId, accountId, core.now()])) === 0) return false
    await tx.run('update sessions set account_id = $2 where id = $1', [session.sessionId, accountId])
    return true
  })
}

/** After a change of how the person signs in: a copy of the old cookie opens nothing. */
export function renewToken(tx: Tx, { sessionId }: Session): Promise<SessionToken> {
  return tx.one<SessionToken>(`update sessions set token = $2 where id = $1 returning ${TOKEN}`, [
    sessionId,
    newToken(),
  ])
}

const TOKEN = 'token, expires_at as "expiresAt", until_closed as "isUntilClosed"'

function newToken(): string {
  return randomBytes(24).toString('base64url')
}

export type ListedSession = {
  token: string
  userId: string
  createdAt: Date
  ipAddress: string | null
  userAgent: string | null
  isCurrent: boolean
}

export function listSessions(core: Core, { userId, sessionId }: Session): Promise<ListedSession[]> {
  return query<ListedSession>(
    core.pool,
    `select token, user_id as "userId", created_at as "createdAt", ip_address as "ipAddress",
       user_agent as "userAgent", id = $2 as "isCurrent"
     from sessions where user_id = $1 and expires_at > $3 order by created_at desc`,
    [userId, sessionId, core.now()],
  )
}

export async function endSession(core: Core, { userId }: Session, token: string): Promise<void> {
  await query(core.pool, 'delete from sessions where user_id = $1 and token = $2', [userId, token])
}

export async function endOtherSessions(tx: Tx, { userId, sessionId }: Session): Promise<void> {
  await tx.run('delete from sessions where user_id = $1 and id <> $2', [userId, sessionId])
}

/** Of all members, for operators, when somebody lost a device or must leave. Returns the number of sessions ended. */
export async function endSessions(core: Core, actor: Actor, accountId: string, reason: string): Promise<number> {
  const checked = checkReason(reason)
  return transact(core.pool, async (tx) => {
    await readAccountRow(tx, accountId, 'a.id')
    const sql = 'select user_id as "userId" from members where account_id = $1 and removed_at is null order by user_id'
    const members = (await tx.rows<{ userId: string }>(sql, [accountId])).map(({ userId }) => userId)
    const ended = await tx.run('delete from sessions where user_id = any($1)', [members])
    for (const userId of members) await endVerifications(tx, userId)
    const change = { subject: `account ${accountId}`, accountId, reason: checked, details: { ended } }
    await writeAudit(tx, core.now(), actor, { action: 'sessions.ended', ...change })
    return ended
  })
}

// Small enough that a purge holds its locks for milliseconds.
const PURGE_LIMIT = 1_000

export async function purgeSessions(core: Core, now: Date): Promise<void> {
  for (const [table, key] of [
    ['sessions', 'id'],
    ['verifications', 'identifier'],
    ['passkey_challenges', 'hash'],
  ]) {
    await transact(core.pool, (tx) =>
      tx.run(
        `delete from ${table} where ${key} in (
           select ${key} from ${table} where expires_at <= $1 order by expires_at limit $2 for update skip locked
         )`,
        [now, PURGE_LIMIT],
      ),
    )
  }
}
