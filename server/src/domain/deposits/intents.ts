import { hash } from 'node:crypto'
import { makeLane, type Lane } from '../../base/lane.ts'
import { columnsOf, unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import { prepared } from '../../db/prepared.ts'
import { isPresent } from '../../db/presence.ts'
import type { SharedRead } from '../../db/shared-reads.ts'
import { columnOf, hexId } from '../../db/sql-values.ts'
import { autocommit, isTransient, isUniqueViolation, query, transact, type Tx } from '../../db/tx.ts'
import { OWN_NAMES, type OwnFields } from '../core/charge-facts.ts'
import type { Core } from '../core/core.ts'
import type { Price } from '../core/terms.ts'
import { CHARGE_COLUMNS, type StoredCharge } from './charge-reads.ts'

/** A deposit that was asked for. It is stored before the provider is asked, so that a crash leaves us its txid. */
export type Intent = {
  charge: NewCharge
  idempotency: Idempotency | null
  /** Encrypted, the number of the person who is to pay. */
  payerNumber?: string | null
}

export type NewCharge = Price &
  OwnFields &
  Pick<StoredCharge, 'id' | 'paymentLinkId' | 'accountId' | 'provider' | 'createdAt' | 'expiresAt' | 'openingInstance'>

export type Idempotency = { key: string; requestHash: Buffer }

export type IntentResult = Opened | KeyUsed | NameTaken

type Opened = { kind: 'opened' }

export type NameTaken = { kind: 'external_id_taken'; holder: NameHolder }

export type NameHolder = Pick<StoredCharge, 'paymentLinkId' | 'status' | 'createdAt' | 'openingInstance'>

export type KeyUsed = { kind: 'key_used'; isSameRequest: boolean; charge: StoredCharge }

export const IDEMPOTENCY_MS = 24 * 3_600_000
// After this, a check withdraws the intent: its process died or lost its provider. Longer than any provider's deadline
// for creating a charge.
export const INTENT_TIMEOUT_MS = 60_000

const OPENED: Opened = { kind: 'opened' }

/** Repeated requests are few, and have a lane of their own: each lane must be one transaction. */
export function makeIntentLane(core: Core): Lane<Intent, IntentResult> {
  const fresh = makeLane(core, 'intents', (intents: Intent[]) => openIntents(core, intents))
  const contested = makeLane(core, 'repeated_intents', (intents: Intent[]) =>
    transact(core.pool, (tx) => insertIntents(tx, core.now(), intents)),
  )
  return {
    add: async (intent) => (await fresh.add(intent)) ?? contested.add(intent),
    async drained() {
      await fresh.drained()
      await contested.drained()
    },
  }
}

/** Stores new intents in one statement. Undefined: insertIntents() must decide who has the key or the external id. */
async function openIntents(core: Core, intents: Intent[]): Promise<(Opened | undefined)[]> {
  const candidates = withoutRivals(intents)
  const stored = new Set(candidates)
  try {
    const lost = await storeIntents(autocommit(core.pool), STORE_OR_FAIL, core.now(), candidates)
    for (const intent of lost) stored.delete(intent)
  } catch (error) {
    // Another process took an external id in the same moment. Nothing was stored.
    if (!isUniqueViolation(error) && !isTransient(error)) throw error
    stored.clear()
  }
  return intents.map((intent) => (stored.has(intent) ? OPENED : undefined))
}

export async function insertIntents(tx: Tx, now: Date, intents: Intent[]): Promise<IntentResult[]> {
  const results = new Map<Intent, IntentResult>()
  let waiting = intents
  // Each round answers at least one request of each key, so there are at most as many rounds as requests, and nearly
  // always one.
  for (let round = 0; waiting.length > 0; round++) {
    if (round > intents.length) throw new Error('Idempotency keys came and went while they were being taken')
    await insertRound(tx, now, withoutRivals(waiting), results)
    waiting = waiting.filter((intent) => !results.has(intent))
  }
  return intents.map((intent) => results.get(intent)!)
}

/** Leaves those without a result whose key or external id was freed meanwhile: they must try again. */
async function insertRound(tx: Tx, now: Date, intents: Intent[], results: Map<Intent, IntentResult>): Promise<void> {
  await freeKeys(tx, now, intents.filter(hasKey))
  const lost = await storeIntents(tx, STORE_INTENTS, now, intents)
  await freeKeys(tx, now, lost.filter(hasKey))
  const holders = await readKeyHolders(tx, lost.filter(hasKey))
  const nameHolders = await readNameHolders(tx, lost)
  for (const intent of intents) {
    const nameHolder = nameHolders.get(intent.charge.id)
    const holder = hasKey(intent) && holders.get(`${intent.charge.accountId} ${intent.idempotency.key}`)
    if (!lost.includes(intent)) results.set(intent, OPENED)
    else if (holder) results.set(intent, keyUsed(holder, intent.idempotency))
    else if (nameHolder) results.set(intent, { kind: 'external_id_taken', holder: nameHolder })
  }
}

/** Of those that share a key or an external id only the first: the statement could not tell which of them has it. */
function withoutRivals(intents: Intent[]): Intent[] {
  if (intents.length < 2) return intents
  const taken = new Set<string>()
  return intents.filter(({ charge: { accountId, externalId }, idempotency }) => {
    const key = idempotency && `key ${accountId} ${idempotency.key}`
    const name = externalId && `external id ${accountId} ${externalId}`
    if ((key && taken.has(key)) || (name && taken.has(name))) return false
    if (key) taken.add(key)
    if (name) taken.add(name)
    return true
  })
}

const STORED_COLUMNS: Columns<Intent> = {
  id: ['uuid', ({ charge }) => charge.id],
  payment_link_id: ['uuid', ({ charge }) => charge.paymentLinkId],
  account_id: ['uuid', ({ charge }) => charge.accountId],
  provider: ['text', ({ charge }) => charge.provider],
  original_value_cents: ['bigint', ({ charge }) => charge.originalValueCents],
  value_cents: ['bigint', ({ charge }) => charge.valueCents],
  fee_cents: ['bigint', ({ charge }) => charge.feeCents],
  ...Object.fromEntries(OWN_NAMES.map((name) => [columnOf(name), ['text', ({ charge }: Intent) => charge[name]]])),
  expires_at: ['timestamptz', ({ charge }) => charge.expiresAt],
  opening_instance: ['int', ({ charge }) => charge.openingInstance],
  created_at: ['timestamptz', ({ charge }) => charge.createdAt],
}
const STORED = Object.keys(STORED_COLUMNS).join(', ')

const COLUMNS: Columns<Intent> = {
  ...STORED_COLUMNS,
  key: ['text', ({ idempotency }) => idempotency?.key],
  request_hash: ['bytea', ({ idempotency }) => idempotency?.requestHash],
  payer_number: ['text', ({ payerNumber }) => payerNumber],
}

/** Of an intent n. A subquery that gives a value is one look into an index with any plan, unlike `exists`. */
const IS_FREE = `(
      select charge_id from external_ids e where e.account_id = n.account_id and e.external_id = n.external_id
    ) is null`

/**
 * Unique keys decide, also between processes. Each part sorts, so that all processes lock rows in the same order.
 * `ifTaken` is for an intent that won its key and then lost its external id in a race.
 */
function storeSql(ifTaken: '' | 'on conflict do nothing'): string {
  return `
  with n as (
    select * from ${unnestOf(COLUMNS)}
  ), keyed as (
    insert into idempotency_keys (account_id, key, request_hash, charge_id, created_at)
    select account_id, key, request_hash, id, created_at from n where key is not null and ${IS_FREE}
    order by account_id, key
    on conflict do nothing
    returning charge_id
  ), named as (
    insert into external_ids (account_id, external_id, charge_id)
    select account_id, external_id, id from n
    where external_id is not null and (id in (select charge_id from keyed) or (key is null and ${IS_FREE}))
    order by account_id, external_id
    ${ifTaken}
    returning charge_id
  ), opened as (
    insert into charges (status, ${STORED})
    select 'OPENING', ${STORED}
    from n
    where (id in (select charge_id from keyed) or key is null)
      and (id in (select charge_id from named) or external_id is null)
    returning id, provider, account_id
  ), kept_numbers as (
    insert into payer_numbers (charge_id, account_id, number)
    select id, account_id, payer_number from n where payer_number is not null and id in (select id from opened)
  ), queued as (
    insert into checks (provider, subject, kind, account_id, due_at)
    select provider, ${hexId('id')}, 'charge', account_id, $${Object.keys(COLUMNS).length + 1} from opened
  )
  select ${hexId('id')} as id from n where id not in (select id from opened)`
}

/** The unique key of external ids fails the whole statement, which is a transaction by itself. */
const STORE_OR_FAIL = prepared(storeSql(''))
/** The transaction deletes such a key: see freeKeys(). */
const STORE_INTENTS = prepared(storeSql('on conflict do nothing'))

async function storeIntents(db: Pick<Tx, 'rows'>, sql: string, now: Date, intents: Intent[]): Promise<Intent[]> {
  const dueAt = new Date(now.getTime() + INTENT_TIMEOUT_MS)
  const rows = await db.rows<{ id: string }>(sql, [...valuesOf(COLUMNS, intents), dueAt])
  if (rows.length === 0) return []
  const lost = new Set(rows.map(({ id }) => id))
  return intents.filter(({ charge }) => lost.has(charge.id))
}

type KeyedIntent = Intent & { idempotency: Idempotency }

function hasKey(intent: Intent): intent is KeyedIntent {
  return intent.idempotency !== null
}

/** Deletes keys that have ended, whose attempt failed, or whose intent lost its external id. */
async function freeKeys(tx: Tx, now: Date, intents: KeyedIntent[]): Promise<void> {
  if (intents.length === 0) return
  await tx.run(
    `delete from idempotency_keys i
     using unnest($1::uuid[], $2::text[], $3::uuid[], $4::bytea[]) as n (account_id, key, charge_id, request_hash)
     where i.account_id = n.account_id and i.key = n.key and (
       i.created_at <= $5
       or i.charge_id = n.charge_id
       or (i.request_hash = n.request_hash
         and (select c.status from charges c where c.id = i.charge_id) = 'FAILED')
     )`,
    [
      ...keyColumns(intents),
      intents.map(({ charge }) => charge.id),
      intents.map(({ idempotency }) => idempotency.requestHash),
      endOfKeys(now),
    ],
  )
}

function endOfKeys(now: Date): Date {
  return new Date(now.getTime() - IDEMPOTENCY_MS)
}

function keyColumns(intents: KeyedIntent[]): unknown[][] {
  return [intents.map(({ charge }) => charge.accountId), intents.map(({ idempotency }) => idempotency.key)]
}

/** By the id of the charge that wants an external id: the charge that has it. */
async function readNameHolders(tx: Tx, intents: Intent[]): Promise<Map<string, NameHolder>> {
  const named = intents.map(({ charge }) => charge).filter(({ externalId }) => externalId)
  if (named.length === 0) return new Map()
  const rows = await tx.rows<NameHolder & { id: string }>(
    `select n.id, c.payment_link_id as "paymentLinkId", c.status, c.created_at as "createdAt",
       c.opening_instance as "openingInstance"
     from unnest($1::uuid[], $2::text[], $3::text[]) as n (account_id, external_id, id)
     join external_ids e on e.account_id = n.account_id and e.external_id = n.external_id
     join charges c on c.id = e.charge_id`,
    columnsOf(named, 'accountId', 'externalId', 'id'),
  )
  return new Map(rows.map(({ id, ...holder }) => [id, holder]))
}

const SELECT_KEY_HOLDERS = `
  select i.key, i.request_hash as "requestHash", ${CHARGE_COLUMNS}
  from idempotency_keys i
  join charges c on c.id = i.charge_id`

type KeyHolder = StoredCharge & Idempotency

async function readKeyHolders(tx: Tx, intents: KeyedIntent[]): Promise<Map<string, KeyHolder>> {
  if (intents.length === 0) return new Map()
  const rows = await tx.rows<KeyHolder>(
    `${SELECT_KEY_HOLDERS} join unnest($1::uuid[], $2::text[]) as n (account_id, key)
       on i.account_id = n.account_id and i.key = n.key`,
    keyColumns(intents),
  )
  return new Map(rows.map((row) => [`${row.accountId} ${row.key}`, row]))
}

/** By account and key in one text. A lookup and no join, so that a cached plan never scans the whole table. */
const KEYS: SharedRead<{ name: string }> = {
  sql: `
    select n.name from unnest($1::text[]) as n (name)
    where (
      select i.charge_id from idempotency_keys i
      where i.account_id = left(n.name, 36)::uuid and i.key = substr(n.name, 38)
    ) is not null`,
  keyOf: ({ name }) => name,
}

export async function isKeyUsed(core: Core, accountId: string, key: string): Promise<boolean> {
  return (await core.readShared(KEYS, `${accountId} ${key}`)) !== undefined
}

export async function findKeyHolder(core: Core, accountId: string, idempotency: Idempotency) {
  const [holder] = await query<KeyHolder>(
    core.pool,
    `${SELECT_KEY_HOLDERS} where i.account_id = $1 and i.key = $2 and i.created_at > $3`,
    [accountId, idempotency.key, endOfKeys(core.now())],
  )
  return holder && keyUsed(holder, idempotency)
}

function keyUsed({ requestHash, ...charge }: KeyHolder, request: Idempotency): KeyUsed {
  return { kind: 'key_used', isSameRequest: requestHash.equals(request.requestHash), charge }
}

/**
 * Equal for two requests that ask for the same, in whatever order their fields come. A field without a value is left
 * out, so a new one does not change earlier hashes. In SQL, isHashOf() of domain/audit/rules.ts gives the same.
 */
export function hashRequest(request: object): Buffer {
  const given = Object.entries(request).filter(([, value]) => value !== null && value !== undefined)
  const fields = given.toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Buffer.from(hash('sha256', JSON.stringify(fields), 'hex'), 'hex')
}

// Keeps the locks of a purge to milliseconds.
const PURGE_LIMIT = 1_000

export async function purgeIdempotencyKeys(core: Core): Promise<'more' | 'idle'> {
  const deleted = await transact(core.pool, (tx) =>
    tx.run(
      `delete from idempotency_keys where (account_id, key) in (
         select account_id, key from idempotency_keys
         where created_at <= $1 order by created_at limit $2 for update skip locked
       )`,
      [endOfKeys(core.now()), PURGE_LIMIT],
    ),
  )
  return deleted === PURGE_LIMIT ? 'more' : 'idle'
}

// ---- Whose an intent is ----

// Between the intent and the provider's answer, a charge belongs to one process. Here it changes its owner.

/** `heldIntents`: the charges that this process works on. */
type Owner = Core & { heldIntents: Set<string> }

export async function holdIntent<Result>(core: Owner, chargeId: string, work: () => Promise<Result>): Promise<Result> {
  core.heldIntents.add(chargeId)
  try {
    return await work()
  } finally {
    core.heldIntents.delete(chargeId)
  }
}

/** Undefined while a process works on it. Our own intents are looked up in memory: a release may have failed. */
export async function claimIntent<Result>(
  core: Owner,
  charge: StoredCharge,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  if (core.heldIntents.has(charge.id)) return undefined
  return holdIntent(core, charge.id, async () => ((await becomeOwner(core, charge)) ? work() : undefined))
}

function becomeOwner(core: Core, charge: StoredCharge): Promise<boolean> {
  const owner = charge.openingInstance
  return transact(core.pool, async (tx) => {
    if (owner !== null && owner !== core.instance && (await isPresent(tx, owner))) return false
    const claimed = await tx.run(
      `update charges set opening_instance = $3
       where id = $1 and status = 'OPENING' and opening_instance is not distinct from $2`,
      [charge.id, owner, core.instance],
    )
    return claimed === 1
  })
}

/** False for a process that was suspended for so long that another one claimed the intent. */
export async function ownsIntent(core: Core, chargeId: string): Promise<boolean> {
  const sql = `select from charges where id = $1 and status = 'OPENING' and opening_instance = $2`
  return (await query(core.pool, sql, [chargeId, core.instance])).length > 0
}
