import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { Fault } from '../base/fault.ts'
import { base62, newUuid7 } from '../base/ids.ts'
import type { Pool } from '../db/pool.ts'
import { read, type Tx } from '../db/tx.ts'
import type { Context } from './context.ts'
import type { Caller, Scope, StoredKey } from './key-cache.ts'
import { SCOPES } from './key-cache.ts'

export type { Caller, Scope } from './key-cache.ts'

// gk_test_ or gk_live_, 32 random bytes in base62 (43 characters), and 6 characters that check the rest: a secret scanner and a
// form can tell a real key from a typo without a database.
const KEY_SHAPE = /^gk_(test|live)_[0-9A-Za-z]{49}$/
const CHECK_LENGTH = 6
// Enough to tell keys apart in a list, too little to help a guess.
const PREFIX_LENGTH = 14
const LAST_USED_EVERY_MS = 60_000

export function makeKeyText(mode: 'test' | 'live'): string {
  const body = `gk_${mode}_${base62(randomBytes(32))}`
  return body + checkOf(body)
}

export function isWellFormedKey(text: string): boolean {
  return KEY_SHAPE.test(text) && checkOf(text.slice(0, -CHECK_LENGTH)) === text.slice(-CHECK_LENGTH)
}

function checkOf(body: string): string {
  const crc = Buffer.alloc(4)
  crc.writeUInt32BE(crc32(body))
  return base62(crc)
}

/** Who is calling. Asks the database at most once a second for each key, so a revoked one fails everywhere within two. */
export async function authenticate(ctx: Context, text: string): Promise<Caller> {
  // A key of the sandbox is worth nothing where real money moves, even on a database that has seen both.
  if (!isWellFormedKey(text) || !text.startsWith(`gk_${ctx.settings.mode}_`)) throw invalidKey()
  const hash = hashOf(text)
  const nowMs = ctx.now().getTime()
  const cacheKey = hash.toString('base64')
  let reading = ctx.keys.get(cacheKey, nowMs)
  if (!reading) {
    reading = readKey(ctx, hash)
    ctx.keys.set(cacheKey, nowMs, reading)
  }
  const key = await reading
  if (!key || key.revokedAt || (key.expiresAt && key.expiresAt.getTime() <= nowMs)) throw invalidKey()
  return key
}

export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.includes(scope)) throw new Fault('scope_missing', `This API key lacks the scope ${scope}`)
}

function invalidKey(): Fault {
  return new Fault('key_invalid', 'Invalid API key')
}

function hashOf(text: string): Buffer {
  // Plain SHA-256: the key is 256 random bits, which no dictionary holds, and each request pays for the hash.
  return createHash('sha256').update(text).digest()
}

async function readKey(ctx: Context, hash: Buffer): Promise<StoredKey | undefined> {
  const key = await findKey(ctx.pool, hash)
  if (key) noteUse(ctx, key)
  return key
}

async function findKey(pool: Pool, hash: Buffer): Promise<StoredKey | undefined> {
  const [row] = await read<StoredKey>(
    pool,
    `select k.id as "keyId", k.account_id as "accountId", a.name as "accountName", k.scopes, k.expires_at as "expiresAt",
       k.revoked_at as "revokedAt", k.last_used_at as "lastUsedAt",
       jsonb_build_object('feeBps', a.fee_bps, 'feeFixedCents', a.fee_fixed_cents, 'feeMinCents', a.fee_min_cents,
         'feeMaxCents', a.fee_max_cents, 'feeBearer', a.fee_bearer, 'valueMinCents', a.value_min_cents,
         'valueMaxCents', a.value_max_cents) as overrides
     from api_keys k join accounts a on a.id = k.account_id where k.hash = $1`,
    [hash],
  )
  return row
}

/** Written at most once a minute and off the request's path; a lost write costs a minute of accuracy. */
function noteUse(ctx: Context, key: StoredKey): void {
  const now = ctx.now()
  const staleBefore = new Date(now.getTime() - LAST_USED_EVERY_MS)
  if (key.lastUsedAt && key.lastUsedAt > staleBefore) return
  read(
    ctx.pool,
    'update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
    [key.keyId, now, staleBefore],
  ).catch((error: unknown) => ctx.log.warn({ err: error, keyId: key.keyId }, 'could not note the use of an API key'))
}

// ---- Making, listing, revoking ----

export type NewKey = { accountId: string; name: string; scopes: Scope[]; expiresAt: Date | null }

/** Returns the key, which is shown once and stored nowhere. */
export async function createKey(
  tx: Tx,
  now: Date,
  mode: 'test' | 'live',
  key: NewKey,
): Promise<{ keyId: string; text: string }> {
  checkNewKey(now, key)
  const text = makeKeyText(mode)
  const keyId = newUuid7(now)
  await tx.run(
    `insert into api_keys (id, account_id, name, prefix, hash, scopes, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [keyId, key.accountId, key.name, text.slice(0, PREFIX_LENGTH), hashOf(text), key.scopes, now, key.expiresAt],
  )
  return { keyId, text }
}

function checkNewKey(now: Date, key: NewKey): void {
  if (key.name.length < 1 || key.name.length > 100)
    throw new Fault('bad_request', 'a key needs a name of 1 to 100 characters')
  const unknown = key.scopes.filter((scope) => !SCOPES.includes(scope))
  if (key.scopes.length === 0 || unknown.length > 0) {
    throw new Fault(
      'bad_request',
      `${unknown.length > 0 ? `unknown scope ${unknown.join(', ')}` : 'a key needs a scope'}: the scopes are ${SCOPES.join(', ')}`,
    )
  }
  if (key.expiresAt && key.expiresAt <= now) throw new Fault('bad_request', 'a key must expire in the future')
}

export type ListedKey = {
  keyId: string
  email: string
  name: string
  prefix: string
  scopes: Scope[]
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
}

export function listKeys(pool: Pool, email: string | null): Promise<ListedKey[]> {
  return read<ListedKey>(
    pool,
    `select k.id as "keyId", a.email, k.name, k.prefix, k.scopes, k.created_at as "createdAt", k.expires_at as "expiresAt",
       k.revoked_at as "revokedAt", k.last_used_at as "lastUsedAt"
     from api_keys k join accounts a on a.id = k.account_id
     where $1::text is null or a.email = lower($1)
     order by a.email, k.created_at`,
    [email],
  )
}

/** By id, or by the whole key where somebody found it in the open. Revoking twice is fine: the first time stands. */
export async function revokeKey(
  tx: Tx,
  now: Date,
  idOrText: string,
): Promise<{ keyId: string; name: string } | undefined> {
  const byText = isWellFormedKey(idOrText)
  const [row] = await tx.rows<{ keyId: string; name: string }>(
    `update api_keys set revoked_at = coalesce(revoked_at, $2)
     where ${byText ? 'hash = $1' : 'id::text = lower($1)'} returning id as "keyId", name`,
    [byText ? hashOf(idOrText) : idOrText, now],
  )
  return row
}
