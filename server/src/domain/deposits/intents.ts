import { uuidFromHex } from '../../base/ids.ts'
import { insertRows } from '../../db/insert-rows.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import type { Price } from '../accounts/pricing.ts'
import type { Core } from '../core/core.ts'
import { CHARGE_COLUMNS, type StoredCharge } from './charge-reads.ts'

/**
 * What the account holder says about a deposit. A new field is optional and left out where it is not given, so that
 * the request hash of a deposit without it stays the same.
 */
export type OwnFields = { externalId: string | null; description: string | null }

/** A deposit that was asked for. It is stored before the provider is asked, so that a crash leaves us its txid. */
export type Intent = Price &
  OwnFields & {
    chargeId: string
    paymentLinkId: string
    accountId: string
    provider: string
    expiresAt: Date
    instance: number
    idempotency: Idempotency | null
  }

export type Idempotency = { key: string; requestHash: Buffer }

export type IntentResult = { kind: 'opened' } | KeyUsed | { kind: 'external_id_taken' }

/** An earlier request has the idempotency key. */
export type KeyUsed = { kind: 'key_used'; isSameRequest: boolean; charge: StoredCharge }

const IDEMPOTENCY_MS = 24 * 3_600_000
// After this, a check withdraws the intent: its process died or lost its provider. Longer than any provider's deadline
// for creating a charge.
export const INTENT_TIMEOUT_MS = 60_000

type KeyedIntent = Intent & { idempotency: Idempotency }

function hasKey(intent: Intent): intent is KeyedIntent {
  return intent.idempotency !== null
}

/**
 * Unique keys decide: the first insert wins, also between processes, where the second waits for the first one's commit.
 */
export async function insertIntents(tx: Tx, now: Date, intents: Intent[]): Promise<IntentResult[]> {
  const results = new Map<Intent, IntentResult>()
  let waiting = intents
  // Each round answers at least one request of each key, so there are at most as many rounds as requests, and nearly
  // always one.
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
  const withoutKey = await claimIdempotencyKeys(tx, now, intents.filter(hasKey))
  const claimants = without(intents, withoutKey)
  const refused = await claimExternalIds(tx, claimants)
  await deleteKeys(tx, refused.filter(hasKey), now)
  const opened = without(claimants, refused)
  await insertCharges(tx, now, opened)
  for (const intent of opened) results.set(intent, { kind: 'opened' })
  for (const intent of refused) results.set(intent, { kind: 'external_id_taken' })

  const holders = await readKeyHolders(tx, withoutKey)
  const refusedRequests = new Set(refused.filter(hasKey).map(requestText))
  for (const intent of withoutKey) {
    const holder = holders.get(keyText(intent.accountId, intent.idempotency.key))
    if (holder) results.set(intent, keyUsed(holder, intent.idempotency))
    else if (refusedRequests.has(requestText(intent))) results.set(intent, { kind: 'external_id_taken' })
  }
  return intents.filter((intent) => !results.has(intent))
}

function without(intents: Intent[], removed: Intent[]): Intent[] {
  const set = new Set(removed)
  return intents.filter((intent) => !set.has(intent))
}

function keyText(accountId: string, key: string): string {
  return `${accountId} ${key}`
}

function requestText({ accountId, idempotency }: KeyedIntent): string {
  return `${idempotency.requestHash.toString('hex')} ${keyText(accountId, idempotency.key)}`
}

/** Resolves to the intents whose key another request has. */
async function claimIdempotencyKeys(tx: Tx, now: Date, intents: KeyedIntent[]): Promise<KeyedIntent[]> {
  await deleteKeys(tx, intents, new Date(now.getTime() - IDEMPOTENCY_MS))
  const claimed = await insertRows<{ charge_id: string }, KeyedIntent>(
    tx,
    'idempotency_keys',
    intents,
    {
      account_id: ['uuid', (intent) => intent.accountId],
      key: ['text', (intent) => intent.idempotency.key],
      request_hash: ['bytea', (intent) => intent.idempotency.requestHash],
      charge_id: ['uuid', (intent) => uuidFromHex(intent.chargeId)],
      created_at: ['timestamptz', () => now],
    },
    { orderBy: 'account_id, key', tail: 'on conflict do nothing returning charge_id' },
  )
  return unclaimed(intents, claimed)
}

/** Resolves to the intents whose external id another charge has. */
async function claimExternalIds(tx: Tx, intents: Intent[]): Promise<Intent[]> {
  const named = intents.filter((intent) => intent.externalId !== null)
  const claimed = await insertRows<{ charge_id: string }, Intent>(
    tx,
    'external_ids',
    named,
    {
      account_id: ['uuid', (intent) => intent.accountId],
      external_id: ['text', (intent) => intent.externalId],
      charge_id: ['uuid', (intent) => uuidFromHex(intent.chargeId)],
    },
    { orderBy: 'account_id, external_id', tail: 'on conflict do nothing returning charge_id' },
  )
  return unclaimed(named, claimed)
}

function unclaimed<Some extends Intent>(intents: Some[], claimed: { charge_id: string }[]): Some[] {
  const won = new Set(claimed.map((row) => row.charge_id))
  return intents.filter((intent) => !won.has(uuidFromHex(intent.chargeId)))
}

async function deleteKeys(tx: Tx, intents: KeyedIntent[], createdUntil: Date): Promise<void> {
  if (intents.length === 0) return
  await tx.run(
    `delete from idempotency_keys i using unnest($1::uuid[], $2::text[]) as n (account_id, key)
     where i.account_id = n.account_id and i.key = n.key and i.created_at <= $3`,
    [intents.map((intent) => intent.accountId), intents.map((intent) => intent.idempotency.key), createdUntil],
  )
}

async function insertCharges(tx: Tx, now: Date, intents: Intent[]): Promise<void> {
  await insertRows(tx, 'charges', intents, {
    id: ['uuid', (intent) => uuidFromHex(intent.chargeId)],
    payment_link_id: ['uuid', (intent) => intent.paymentLinkId],
    account_id: ['uuid', (intent) => intent.accountId],
    provider: ['text', (intent) => intent.provider],
    status: ['text', () => 'OPENING'],
    original_value_cents: ['bigint', (intent) => intent.originalValueCents],
    value_cents: ['bigint', (intent) => intent.valueCents],
    fee_cents: ['bigint', (intent) => intent.feeCents],
    external_id: ['text', (intent) => intent.externalId],
    description: ['text', (intent) => intent.description],
    expires_at: ['timestamptz', (intent) => intent.expiresAt],
    opening_instance: ['int', (intent) => intent.instance],
    created_at: ['timestamptz', () => now],
  })
  await insertRows(tx, 'checks', intents, {
    provider: ['text', (intent) => intent.provider],
    subject: ['text', (intent) => intent.chargeId],
    kind: ['text', () => 'charge'],
    due_at: ['timestamptz', () => new Date(now.getTime() + INTENT_TIMEOUT_MS)],
  })
}

const SELECT_KEY_HOLDERS = `
  select i.key, i.request_hash as "requestHash", ${CHARGE_COLUMNS}
  from idempotency_keys i
  join charges c on c.id = i.charge_id
  join accounts a on a.id = c.account_id`

type KeyHolder = StoredCharge & Idempotency

async function readKeyHolders(tx: Tx, intents: KeyedIntent[]): Promise<Map<string, KeyHolder>> {
  if (intents.length === 0) return new Map()
  const rows = await tx.rows<KeyHolder>(
    `${SELECT_KEY_HOLDERS} join unnest($1::uuid[], $2::text[]) as n (account_id, key)
       on i.account_id = n.account_id and i.key = n.key`,
    [intents.map((intent) => intent.accountId), intents.map((intent) => intent.idempotency.key)],
  )
  return new Map(rows.map((row) => [keyText(row.accountId, row.key), row]))
}

/** The earlier request with this key, if there is one. */
export async function findKeyHolder(core: Core, accountId: string, idempotency: Idempotency) {
  const [holder] = await query<KeyHolder>(
    core.pool,
    `${SELECT_KEY_HOLDERS} where i.account_id = $1 and i.key = $2 and i.created_at > $3`,
    [accountId, idempotency.key, new Date(core.now().getTime() - IDEMPOTENCY_MS)],
  )
  return holder && keyUsed(holder, idempotency)
}

function keyUsed({ requestHash, ...charge }: KeyHolder, request: Idempotency): KeyUsed {
  return { kind: 'key_used', isSameRequest: requestHash.equals(request.requestHash), charge }
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
      [new Date(core.now().getTime() - IDEMPOTENCY_MS), PURGE_LIMIT],
    ),
  )
  return deleted === PURGE_LIMIT ? 'more' : 'idle'
}
