import type { Cents } from '../../base/money.ts'
import { hexId } from '../../db/sql-values.ts'
import { query, queryOne } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import { readHealth } from './health.ts'

// What waits for an operator: the numbers beside the navigation, and the list on the overview.

export const OPEN_KINDS = ['health', 'exception', 'payout', 'dispute', 'webhook_failing', 'webhook_disabled'] as const

export type OpenItem = {
  kind: (typeof OPEN_KINDS)[number]
  /** Of a health line, the check. */
  id: string
  /** The kind of an exception, the name of a webhook, or what a health line is about. */
  what: string | null
  email: string | null
  valueCents: Cents | null
  since: Date | null
}

export type OpenWork = {
  counts: { exceptions: number; payouts: number; disputes: number; webhooks: number; health: number }
  /** What is wrong with the service, and then the oldest first. */
  items: OpenItem[]
}

// More than anybody does before the list is read again.
const MAX_ITEMS = 20

const IS_OPEN = {
  exception: 'x.resolved_at is null and x.resolution is null',
  payout: `o.status = 'REQUESTED'`,
  webhook_failing: 'w.failing_since is not null and w.disabled_at is null and w.deleted_at is null',
  dispute: `d.status = 'OPEN'`,
  // By its receiver, or after days of failures. One that somebody disabled needs no attention.
  webhook_disabled: `w.disabled_at is not null and w.deleted_at is null
    and w.disabled_code in ('receiver_gone', 'failed_for_days')`,
}

export async function readOpenWork(ctx: Context, home: string | undefined): Promise<OpenWork> {
  const { lines } = await readHealth(ctx, home)
  const red = lines.filter(({ level }) => level === 'red')
  const counted = await queryOne<Omit<OpenWork['counts'], 'health'>>(
    ctx.pool,
    `select (select count(*) from exceptions x where ${IS_OPEN.exception}) as exceptions,
       (select count(*) from payouts o where ${IS_OPEN.payout}) as payouts,
       (select count(*) from disputes d where ${IS_OPEN.dispute}) as disputes,
       (select count(*) from webhooks w where ${IS_OPEN.webhook_failing} or ${IS_OPEN.webhook_disabled}) as webhooks`,
  )
  const waiting = await query<OpenItem>(
    ctx.pool,
    `(
       select 'exception' as kind, ${hexId('x.id')} as id, x.kind as what, a.email,
         coalesce(f.amount_cents, p.amount_cents, c.value_cents) as "valueCents", x.opened_at as since
       from exceptions x left join payments p on p.id = x.payment_id
       left join charges c on c.id = coalesce(x.charge_id, p.charge_id) left join accounts a on a.id = c.account_id
       left join refunds f on f.id = x.refund_id
       where ${IS_OPEN.exception} order by x.opened_at limit $1
     ) union all (
       select 'payout', ${hexId('o.id')}, null, a.email, o.value_cents, o.requested_at
       from payouts o join accounts a on a.id = o.account_id where ${IS_OPEN.payout} order by o.requested_at limit $1
     ) union all (
       select 'dispute', ${hexId('d.id')}, null, a.email, d.amount_cents, d.opened_at
       from disputes d left join accounts a on a.id = d.account_id where ${IS_OPEN.dispute} order by d.opened_at limit $1
     ) union all (
       select 'webhook_failing', w.id::text, w.name, a.email, null, w.failing_since
       from webhooks w join accounts a on a.id = w.account_id where ${IS_OPEN.webhook_failing}
       order by w.failing_since limit $1
     ) union all (
       select 'webhook_disabled', w.id::text, w.name, a.email, null, w.disabled_at
       from webhooks w join accounts a on a.id = w.account_id where ${IS_OPEN.webhook_disabled}
       order by w.disabled_at limit $1
     ) order by since limit $1`,
    [MAX_ITEMS],
  )
  const wrong = red.map(({ check, subject }): OpenItem => {
    return { kind: 'health', id: check, what: subject, email: null, valueCents: null, since: null }
  })
  return { counts: { ...counted, health: red.length }, items: [...wrong, ...waiting].slice(0, MAX_ITEMS) }
}

/** The deposits of an account whose money is under review. */
export async function readOpenDeposits(core: Core, accountId: string): Promise<number> {
  const { count } = await queryOne<{ count: number }>(
    core.pool,
    `select count(distinct c.id) from exceptions x
     join payments p on p.id = x.payment_id join charges c on c.id = p.charge_id
     where x.resolved_at is null and x.refund_id is null and c.account_id = $1`,
    [accountId],
  )
  return count
}
