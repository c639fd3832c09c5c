import { uuidFromHex, uuidOfTime } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { isoTime } from '../../db/iso-time.ts'
import { prepared } from '../../db/prepared.ts'
import { inTurn, query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { hexId, type Charge, type ChargeStatus } from '../deposits/charge-reads.ts'
import { readHeld, type HeldMoney } from '../deposits/held-payments.ts'

/** A charge as its account holder sees it. Its times are ISO 8601 texts. */
export type Deposit = Omit<Charge, 'accountId' | 'accountName' | 'provider' | keyof Times> & Times
type Times = { createdAt: string; expiresAt: string; paidAt: string | null }

export function depositOf(charge: Charge): Deposit {
  const { createdAt, expiresAt, paidAt } = charge
  return {
    ...charge,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    paidAt: paidAt?.toISOString() ?? null,
  }
}

export type DepositFilter = ListFilter & {
  status?: ChargeStatus
  externalId?: string
  /** See searchCharges(). */
  search?: string
}

type Row = Deposit & { mayHold: true | null }

const SELECT_ROWS = `
  select
    ${hexId('c.id')} as id,
    c.payment_link_id as "paymentLinkId",
    c.status,
    coalesce(c.emv, '') as emv,
    c.value_cents as "valueCents",
    c.original_value_cents as "originalValueCents",
    c.fee_cents as "feeCents",
    c.external_id as "externalId",
    c.description,
    ${isoTime('c.created_at')} as "createdAt",
    ${isoTime('c.expires_at')} as "expiresAt",
    ${isoTime('c.paid_at')} as "paidAt",
    c.end_to_end_id as "endToEndId",
    c.paid_late as "paidLate",
    c.received_cents as "receivedCents",
    c.refunded_cents as "refundedCents",
    (select true from payments p where p.charge_id = c.id and not p.credited limit 1) as "mayHold"
  from charges c
  where c.account_id = any($1) and c.id < $2 and c.status not in ('OPENING', 'FAILED')`

// A list of one account, and in the order of the index of accounts. With `=` and the order of ids, a plan that is made
// for any account could scan the ids of all, which takes seconds for an account with few of them.
const ORDER = 'order by c.account_id, c.id desc limit $3'

const NEWEST = prepared(`${SELECT_ROWS} ${ORDER}`)

// Planned for its values: what is best depends on which filters are given. Ids contain their time, so they bound the
// scan of a period. Every PENDING charge has a check, and the oldest check is hardly older than a day, so checks bound
// the scan of what is PENDING.
const FILTERED = `${SELECT_ROWS}
  and ($4::text is null or c.status = $4)
  and ($5::timestamptz is null or c.created_at >= $5 and c.id >= $9)
  and ($6::timestamptz is null or c.created_at < $6 and c.id < $10)
  and ($7::text is null or c.external_id = $7)
  and ($8::uuid[] is null or c.id = any($8))
  and (
    $4::text is distinct from 'PENDING'
    or c.id >= (select min(subject)::uuid from checks where kind = 'charge')
  )
  ${ORDER}`

// A charge gets its id before it waits in the lane of intents, which is never longer than this.
const ID_BEFORE_CREATION_MS = 60_000

export type DepositPage = { deposits: Deposit[]; held: Map<string, HeldMoney>; nextCursor: string | null }

/** Newest first. Deposits without held money are not in `held`. */
export function listDeposits(core: Core, accountId: string, filter: DepositFilter): Promise<DepositPage> {
  return inTurn(core.pool, () => readPage(core, accountId, filter))
}

async function readPage(
  core: Core,
  accountId: string,
  { cursor, limit, ...filter }: DepositFilter,
): Promise<DepositPage> {
  const scan = [[accountId], cursorUuid(cursor), limit + 1]
  const isFiltered = Object.keys(filter).length > 0
  const rows = isFiltered
    ? await query<Row>(core.pool, FILTERED, [...scan, ...(await filterValues(core, accountId, filter))])
    : await query<Row>(core.pool, NEWEST, scan)
  const { items: deposits, nextCursor } = page(rows, limit, ({ id }) => id)
  const mayHold = deposits.filter((deposit) => deposit.mayHold)
  const held = await readHeld(
    core,
    mayHold.map(({ id }) => id),
  )
  return { deposits, held, nextCursor }
}

async function filterValues(core: Core, accountId: string, filter: Omit<DepositFilter, 'cursor' | 'limit'>) {
  const { status, from, to, externalId, search } = filter
  const found = search === undefined ? null : await searchCharges(core, accountId, search.trim())
  const firstId = from && uuidOfTime(new Date(from.getTime() - ID_BEFORE_CREATION_MS))
  return [status, from, to, externalId, found, firstId, to && uuidOfTime(to)]
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
