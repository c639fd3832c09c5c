import { Fault } from '../../base/fault.ts'
import { parseHexId } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import type { Actor } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { type StoredStatus } from '../deposits/charge-reads.ts'
import { hexId } from '../../db/sql-values.ts'
import { EXCEPTION_STATE, NAMED_CHARGE, type ExceptionState, type Resolution } from '../exceptions/exception-states.ts'
import type { SuspenseKind } from '../deposits/book-payments.ts'
import type { Refund } from './refund-states.ts'

export type ExceptionKind = SuspenseKind | 'unnamed_payment' | 'foreign_refund' | 'undone_refund'

export const EXCEPTION_KINDS: readonly ExceptionKind[] = [
  'unknown_charge',
  'wrong_provider',
  'wrong_amount',
  'second_payment',
  'refunded_payment',
  'unnamed_payment',
  'foreign_refund',
  'undone_refund',
]

export type Exception = {
  id: string // 32 hexadecimal digits
  kind: ExceptionKind
  state: ExceptionState
  provider: string
  endToEndId: string | null
  txid: string | null
  /** What arrived, was refunded or came back; for an unnamed_payment, the value of the charge. */
  amountCents: Cents
  occurredAt: Date | null
  openedAt: Date
  /** The charge that the payment names, if it is one of ours. Of an unnamed_payment, the charge that is called paid. */
  charge: {
    id: string
    paymentLinkId: string
    accountId: string
    email: string
    status: StoredStatus
    valueCents: Cents
    feeCents: Cents
  } | null
  /** What was decided, and by whom. While a refund is PROCESSING, it is not resolved yet. */
  resolution: {
    how: Resolution['how']
    accountId: string | null
    by: Actor
    reason: string
  } | null
  resolvedAt: Date | null
  /** The newest refund of this exception, or the one that a foreign_refund or an undone_refund is about. */
  refund: { id: string; status: Refund['status']; failure: string | null; providerRefundId: string } | null
}

/** The period is that of the opening. */
export type ExceptionFilter = ListFilter & { state?: ExceptionState; kind?: ExceptionKind; provider?: string }

export async function listExceptions(
  core: Core,
  { state, kind, provider, from, to, cursor, limit }: ExceptionFilter,
): Promise<{ exceptions: Exception[]; nextCursor: string | null }> {
  const rows = await query<Exception>(
    core.pool,
    `${SELECT_EXCEPTIONS}
     where x.id < $1
       and ($2::text is null or ${EXCEPTION_STATE} = $2)
       and ($3::text is null or x.kind = $3)
       and ($4::text is null or coalesce(p.provider, c.provider) = $4)
       and ($5::timestamptz is null or x.opened_at >= $5)
       and ($6::timestamptz is null or x.opened_at < $6)
     order by x.id desc limit $7`,
    [cursorUuid(cursor), state, kind, provider, from, to, limit + 1],
  )
  const { items: exceptions, nextCursor } = page(rows, limit, ({ id }) => id)
  return { exceptions, nextCursor }
}

export async function findException(core: Core, text: string): Promise<Exception> {
  const id = parseHexId(text)
  const [exception] = id ? await query<Exception>(core.pool, `${SELECT_EXCEPTIONS} where x.id = $1`, [id]) : []
  if (!exception) throw new Fault('not_found', 'Exception not found')
  return exception
}

const SELECT_EXCEPTIONS = `
  select
    ${hexId('x.id')} as id,
    x.kind,
    ${EXCEPTION_STATE} as state,
    coalesce(p.provider, c.provider) as provider,
    p.end_to_end_id as "endToEndId",
    case when x.charge_id is null then p.txid else ${hexId('x.charge_id')} end as txid,
    coalesce(f.amount_cents, p.amount_cents, c.value_cents) as "amountCents",
    p.occurred_at as "occurredAt",
    x.opened_at as "openedAt",
    case when c.id is not null then json_build_object(
      'id', ${hexId('c.id')},
      'paymentLinkId', c.payment_link_id,
      'accountId', c.account_id,
      'email', a.email,
      'status', c.status,
      'valueCents', c.value_cents,
      'feeCents', c.fee_cents
    ) end as charge,
    case when x.resolution is not null then json_build_object(
      'how', x.resolution,
      'accountId', x.account_id,
      'by', json_build_object('kind', x.resolved_by_kind, 'name', x.resolved_by),
      'reason', x.reason
    ) end as resolution,
    x.resolved_at as "resolvedAt",
    case when r.id is not null then json_build_object(
      'id', ${hexId('r.id')},
      'status', r.status,
      'failure', r.failure,
      'providerRefundId', r.provider_refund_id
    ) end as refund
  from exceptions x
  left join payments p on p.id = x.payment_id
  left join charges c on c.id = coalesce(x.charge_id, ${NAMED_CHARGE})
  left join accounts a on a.id = c.account_id
  left join refunds f on f.id = x.refund_id
  left join lateral (
    select * from refunds r where r.id = x.refund_id or r.exception_id = x.id order by r.id desc limit 1
  ) r on true`
