import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { Fault } from '../../base/fault.ts'
import { base62 } from '../../base/ids.ts'
import { withTimeLimit } from '../../base/time-limit.ts'
import { DatabaseUnavailable } from '../../db/failure.ts'
import type { SharedRead } from '../../db/shared-reads.ts'
import { query } from '../../db/tx.ts'
import type { Actor } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import type { TermsOverrides } from '../core/terms.ts'
import { dayOf, dayStart } from '../core/business-days.ts'
import { overridesColumn } from './terms.ts'

// Who is calling, by which key, and what that allows.

/** What a key may be given. */
export const SCOPES = [
  'deposits:write',
  'deposits:read',
  'refunds:write',
  'balance:read',
  'payouts:write',
  'payouts:read',
  'events:read',
  'webhooks:write',
] as const
export type KeyScope = (typeof SCOPES)[number]

/**
 * What only people do, see roles.ts. `deposits:today` asks for deposits, and reads and cancels those that were made
 * today.
 */
export const PERSON_SCOPES = [
  'deposits:today',
  'webhooks:read',
  'keys:read',
  'keys:write',
  'members:read',
  'members:write',
  'shop:write',
] as const
export type Scope = KeyScope | (typeof PERSON_SCOPES)[number]

export const OPERATOR_SCOPE = 'operator'
/** For a monitoring system: reads /metrics and nothing else. The operator scope includes it. */
export const METRICS_SCOPE = 'metrics:read'
export type OperatorScope = typeof OPERATOR_SCOPE | typeof METRICS_SCOPE
export const OPERATOR_SCOPES: readonly OperatorScope[] = [OPERATOR_SCOPE, METRICS_SCOPE]

export function isOperatorScope(scope: string): scope is OperatorScope {
  return OPERATOR_SCOPES.some((known) => known === scope)
}

// `console` is set only by http/console.ts: the user of the terminal acts in place of the caller.

export type Caller = {
  kind: 'account'
  keyId: string | null
  accountId: string
  accountName: string
  email: string
  suspendedAt: Date | null
  scopes: Scope[]
  overrides: TermsOverrides
  console?: { actor: Actor; seesAllAccounts: boolean }
}

export type OperatorCaller = {
  kind: 'operator'
  keyId: string | null
  operatorId: string
  email: string
  scope: OperatorScope
  console?: { actor: Actor }
}

export function requireAccount(caller: Caller | OperatorCaller): Caller {
  if (caller.kind === 'account') return caller
  throw new Fault(
    'scope_missing',
    'This is an operator’s API key, which belongs to no account: use a key of the account',
  )
}

export function requireOperator(caller: Caller | OperatorCaller, scope: OperatorScope): OperatorCaller {
  if (caller.kind === 'operator' && (caller.scope === OPERATOR_SCOPE || caller.scope === scope)) return caller
  throw new Fault('scope_missing', `This API key lacks the scope ${scope}: only operators’ keys have it`, {
    details: { scope },
  })
}

/** A leaked key can be revoked, and a member removed. */
const WHILE_SUSPENDED: readonly Scope[] = [
  'deposits:read',
  'balance:read',
  'payouts:read',
  'events:read',
  'keys:read',
  'keys:write',
  'members:read',
  'members:write',
]

/** Who may say where events are sent may read them. */
function holds({ scopes }: Caller, scope: Scope): boolean {
  return scopes.includes(scope) || (scope === 'events:read' && scopes.includes('webhooks:write'))
}

/** What a route asks for: `scope`, or of people `orScope`, which allows less than `scope` does elsewhere. */
export type Demand = { scope: Scope; orScope?: Scope | undefined }

export function requireScope(caller: Caller, { scope, orScope }: Demand): void {
  if (!holds(caller, scope) && !(orScope && caller.scopes.includes(orScope))) {
    const text = caller.keyId === null ? 'Your role does not allow this' : `This API key lacks the scope ${scope}`
    throw new Fault('scope_missing', text, { details: { scope } })
  }
  if (!WHILE_SUSPENDED.includes(scope)) refuseSuspended(caller)
}

export function refuseSuspended({ suspendedAt }: Caller): void {
  if (suspendedAt) throw new Fault('account_suspended', 'This account is suspended')
}

/** From when on the caller sees deposits. Null: all of them. */
export function depositsSince({ scopes }: Caller, now: Date): Date | null {
  return scopes.includes('deposits:today') && !scopes.includes('deposits:read') ? dayStart(dayOf(now)) : null
}

export function actorOf(caller: Caller | OperatorCaller): Actor {
  if (caller.console) return caller.console.actor
  return { kind: caller.kind, name: caller.email, ...(caller.keyId !== null && { keyId: caller.keyId }) }
}

/** Whose webhooks and events the caller sees. Null: those of all accounts, which only the console may. */
export function accountScopeOf({ accountId, console }: Caller): string | null {
  return console?.seesAllAccounts ? null : accountId
}

// ---- By a key ----

// gk_test_ or gk_live_, 32 random bytes in base62 (43 characters), and a checksum of 6 characters: a secret scanner or
// a form can tell a real key from a typo without the database.
const KEY_SHAPE = /^gk_(test|live)_[0-9A-Za-z]{49}$/
const CHECKSUM_LENGTH = 6
const LAST_USED_EVERY_MS = 60_000
// With the read of the gauges, well below the 10 s after which Prometheus gives up.
const METRICS_KEY_WITHIN_MS = 2_000

type Keys = Core & { keys: KeyCache }

/** Who is calling, if the key was read within the last second: then nobody needs to wait. */
export function recall(core: Keys, keyHash: string): KeyCaller | undefined {
  const nowMs = core.now().getTime()
  const key = core.keys.known(keyHash, nowMs)
  return key && isUsable(key, nowMs) ? key.caller : undefined
}

/**
 * Who is calling. Reads each key at most once a second, so a revoked one fails everywhere within two. `beforeGuess`
 * runs before a key that was not valid before is looked at, and may throw.
 */
export async function identify(core: Keys, text: string, beforeGuess = () => {}): Promise<KeyCaller> {
  const keyHash = hashKey(text)
  if (!core.keys.wasValid(keyHash)) {
    beforeGuess()
    // A sandbox key is not valid where real money moves, even on a database that has been used for both.
    if (!isWellFormedKey(text) || !text.startsWith(`gk_${core.settings.mode}_`)) throw invalidKey()
  }
  const nowMs = core.now().getTime()
  let reading = core.keys.get(keyHash, nowMs)
  if (!reading) {
    reading = readKey(core, keyHash, nowMs)
    core.keys.set(keyHash, nowMs, reading)
  }
  const key = await reading
  if (!key || !isUsable(key, nowMs)) throw invalidKey()
  return key.caller
}

/**
 * As identify(), for /metrics alone, which matters most while the database cannot be asked. Then, and only then, an
 * operator's key counts that was valid when it was last read. A key that was read as revoked is refused.
 */
export async function identifyForMetrics(core: Keys, text: string, beforeGuess?: () => void): Promise<KeyCaller> {
  const late = () => new DatabaseUnavailable(new Error('the key was not read in time'))
  try {
    return await withTimeLimit(identify(core, text, beforeGuess), METRICS_KEY_WITHIN_MS, late)
  } catch (error) {
    const nowMs = core.now().getTime()
    const isRefused = error instanceof Fault && error.code !== 'unavailable'
    const last = isRefused ? undefined : core.keys.lastRead(hashKey(text), nowMs)
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

async function readKey(core: Keys, keyHash: string, nowMs: number): Promise<StoredKey | undefined> {
  const key = await findKey(core, keyHash)
  if (key) touchLastUsed(core, key)
  if (key && isUsable(key, nowMs)) core.keys.markValid(keyHash)
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

// ---- The cache of keys ----

export type KeyCaller = (Caller | OperatorCaller) & { keyId: string }

export type StoredKey = {
  caller: KeyCaller
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
}

/** Holds reads, not results, so that concurrent requests share one. Undefined stands for a key that does not exist. */
export type KeyCache = {
  get(hash: string, nowMs: number): Promise<StoredKey | undefined> | undefined
  known(hash: string, nowMs: number): StoredKey | undefined
  /** `nowMs` is the time before the read: a revocation that commits during the read may be missing from it. */
  set(hash: string, nowMs: number, reading: Promise<StoredKey | undefined>): void
  /** An operator's key as it was last read, within the last hours: for /metrics while the database is away. */
  lastRead(hash: string, nowMs: number): StoredKey | undefined
  /** Whether the key was valid at any time that is still remembered. Guesses cannot displace such keys. */
  wasValid(hash: string): boolean
  markValid(hash: string): void
}

// A revoked key must fail everywhere within 2 s. The other second is for the read itself.
const FRESH_MS = 1_000
// About 5 MB. A key in use is read again every second anyway, so evicting one costs a read.
const MAX_ENTRIES = 10_000
// Outlasts an outage that begins in the evening. A key that is revoked meanwhile shows metrics and nothing else.
const LAST_READ_MS = 12 * 3_600_000
// Operators' keys are made by hand, one for each program that scrapes.
const MAX_LAST_READ = 100

type Entry = { reading: Promise<StoredKey | undefined>; key: StoredKey | undefined; readAtMs: number }

export function makeKeyCache(): KeyCache {
  const entries = new Map<string, Entry>()
  const valid = new Set<string>()
  const lastReads = new Map<string, { key: StoredKey; readAtMs: number }>()

  function fresh(hash: string, nowMs: number): Entry | undefined {
    const entry = entries.get(hash)
    // A clock that steps back must not keep a revoked key alive, hence the absolute value.
    return entry && Math.abs(nowMs - entry.readAtMs) < FRESH_MS ? entry : undefined
  }

  function keepLastRead(hash: string, key: StoredKey | undefined, readAtMs: number): void {
    lastReads.delete(hash)
    if (key?.caller.kind !== 'operator') return
    lastReads.set(hash, { key, readAtMs })
    if (lastReads.size > MAX_LAST_READ) lastReads.delete(lastReads.keys().next().value!)
  }

  return {
    get: (hash, nowMs) => fresh(hash, nowMs)?.reading,
    known: (hash, nowMs) => fresh(hash, nowMs)?.key,
    set(hash, nowMs, reading) {
      const entry: Entry = { reading, key: undefined, readAtMs: nowMs }
      entries.delete(hash)
      entries.set(hash, entry)
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!)
      reading.then(
        (key) => {
          entry.key = key
          keepLastRead(hash, key, nowMs)
        },
        // A failed read does not tell whether the key is valid.
        () => entries.get(hash) === entry && entries.delete(hash),
      )
    },
    lastRead(hash, nowMs) {
      const last = lastReads.get(hash)
      return last && Math.abs(nowMs - last.readAtMs) < LAST_READ_MS ? last.key : undefined
    },
    wasValid: (hash) => valid.has(hash),
    markValid(hash) {
      valid.delete(hash)
      valid.add(hash)
      if (valid.size > MAX_ENTRIES) valid.delete(valid.values().next().value!)
    },
  }
}
