import { Fault } from '../../base/fault.ts'
import { query, type Tx } from '../../db/tx.ts'
import { cursorNumber } from './cursor.ts'
import type { Core } from './core.ts'

/** Who does something: an operator by key or dashboard, an account holder by key or dashboard, somebody at the server's terminal, or guiche itself. */
export type Actor = {
  kind: 'operator' | 'account' | 'console' | 'system'
  name: string
  /** By which API key, if by one. */
  keyId?: string
}

export const SYSTEM: Actor = { kind: 'system', name: 'guiche' }

export const MAX_REASON_LENGTH = 500
export const REASON_RULE = `reason must be 1 to ${MAX_REASON_LENGTH} characters, without control characters`

/** What can be in the log. The web has words for each; codes.test.ts compares. */
export const AUDIT_ACTIONS = [
  'account.created',
  'account.suspended',
  'account.resumed',
  'account.terms_changed',
  'exception.opened',
  'exception.resolved',
  'exception.reopened',
  'refund.requested',
  'refund.ended',
  'reconcile.started',
  'history.seeded',
  'invitation.created',
  'invitation.revoked',
  'key.created',
  'key.revoked',
  'webhook.created',
  'webhook.changed',
  'webhook.deleted',
  'webhook.disabled',
  'webhook.secret_rotated',
  'operator.created',
  'operator.enabled',
  'operator.disabled',
  'session.opened',
  'sessions.ended',
  'password.changed',
  'password.reset',
  'password.set',
  'email.confirmed',
  'second_factor.enabled',
  'second_factor.disabled',
  'second_factor.locked',
  'recovery_codes.made',
  'recovery_code.used',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export type Change = {
  action: AuditAction
  subject: string
  accountId: string | null
  reason: string | null
  /** Before and after, or whatever tells what changed. Never a secret. */
  details: object
}

/** In the transaction of the change itself, so that there is none without its record. */
export async function writeAudit(tx: Tx, now: Date, actor: Actor, change: Change): Promise<void> {
  await tx.run(
    `insert into audit_log (at, actor_kind, actor, key_id, action, subject, account_id, reason, details)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      now,
      actor.kind,
      actor.name,
      actor.keyId ?? null,
      change.action,
      change.subject,
      change.accountId,
      change.reason,
      change.details,
    ],
  )
}

/** Why somebody did something, as it is kept: on one line, and never empty. */
export function checkReason(text: string): string {
  const reason = text.trim()
  const length = Array.from(reason).length
  if (length < 1 || length > MAX_REASON_LENGTH || /[\p{Cc}\p{Cs}]/u.test(reason))
    throw new Fault('field_invalid', REASON_RULE, { details: { field: 'reason' } })
  return reason
}

/** Only what differs, on both sides; undefined when nothing does. */
export function differenceOf<Fields extends object>(
  before: Fields,
  after: Fields,
): { before: Partial<Fields>; after: Partial<Fields> } | undefined {
  const changed = (Object.keys(after) as (keyof Fields)[]).filter(
    (key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  )
  if (changed.length === 0) return undefined
  const only = (side: Fields) => Object.fromEntries(changed.map((key) => [key, side[key]])) as Partial<Fields>
  return { before: only(before), after: only(after) }
}

// ---- Reading ----

export type LoggedChange = {
  id: string
  at: Date
  actorKind: Actor['kind']
  actor: string
  keyId: string | null
  action: string
  subject: string
  accountId: string | null
  reason: string | null
  details: Record<string, unknown>
}

export type AuditLogFilter = {
  accountId?: string
  actor?: string
  action?: string
  from?: Date
  to?: Date
  cursor?: string
  limit: number
}

/** Newest first. */
export async function listAuditLog(
  core: Core,
  filter: AuditLogFilter,
): Promise<{ changes: LoggedChange[]; nextCursor: string | null }> {
  const rows = await query<LoggedChange>(
    core.pool,
    `select id::text, at, actor_kind as "actorKind", actor, key_id as "keyId", action, subject, account_id as "accountId", reason, details
     from audit_log l
     where l.id < $1
       and ($2::uuid is null or l.account_id = $2)
       and ($3::text is null or l.actor = $3)
       and ($4::text is null or l.action = $4)
       and ($5::timestamptz is null or l.at >= $5)
       and ($6::timestamptz is null or l.at < $6)
     order by l.id desc limit $7`,
    [
      cursorNumber(filter.cursor),
      filter.accountId ?? null,
      filter.actor ?? null,
      filter.action ?? null,
      filter.from ?? null,
      filter.to ?? null,
      filter.limit + 1,
    ],
  )
  const changes = rows.slice(0, filter.limit)
  return { changes, nextCursor: rows.length > filter.limit ? changes.at(-1)!.id : null }
}
