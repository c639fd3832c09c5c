import { Fault } from '../../base/fault.ts'
import { hexFromUuid, isHexId, uuidFromHex } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import type { Actor } from '../core/audit-log.ts'
import type { StoredStatus } from '../deposits/charge-states.ts'
import { cursorUuid } from '../core/cursor.ts'
import { EXCEPTION_STATE, NAMED_CHARGE, type ExceptionState, type Resolution } from '../deposits/exception-states.ts'
import type { Refund } from './refund-states.ts'
import type { ExceptionKind as UnsettledKind } from '../deposits/settle.ts'
import type { Core } from '../core/core.ts'

export type ExceptionKind = UnsettledKind | 'foreign_refund' | 'undone_refund'

export const EXCEPTION_KINDS: readonly ExceptionKind[] = [
  'unknown_charge',
  'wrong_provider',
  'wrong_amount',
  'second_payment',
  'foreign_refund',
  'undone_refund',
]

export type Exception = {
  id: string // 32 hexadecimal digits
  kind: ExceptionKind
  state: ExceptionState
  provider: string
  endToEndId: string
  txid: string | null
  /** What arrived; of a foreign_refund, what went; of an undone_refund, what came back. */
  amountCents: Cents
  /** When the payer paid. */
  occurredAt: Date
  openedAt: Date
  /** The charge that the payer meant, if it is one of ours. */
  charge: {
    id: string
    paymentLinkId: string
    accountId: string
    email: string
    status: StoredStatus
    valueCents: Cents
    feeCents: Cents
  } | null
  /** What was decided, and by whom; while a refund is on its way, not yet done. */
  resolution: {
    how: Resolution['how']
    /** Which was credited or charged. */
    accountId: string | null
    by: Actor
    reason: string
  } | null
  resolvedAt: Date | null
  /** The newest that was made of this exception, or the one that a foreign_refund or an undone_refund is about. */
  refund: { id: string; status: Refund['status']; failure: string | null; providerRefundId: string } | null
}

export type ExceptionFilter = {
  state?: ExceptionState
  kind?: ExceptionKind
  provider?: string
  /** When it was opened. */
  from?: Date
  to?: Date
  cursor?: string
  limit: number
}

/** Newest first. */
export async function listExceptions(
  core: Core,
  filter: ExceptionFilter,
): Promise<{ exceptions: Exception[]; nextCursor: string | null }> {
  const rows = await query<ExceptionRow>(
    core.pool,
    `${SELECT_EXCEPTIONS}
     where x.id < $1
       and ($2::text is null or ${EXCEPTION_STATE} = $2)
       and ($3::text is null or x.kind = $3)
       and ($4::text is null or p.provider = $4)
       and ($5::timestamptz is null or x.opened_at >= $5)
       and ($6::timestamptz is null or x.opened_at < $6)
     order by x.id desc limit $7`,
    [
      cursorUuid(filter.cursor),
      filter.state ?? null,
      filter.kind ?? null,
      filter.provider ?? null,
      filter.from ?? null,
      filter.to ?? null,
      filter.limit + 1,
    ],
  )
  const exceptions = rows.slice(0, filter.limit).map(exceptionFromRow)
  return { exceptions, nextCursor: rows.length > filter.limit ? exceptions.at(-1)!.id : null }
}

export async function findException(core: Core, id: string): Promise<Exception> {
  const [row] = await query<ExceptionRow>(core.pool, `${SELECT_EXCEPTIONS} where x.id = $1`, [exceptionId(id)])
  if (!row) throw notFound()
  return exceptionFromRow(row)
}

const SELECT_EXCEPTIONS = `
  select x.id, x.kind, ${EXCEPTION_STATE} as state, p.provider, p.end_to_end_id, p.txid,
    coalesce(f.amount_cents, p.amount_cents) as amount_cents, p.occurred_at, x.opened_at, x.resolution, x.account_id,
    x.resolved_by_kind, x.resolved_by, x.reason, x.resolved_at, c.id as charge_id, c.payment_link_id, c.account_id as charge_account_id,
    a.email, c.status as charge_status, c.value_cents, c.fee_cents, r.id as refund_id, r.status as refund_status, r.failure, r.provider_refund_id
  from exceptions x
  join payments p on p.id = x.payment_id
  left join charges c on c.id = ${NAMED_CHARGE}
  left join accounts a on a.id = c.account_id
  left join refunds f on f.id = x.refund_id
  left join lateral (
    select * from refunds r where r.id = x.refund_id or r.exception_id = x.id order by r.id desc limit 1
  ) r on true`

type ExceptionRow = {
  id: string
  kind: ExceptionKind
  state: ExceptionState
  provider: string
  end_to_end_id: string
  txid: string | null
  amount_cents: number
  occurred_at: Date
  opened_at: Date
  resolution: Resolution['how'] | null
  account_id: string | null
  resolved_by_kind: Actor['kind']
  resolved_by: string
  reason: string
  resolved_at: Date | null
  charge_id: string | null
  payment_link_id: string
  charge_account_id: string
  email: string
  charge_status: StoredStatus
  value_cents: number
  fee_cents: number
  refund_id: string | null
  refund_status: Refund['status']
  failure: string | null
  provider_refund_id: string
}

function exceptionFromRow(row: ExceptionRow): Exception {
  return {
    id: hexFromUuid(row.id),
    kind: row.kind,
    state: row.state,
    provider: row.provider,
    endToEndId: row.end_to_end_id,
    txid: row.txid,
    amountCents: row.amount_cents,
    occurredAt: row.occurred_at,
    openedAt: row.opened_at,
    charge: row.charge_id === null ? null : chargeOf(row, row.charge_id),
    resolution: row.resolution === null ? null : resolutionOf(row, row.resolution),
    resolvedAt: row.resolved_at,
    refund: row.refund_id === null ? null : refundOf(row, row.refund_id),
  }
}

function chargeOf(row: ExceptionRow, id: string): Exception['charge'] {
  return {
    id: hexFromUuid(id),
    paymentLinkId: row.payment_link_id,
    accountId: row.charge_account_id,
    email: row.email,
    status: row.charge_status,
    valueCents: row.value_cents,
    feeCents: row.fee_cents,
  }
}

function resolutionOf(row: ExceptionRow, how: Resolution['how']): Exception['resolution'] {
  const by = { kind: row.resolved_by_kind, name: row.resolved_by }
  return { how, accountId: row.account_id, by, reason: row.reason }
}

function refundOf(row: ExceptionRow, id: string): Exception['refund'] {
  const { refund_status: status, failure, provider_refund_id: providerRefundId } = row
  return { id: hexFromUuid(id), status, failure, providerRefundId }
}

/** With dashes or without. */
export function exceptionId(text: string): string {
  const hex = hexFromUuid(text.toLowerCase())
  if (!isHexId(hex)) throw notFound()
  return uuidFromHex(hex)
}

export function notFound(): Fault {
  return new Fault('not_found', 'Exception not found')
}
