import type { Cents } from '../../base/money.ts'
import { hexId } from '../../db/sql-values.ts'
import { query } from '../../db/tx.ts'
import { TIME_ZONE } from '../accounts/time-zone.ts'
import { addDays, dayOf } from '../core/business-days.ts'
import type { Core } from '../core/core.ts'
import { cursorUuid, page, type ListFilter } from '../core/cursor.ts'
import { EXCEPTION_STATE, type ExceptionState } from '../exceptions/exception-states.ts'
import type { Nature } from '../ports/provider.ts'
import { IS_REVERSAL } from '../refunds/refund-states.ts'
import { refreshDailyTotals } from './daily-totals.ts'

/** A return of a credited payment that the account did not ask for, and what became of it. */
export type ListedReversal = {
  id: string // of the refund, 32 hexadecimal digits
  at: Date
  nature: Nature
  accountId: string
  email: string
  paymentLinkId: string
  externalId: string | null
  provider: string
  providerRefundId: string
  endToEndId: string
  valueCents: Cents
  /** Null until it is decided, and if it was written off. */
  chargedCents: Cents | null
  owedCents: Cents | null
  /** Null if an earlier one, which the bank took back, left its money in suspense. */
  exceptionId: string | null
  state: ExceptionState | null
}

export type ReversalFilter = ListFilter & { nature?: Nature; accountId?: string }

export async function listReversals(
  core: Core,
  { nature, accountId, from, to, cursor, limit }: ReversalFilter,
): Promise<{ reversals: ListedReversal[]; nextCursor: string | null }> {
  const rows = await query<ListedReversal>(
    core.pool,
    `select ${hexId('r.id')} as id, r.created_at as at, r.nature, a.id as "accountId", a.email,
       c.payment_link_id as "paymentLinkId", c.external_id as "externalId", p.provider,
       r.provider_refund_id as "providerRefundId", p.end_to_end_id as "endToEndId", r.amount_cents as "valueCents",
       case when x.resolution = 'charge_account' then r.amount_cents - coalesce(x.owed_cents, 0) end as "chargedCents",
       case when x.resolution = 'charge_account' then coalesce(x.owed_cents, 0) end as "owedCents",
       ${hexId('x.id')} as "exceptionId", case when x.id is not null then ${EXCEPTION_STATE} end as state
     from refunds r
     join payments p on p.id = r.payment_id
     join charges c on c.id = r.charge_id
     join accounts a on a.id = c.account_id
     left join exceptions x on x.refund_id = r.id and x.kind = 'foreign_refund'
     where ${IS_REVERSAL} and r.id < $1
       and ($2::text is null or r.nature = $2)
       and ($3::uuid is null or c.account_id = $3)
       and ($4::timestamptz is null or r.created_at >= $4)
       and ($5::timestamptz is null or r.created_at < $5)
     order by r.id desc limit $6`,
    [cursorUuid(cursor), nature, accountId, from, to, limit + 1],
  )
  const { items: reversals, nextCursor } = page(rows, limit, ({ id }) => id)
  return { reversals, nextCursor }
}

/** What an account had of both on one day, which begins in its own time zone. */
export type ReversalRate = {
  accountId: string
  email: string
  day: string
  paid: number
  paidValueCents: Cents
  reversed: number
  reversedValueCents: Cents
  /** The part of them that followed a report of fraud. */
  fraud: number
  fraudValueCents: Cents
}

// Days that one question may ask for, and rows of an answer.
export const MAX_RATE_DAYS = 90
const MAX_RATES = 1_000

/** Days with reversals, newest first. */
export async function readReversalRates(
  core: Core,
  { accountId, days }: { accountId?: string; days: number },
): Promise<ReversalRate[]> {
  await refreshDailyTotals(core, accountId ?? null)
  return query<ReversalRate>(
    core.pool,
    `select n.*, coalesce(t.paid, 0) as paid, coalesce(t.paid_cents, 0) as "paidValueCents"
     from (
       select a.id as "accountId", a.email, (r.created_at at time zone ${TIME_ZONE})::date::text as day, count(*) as reversed,
         sum(r.amount_cents)::bigint as "reversedValueCents", count(*) filter (where r.nature = 'fraud') as fraud,
         coalesce(sum(r.amount_cents) filter (where r.nature = 'fraud'), 0)::bigint as "fraudValueCents"
       from refunds r join charges c on c.id = r.charge_id join accounts a on a.id = c.account_id
       where ${IS_REVERSAL} and ($1::uuid is null or c.account_id = $1)
       group by a.id, 3
     ) n left join daily_totals t on t.account_id = n."accountId" and t.day = n.day::date
     where n.day > $2 order by n.day desc, n."reversedValueCents" desc, n."accountId" limit $3`,
    [accountId, addDays(dayOf(core.now()), -days), MAX_RATES],
  )
}
