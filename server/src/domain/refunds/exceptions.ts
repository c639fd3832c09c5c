import { Fault } from '../../base/fault.ts'
import { parseHexId } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { query } from '../../db/tx.ts'
import type { Actor } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import type { PayerMatch } from '../core/payers.ts'
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
  'code_closed',
  'code_limits',
  'payer_unconfirmed',
]

// The constraint exceptions_resolution repeats this. It also lets the provider resolve an undone_refund, by making the
// refund again, and an unnamed_payment, by naming the Pix.
const OWN_WAYS: Partial<Record<ExceptionKind, Resolution['how'][]>> = {
  unknown_charge: ['credit', 'refund', 'write_off', 'match'],
  wrong_amount: ['credit', 'refund', 'write_off', 'match'],
  refunded_payment: ['credit', 'refund', 'write_off', 'match'],
  payer_unconfirmed: ['credit', 'refund', 'write_off', 'match'],
  unnamed_payment: ['write_off'],
  foreign_refund: ['charge_account', 'write_off'],
  undone_refund: ['credit', 'write_off'],
}

export function waysOf(kind: ExceptionKind): Resolution['how'][] {
  return OWN_WAYS[kind] ?? ['credit', 'refund', 'write_off']
}

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
  /** Empty unless it is open. Rows may change before the decision, so one of these may still be refused. */
  ways: Resolution['how'][]
  /** The charge that the payment names, if it is one of ours. Of an unnamed_payment, the charge that is called paid. */
  charge: {
    id: string
    paymentLinkId: string
    accountId: string
    email: string
    externalId: string | null
    description: string | null
    status: StoredStatus
    valueCents: Cents
    feeCents: Cents
  } | null
  /** The code that the payment names, if it names one and no charge was made by it. */
  code: { externalId: string; accountId: string; email: string; txid: string } | null
  /** What was decided, and by whom. While a refund is PROCESSING, it is not resolved yet. */
  resolution: {
    how: Resolution['how']
    accountId: string | null
    by: Actor
    reason: string
  } | null
  resolvedAt: Date | null
  /** Of a payment whose payer the provider is or was asked about. */
  payerMatch: PayerMatch | null
  /** The newest refund of this exception, or the one that a foreign_refund or an undone_refund is about. */
  refund: { id: string; status: Refund['status']; failure: string | null; providerRefundId: string } | null
}

/** The period is that of the opening. */
export type ExceptionFilter = ListFilter & { state?: ExceptionState; kind?: ExceptionKind; provider?: string }

export async function listExceptions(
  core: Core,
  { state, kind, provider, from, to, cursor, limit }: ExceptionFilter,
): Promise<{ exceptions: Exception[]; nextCursor: string | null }> {
  const rows = await query<Row>(
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
  const { items, nextCursor } = page(rows, limit, ({ id }) => id)
  return { exceptions: items.map(withWays), nextCursor }
}

export async function findException(core: Core, text: string): Promise<Exception> {
  const id = parseHexId(text)
  const [row] = id ? await query<Row>(core.pool, `${SELECT_EXCEPTIONS} where x.id = $1`, [id]) : []
  if (!row) throw new Fault('not_found', 'Exception not found')
  return withWays(row)
}

/** `position` is null unless it is open. `nextId` is the open one that follows, or after the last one the first. */
export type ExceptionQueue = { position: number | null; count: number; nextId: string | null }

// Longer queues are worked through from their beginning.
const MAX_QUEUED = 1_000

/** The place of an exception among the open ones, in the order of the list. */
export async function findInQueue(core: Core, { id, state }: Exception): Promise<ExceptionQueue> {
  const open = await query<{ id: string }>(
    core.pool,
    `select ${hexId('x.id')} as id from exceptions x where x.resolved_at is null and x.resolution is null
     order by x.id desc limit $1`,
    [MAX_QUEUED],
  )
  // Hexadecimal digits have the order of the ids.
  const next = open.find((other) => other.id < id) ?? open.find((other) => other.id !== id)
  const position = state === 'open' ? open.findIndex((other) => other.id === id) + 1 : 0
  return { position: position === 0 ? null : position, count: open.length, nextId: next?.id ?? null }
}

type Row = Omit<Exception, 'ways'> & { isRefunded: boolean; orderPaid: boolean }

function withWays({ isRefunded, orderPaid, ...exception }: Row): Exception {
  const { kind, state, charge, amountCents } = exception
  const isFit = charge !== null && charge.status !== 'COMPLETED' && !orderPaid && amountCents > charge.feeCents
  const canMatch = isFit && exception.payerMatch !== 'mismatched'
  const ways = waysOf(kind).filter((how) =>
    how === 'match' ? canMatch && !isRefunded : how !== 'refund' || !isRefunded,
  )
  return { ...exception, ways: state === 'open' ? ways : [] }
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
      'externalId', c.external_id,
      'description', c.description,
      'status', c.status,
      'valueCents', c.value_cents,
      'feeCents', c.fee_cents
    ) end as charge,
    case when k.id is not null then json_build_object(
      'externalId', k.external_id, 'accountId', k.account_id, 'txid', k.txid,
      'email', (select email from accounts where id = k.account_id)
    ) end as code,
    case when x.resolution is not null then json_build_object(
      'how', x.resolution,
      'accountId', x.account_id,
      'by', json_build_object('kind', x.resolved_by_kind, 'name', x.resolved_by),
      'reason', x.reason
    ) end as resolution,
    x.resolved_at as "resolvedAt",
    coalesce(
      (select w.answer from payer_answers w where w.end_to_end_id = p.end_to_end_id),
      case when x.kind = 'payer_unconfirmed' then 'unknown' end
    ) as "payerMatch",
    exists (select from refunds o where o.payment_id = p.id and o.status <> 'FAILED') as "isRefunded",
    coalesce(c.order_paid or c.status in ('EXPIRED', 'CANCELED') and exists (
      select from charges o where o.account_id = c.account_id and o.external_id = c.external_id and o.id <> c.id
        and o.status = 'COMPLETED'
    ), false) as "orderPaid",
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
  left join codes k on k.txid = lower(p.txid) and c.id is null
  left join refunds f on f.id = x.refund_id
  left join lateral (
    select * from refunds r where r.id = x.refund_id or r.exception_id = x.id order by r.id desc limit 1
  ) r on true`
