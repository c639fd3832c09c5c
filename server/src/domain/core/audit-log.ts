import { invalidField } from '../../base/fault.ts'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, type Tx } from '../../db/tx.ts'
import { cursorNumber, page, type ListFilter } from './cursor.ts'
import type { Core } from './core.ts'

/** Who changed something. `console` is the command line on the server, `system` is guiche itself. */
export type Actor = {
  kind: 'operator' | 'account' | 'console' | 'system'
  name: string
  keyId?: string
}

export const SYSTEM: Actor = { kind: 'system', name: 'guiche' }

export const MAX_REASON_LENGTH = 500
export const REASON_RULE = `reason must be 1 to ${MAX_REASON_LENGTH} characters, ${READABLE_RULE}`

/** Lines that may be deleted, as the trigger audit_log_kept allows; the index audit_log_sign_ins finds them. */
const SIGN_IN_ACTIONS = [
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
  'invitation.created',
  'invitation.revoked',
] as const

/** The dashboard has a label for each; codes.test.ts compares. */
export const AUDIT_ACTIONS = [
  'account.created',
  'account.suspended',
  'account.resumed',
  'account.terms_changed',
  'account.charges_canceled',
  'account.erased',
  'exception.opened',
  'exception.resolved',
  'exception.reopened',
  'refund.requested',
  'refund.ended',
  'reconcile.started',
  'history.seeded',
  'history.began',
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
  ...SIGN_IN_ACTIONS,
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export const IS_SIGN_IN = `action in (${SIGN_IN_ACTIONS.map((action) => `'${action}'`).join(', ')})`

/** Lines that privacy lets us erase, as the trigger audit_log_kept allows; those of an account only when it is erased. */
export const IS_PERSONAL = `(${IS_SIGN_IN} or action in ('account.created', 'key.created', 'key.revoked', 'webhook.created',
  'webhook.changed', 'webhook.deleted', 'webhook.disabled', 'webhook.secret_rotated'))`

export type Change = {
  action: AuditAction
  subject: string
  accountId?: string | null
  reason?: string | null
  /** What changed, usually before and after. Never a secret. */
  details?: object
}

/** Runs in the transaction of the change itself, so that no change goes unrecorded. */
export async function writeAudit(tx: Tx, now: Date, actor: Actor, change: Change): Promise<void> {
  await insertRow(tx, 'audit_log', {
    at: now,
    actor_kind: actor.kind,
    actor: actor.name,
    key_id: actor.keyId ?? null,
    action: change.action,
    subject: change.subject,
    account_id: change.accountId ?? null,
    reason: change.reason ?? null,
    details: change.details ?? {},
  })
}

/** The reason as it is stored: trimmed, on one line and never empty. */
export function checkReason(text: string): string {
  const reason = text.trim()
  const length = Array.from(reason).length
  if (length < 1 || length > MAX_REASON_LENGTH || !isReadable(reason)) throw invalidField('reason', REASON_RULE)
  return reason
}

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

export type AuditLogFilter = ListFilter & { accountId?: string; actor?: string; action?: string }

export async function listAuditLog(
  core: Core,
  { accountId, actor, action, from, to, cursor, limit }: AuditLogFilter,
): Promise<{ changes: LoggedChange[]; nextCursor: string | null }> {
  const rows = await query<LoggedChange>(
    core.pool,
    `select id::text, at, actor_kind as "actorKind", actor, key_id as "keyId", action, subject,
       account_id as "accountId", reason, details
     from audit_log l
     where l.id < $1
       and ($2::uuid is null or l.account_id = $2)
       and ($3::text is null or l.actor = $3)
       and ($4::text is null or l.action = $4)
       and ($5::timestamptz is null or l.at >= $5)
       and ($6::timestamptz is null or l.at < $6)
     order by l.id desc limit $7`,
    [cursorNumber(cursor), accountId, actor, action, from, to, limit + 1],
  )
  const { items: changes, nextCursor } = page(rows, limit, ({ id }) => id)
  return { changes, nextCursor }
}
