import { invalidField } from '../../base/fault.ts'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import { query, type Tx } from '../../db/tx.ts'
import { cursorNumber, page, type ListFilter } from './cursor.ts'
import type { Core } from './core.ts'
import { LINE, namedRows, rowSealText, underMark, type RowName } from './seals.ts'

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
  'account.time_zone_changed',
  'account.brand_changed',
  'account.charges_canceled',
  'account.erased',
  'account.second_factor_demanded',
  'member.invited',
  'member.uninvited',
  'member.joined',
  'member.role_changed',
  'member.removed',
  'passkey.added',
  'passkey.removed',
  'exception.opened',
  'exception.noted',
  'exception.resolved',
  'exception.reopened',
  'refund.requested',
  'refund.ended',
  'payout.requested',
  'payout.paid',
  'payout.rejected',
  'dispute.opened',
  'dispute.ended',
  'dispute.evidence_given',
  'code.created',
  'code.changed',
  'code.closed',
  'reconcile.started',
  'reconcile.began',
  'day.closed',
  'history.seeded',
  'history.began',
  'history.sealed',
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

/** Lines that privacy lets us erase, as the trigger audit_log_kept allows. Those of an account go when it is erased. */
export const IS_PERSONAL = `(${IS_SIGN_IN} or action in ('account.created', 'key.created', 'key.revoked', 'webhook.created',
  'webhook.changed', 'webhook.deleted', 'webhook.disabled', 'webhook.secret_rotated', 'member.invited',
  'member.uninvited', 'member.joined', 'member.role_changed', 'member.removed', 'account.second_factor_demanded',
  'passkey.added', 'passkey.removed'))`

export type Change = {
  action: AuditAction
  subject: string
  accountId?: string | null
  reason?: string | null
  /** What changed, usually before and after. Never a secret. */
  details?: object
  /** The rows that this change wrote, of those that core/seals.ts lists. */
  rows?: readonly RowName[]
}

/** Runs in the transaction of the change itself, after it, so that no change goes unrecorded. */
export async function writeAudit(tx: Tx, now: Date, actor: Actor, { rows = [], ...change }: Change): Promise<void> {
  await writeLine(tx, now, actor, change, rows.length === 0 ? null : await sealRows(tx, rows))
}

/** By name, the seals of rows as they are now. */
export type RowSeals = Record<string, string>

async function sealRows(tx: Tx, names: readonly RowName[]): Promise<RowSeals> {
  const { sql, params } = namedRows(names)
  const rows = await tx.rows<{ name: string; text: string }>(sql, params)
  if (rows.length !== names.length) throw new Error(`Rows of a change are not there: ${names.join(', ')}`)
  return Object.fromEntries(rows.map(({ name, text }) => [name, sealOfRow(tx, name, text)]))
}

export function sealOfRow({ sealer }: Pick<Tx, 'sealer'>, name: string, text: string): string {
  return sealer.seal(rowSealText(name, text)).toString('hex')
}

export function fitsRow({ sealer }: Pick<Tx, 'sealer'>, name: string, text: string, seal: string): boolean {
  return sealer.fits(Buffer.from(seal, 'hex'), rowSealText(name, text))
}

/** The number of the line is sealed too: an old line, written again, would bring back an old state of its rows. */
export async function writeLine(
  tx: Tx,
  now: Date,
  actor: Actor,
  change: Omit<Change, 'rows'>,
  seals: RowSeals | null,
): Promise<string> {
  const { id, details, mark } = await tx.one<{ id: string; details: string; mark: string }>(
    `select nextval(pg_get_serial_sequence('audit_log', 'id'))::text as id, $1::jsonb::text as details,
       coalesce((select max(line_id) from seal_marks), 0)::text as mark`,
    [JSON.stringify(change.details ?? {})],
  )
  const line = {
    id,
    at: now,
    actorKind: actor.kind,
    actor: actor.name,
    keyId: actor.keyId ?? null,
    action: change.action,
    subject: change.subject,
    accountId: change.accountId ?? null,
    reason: change.reason ?? null,
    details,
    rows: seals && JSON.stringify(seals),
  }
  const values = [...Object.values(line), tx.sealer.seal(underMark(LINE.textOf(line), mark))]
  await tx.run(
    `insert into audit_log (id, at, actor_kind, actor, key_id, action, subject, account_id, reason, details, rows, seal)
     overriding system value values (${values.map((_, index) => `$${index + 1}`).join(', ')})`,
    values,
  )
  return id
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
