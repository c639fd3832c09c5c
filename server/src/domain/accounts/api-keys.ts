import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { Fault, invalidField } from '../../base/fault.ts'
import { base62, newUuid7 } from '../../base/ids.ts'
import { withTimeLimit } from '../../base/time-limit.ts'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import { DatabaseUnavailable } from '../../db/failure.ts'
import { insertRow } from '../../db/insert-rows.ts'
import type { SharedRead } from '../../db/shared-reads.ts'
import { query, type Tx } from '../../db/tx.ts'
import { overridesColumn } from './terms.ts'
import { writeAudit, SYSTEM, type Actor } from '../core/audit-log.ts'
import type { TermsOverrides } from '../core/terms.ts'
import type { KeyCaller, StoredKey } from './key-cache.ts'
import {
  type Caller,
  type OperatorCaller,
  type OperatorScope,
  type Scope,
  isOperatorScope,
  OPERATOR_SCOPE,
  SCOPES,
} from './callers.ts'
import type { Core } from '../core/core.ts'
import type { Context } from '../context.ts'

// gk_test_ or gk_live_, 32 random bytes in base62 (43 characters), and a checksum of 6 characters: a secret scanner or
// a form can tell a real key from a typo without the database.
const KEY_SHAPE = /^gk_(test|live)_[0-9A-Za-z]{49}$/
const CHECKSUM_LENGTH = 6
// Enough to tell keys apart in a list, too little to help a guess.
const PREFIX_LENGTH = 14
const LAST_USED_EVERY_MS = 60_000
// With the read of the gauges, well below the 10 s after which Prometheus gives up.
const METRICS_KEY_WITHIN_MS = 2_000
// One for each program that calls; far more than anybody needs.
const MAX_ACTIVE_KEYS = 100
// Only a program that makes keys in a loop has more revoked ones.
const MAX_LISTED = 500

export function makeKeyText(mode: 'test' | 'live'): string {
  const body = `gk_${mode}_${base62(randomBytes(32))}`
  return body + checksumOf(body)
}

export function isWellFormedKey(text: string): boolean {
  return KEY_SHAPE.test(text) && checksumOf(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

function checksumOf(body: string): string {
  const crc = Buffer.alloc(4)
  crc.writeUInt32BE(crc32(body))
  return base62(crc)
}

/** Who is calling, if the key was read within the last second: then nobody needs to wait. */
export function recall(ctx: Context, keyHash: string): KeyCaller | undefined {
  const nowMs = ctx.now().getTime()
  const key = ctx.keys.known(keyHash, nowMs)
  return key && isUsable(key, nowMs) ? key.caller : undefined
}

/**
 * Who is calling. Reads each key at most once a second, so a revoked one fails everywhere within two. `beforeGuess`
 * runs before a key that was not valid before is looked at, and may throw.
 */
export async function identify(ctx: Context, text: string, beforeGuess = () => {}): Promise<KeyCaller> {
  const keyHash = hashKey(text)
  if (!ctx.keys.wasValid(keyHash)) {
    beforeGuess()
    // A sandbox key is not valid where real money moves, even on a database that has been used for both.
    if (!isWellFormedKey(text) || !text.startsWith(`gk_${ctx.settings.mode}_`)) throw invalidKey()
  }
  const nowMs = ctx.now().getTime()
  let reading = ctx.keys.get(keyHash, nowMs)
  if (!reading) {
    reading = readKey(ctx, keyHash, nowMs)
    ctx.keys.set(keyHash, nowMs, reading)
  }
  const key = await reading
  if (!key || !isUsable(key, nowMs)) throw invalidKey()
  return key.caller
}

/**
 * As identify(), for /metrics alone, which matters most while the database cannot be asked. Then, and only then, an
 * operator's key counts that was valid when it was last read. A key that was read as revoked is refused.
 */
export async function identifyForMetrics(ctx: Context, text: string, beforeGuess?: () => void): Promise<KeyCaller> {
  const late = () => new DatabaseUnavailable(new Error('the key was not read in time'))
  try {
    return await withTimeLimit(identify(ctx, text, beforeGuess), METRICS_KEY_WITHIN_MS, late)
  } catch (error) {
    const nowMs = ctx.now().getTime()
    const isRefused = error instanceof Fault && error.code !== 'unavailable'
    const last = isRefused ? undefined : ctx.keys.lastRead(hashKey(text), nowMs)
    if (!last || !isUsable(last, nowMs)) throw error
    return last.caller
  }
}

function isUsable({ revokedAt, expiresAt }: StoredKey, nowMs: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > nowMs)
}

function invalidKey(): Fault {
  return new Fault('key_invalid', 'Invalid API key')
}

/** Hexadecimal. Plain SHA-256: the key is 256 random bits, which no dictionary holds, and requests wait for it. */
export function hashKey(text: string): string {
  return hash('sha256', text)
}

async function readKey(ctx: Context, keyHash: string, nowMs: number): Promise<StoredKey | undefined> {
  const key = await findKey(ctx, keyHash)
  if (key) touchLastUsed(ctx, key)
  if (key && isUsable(key, nowMs)) ctx.keys.markValid(keyHash)
  return key
}

const BY_HASH: SharedRead<KeyRow> = {
  sql: `
    select encode(k.hash, 'hex') as hash, k.id, k.scopes, k.expires_at,
      coalesce(k.revoked_at, o.disabled_at) as revoked_at, k.last_used_at, k.account_id, k.operator_id,
      coalesce(a.email, o.email) as email, a.name as account_name, a.suspended_at, ${overridesColumn('a')} as overrides
    from api_keys k
    left join accounts a on a.id = k.account_id
    left join operators o on o.id = k.operator_id
    where k.hash = any(array(select decode(wanted, 'hex') from unnest($1::text[]) wanted))`,
  keyOf: ({ hash }) => hash,
}

async function findKey(core: Core, keyHash: string): Promise<StoredKey | undefined> {
  const row = await core.readShared(BY_HASH, keyHash)
  if (!row) return undefined
  const { expires_at: expiresAt, revoked_at: revokedAt, last_used_at: lastUsedAt } = row
  return { caller: callerFromRow(row), expiresAt, revokedAt, lastUsedAt }
}

type KeyRow = HolderRow<string> & {
  hash: string
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
}

/** Who holds a key or a session. */
export type HolderRow<KeyId> = {
  /** Of the key; null for a session. */
  id: KeyId
  scopes: string[]
  email: string
  suspended_at: Date | null
  overrides: TermsOverrides
} & (
  | { account_id: string; operator_id: null; account_name: string }
  | { account_id: null; operator_id: string; account_name: null }
)

/** Whose key it is, or whose session. */
export function callerFromRow<KeyId extends string | null>(
  row: HolderRow<KeyId>,
): (Caller | OperatorCaller) & { keyId: KeyId } {
  const common = { keyId: row.id, email: row.email }
  if (row.operator_id !== null) {
    // A session has no scopes: an operator who signed in may do everything.
    const scope = row.scopes.find(isOperatorScope) ?? OPERATOR_SCOPE
    return { kind: 'operator', ...common, operatorId: row.operator_id, scope }
  }
  return {
    kind: 'account',
    ...common,
    accountId: row.account_id,
    accountName: row.account_name,
    suspendedAt: row.suspended_at,
    // The constraint api_keys_operator_scope and checkScopes() allow no others.
    scopes: row.scopes as Scope[],
    overrides: row.overrides,
  }
}

/** Writes at most once a minute and not on the request's path; a lost write costs a minute of accuracy. */
function touchLastUsed(core: Core, key: StoredKey): void {
  const now = core.now()
  const staleBefore = new Date(now.getTime() - LAST_USED_EVERY_MS)
  if (key.lastUsedAt && key.lastUsedAt > staleBefore) return
  const { keyId } = key.caller
  const sql = 'update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)'
  query(core.pool, sql, [keyId, now, staleBefore]).catch((err: unknown) =>
    core.log.warn({ err, keyId }, 'recording the last use of an API key failed'),
  )
}

// ---- Making, listing, revoking ----

export type NewKey = { accountId: string; name: string; scopes: Scope[]; expiresAt: Date | null }
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
  return insertKey(tx, now, mode, { ...key, operatorId: null }, actor)
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

async function insertKey(
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
  const { accountId, operatorId, name, scopes, expiresAt } = key
  await insertRow(tx, 'api_keys', {
    id: keyId,
    account_id: accountId,
    operator_id: operatorId,
    name,
    prefix: text.slice(0, PREFIX_LENGTH),
    hash: Buffer.from(hashKey(text), 'hex'),
    scopes,
    created_at: now,
    expires_at: expiresAt,
  })
  const details = { name, scopes, expiresAt, ...(operatorId && { operatorId }) }
  await writeAudit(tx, now, actor, { action: 'key.created', subject: `key ${keyId}`, accountId, details })
  return { keyId, text }
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
}

const LISTED_KEYS = `
  select k.id as "keyId", case when k.operator_id is null then 'account' else 'operator' end as holder,
    coalesce(a.email, o.email) as email, k.name, k.prefix, k.scopes, k.created_at as "createdAt",
    k.expires_at as "expiresAt", k.revoked_at as "revokedAt", k.last_used_at as "lastUsedAt"
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
  const [row] = await tx.rows<{ keyId: string; name: string; accountId: string | null; isRevoked: boolean }>(
    `select id as "keyId", name, account_id as "accountId", revoked_at is not null as "isRevoked" from api_keys
     where ${byText ? 'hash = $1' : 'id::text = lower($1)'} and ($2::uuid is null or account_id = $2) for no key update`,
    [byText ? Buffer.from(hashKey(idOrText), 'hex') : idOrText, ofAccountId],
  )
  if (!row) return undefined
  const { keyId, name, accountId } = row
  if (row.isRevoked) return { keyId, name }
  await tx.run('update api_keys set revoked_at = $2 where id = $1', [keyId, now])
  await writeAudit(tx, now, actor, { action: 'key.revoked', subject: `key ${keyId}`, accountId, details: { name } })
  return { keyId, name }
}
