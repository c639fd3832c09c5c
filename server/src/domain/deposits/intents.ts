import { uuidFromHex } from '../../base/ids.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { CHARGE_COLUMNS, chargeFromRow, type ChargeRow, type StoredCharge } from './charge-states.ts'
import type { Price } from '../accounts/pricing.ts'
import type { Core } from '../core/core.ts'

/** A deposit that someone asks for. It is stored before the provider is asked, so that a crash in between leaves its txid to ask for. */
export type Intent = Price & {
  chargeId: string
  paymentLinkId: string
  accountId: string
  provider: string
  externalId: string | null
  description: string | null
  expiresAt: Date
  instance: number
  idempotency: { key: string; requestHash: Buffer } | null
}

export type IntentResult = { kind: 'opened' } | KeyUsed | { kind: 'external_id_taken' }

/** An earlier request has the idempotency key; the hash tells whether it was the same. */
export type KeyUsed = { kind: 'key_used'; requestHash: Buffer; charge: StoredCharge }

const IDEMPOTENCY_MS = 24 * 3_600_000
// An intent that is not accepted by then belongs to a process that died or lost its provider, and is taken back. Longer than
// any provider's deadline for creating.
export const INTENT_PATIENCE_MS = 60_000

/** Many at once. Unique keys decide: who inserts first has it, also between processes, where the second waits for the first's commit. */
export async function insertIntents(tx: Tx, now: Date, intents: Intent[]): Promise<IntentResult[]> {
  const results = new Map<Intent, IntentResult>()
  let waiting = intents
  // Each round answers at least one request of each key, so there are at most as many rounds as requests, and nearly always there is one.
  for (let round = 0; waiting.length > 0; round++) {
    if (round > intents.length) throw new Error('idempotency keys came and went while they were being claimed')
    waiting = await insertRound(tx, now, waiting, results)
  }
  return intents.map((intent) => results.get(intent)!)
}

/** Resolves to those that must try again: the request that had their key was refused, and theirs is another one. */
async function insertRound(
  tx: Tx,
  now: Date,
  intents: Intent[],
  results: Map<Intent, IntentResult>,
): Promise<Intent[]> {
  const lostKey = await claimIdempotencyKeys(tx, now, intents)
  const withKey = intents.filter((intent) => !lostKey.has(intent))
  const lostExternalId = await claimExternalIds(tx, withKey)
  await giveBackKeys(tx, [...lostExternalId])
  await insertCharges(
    tx,
    now,
    withKey.filter((intent) => !lostExternalId.has(intent)),
  )
  const holders = await readKeyHolders(tx, [...lostKey])
  const refused = new Set([...lostExternalId].flatMap((intent) => requestKey(intent) ?? []))
  for (const intent of intents) {
    const holder = lostKey.has(intent) ? holders.get(`${intent.accountId} ${intent.idempotency!.key}`) : undefined
    if (holder) results.set(intent, holder)
    else if (!lostKey.has(intent) && !lostExternalId.has(intent)) results.set(intent, { kind: 'opened' })
    else if (lostExternalId.has(intent) || refused.has(requestKey(intent)!))
      results.set(intent, { kind: 'external_id_taken' })
  }
  return intents.filter((intent) => !results.has(intent))
}

function requestKey({ accountId, idempotency }: Intent): string | undefined {
  return idempotency ? `${accountId} ${idempotency.requestHash.toString('hex')} ${idempotency.key}` : undefined
}

async function claimIdempotencyKeys(tx: Tx, now: Date, intents: Intent[]): Promise<Set<Intent>> {
  const keyed = intents.filter((intent) => intent.idempotency)
  if (keyed.length === 0) return new Set()
  const accounts = keyed.map((intent) => intent.accountId)
  const keys = keyed.map((intent) => intent.idempotency!.key)
  await tx.run(
    `delete from idempotency_keys i using unnest($1::uuid[], $2::text[]) as n (account_id, key)
     where i.account_id = n.account_id and i.key = n.key and i.created_at <= $3`,
    [accounts, keys, new Date(now.getTime() - IDEMPOTENCY_MS)],
  )
  const claimed = await tx.rows<{ charge_id: string }>(
    `insert into idempotency_keys (account_id, key, request_hash, charge_id, created_at)
     select account_id, key, request_hash, charge_id, $5
     from unnest($1::uuid[], $2::text[], $3::bytea[], $4::uuid[]) as n (account_id, key, request_hash, charge_id)
     order by account_id, key
     on conflict do nothing
     returning charge_id`,
    [
      accounts,
      keys,
      keyed.map((intent) => intent.idempotency!.requestHash),
      keyed.map((intent) => uuidFromHex(intent.chargeId)),
      now,
    ],
  )
  const won = new Set(claimed.map((row) => row.charge_id))
  return new Set(keyed.filter((intent) => !won.has(uuidFromHex(intent.chargeId))))
}

async function claimExternalIds(tx: Tx, intents: Intent[]): Promise<Set<Intent>> {
  const named = intents.filter((intent) => intent.externalId !== null)
  if (named.length === 0) return new Set()
  const claimed = await tx.rows<{ charge_id: string }>(
    `insert into external_ids (account_id, external_id, charge_id)
     select * from unnest($1::uuid[], $2::text[], $3::uuid[]) as n (account_id, external_id, charge_id)
     order by account_id, external_id
     on conflict do nothing
     returning charge_id`,
    [
      named.map((intent) => intent.accountId),
      named.map((intent) => intent.externalId),
      named.map((intent) => uuidFromHex(intent.chargeId)),
    ],
  )
  const won = new Set(claimed.map((row) => row.charge_id))
  return new Set(named.filter((intent) => !won.has(uuidFromHex(intent.chargeId))))
}

async function giveBackKeys(tx: Tx, intents: Intent[]): Promise<void> {
  const keyed = intents.filter((intent) => intent.idempotency)
  if (keyed.length === 0) return
  await tx.run(
    `delete from idempotency_keys i using unnest($1::uuid[], $2::text[]) as n (account_id, key)
     where i.account_id = n.account_id and i.key = n.key`,
    [keyed.map((intent) => intent.accountId), keyed.map((intent) => intent.idempotency!.key)],
  )
}

async function insertCharges(tx: Tx, now: Date, intents: Intent[]): Promise<void> {
  if (intents.length === 0) return
  const column = <Value>(of: (intent: Intent) => Value) => intents.map(of)
  await tx.run(
    `insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents,
       external_id, description, expires_at, opening_instance, created_at)
     select id, payment_link_id, account_id, provider, 'OPENING', original_value_cents, value_cents, fee_cents,
       external_id, description, expires_at, opening_instance, $12
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],
       $10::timestamptz[], $11::int[])
       as n (id, payment_link_id, account_id, provider, original_value_cents, value_cents, fee_cents, external_id, description,
         expires_at, opening_instance)`,
    [
      column((intent) => uuidFromHex(intent.chargeId)),
      column((intent) => intent.paymentLinkId),
      column((intent) => intent.accountId),
      column((intent) => intent.provider),
      column((intent) => intent.originalValueCents),
      column((intent) => intent.valueCents),
      column((intent) => intent.feeCents),
      column((intent) => intent.externalId),
      column((intent) => intent.description),
      column((intent) => intent.expiresAt),
      column((intent) => intent.instance),
      now,
    ],
  )
  await tx.run(
    `insert into checks (provider, subject, kind, due_at)
     select provider, subject, 'charge', $3 from unnest($1::text[], $2::text[]) as n (provider, subject)`,
    [
      column((intent) => intent.provider),
      column((intent) => intent.chargeId),
      new Date(now.getTime() + INTENT_PATIENCE_MS),
    ],
  )
}

async function readKeyHolders(tx: Tx, losers: Intent[]): Promise<Map<string, IntentResult>> {
  if (losers.length === 0) return new Map()
  const rows = await tx.rows<KeyRow>(
    `select ${KEY_COLUMNS} from unnest($1::uuid[], $2::text[]) as n (account_id, key)
     join idempotency_keys i on i.account_id = n.account_id and i.key = n.key ${KEY_TABLES}`,
    [losers.map((intent) => intent.accountId), losers.map((intent) => intent.idempotency!.key)],
  )
  return new Map(rows.map((row) => [`${row.account_id} ${row.key}`, keyUsed(row)]))
}

/** The request that has this key, if one has. */
export async function findKeyHolder(
  core: Core,
  now: Date,
  accountId: string,
  key: string,
): Promise<KeyUsed | undefined> {
  const [row] = await query<KeyRow>(
    core.pool,
    `select ${KEY_COLUMNS} from idempotency_keys i ${KEY_TABLES} where i.account_id = $1 and i.key = $2 and i.created_at > $3`,
    [accountId, key, new Date(now.getTime() - IDEMPOTENCY_MS)],
  )
  return row && keyUsed(row)
}

const KEY_COLUMNS = `i.key, i.request_hash, ${CHARGE_COLUMNS}`
const KEY_TABLES = 'join charges c on c.id = i.charge_id join accounts a on a.id = c.account_id'

type KeyRow = ChargeRow & { key: string; request_hash: Buffer }

function keyUsed(row: KeyRow): KeyUsed {
  return { kind: 'key_used', requestHash: row.request_hash, charge: chargeFromRow(row) }
}

// A purge that holds its locks for milliseconds only.
const PURGE_LIMIT = 1_000

export async function purgeIdempotencyKeys(core: Core, now: Date): Promise<'more' | 'idle'> {
  const deleted = await transact(core.pool, (tx) =>
    tx.run(
      `delete from idempotency_keys where (account_id, key) in (
         select account_id, key from idempotency_keys where created_at <= $1 order by created_at limit $2 for update skip locked
       )`,
      [new Date(now.getTime() - IDEMPOTENCY_MS), PURGE_LIMIT],
    ),
  )
  return deleted === PURGE_LIMIT ? 'more' : 'idle'
}
