import { uuidOfTime } from '../../base/ids.ts'
import type { Cents } from '../../base/money.ts'
import { query, transact, type Tx } from '../../db/tx.ts'
import { TIME_ZONE } from '../accounts/time-zone.ts'
import type { Core } from '../core/core.ts'
import { CREDITS } from '../ledger/account-statement.ts'

export type Counts = { created: number; paid: number; paidCents: Cents; feeCents: Cents }
export type DayCounts = Counts & { day: string }

// Nobody sees a charge while it is OPENING. After a day it does not become visible any more, see resumeIntent() of
// deposits/open-deposit.ts. So older charges are added to the totals, and the others are counted on each read.
const OPEN_FOR_MS = 25 * 3_600_000
// How often older charges are added; those of the last hour are counted on each read too.
const CLOSED_EVERY_MS = 3_600_000
// A batch is one short transaction; all of them together bound what one request may count.
const BATCH = 20_000
const MAX_BATCHES = 1_000
// Accounts that are counted at the same time, so that an operator's request leaves connections to others.
const AT_ONCE = 4

/** Each deposit is added once, by the first request that needs it, so that settling does not pay for it. */
export async function refreshDailyTotals(core: Core, accountId: string | null): Promise<void> {
  const now = core.now()
  const uncounted = await findUncounted(core, now, accountId)
  for (let start = 0; start < uncounted.length; start += AT_ONCE) {
    await Promise.all(uncounted.slice(start, start + AT_ONCE).map((id) => countAll(core, now, id)))
  }
}

/**
 * As of the last refresh: the days since `from` that had deposits, of one account, or of all with null. The days of an
 * account begin in its own time zone.
 */
export function readDailyTotals(core: Core, accountId: string | null, from: string): Promise<DayCounts[]> {
  return query<DayCounts>(
    core.pool,
    `select day::text as day, sum(created)::bigint as created, sum(paid)::bigint as paid,
       sum(paid_cents)::bigint as "paidCents", sum(fee_cents)::bigint as "feeCents"
     from (
       select day, created, paid, paid_cents, fee_cents from daily_totals
       where ($1::uuid is null or account_id = $1) and day >= $2
       union all
       select (c.created_at at time zone ${TIME_ZONE})::date, count(*), 0, 0, 0
       from charges c join daily_total_marks m using (account_id) join accounts a on a.id = c.account_id
       where ($1::uuid is null or c.account_id = $1) and c.id > $3 and c.id > m.charge_id
         and c.status not in ('OPENING', 'FAILED')
       group by 1
     ) counted
     where day >= $2 group by day order by day`,
    [accountId, from, openSince(core.now(), CLOSED_EVERY_MS)],
  )
}

/** For a transaction that writes into the past. A concurrent refresh waits for it, and then counts everything again. */
export async function resetDailyTotals(tx: Tx, accountId: string): Promise<void> {
  await tx.run(
    `${FIRST_MARK} on conflict (account_id) do update set transfer_id = 0, credits_cents = 0, charge_id = excluded.charge_id`,
    [accountId],
  )
  await tx.run('delete from daily_totals where account_id = $1', [accountId])
}

const FIRST_MARK = `insert into daily_total_marks (account_id, transfer_id, credits_cents, charge_id)
  values ($1, 0, 0, '00000000-0000-0000-0000-000000000000')`

/** Accounts with new credits, or with charges that have grown old enough. */
async function findUncounted(core: Core, now: Date, accountId: string | null): Promise<string[]> {
  const rows = await query<{ id: string }>(
    core.pool,
    `select a.id from accounts a
     join ledger_accounts l on l.kind = 'balance' and l.account_id = a.id
     join ledger_balances b on b.ledger_account_id = l.id
     left join daily_total_marks m on m.account_id = a.id
     where ($1::uuid is null or a.id = $1)
       and (m.account_id is null or m.credits_cents <> b.credits_cents or m.charge_id < $2)
     order by a.id`,
    [accountId, openSince(now, CLOSED_EVERY_MS)],
  )
  return rows.map((row) => row.id)
}

async function countAll(core: Core, now: Date, accountId: string): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    if ((await transact(core.pool, (tx) => countMore(tx, now, accountId))) === 'all') return
  }
}

type Mark = { transferId: number; chargeId: string; ledgerId: number }

async function countMore(tx: Tx, now: Date, accountId: string): Promise<'all' | 'more'> {
  await tx.run(`${FIRST_MARK} on conflict do nothing`, [accountId])
  // A concurrent refresh waits here, and then finds nothing left to count.
  const mark = await tx.one<Mark>(
    `select m.transfer_id as "transferId", m.charge_id as "chargeId", l.id as "ledgerId"
     from daily_total_marks m join ledger_accounts l on l.kind = 'balance' and l.account_id = m.account_id
     where m.account_id = $1 for update of m`,
    [accountId],
  )
  const params = [accountId, mark.ledgerId, mark.transferId, mark.chargeId, openSince(now), BATCH]
  const { isFull } = await tx.one<{ isFull: boolean }>(COUNT_MORE, params)
  return isFull ? 'more' : 'all'
}

function openSince(now: Date, moreMs = 0): string {
  return uuidOfTime(new Date(now.getTime() - OPEN_FOR_MS - moreMs))
}

// Counts deposits in the order of the ledger, whose ids are assigned under the lock of the balance: smaller ids
// committed earlier. Counts charges by id, after all deposits: a charge that was skipped as FAILED and is paid anyway
// shows by its payment. Only such charges have no code, and they count as created from then on. One statement, for one
// snapshot.
const COUNT_MORE = `
  with holder as (
    select ${TIME_ZONE} as zone from accounts a where a.id = $1
  ), deposits as (
    select id, kind, charge_id, occurred_at from transfers
    where credit_id = $2 and id > $3 and ${CREDITS} order by id limit $6
  ), is_behind as (
    select count(*) = $6 as yes from deposits
  ), grown as (
    select id, created_at, status from charges
    where account_id = $1 and id > $4 and id < $5 and not (select yes from is_behind) order by id limit $6
  ), paid as (
    select d.occurred_at, c.id, c.created_at, coalesce(c.received_cents, c.value_cents) as value_cents, c.fee_cents,
      c.emv is null as is_codeless
    from deposits d join charges c on c.id = d.charge_id where d.kind in ('deposit', 'matched_deposit')
  ), added as (
    insert into daily_totals as d (account_id, day, created, paid, paid_cents, fee_cents)
    select $1, (at at time zone (select zone from holder))::date, sum(created), sum(paid), sum(paid_cents), sum(fee_cents)
    from (
      select created_at, 1, 0, 0, 0 from grown where status not in ('OPENING', 'FAILED')
      union all
      select occurred_at, 0, 1, value_cents, fee_cents from paid
      union all
      select created_at, 1, 0, 0, 0 from paid where is_codeless and id <= $4
    ) counted (at, created, paid, paid_cents, fee_cents)
    group by 2
    on conflict (account_id, day) do update set created = d.created + excluded.created, paid = d.paid + excluded.paid,
      paid_cents = d.paid_cents + excluded.paid_cents, fee_cents = d.fee_cents + excluded.fee_cents
  ), ended as (
    select (select yes from is_behind) as is_behind, (select count(*) = $6 from grown) as has_more,
      (select max(id) from deposits) as transfer_id, (select id from grown order by id desc limit 1) as charge_id
  ), moved as (
    update daily_total_marks m
    set transfer_id = greatest(m.transfer_id, e.transfer_id),
      charge_id = case when e.is_behind then m.charge_id when e.has_more then e.charge_id else greatest(m.charge_id, $5) end,
      credits_cents = case when e.is_behind then m.credits_cents else b.credits_cents end
    from ended e, ledger_balances b where m.account_id = $1 and b.ledger_account_id = $2
  )
  select is_behind or has_more as "isFull" from ended`
