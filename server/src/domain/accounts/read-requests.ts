import { query, queryOne, type Tx } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, hexBeside, page } from '../core/cursor.ts'
import type { ApiRequest } from './request-log.ts'

// Reads the log of requests by API keys.

export type RequestRecord = Omit<ApiRequest, 'parameters'> & {
  id: string
  at: Date
  parameters: string[]
  /** As they are now. */
  keyName: string | null
  keyPrefix: string | null
  accountEmail: string | null
}

export const STATUS_CLASSES = { '2xx': [200, 299], '4xx': [400, 499], '5xx': [500, 599] } as const
export type StatusClass = keyof typeof STATUS_CLASSES
export const STATUS_CLASS_NAMES = Object.keys(STATUS_CLASSES) as StatusClass[]

export type RequestFilter = {
  status?: StatusClass
  method?: string
  keyId?: string
  cursor?: string
  limit: number
}

// No filter costs more than a look at so many rows. The page may then be short, and the next one continues.
const MAX_SEARCHED = 5_000
// One id names one request, unless a caller chooses the same again and again.
const MAX_OF_ID = 20
const FIRST_UUID = '00000000-0000-0000-0000-000000000000'

const COLUMNS = `
  r.id, r.at, r.account_id as "accountId", r.key_id as "keyId", r.request_id as "requestId", r.method, r.route, r.path,
  string_to_array(nullif(r.parameters, ''), ',') as parameters, r.status, r.error_code as "errorCode", r.error, r.ms,
  r.has_idempotency_key as "hasIdempotencyKey", r.network, k.name as "keyName", k.prefix as "keyPrefix",
  a.email as "accountEmail"`
const NAMES = 'left join api_keys k on k.id = r.key_id left join accounts a on a.id = r.account_id'

/** Newest first. A page may have fewer requests than `limit` and not be the last. */
export async function listRequests(
  core: Core,
  accountId: string,
  { status, method, keyId, cursor, limit }: RequestFilter,
): Promise<{ requests: RequestRecord[]; nextCursor: string | null }> {
  const before = cursorUuid(cursor)
  // Errors are few, and have an index of their own.
  const among = `account_id = $1 and id < $2${status === '4xx' || status === '5xx' ? ' and status >= 400' : ''}`
  const [bound] = await query<{ id: string }>(
    core.pool,
    `select id from api_requests where ${among} order by id desc offset ${MAX_SEARCHED} limit 1`,
    [accountId, before],
  )
  const [from, to] = status ? STATUS_CLASSES[status] : [null, null]
  const rows = await query<RequestRecord>(
    core.pool,
    `select ${COLUMNS} from (
       select * from api_requests where ${among} and id > $3
         and ($4::int is null or status between $4 and $5) and ($6::text is null or method = $6)
         and ($7::uuid is null or key_id = $7)
       order by id desc limit $8
     ) r ${NAMES} order by r.id desc`,
    [accountId, before, bound?.id ?? FIRST_UUID, from, to, method ?? null, keyId ?? null, limit + 1],
  )
  const { items, nextCursor } = page(rows, limit, ({ id }) => id)
  // The next page begins with the row at which the search ended.
  return { requests: items.map(withParameters), nextCursor: nextCursor ?? (bound ? hexBeside(bound.id, 'desc') : null) }
}

/** Newest first; usually one. Null: of all accounts, for operators. */
export async function findRequests(core: Core, accountId: string | null, requestId: string): Promise<RequestRecord[]> {
  const rows = await query<RequestRecord>(
    core.pool,
    `select ${COLUMNS} from (
       select * from (
         select * from api_requests where request_id = $1 order by id desc limit ${MAX_SEARCHED}
       ) newest where $2::uuid is null or account_id = $2 order by id desc limit ${MAX_OF_ID}
     ) r ${NAMES} order by r.id desc`,
    [requestId, accountId],
  )
  return rows.map(withParameters)
}

/** How many requests of the days that are kept were not recorded. */
export async function countUnrecorded(core: Core, accountId: string): Promise<number> {
  const { count } = await queryOne<{ count: number }>(
    core.pool,
    'select coalesce(sum(count), 0)::bigint as count from api_requests_unrecorded where account_id = $1',
    [accountId],
  )
  return count
}

export async function eraseRequests(tx: Tx, accountId: string): Promise<void> {
  await tx.run('delete from api_requests where account_id = $1', [accountId])
  await tx.run('delete from api_requests_unrecorded where account_id = $1', [accountId])
}

function withParameters(row: RequestRecord): RequestRecord {
  return { ...row, parameters: row.parameters ?? [] }
}
