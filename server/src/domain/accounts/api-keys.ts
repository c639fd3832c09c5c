import { Fault, invalidField } from '../../base/fault.ts'
import { newUuid7 } from '../../base/ids.ts'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import { insertRow } from '../../db/insert-rows.ts'
import { query, type Tx } from '../../db/tx.ts'
import { KEY_CREATED, KEY_REVOKED } from '../webhooks/account-event-kinds.ts'
import { dataOf } from '../webhooks/event-fields.ts'
import { insertEvents } from '../webhooks/events.ts'
import { writeAudit, SYSTEM, type Actor, type AuditAction } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import {
  hashKey,
  isOperatorScope,
  isWellFormedKey,
  makeKeyText,
  SCOPES,
  type KeyScope,
  type OperatorScope,
} from './callers.ts'

// Making, listing and revoking. callers.ts tells whose a key is.

// Enough to tell keys apart in a list, too little to help a guess.
const PREFIX_LENGTH = 14
// One for each program that calls; far more than anybody needs.
const MAX_ACTIVE_KEYS = 100
// Only a program that makes keys in a loop has more revoked ones.
const MAX_LISTED = 500

export type NewKey = {
  accountId: string
  name: string
  scopes: KeyScope[]
  expiresAt: Date | null
  /** The e-mail of the member who makes it. */
  madeBy?: string
}
export type NewOperatorKey = { operatorId: string; name: string; scope: OperatorScope; expiresAt: Date | null }

/** Returns the key, which is shown once and never stored. */
export async function createKey(
  tx: Tx,
  now: Date,
  mode: 'test' | 'live',
  key: NewKey,
  actor: Actor = SYSTEM,
): Promise<{ keyId: string; text: string }> {
  checkNewKey(now, key)
  checkScopes(key.scopes)
  // The lock on the account's row makes concurrent calls take turns, so that the limit holds.
  await tx.run('select from accounts where id = $1 for no key update', [key.accountId])
  const active = await tx.one<{ count: number }>(
    `select count(*) from api_keys
     where account_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`,
    [key.accountId, now],
  )
  if (active.count >= MAX_ACTIVE_KEYS)
    throw new Fault('key_limit', `An account can have at most ${MAX_ACTIVE_KEYS} active keys: revoke one first`, {
      details: { maxKeys: MAX_ACTIVE_KEYS },
    })
  const made = await insertKey(tx, now, mode, { ...key, operatorId: null }, actor)
  const { accountId, scopes, expiresAt } = key
  const data = dataOf(KEY_CREATED, { keyId: made.keyId, prefix: prefixOf(made.text), scopes, expiresAt })
  await insertEvents(tx, now, [{ kind: 'KEY_CREATED', accountId, subjectId: made.keyId, createdAt: now, data }])
  return made
}

/** Only for the command line: no route makes a key that reads every account. */
export async function createOperatorKey(
  tx: Tx,
  now: Date,
  mode: 'test' | 'live',
  key: NewOperatorKey,
  actor: Actor,
): Promise<{ keyId: string; text: string }> {
  checkNewKey(now, key)
  return insertKey(tx, now, mode, { ...key, accountId: null, scopes: [key.scope] }, actor)
}

/** Tells nobody: operators have no events. */
export async function insertKey(
  tx: Tx,
  now: Date,
  mode: 'test' | 'live',
  key: Omit<NewKey, 'accountId' | 'scopes'> & {
    accountId: string | null
    operatorId: string | null
    scopes: string[]
  },
  actor: Actor,
): Promise<{ keyId: string; text: string }> {
  const text = makeKeyText(mode)
  const keyId = newUuid7(now)
  const { accountId, operatorId, name, scopes, expiresAt, madeBy = null } = key
  await insertRow(tx, 'api_keys', {
    id: keyId,
    account_id: accountId,
    operator_id: operatorId,
    name,
    prefix: prefixOf(text),
    hash: Buffer.from(hashKey(text), 'hex'),
    scopes,
    created_at: now,
    expires_at: expiresAt,
    made_by: madeBy,
  })
  const details = { name, scopes, expiresAt, ...(operatorId && { operatorId }) }
  await auditKey(tx, now, actor, { action: 'key.created', keyId, accountId, details })
  return { keyId, text }
}

function prefixOf(text: string): string {
  return text.slice(0, PREFIX_LENGTH)
}

function checkNewKey(now: Date, key: { name: string; expiresAt: Date | null }): void {
  if (key.name.length < 1 || key.name.length > 100 || !isReadable(key.name))
    throw invalidField('name', `A key needs a name of 1 to 100 characters, ${READABLE_RULE}`)
  if (key.expiresAt && key.expiresAt <= now) throw invalidField('expiresAt', 'A key must expire in the future')
}

function checkScopes(scopes: string[]): void {
  const unknown = scopes.filter((scope) => !SCOPES.some((known) => known === scope))
  const operators = unknown.find(isOperatorScope)
  if (operators)
    throw invalidField(
      'scopes',
      `An account’s key cannot have the scope ${operators}; create an operator’s key with: guiche operator key create`,
    )
  if (scopes.length === 0 || unknown.length > 0) {
    const wrong = unknown.length > 0 ? `Unknown scope ${unknown.join(', ')}` : 'A key needs a scope'
    throw invalidField('scopes', `${wrong}: the scopes are ${SCOPES.join(', ')}`)
  }
}

export type ListedKey = {
  keyId: string
  holder: 'account' | 'operator'
  email: string
  name: string
  prefix: string
  scopes: string[]
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
  /** Null if the operator made it, or the release before. */
  madeBy: string | null
}

const LISTED_KEYS = `
  select k.id as "keyId", case when k.operator_id is null then 'account' else 'operator' end as holder,
    coalesce(a.email, o.email) as email, k.name, k.prefix, k.scopes, k.created_at as "createdAt",
    k.expires_at as "expiresAt", k.revoked_at as "revokedAt", k.last_used_at as "lastUsedAt",
    k.made_by as "madeBy"
  from api_keys k left join accounts a on a.id = k.account_id left join operators o on o.id = k.operator_id`

/** Keys of account holders and operators, or of the one with this e-mail. */
export function listKeys(core: Core, email: string | null): Promise<ListedKey[]> {
  return query<ListedKey>(
    core.pool,
    `${LISTED_KEYS} where $1::text is null or coalesce(a.email, o.email) = lower($1)
     order by coalesce(a.email, o.email), holder, k.created_at`,
    [email],
  )
}

/** Active keys before revoked ones, newest first; or the one with this id. */
export function listAccountKeys(core: Core, accountId: string, keyId: string | null = null): Promise<ListedKey[]> {
  return query<ListedKey>(
    core.pool,
    `${LISTED_KEYS} where k.account_id = $1 and ($2::uuid is null or k.id = $2)
     order by k.revoked_at is not null, k.id desc limit ${MAX_LISTED}`,
    [accountId, keyId],
  )
}

/**
 * By id, or by the key itself, for a key found in public. Of any holder, or only of `ofAccountId`. Revoking twice
 * changes nothing.
 */
export async function revokeKey(
  tx: Tx,
  now: Date,
  idOrText: string,
  actor: Actor = SYSTEM,
  ofAccountId: string | null = null,
): Promise<{ keyId: string; name: string } | undefined> {
  const byText = isWellFormedKey(idOrText)
  const [row] = await tx.rows<RevocableKey>(
    `select id as "keyId", name, prefix, scopes, account_id as "accountId", revoked_at is not null as "isRevoked"
     from api_keys
     where ${byText ? 'hash = $1' : 'id::text = lower($1)'} and ($2::uuid is null or account_id = $2) for no key update`,
    [byText ? Buffer.from(hashKey(idOrText), 'hex') : idOrText, ofAccountId],
  )
  if (!row) return undefined
  const { keyId, name, prefix, scopes, accountId } = row
  if (row.isRevoked) return { keyId, name }
  await tx.run('update api_keys set revoked_at = $2 where id = $1', [keyId, now])
  await auditKey(tx, now, actor, { action: 'key.revoked', keyId, accountId, details: { name } })
  const data = dataOf(KEY_REVOKED, { keyId, prefix, scopes })
  if (accountId !== null)
    await insertEvents(tx, now, [{ kind: 'KEY_REVOKED', accountId, subjectId: keyId, createdAt: now, data }])
  return { keyId, name }
}

type RevocableKey = Pick<ListedKey, 'keyId' | 'name' | 'prefix' | 'scopes'> & {
  accountId: string | null
  isRevoked: boolean
}

function auditKey(
  tx: Tx,
  now: Date,
  actor: Actor,
  { keyId, ...change }: { action: AuditAction; keyId: string; accountId: string | null; details: object },
): Promise<void> {
  return writeAudit(tx, now, actor, { ...change, subject: `key ${keyId}`, rows: [['key', keyId]] })
}
