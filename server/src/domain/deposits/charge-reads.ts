import { Fault } from '../../base/fault.ts'
import { isUuid, uuidFromHex, uuidOfTime } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import type { SharedRead } from '../../db/shared-reads.ts'
import { query, queryOne, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'

export type ChargeStatus = 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'

/** OPENING is an intent that no provider has accepted yet, FAILED one that none did. Both stay internal. */
export type StoredStatus = ChargeStatus | 'OPENING' | 'FAILED'

export type StoredCharge = {
  id: string // 32 hexadecimal digits, also the provider's txid
  paymentLinkId: string
  accountId: string
  accountName: string
  provider: string
  status: StoredStatus
  /** Empty on a charge that was paid although we never learned its code. */
  emv: string
  valueCents: Cents
  originalValueCents: Cents
  feeCents: Cents
  externalId: string | null
  description: string | null
  createdAt: Date
  expiresAt: Date
  openingInstance: number | null
  endToEndId: string | null
  paidAt: Date | null
  paidLate: boolean
  /** What the payer paid, if an operator accepted another amount than the value; else null. */
  receivedCents: Cents | null
  /** The sum of the refunds that are DONE. */
  refundedCents: Cents
}

export type Charge = Omit<StoredCharge, 'status' | 'openingInstance'> & { status: ChargeStatus }

export function creditedCents(charge: Charge): Cents | null {
  return charge.status === 'COMPLETED' ? paidCents(charge) - charge.feeCents : null
}

/** What a COMPLETED charge was paid with. */
export function paidCents(charge: Pick<Charge, 'receivedCents' | 'valueCents'>): Cents {
  return charge.receivedCents ?? charge.valueCents
}

export function isVisible(charge: StoredCharge): charge is StoredCharge & { status: ChargeStatus } {
  return charge.status !== 'OPENING' && charge.status !== 'FAILED'
}

/** In SQL, a UUID column as the 32 hexadecimal digits that the code uses. */
export function hexId(column: string): string {
  return `replace(${column}::text, '-', '')`
}

/** In SQL, a StoredCharge of charges c and accounts a. */
export const CHARGE_COLUMNS = `
  ${hexId('c.id')} as id,
  c.payment_link_id as "paymentLinkId",
  c.account_id as "accountId",
  a.name as "accountName",
  c.provider,
  c.status,
  coalesce(c.emv, '') as emv,
  c.value_cents as "valueCents",
  c.original_value_cents as "originalValueCents",
  c.fee_cents as "feeCents",
  c.external_id as "externalId",
  c.description,
  c.created_at as "createdAt",
  c.expires_at as "expiresAt",
  c.opening_instance as "openingInstance",
  c.end_to_end_id as "endToEndId",
  c.paid_at as "paidAt",
  c.paid_late as "paidLate",
  c.received_cents as "receivedCents",
  c.refunded_cents as "refundedCents"`

const SELECT_CHARGES = `select ${CHARGE_COLUMNS} from charges c join accounts a on a.id = c.account_id`

export function readCharge(core: Core, chargeId: string): Promise<StoredCharge> {
  return queryOne(core.pool, `${SELECT_CHARGES} where c.id = $1`, [uuidFromHex(chargeId)])
}

/** Locks are taken in the order of ids. Ids that are no charge's are left out. */
export function lockCharges(tx: Tx, chargeIds: string[]): Promise<StoredCharge[]> {
  return tx.rows(`${SELECT_CHARGES} where c.id = any($1) order by c.id for no key update of c`, [
    chargeIds.map(uuidFromHex),
  ])
}

const BY_LINK: SharedRead<StoredCharge> = {
  sql: `${SELECT_CHARGES} where c.payment_link_id = any($1)`,
  keyOf: (charge) => charge.paymentLinkId,
}

/** Whoever has the link may see its payment page and QR code. */
export async function findPublicCharge(core: Core, paymentLinkId: string): Promise<Charge | undefined> {
  const charge = await findByLink(core, paymentLinkId)
  return charge && isVisible(charge) ? charge : undefined
}

/** Null is any account. */
export async function requireCharge(core: Core, accountId: string | null, paymentLinkId: string): Promise<Charge> {
  return ofAccount(accountId, await findByLink(core, paymentLinkId))
}

async function findByLink(core: Core, paymentLinkId: string): Promise<StoredCharge | undefined> {
  return isUuid(paymentLinkId) ? core.readShared(BY_LINK, paymentLinkId.toLowerCase()) : undefined
}

/** The same within a snapshot. */
export async function requireChargeIn(tx: Tx, accountId: string, paymentLinkId: string): Promise<Charge> {
  const [charge] = isUuid(paymentLinkId) ? await tx.rows<StoredCharge>(BY_LINK.sql, [[paymentLinkId]]) : []
  return ofAccount(accountId, charge)
}

/** One statement reads the charges of many callers, so it cannot tell whose each is. */
function ofAccount(accountId: string | null, charge: StoredCharge | undefined): Charge {
  return visible(accountId === null || charge?.accountId === accountId ? charge : undefined)
}

export function visible(charge: StoredCharge | undefined): Charge {
  if (!charge || !isVisible(charge)) throw new Fault('not_found', 'Charge not found')
  return charge
}

export type DepositFilter = ListFilter & {
  status?: ChargeStatus
  externalId?: string
  /** See searchCharges(). */
  search?: string
}

// A charge gets its id before it waits in the lane of intents, which is never longer than this.
const ID_BEFORE_CREATION_MS = 60_000

/** Newest first. */
export async function listDeposits(
  core: Core,
  accountId: string,
  filter: DepositFilter,
): Promise<{ charges: Charge[]; nextCursor: string | null }> {
  const { status, from, to, externalId, search, cursor, limit } = filter
  const found = search === undefined ? null : await searchCharges(core, accountId, search.trim())
  const firstId = from && uuidOfTime(new Date(from.getTime() - ID_BEFORE_CREATION_MS))
  const rows = await query<Charge>(
    core.pool,
    // Ids contain their time, so they bound the scan of a period. Every PENDING charge has a check, and the oldest
    // check is hardly older than a day, so checks bound the scan of what is PENDING.
    `${SELECT_CHARGES}
     where c.account_id = $1
       and c.id < $2
       and c.status not in ('OPENING', 'FAILED')
       and ($3::text is null or c.status = $3)
       and ($4::timestamptz is null or c.created_at >= $4 and c.id >= $8)
       and ($5::timestamptz is null or c.created_at < $5 and c.id < $9)
       and ($6::text is null or c.external_id = $6)
       and ($7::uuid[] is null or c.id = any($7))
       and (
         $3::text is distinct from 'PENDING'
         or c.id >= (select min(subject)::uuid from checks where kind = 'charge')
       )
     order by c.id desc limit $10`,
    [accountId, cursorUuid(cursor), status, from, to, externalId, found, firstId, to && uuidOfTime(to), limit + 1],
  )
  const { items: charges, nextCursor } = page(rows, limit, ({ id }) => id)
  return { charges, nextCursor }
}

// ---- Search ----

// Of each way to match, the newest. Nobody reads a longer list of results.
const MAX_FOUND = 1_000
// Shorter texts match by chance, and the trigram index needs three characters.
const MIN_TEXT = 3
const MIN_ID_DIGITS = 4
// The links of all accounts share one index. Their first twelve digits are the millisecond of creation.
const MIN_LINK_DIGITS = 12
const ID_DIGITS = 32

/**
 * The ids of the account's charges whose external id or description contains the text in any case, whose id or payment
 * link begins with it, whose value it is, or whose payment's endToEndId it is. Each way uses an index.
 */
export async function searchCharges(core: Core, accountId: string, text: string): Promise<string[]> {
  const id = idRange(text, MIN_ID_DIGITS)
  const link = idRange(text, MIN_LINK_DIGITS)
  const pattern = text.length >= MIN_TEXT ? `%${escapeLike(text.toLowerCase())}%` : null
  const rows = await query<{ id: string }>(
    core.pool,
    `(select id from charges where account_id = $1 and id between $2 and $3 order by id desc limit $9)
     union (select id from charges where payment_link_id between $4 and $5 and account_id = $1 limit $9)
     union (select id from charges where account_id = $1 and value_cents = $6 order by id desc limit $9)
     union (
       select id from charges
       where account_id = $1
         and (external_id is not null or description is not null)
         and lower(coalesce(external_id, '') || ' ' || coalesce(description, '')) like $7
       order by id desc limit $9
     )
     union select charge_id from payments where end_to_end_id = $8 and credited`,
    [accountId, id?.first, id?.last, link?.first, link?.last, centsIn(text), pattern, text, MAX_FOUND],
  )
  return rows.map((row) => row.id)
}

/** The ids that begin with these hexadecimal digits, with dashes or without. */
function idRange(text: string, minDigits: number): { first: string; last: string } | undefined {
  const digits = text.toLowerCase().replaceAll('-', '').replace(/…$/, '')
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < minDigits || digits.length > ID_DIGITS) return undefined
  return { first: uuidFromHex(digits.padEnd(ID_DIGITS, '0')), last: uuidFromHex(digits.padEnd(ID_DIGITS, 'f')) }
}

/** An amount as people write it: 199,90 or R$ 1.234,56 or 1,234.56. A whole number is reais. Null for anything else. */
export function centsIn(text: string): Cents | null {
  const bare = text.replace(/^R\$\s*/i, '').trim()
  const [, reais, cents] =
    /^(\d{1,3}(?:\.\d{3})+|\d+),(\d{2})$/.exec(bare) ??
    /^(\d{1,3}(?:,\d{3})+|\d+)\.(\d{2})$/.exec(bare) ??
    /^(\d{1,3}(?:\.\d{3})+|\d{1,3}(?:,\d{3})+|\d+)()$/.exec(bare) ??
    []
  if (reais === undefined) return null
  const total = Number(reais.replaceAll(/\D/g, '') + (cents || '00'))
  return Number.isSafeInteger(total) ? total : null
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&')
}
