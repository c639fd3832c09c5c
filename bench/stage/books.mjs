// Accounts and charges in bulk, as the service would have made them: ids with their seal, codes of the bank, and a
// check for each charge that can be paid. The audit at the end finds out if anything is missing.
import { transact } from '../../server/dist/db/tx.js'
import { makeAccount } from '../../server/dist/domain/accounts/accounts.js'
import { createKey } from '../../server/dist/domain/accounts/api-keys.js'
import { SCOPES } from '../../server/dist/domain/accounts/callers.js'
import { newSecretUuid7, uuidFromHex } from '../../server/dist/base/ids.js'
import { PROVIDER } from './service.mjs'

export const VALUE_CENTS = 5_000
export const FEE_CENTS = 50
export const CREDITED_CENTS = VALUE_CENTS - FEE_CENTS
const VALUE = '50.00'

const DAY_MS = 24 * 3_600_000
const GRACE_MS = 60_000
const ROWS_AT_ONCE = 5_000
const ACTOR = { kind: 'system', name: 'guiche' }

let made = 0
let paid = 0

/** Accounts that nobody signs in to. Returns their ids. */
export function makeAccounts(pool, count) {
  return transact(pool, async (tx) => {
    const ids = []
    while (ids.length < count) {
      const holder = { email: `bench-${++made}@example.com`, name: 'Bench', passwordHash: 'none' }
      ids.push(await makeAccount(tx, new Date(), holder, ACTOR))
    }
    return ids
  })
}

export async function makeApiKey(pool, accountId) {
  const key = { accountId, name: 'bench', scopes: [...SCOPES], expiresAt: null }
  return (await transact(pool, (tx) => createKey(tx, new Date(), 'live', key, ACTOR))).text
}

/** Charges that can be paid, in turn of the accounts. Returns them as { txid, paymentLinkId }. */
export async function makeCharges({ pool, seal, bank }, { count, accounts }) {
  const all = []
  while (all.length < count) {
    const charges = Array.from({ length: Math.min(ROWS_AT_ONCE, count - all.length) }, (_, index) =>
      newCharge(seal, accounts[(all.length + index) % accounts.length]),
    )
    const emvs = await bank.control('charges', { txids: charges.map(({ txid }) => txid), value: VALUE })
    await insertCharges(pool, charges, emvs)
    for (const { txid, facts } of charges) all.push({ txid, paymentLinkId: facts.paymentLinkId })
  }
  return all
}

function newCharge(seal, accountId) {
  const createdAt = new Date()
  const facts = {
    paymentLinkId: newSecretUuid7(createdAt),
    accountId,
    originalValueCents: VALUE_CENTS,
    valueCents: VALUE_CENTS,
    feeCents: FEE_CENTS,
    externalId: null,
    description: null,
    expiresAt: new Date(createdAt.getTime() + DAY_MS),
  }
  return { txid: seal.newId(createdAt, facts), createdAt, facts }
}

async function insertCharges(pool, charges, emvs) {
  const column = (of) => charges.map(of)
  await transact(pool, async (tx) => {
    await tx.run(
      `insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents,
         fee_cents, emv, created_at, expires_at)
       select id, link, account, '${PROVIDER}', 'PENDING', ${VALUE_CENTS}, ${VALUE_CENTS}, ${FEE_CENTS}, emv, created, expires
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[], $6::timestamptz[])
         as n (id, link, account, emv, created, expires)`,
      [
        column(({ txid }) => uuidFromHex(txid)),
        column(({ facts }) => facts.paymentLinkId),
        column(({ facts }) => facts.accountId),
        emvs,
        column(({ createdAt }) => createdAt),
        column(({ facts }) => facts.expiresAt),
      ],
    )
    await tx.run(
      `insert into checks (provider, subject, kind, account_id, due_at)
       select '${PROVIDER}', subject, 'charge', account, due
       from unnest($1::text[], $2::uuid[], $3::timestamptz[]) as n (subject, account, due)`,
      [
        column(({ txid }) => txid),
        column(({ facts }) => facts.accountId),
        column(({ facts }) => new Date(facts.expiresAt.getTime() + GRACE_MS)),
      ],
    )
  })
}

/** Payments of charges, as settle() takes them. */
export function makePayments(charges, occurredAt = new Date()) {
  const minute = occurredAt.toISOString().replaceAll(/[-:T]/g, '').slice(0, 12)
  return charges.map(({ txid }) => ({
    provider: PROVIDER,
    endToEndId: `E00000001${minute}${(++paid).toString(36).padStart(11, '0')}`,
    txid,
    amountCents: VALUE_CENTS,
    occurredAt,
    refunds: [],
  }))
}

/** Tells the bank of payments that were settled without it: the audit compares its list with the books. */
export function recordAtBank({ bank }, payments) {
  const list = payments.map(({ txid, endToEndId, occurredAt }) => ({ txid, endToEndId, at: occurredAt }))
  return bank.control('record', { payments: list })
}

/** What accounts were credited in all, in cents, however many rows their balances have. */
export async function creditedCents(database, accounts) {
  const [{ cents }] = await database.read(
    `select coalesce(sum(b.credits_cents), 0)::bigint as cents
     from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
     where l.kind = 'balance' and l.account_id = any($1)`,
    [accounts],
  )
  return Number(cents)
}
