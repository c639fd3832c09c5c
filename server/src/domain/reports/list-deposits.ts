import { hexId } from '../../db/sql-values.ts'
import { prepared } from '../../db/prepared.ts'
import { autocommit, inTurn, query } from '../../db/tx.ts'
import type { Account } from '../accounts/accounts.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { DEPOSIT_COLUMNS, type Charge, type ChargeStatus } from '../deposits/charge-reads.ts'
import { withGenuineCodes } from '../deposits/charge-codes.ts'
import { readHeld, type HeldMoney } from '../deposits/held-payments.ts'
import { findCharges, idsOfPeriod, newestFirst, pendingCharges, seenBefore } from '../search/find-charges.ts'
import { readTyped } from '../search/typed-text.ts'

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
  /** The external id of a code of the account. */
  code?: string
  /** See search/typed-text.ts. */
  search?: string
}

type Row = Deposit & { mayHold: true | null }

const COLUMNS = `${DEPOSIT_COLUMNS},
    (select true from payments p where p.charge_id = c.id and not p.credited limit 1) as "mayHold"`

const SCAN = { accounts: '$1', before: '$2', limit: '$3', firstId: '$8', lastId: '$9' }

const NEWEST = prepared(
  `select ${COLUMNS} from charges c where ${seenBefore(true, SCAN)} ${newestFirst(true)} limit $3`,
)
const NEWEST_OF_ALL = `select ${COLUMNS} from charges c where ${seenBefore(false, SCAN)} ${newestFirst(false)} limit $3`

// The statements below are planned for their values: what is best depends on which filters are given.

// Ids contain their time, so they bound the scan of a period.
const FILTERS = `
  ($4::text is null or c.status = $4)
  and ($5::timestamptz is null or c.created_at >= $5 and c.id >= $8)
  and ($6::timestamptz is null or c.created_at < $6 and c.id < $9)
  and ($7::text is null or c.external_id = $7)
  and ($10::uuid is null or c.code_id = $10)`

function filteredSql(isOfOne: boolean, status: ChargeStatus | undefined): string {
  if (status === 'PENDING')
    return `select ${COLUMNS} from (${pendingCharges(isOfOne, SCAN, FILTERS)}) c order by c.id desc`
  return `select ${COLUMNS} from charges c where ${seenBefore(isOfOne, SCAN)} and ${FILTERS} ${newestFirst(isOfOne)} limit $3`
}

const BY_ID = `select ${COLUMNS} from charges c where c.id = any($1) order by c.id desc`

export type DepositPage = { deposits: Deposit[]; held: Map<string, HeldMoney>; nextCursor: string | null }

/** Newest first, of one account or, with null, of all. Deposits without held money are not in `held`. */
export function listDeposits(core: Core, accountId: string | null, filter: DepositFilter): Promise<DepositPage> {
  return inTurn(core.pool, () => readPage(core, accountId, filter))
}

async function readPage(core: Core, accountId: string | null, filter: DepositFilter): Promise<DepositPage> {
  const rows = await readRows(core, accountId, filter)
  const { items, nextCursor } = page(rows, filter.limit, ({ id }) => id)
  return { ...(await completed(core, items)), nextCursor }
}

/** Newest first. */
export async function readDepositsById(core: Core, ids: string[]): Promise<Omit<DepositPage, 'nextCursor'>> {
  return completed(core, await query<Row>(core.pool, BY_ID, [ids]))
}

async function completed(core: Core, rows: Row[]): Promise<Omit<DepositPage, 'nextCursor'>> {
  const deposits = await withGenuineCodes(core, rows)
  const mayHold = deposits.filter((deposit) => deposit.mayHold)
  const held = await readHeld(
    core,
    mayHold.map(({ id }) => id),
  )
  return { deposits, held }
}

/** One row more than the limit, if there are so many. */
async function readRows(
  core: Core,
  accountId: string | null,
  { cursor, limit, ...filter }: DepositFilter,
): Promise<Row[]> {
  const { status, from, to, externalId, code, search } = filter
  const [before, isOfOne] = [cursorUuid(cursor), accountId !== null]
  if (search !== undefined) {
    const wanted = { accountId, typed: readTyped(search), status, from, to, before, limit: limit + 1 }
    return query(core.pool, BY_ID, [await findCharges(autocommit(core.pool), wanted)])
  }
  const scan = [accountId && [accountId], before, limit + 1]
  if (Object.keys(filter).length === 0) return query(core.pool, isOfOne ? NEWEST : NEWEST_OF_ALL, scan)
  const { firstId, lastId } = idsOfPeriod(filter)
  const codeId = code && (await findCodeId(core, accountId, code))
  if (codeId === null) return []
  return query(core.pool, filteredSql(isOfOne, status), [
    ...scan,
    status,
    from,
    to,
    externalId,
    firstId,
    lastId,
    codeId,
  ])
}

async function findCodeId(core: Core, accountId: string | null, externalId: string): Promise<string | null> {
  const sql = 'select id from codes where account_id = $1 and external_id = $2'
  const [code] = await query<{ id: string }>(core.pool, sql, [accountId, externalId])
  return code?.id ?? null
}

/** By id, whose deposits they are: for operators. */
export async function readAccountsOf(core: Core, deposits: Pick<Deposit, 'id'>[]): Promise<Map<string, Account>> {
  const rows = await query<Account & { id: string }>(
    core.pool,
    `select ${hexId('c.id')} as id, a.id as "accountId", a.name, a.email
     from charges c join accounts a on a.id = c.account_id where c.id = any($1)`,
    [deposits.map(({ id }) => id)],
  )
  return new Map(rows.map(({ id, ...account }) => [id, account]))
}
