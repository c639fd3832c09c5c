import { uuidOfTime } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { prepared } from '../../db/prepared.ts'
import { inTurn, query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { DEPOSIT_COLUMNS, type Charge, type ChargeStatus } from '../deposits/charge-reads.ts'
import { withGenuineCodes } from '../deposits/charge-codes.ts'
import { readHeld, type HeldMoney } from '../deposits/held-payments.ts'

/** A charge as its account holder sees it. Its times are ISO 8601 texts. */
export type Deposit = Omit<Charge, 'accountId' | 'accountName' | keyof Times> & Times
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

const COLUMNS = `${DEPOSIT_COLUMNS},
    (select true from payments p where p.charge_id = c.id and not p.credited limit 1) as "mayHold"`

const OF_ACCOUNT = `c.account_id = any($1) and c.id < $2 and c.status not in ('OPENING', 'FAILED')`

// A list of one account, and in the order of the index of accounts. With `=` and the order of ids, a plan that is made
// for any account could scan the ids of all, which takes seconds for an account with few of them.
const ORDER = 'order by c.account_id, c.id desc limit $3'

const NEWEST = prepared(`select ${COLUMNS} from charges c where ${OF_ACCOUNT} ${ORDER}`)

// The statements below are planned for their values: what is best depends on which filters are given.

// Ids contain their time, so they bound the scan of a period.
const FILTERS = `
  ($4::text is null or c.status = $4)
  and ($5::timestamptz is null or c.created_at >= $5 and c.id >= $8)
  and ($6::timestamptz is null or c.created_at < $6 and c.id < $9)
  and ($7::text is null or c.external_id = $7)`

const FILTERED = `select ${COLUMNS} from charges c where ${OF_ACCOUNT} and ${FILTERS} ${ORDER}`

const PENDING = `select ${COLUMNS} from (${pendingCharges(FILTERS)}) c order by c.id desc`

/** Newest first. Every PENDING charge has a check, and the status itself is in no index, because it changes. */
function pendingCharges(condition: string, newest = ''): string {
  return `
    select c.*
    from (
      select k.account_id, k.subject::uuid as id from checks k
      where k.kind = 'charge' and k.account_id = any($1) and k.subject::uuid < $2
        and ($8::uuid is null or k.subject::uuid >= $8) and ($9::uuid is null or k.subject::uuid < $9)
      ${newest}
    ) k
    cross join lateral (select * from charges c where c.id = k.id and ${OF_ACCOUNT} offset 0) c
    where ${condition}
    order by k.account_id desc, k.id desc limit $3`
}

// A charge gets its id before it waits in the lane of intents, which is never longer than this.
const ID_BEFORE_CREATION_MS = 60_000

export type DepositPage = { deposits: Deposit[]; held: Map<string, HeldMoney>; nextCursor: string | null }

/** Newest first. Deposits without held money are not in `held`. */
export function listDeposits(core: Core, accountId: string, filter: DepositFilter): Promise<DepositPage> {
  return inTurn(core.pool, () => readPage(core, accountId, filter))
}

async function readPage(core: Core, accountId: string, filter: DepositFilter): Promise<DepositPage> {
  const rows = await readRows(core, accountId, filter)
  const { items, nextCursor } = page(rows, filter.limit, ({ id }) => id)
  const deposits = await withGenuineCodes(core, items)
  const mayHold = deposits.filter((deposit) => deposit.mayHold)
  const held = await readHeld(
    core,
    mayHold.map(({ id }) => id),
  )
  return { deposits, held, nextCursor }
}

/** One row more than the limit, if there are so many. */
function readRows(core: Core, accountId: string, { cursor, limit, ...filter }: DepositFilter): Promise<Row[]> {
  const { status, from, to, externalId, search } = filter
  const scan = [[accountId], cursorUuid(cursor), limit + 1]
  if (Object.keys(filter).length === 0) return query(core.pool, NEWEST, scan)
  const firstId = from && uuidOfTime(new Date(from.getTime() - ID_BEFORE_CREATION_MS))
  const values = [...scan, status, from, to, externalId, firstId, to && uuidOfTime(to)]
  if (search !== undefined) return searchRows(core, { status, limit: limit + 1, values, text: search.trim() })
  return query(core.pool, status === 'PENDING' ? PENDING : FILTERED, values)
}

// ---- Search ----

// Shorter texts match by chance, and the trigram index needs three characters.
const MIN_TEXT = 3
const MIN_ID_DIGITS = 4
// The links of all accounts share one index. Their first twelve digits are the millisecond of creation.
const MIN_LINK_DIGITS = 12
const ID_DIGITS = 32
// Shorter parts of an endToEndId are in too many of them.
const MIN_PAYMENT_PART = 5
// An endToEndId is E, the bank's number (8 digits), the minute (12 digits) and 11 characters.
const PAYMENT_MINUTE = /^E\d{20}/
const BEFORE_LAST_CHARACTERS = '_'.repeat(21)
const LAST_CHARACTERS = 11
// At most this many payments are searched: those of one bank in one minute.
const MAX_PAYMENTS = 1_000

// Reads this many of the newest deposits for each result. That finds common words without the index, which would return
// every match before sorting. Words that are rarer than one in this many are then looked up in the index.
const NEWEST_PER_RESULT = 100

const TEXT = `fold_text(coalesce(c.external_id, '') || ' ' || coalesce(c.description, ''))`
const PATTERN = `'%' || fold_text($15) || '%'`

const MATCHES = `${FILTERS} and (
    c.id between $10 and $11
    or c.payment_link_id between $12 and $13
    or c.value_cents = $14
    or ${TEXT} like ${PATTERN}
    or lower(c.end_to_end_id) like $16
  )`

const SEARCH_NEWEST = `
  select id from (
    select * from charges c
    where ${OF_ACCOUNT} and ($8::uuid is null or c.id >= $8) and ($9::uuid is null or c.id < $9)
    order by c.account_id, c.id desc limit $17
  ) c
  where ${MATCHES} ${ORDER}`

const NEWEST_CHECKS = 'order by k.account_id desc, k.subject::uuid desc limit $17'
const SEARCH_PENDING = `select id from (${pendingCharges(MATCHES, NEWEST_CHECKS)}) c ${ORDER}`

const found = (charges: string, order: string) => `(select id from (${charges}) c order by ${order} limit $3)`
const foundBy = (condition: string) => `select * from charges c where ${OF_ACCOUNT} and ${FILTERS} and ${condition}`

// Searches by id and by amount have an index in order of age. For the others, `offset 0` keeps PostgreSQL from scanning
// all charges by id until enough of them match.
const SEARCH_ALL = [
  found(foundBy('c.id between $10 and $11'), 'account_id, id desc'),
  found(`${foundBy('c.payment_link_id between $12 and $13')} offset 0`, 'id desc'),
  found(foundBy('c.value_cents = $14'), 'account_id, value_cents, id desc'),
  found(
    `${foundBy(`(c.external_id is not null or c.description is not null) and ${TEXT} like ${PATTERN}`)} offset 0`,
    'id desc',
  ),
  found(
    `${foundBy(`c.id = any(array(
      select charge_id from payments where end_to_end_id between $16 and $17 and credited limit ${MAX_PAYMENTS}
    ))`)} offset 0`,
    'id desc',
  ),
].join(' union ')

const BY_ID = `select ${COLUMNS} from charges c where c.id = any($1) order by c.id desc`

type Search = { text: string; status: ChargeStatus | undefined; limit: number; values: unknown[] }

/**
 * Searches the external id and the description (contains, ignoring case and accents), the id and the payment link
 * (starts with), the amount (equals) and the endToEndId (equals, or starts with at least bank and minute). A shorter
 * part of an endToEndId is searched for among the newest charges only.
 */
async function searchRows(core: Core, { text, status, limit, values }: Search): Promise<Row[]> {
  const id = idRange(text, MIN_ID_DIGITS)
  const link = idRange(text, MIN_LINK_DIGITS)
  const part = text.length >= MIN_TEXT ? escapeLike(text) : null
  const given = [...values, id?.first, id?.last, link?.first, link?.last, centsIn(text), part]
  const isPending = status === 'PENDING'
  const newest = await query<{ id: string }>(core.pool, isPending ? SEARCH_PENDING : SEARCH_NEWEST, [
    ...given,
    paymentPattern(text),
    limit * NEWEST_PER_RESULT,
  ])
  const all =
    newest.length < limit ? await query<{ id: string }>(core.pool, SEARCH_ALL, [...given, ...payments(text)]) : []
  const ids = new Set([...newest, ...all].map((row) => row.id))
  return query(core.pool, BY_ID, [[...ids].toSorted().slice(-limit)])
}

/** For `like` on an endToEndId in lower case. A few digits could be of its bank or time, and do not count there. */
function paymentPattern(text: string): string | null {
  if (text.length < MIN_PAYMENT_PART || !/^[a-z\d]+$/i.test(text)) return null
  const isNumber = /^\d+$/.test(text) && text.length <= LAST_CHARACTERS
  return `${isNumber ? BEFORE_LAST_CHARACTERS : ''}%${text.toLowerCase()}%`
}

/** The first and the last endToEndId that begin with the text. */
function payments(text: string): [first: string, last: string] {
  // Behind all that it can continue with, in any collation.
  return [text, PAYMENT_MINUTE.test(text) ? text + 'z'.repeat(LAST_CHARACTERS + 1) : text]
}

/** The ids that begin with these hexadecimal digits, with dashes or without. */
function idRange(text: string, minDigits: number): { first: string; last: string } | undefined {
  const digits = text.toLowerCase().replaceAll('-', '').replace(/…$/, '')
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < minDigits || digits.length > ID_DIGITS) return undefined
  return { first: digits.padEnd(ID_DIGITS, '0'), last: digits.padEnd(ID_DIGITS, 'f') }
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
