// A past of charges, as an old service has it: most of them paid, the others expired, over some months. Charges are
// inserted in bulk, and their payments are settled by the service's own function with the time of then, so that the
// books agree however they are kept. All of it lies before the day of the bench: the bank knows nothing of it.
import { newSecretUuid7, uuidFromHex } from '../../server/dist/base/ids.js'
import { transact } from '../../server/dist/db/tx.js'
import { settle } from '../../server/dist/domain/deposits/settle.js'
import { FEE_CENTS, makePayments, VALUE_CENTS } from './books.mjs'
import { makeCodes } from './br-codes.mjs'
import { PROVIDER } from './service.mjs'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS = 90
const SHARE_PAID = 0.75
// A batch is what happened at one moment. Larger ones would fill faster, but no settlement is that large.
const BATCH = 1_000
const AT_ONCE = 2

const emvOf = makeCodes('pix.bench.example/old/v2/')

export async function fillHistory({ pool, seal, database }, { count, accounts, show }) {
  const batches = Math.ceil(count / BATCH)
  // The day before yesterday is over in every time zone.
  const endMs = Date.now() - 2 * DAY_MS
  let next = 0
  const work = async () => {
    while (next < batches) {
      const index = next++
      if (index % 20 === 0) show(`${(index * BATCH).toLocaleString('en')} of ${count.toLocaleString('en')} charges`)
      await fillBatch({ pool, seal }, accounts, new Date(endMs - ((batches - index) / batches) * DAYS * DAY_MS))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  show('vacuum')
  await database.read('vacuum analyze')
}

async function fillBatch({ pool, seal }, accounts, createdAt) {
  const charges = Array.from({ length: BATCH }, (_, index) =>
    oldCharge(seal, accounts[index % accounts.length], createdAt),
  )
  const paid = charges.slice(0, BATCH * SHARE_PAID)
  const paidAt = new Date(createdAt.getTime() + HOUR_MS / 4)
  await transact(pool, async (tx) => {
    await insertOld(tx, paid, 'PENDING', createdAt)
    await insertOld(tx, charges.slice(paid.length), 'EXPIRED', createdAt)
    await settle(tx, paidAt, makePayments(paid, paidAt))
  })
}

function oldCharge(seal, accountId, createdAt) {
  const facts = {
    paymentLinkId: newSecretUuid7(createdAt),
    accountId,
    originalValueCents: VALUE_CENTS,
    valueCents: VALUE_CENTS,
    feeCents: FEE_CENTS,
    externalId: null,
    description: null,
    expiresAt: new Date(createdAt.getTime() + HOUR_MS),
  }
  return { txid: seal.newId(createdAt, facts), facts }
}

function insertOld(tx, charges, status, createdAt) {
  const expiresAt = new Date(createdAt.getTime() + HOUR_MS)
  const closedAt = status === 'EXPIRED' ? new Date(expiresAt.getTime() + 60_000) : null
  return tx.run(
    `insert into charges (id, payment_link_id, account_id, provider, status, original_value_cents, value_cents, fee_cents,
       emv, created_at, expires_at, closed_at)
     select id, link, account, '${PROVIDER}', $5, ${VALUE_CENTS}, ${VALUE_CENTS}, ${FEE_CENTS}, emv, $6, $7, $8
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[]) as n (id, link, account, emv)`,
    [
      charges.map(({ txid }) => uuidFromHex(txid)),
      charges.map(({ facts }) => facts.paymentLinkId),
      charges.map(({ facts }) => facts.accountId),
      charges.map(({ txid }) => emvOf(txid, '50.00')),
      status,
      createdAt,
      expiresAt,
      closedAt,
    ],
  )
}
