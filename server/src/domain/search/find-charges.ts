import { uuidOfTime } from '../../base/ids.ts'
import { hexId } from '../../db/sql-values.ts'
import type { Tx } from '../../db/tx.ts'
import type { ChargeStatus } from '../deposits/charge-reads.ts'
import { statementValues, type StatementValues } from './statement-values.ts'
import { PIECES_OF_CHARGE, PIECES_OF_PAYMENT, type Part, type TypedText } from './typed-text.ts'

// Charges that a typed text can mean, of one account or of all.

export type ChargeSearch = {
  /** Null: of all accounts. */
  accountId: string | null
  typed: TypedText
  status?: ChargeStatus | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Only those with smaller ids. */
  before: string
  limit: number
}

// Reads this many of the newest charges for each result. That finds common words without the index, which would return
// every match before sorting. Words that are rarer than one in this many are then looked up in the index.
const NEWEST_PER_RESULT = 100

// At most this many payments are searched: those of one bank in one minute, or with one piece of their ids.
const MAX_PAYMENTS = 1_000
// An amount is looked for in the index of each account: of so many, the newest.
const MAX_ACCOUNTS = 10_000
// A charge gets its id before it waits in the lane of intents, which is never longer than this.
const ID_BEFORE_CREATION_MS = 60_000

/** Their ids, newest first. */
export async function findCharges(tx: Pick<Tx, 'rows'>, search: ChargeSearch): Promise<string[]> {
  const newest = await ask(tx, (values) =>
    newestSql(search, values, waysOf(search.typed, values), search.limit * NEWEST_PER_RESULT),
  )
  const all = newest.length < search.limit ? await ask(tx, (values) => indexedSql(search, values)) : []
  return [...new Set([...newest, ...all])].toSorted().toReversed().slice(0, search.limit)
}

/** As findCharges(). If it finds none, also by parts of ids that no index has, among so many of the newest. */
export async function findChargesByAnyPart(
  tx: Pick<Tx, 'rows'>,
  search: ChargeSearch,
  newest: number,
): Promise<string[]> {
  const found = await findCharges(tx, search)
  if (found.length > 0) return found
  return ask(tx, (values) => newestSql(search, values, partsOf(search.typed, values), newest))
}

async function ask(tx: Pick<Tx, 'rows'>, makeSql: (values: StatementValues) => string | undefined): Promise<string[]> {
  const values = statementValues()
  const sql = makeSql(values)
  return sql === undefined ? [] : (await tx.rows<{ id: string }>(sql, values.all)).map(({ id }) => id)
}

// ---- What a list and a search share ----

/** By parameter of a statement, as `$1`. A period bounds the ids too, since they contain their time. */
type Scan = { accounts: string; before: string; limit: string; firstId: string; lastId: string }

/** What ids can tell of a period. */
export function idsOfPeriod({ from, to }: { from?: Date | undefined; to?: Date | undefined }) {
  return {
    firstId: from && uuidOfTime(new Date(from.getTime() - ID_BEFORE_CREATION_MS)),
    lastId: to && uuidOfTime(to),
  }
}

/** In SQL, the charges c that somebody sees, of one account or of all. */
export function seenBefore(isOfOne: boolean, { accounts, before }: Pick<Scan, 'accounts' | 'before'>): string {
  return `${ofAccounts(isOfOne, 'c', accounts)} and c.id < ${before} and c.status not in ('OPENING', 'FAILED')`
}

function ofAccounts(isOfOne: boolean, row: string, accounts: string): string {
  return isOfOne ? `${row}.account_id = any(${accounts})` : `${accounts}::uuid[] is null`
}

/**
 * A list of one account is in the order of the index of accounts. With `=` and the order of ids, a plan that is made
 * for any account could scan the ids of all, which takes seconds for an account with few of them.
 */
export function newestFirst(isOfOne: boolean): string {
  return `order by ${isOfOne ? 'c.account_id, ' : ''}c.id desc`
}

/**
 * Newest first. Every PENDING charge has a check, and the status itself is in no index, because it changes. For all
 * accounts, all checks are read: those are the open charges. `newest` ends the scan of those of one account.
 */
export function pendingCharges(isOfOne: boolean, scan: Scan, condition: string, newest = ''): string {
  const { accounts, before, limit, firstId, lastId } = scan
  const order = `order by ${isOfOne ? 'k.account_id desc, ' : ''}`
  return `
    select c.*
    from (
      select k.account_id, k.subject::uuid as id from checks k
      where k.kind = 'charge' and ${ofAccounts(isOfOne, 'k', accounts)}
        and k.subject::uuid < ${before}
        and (${firstId}::uuid is null or k.subject::uuid >= ${firstId})
        and (${lastId}::uuid is null or k.subject::uuid < ${lastId})
      ${newest && `${order}k.subject::uuid desc limit ${newest}`}
    ) k
    cross join lateral (select * from charges c where c.id = k.id and ${seenBefore(isOfOne, scan)} offset 0) c
    where ${condition}
    ${order}k.id desc limit ${limit}`
}

// ---- Search ----

const TEXT = `fold_text(coalesce(c.external_id, '') || ' ' || coalesce(c.description, ''))`

/** In SQL, those of so many of the newest that fulfil one of these conditions. */
function newestSql(search: ChargeSearch, values: StatementValues, ways: string[], newest: number): string | undefined {
  if (ways.length === 0) return undefined
  const isOfOne = search.accountId !== null
  const scan = scanOf(search, values)
  const condition = `${filters(search, values)} and (${ways.join(' or ')})`
  if (search.status === 'PENDING')
    return `select id from (${pendingCharges(isOfOne, scan, condition, values.put(newest))}) c
      ${newestFirst(isOfOne)} limit ${scan.limit}`
  return `
    select id from (
      select * from charges c where ${seenBefore(isOfOne, scan)} and ${within(scan)}
      ${newestFirst(isOfOne)} limit ${values.put(newest)}
    ) c
    where ${condition} ${newestFirst(isOfOne)} limit ${scan.limit}`
}

function scanOf(search: ChargeSearch, { put }: StatementValues): Scan {
  const { firstId = null, lastId = null } = idsOfPeriod(search)
  return {
    accounts: put(search.accountId && [search.accountId]),
    before: put(search.before),
    limit: put(search.limit),
    firstId: put(firstId),
    lastId: put(lastId),
  }
}

function within({ firstId, lastId }: Scan): string {
  return `(${firstId}::uuid is null or c.id >= ${firstId}) and (${lastId}::uuid is null or c.id < ${lastId})`
}

function filters({ status, from, to }: ChargeSearch, { put }: StatementValues): string {
  const [wanted, since, until] = [put(status), put(from), put(to)]
  return `(${wanted}::text is null or c.status = ${wanted})
    and (${since}::timestamptz is null or c.created_at >= ${since})
    and (${until}::timestamptz is null or c.created_at < ${until})`
}

function waysOf(typed: TypedText, values: StatementValues): string[] {
  const { id, link, cents, words } = typed
  const { put } = values
  return [
    id && `c.id between ${put(id.first)} and ${put(id.last)}`,
    link && `c.payment_link_id between ${put(link.first)} and ${put(link.last)}`,
    cents && `c.value_cents = ${put(cents)}`,
    words && `${TEXT} like fold_text(${put(words)})`,
    ...partsOf(typed, values),
  ].flatMap((way) => way || [])
}

function partsOf({ idPart, endToEndPart }: TypedText, { put }: StatementValues): string[] {
  const digits = idPart && put(idPart.pattern)
  return [
    digits && `${hexId('c.id')} like ${digits}`,
    digits && `${hexId('c.payment_link_id')} like ${digits}`,
    endToEndPart && `lower(c.end_to_end_id) like ${put(endToEndPart.pattern)}`,
  ].flatMap((way) => way || [])
}

/**
 * Searches by id and by amount have an index in order of age. For the others, `offset 0` keeps PostgreSQL from scanning
 * all charges by id until enough of them match.
 */
function indexedSql(search: ChargeSearch, values: StatementValues): string | undefined {
  const { id, idPart, link, cents, words } = search.typed
  const { put } = values
  const isOfOne = search.accountId !== null
  const scan = scanOf(search, values)
  const seen = `${seenBefore(isOfOne, scan)} and ${within(scan)} and ${filters(search, values)}`
  const found = (charges: string, order: string) =>
    `(select id from (${charges}) c order by ${order} limit ${scan.limit})`
  const by = (condition: string) => `select * from charges c where ${seen} and ${condition}`
  const anywhere = (condition: string) => found(`${by(condition)} offset 0`, 'id desc')
  const payments = paymentsSql(search.typed, values)
  const ways = [
    id && found(by(`c.id between ${put(id.first)} and ${put(id.last)}`), isOfOne ? 'account_id, id desc' : 'id desc'),
    idPart && anywhere(hasPart(PIECES_OF_CHARGE, hexId('c.id'), idPart, values)),
    link && anywhere(`c.payment_link_id between ${put(link.first)} and ${put(link.last)}`),
    cents &&
      found(isOfOne ? by(`c.value_cents = ${put(cents)}`) : ofEach(seen, put(cents), scan), BY_VALUE[`${isOfOne}`]),
    words &&
      anywhere(`(c.external_id is not null or c.description is not null) and ${TEXT} like fold_text(${put(words)})`),
    payments && anywhere(`c.id = any(array(select p.charge_id from (${payments}) p where p.credited))`),
  ].flatMap((way) => way || [])
  return ways.length === 0 ? undefined : `select id from (${ways.join(' union ')}) c`
}

const BY_VALUE = { true: 'account_id, value_cents, id desc', false: 'id desc' }

/** The index of amounts begins with the account. */
function ofEach(seen: string, cents: string, { limit }: Scan): string {
  return `
    select c.* from (select id from accounts order by id desc limit ${MAX_ACCOUNTS}) a
    cross join lateral (
      select * from charges c where c.account_id = a.id and c.value_cents = ${cents} and ${seen}
      order by c.account_id, c.value_cents, c.id desc limit ${limit}
    ) c`
}

function hasPart(piecesOfRow: string, id: string, { pattern, pieces }: Part, { put }: StatementValues): string {
  const candidates = pieces.map((some) => `${piecesOfRow} @> ${put(some)}::text[]`)
  return `(${candidates.join(' or ')}) and ${id} like ${put(pattern)}`
}

/** In SQL, payments by their endToEndId, or by a part of it that the index has. Undefined if the text is neither. */
export function paymentsSql({ endToEndId, endToEndPart }: TypedText, values: StatementValues): string | undefined {
  const { put } = values
  const ways = [
    endToEndId && `p.end_to_end_id between ${put(endToEndId.first)} and ${put(endToEndId.last)}`,
    endToEndPart?.pieces.length && hasPart(PIECES_OF_PAYMENT, 'lower(p.end_to_end_id)', endToEndPart, values),
  ].flatMap((way) => (way ? `(select * from payments p where ${way} limit ${MAX_PAYMENTS})` : []))
  return ways.length === 0 ? undefined : ways.join(' union ')
}
