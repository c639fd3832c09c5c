import { newUuid7 } from '../../base/ids.ts'
import { insertRows, unnestOf, valuesOf, type Columns } from '../../db/insert-rows.ts'
import { query, transact } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { keepDayPartitions } from '../core/day-partitions.ts'

// The log of requests by API keys. Nobody waits for it: requests are gathered in memory and written once a second. A
// crash loses the last second, which money never depends on.

/** A request that was answered. It has no body, no value of a parameter and no secret. */
export type ApiRequest = {
  accountId: string
  keyId: string
  requestId: string
  method: string
  route: string
  path: string
  parameters: string
  status: number
  errorCode: string | null
  error: string | null
  ms: number
  hasIdempotencyKey: boolean
  network: string
}

export type RequestLog = {
  /** Calls `describe` only if the request is recorded. */
  record(accountId: string, isError: boolean, describe: () => ApiRequest): void
  /** Writes what was recorded so far. */
  flush(): Promise<void>
}

// In a second, of all accounts and of one. What remains after the other requests is for errors, which tell more. So a
// program in a loop costs at most a hundredth of a processor, and takes no place from other accounts.
const MAX_A_SECOND = 500
const MAX_OTHERS_A_SECOND = 400
const MAX_OF_ACCOUNT = 100
const MAX_OTHERS_OF_ACCOUNT = 50
const MAX_BATCH = 500
// Ten seconds in which the database is slow.
const MAX_QUEUED = 10 * MAX_A_SECOND
// Accounts of which the number of unrecorded requests is kept until it is written.
const MAX_COUNTED = 1_000

type Row = ApiRequest & { id: string; at: Date }

const COLUMNS: Columns<Row> = {
  id: ['uuid', ({ id }) => id],
  at: ['timestamptz', ({ at }) => at],
  account_id: ['uuid', ({ accountId }) => accountId],
  key_id: ['uuid', ({ keyId }) => keyId],
  request_id: ['text', ({ requestId }) => requestId],
  method: ['text', ({ method }) => method],
  route: ['text', ({ route }) => route],
  path: ['text', ({ path }) => path],
  parameters: ['text', ({ parameters }) => parameters],
  status: ['int', ({ status }) => status],
  error_code: ['text', ({ errorCode }) => errorCode],
  error: ['text', ({ error }) => error],
  ms: ['int', ({ ms }) => ms],
  has_idempotency_key: ['boolean', ({ hasIdempotencyKey }) => hasIdempotencyKey],
  network: ['text', ({ network }) => network],
}

type Taken = { all: number; others: number }

export function makeRequestLog(core: Core): RequestLog {
  const queue: Row[] = []
  const unrecorded = new Map<string, number>()
  let second = 0
  let whole: Taken = { all: 0, others: 0 }
  let ofAccounts = new Map<string, Taken>()

  function hasRoom(accountId: string, isError: boolean, nowMs: number): boolean {
    const now = Math.floor(nowMs / 1000)
    if (now !== second) {
      second = now
      whole = { all: 0, others: 0 }
      ofAccounts = new Map()
    }
    let own = ofAccounts.get(accountId)
    if (!own) ofAccounts.set(accountId, (own = { all: 0, others: 0 }))
    if (queue.length >= MAX_QUEUED || whole.all >= MAX_A_SECOND || own.all >= MAX_OF_ACCOUNT) return false
    if (isError) return take(whole, own, 'all')
    if (whole.others >= MAX_OTHERS_A_SECOND || own.others >= MAX_OTHERS_OF_ACCOUNT) return false
    take(whole, own, 'others')
    return take(whole, own, 'all')
  }

  function countUnrecorded(accountId: string, count: number) {
    core.metrics.apiRequestsUnrecorded.inc(count)
    const known = unrecorded.get(accountId)
    if (known !== undefined || unrecorded.size < MAX_COUNTED) unrecorded.set(accountId, (known ?? 0) + count)
  }

  return {
    record(accountId, isError, describe) {
      if (core.settings.retention.requestsDays === 0) return
      const at = core.now()
      if (hasRoom(accountId, isError, at.getTime())) queue.push(Object.assign(describe(), { id: newUuid7(at), at }))
      else countUnrecorded(accountId, 1)
    },
    async flush() {
      while (queue.length > 0) {
        const rows = queue.splice(0, MAX_BATCH)
        try {
          await query(core.pool, INSERT, valuesOf(COLUMNS, rows))
        } catch (error) {
          for (const { accountId } of rows) countUnrecorded(accountId, 1)
          throw error
        }
      }
      await writeUnrecorded(core, unrecorded)
    },
  }
}

function take(whole: Taken, own: Taken, of: keyof Taken): true {
  whole[of] += 1
  own[of] += 1
  return true
}

const INSERT = `insert into api_requests (${Object.keys(COLUMNS).join(', ')})
  select ${Object.keys(COLUMNS).join(', ')} from ${unnestOf(COLUMNS)}`

async function writeUnrecorded(core: Core, unrecorded: Map<string, number>): Promise<void> {
  if (unrecorded.size === 0) return
  const counts = [...unrecorded]
  const columns: Columns<[string, number]> = {
    account_id: ['uuid', ([accountId]) => accountId],
    day: ['date', () => core.now().toISOString().slice(0, 10)],
    count: ['bigint', ([, count]) => count],
  }
  // Sorted, so that two processes lock rows in the same order.
  const tail = `on conflict (account_id, day) do update set count = api_requests_unrecorded.count + excluded.count`
  await transact(core.pool, (tx) =>
    insertRows(tx, 'api_requests_unrecorded', counts, columns, { orderBy: 'account_id', tail }),
  )
  // What was counted meanwhile stays.
  for (const [accountId, count] of counts) {
    const left = unrecorded.get(accountId)! - count
    if (left > 0) unrecorded.set(accountId, left)
    else unrecorded.delete(accountId)
  }
}

/** Makes the partitions of the days ahead, and drops those that RETAIN_REQUESTS_DAYS have passed. */
export async function keepRequestPartitions(core: Core): Promise<{ made: string[]; dropped: string[] }> {
  const keptDays = core.settings.retention.requestsDays
  await query(core.pool, 'delete from api_requests_unrecorded where day <= ($1::timestamptz)::date - $2::int', [
    core.now(),
    keptDays,
  ])
  return keepDayPartitions(core, { table: 'api_requests', keptDays })
}
