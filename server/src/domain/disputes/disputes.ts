import { Fault } from '../../base/fault.ts'
import { parseHexId } from '../../base/ids.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { SELECT_DISPUTES, type Dispute, type DisputeStatus } from './dispute-states.ts'

export type DisputeFilter = ListFilter & {
  /** Undefined: of all accounts, and those about money in suspense. */
  accountId?: string
  status?: DisputeStatus
  /** Only disputes of this deposit. */
  paymentLinkId?: string
}

/** Newest first. */
export async function listDisputes(
  core: Core,
  { accountId, status, paymentLinkId, from, to, cursor, limit }: DisputeFilter,
): Promise<{ disputes: Dispute[]; nextCursor: string | null }> {
  const rows = await query<Dispute>(
    core.pool,
    `${SELECT_DISPUTES}
     where d.id < $1
       and ($2::uuid is null or d.account_id = $2)
       and ($3::text is null or d.status = $3)
       and ($4::text is null or c.payment_link_id::text = $4)
       and ($5::timestamptz is null or d.recorded_at >= $5)
       and ($6::timestamptz is null or d.recorded_at < $6)
     order by d.id desc limit $7`,
    [cursorUuid(cursor), accountId, status, paymentLinkId, from, to, limit + 1],
  )
  const { items: disputes, nextCursor } = page(rows, limit, ({ id }) => id)
  return { disputes, nextCursor }
}

// More than an operator works through before the list is read again.
const MAX_OPEN = 200

/** The open ones of all accounts: the next deadline first. */
export function listOpenDisputes(core: Core): Promise<Dispute[]> {
  const sql = `${SELECT_DISPUTES} where d.status = 'OPEN' order by d.deadline_at, d.id limit $1`
  return query<Dispute>(core.pool, sql, [MAX_OPEN])
}

/** Of this account; of any with null. */
export async function readDispute(core: Core, accountId: string | null, disputeId: string): Promise<Dispute> {
  const sql = `${SELECT_DISPUTES} where d.id = $1 and ($2::uuid is null or d.account_id = $2)`
  const id = parseHexId(disputeId)
  const [dispute] = id ? await query<Dispute>(core.pool, sql, [id, accountId]) : []
  if (!dispute) throw new Fault('not_found', 'Dispute not found')
  return dispute
}
