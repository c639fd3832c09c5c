import { DAY_ZONE } from '../core/business-days.ts'
import { broken, hex, must, sqlTime, timeMs, idMs, type Checks } from './rules.ts'

// What was counted of each day, counted again up to the same marks; see deposit-days.ts for what counts when.
const day = `
  with marks as (
    select m.account_id, m.transfer_id, m.charge_id, l.id as ledger_id
    from daily_total_marks m join ledger_accounts l on l.kind = 'balance' and l.account_id = m.account_id
  ), paid as (
    select t.charge_id, t.credit_id, t.id, t.occurred_at from transfers t where t.kind in ('deposit', 'matched_deposit')
  ), truth as (
    select account_id, day, sum(created) as created, sum(paid) as paid, sum(paid_cents) as paid_cents, sum(fee_cents) as fee_cents
    from (
      select c.account_id, (c.created_at at time zone '${DAY_ZONE}')::date as day, 1 as created, 0 as paid, 0 as paid_cents, 0 as fee_cents
      from charges c
      join marks m on m.account_id = c.account_id
      left join paid d on d.charge_id = c.id and c.emv is null
      where c.id <= m.charge_id and c.status not in ('OPENING', 'FAILED') and (c.emv is not null or d.id is null or d.id <= m.transfer_id)
      union all
      select m.account_id, (d.occurred_at at time zone '${DAY_ZONE}')::date, 0, 1, coalesce(c.received_cents, c.value_cents),
        c.fee_cents
      from paid d join marks m on m.ledger_id = d.credit_id and d.id <= m.transfer_id join charges c on c.id = d.charge_id
    ) counted group by 1, 2
  )
  select format('account %s on %s', coalesce(k.account_id, t.account_id), coalesce(k.day, t.day)) as subject,
    format('counts %s deposits made, %s paid, %s cents and %s of fees, but the books have %s, %s, %s and %s', coalesce(k.created, 0),
      coalesce(k.paid, 0), coalesce(k.paid_cents, 0), coalesce(k.fee_cents, 0), coalesce(t.created, 0), coalesce(t.paid, 0),
      coalesce(t.paid_cents, 0), coalesce(t.fee_cents, 0)) as text
  from daily_totals k full join truth t on t.account_id = k.account_id and t.day = k.day
  where (coalesce(k.created, 0), coalesce(k.paid, 0), coalesce(k.paid_cents, 0), coalesce(k.fee_cents, 0))
    is distinct from (coalesce(t.created, 0), coalesce(t.paid, 0), coalesce(t.paid_cents, 0), coalesce(t.fee_cents, 0))`

const markRules = (now: string) =>
  broken([
    must(`${idMs('m.charge_id')} <= ${timeMs(now)}`, 'counts deposits that are yet to be made'),
    must('m.transfer_id <= coalesce((select max(id) from transfers), 0)', 'counts transfers that are yet to be made'),
    must('m.credits_cents <= coalesce(c.cents, 0)', 'says that more was credited than was counted'),
  ])

const mark = (now: string) => {
  const { text, where } = markRules(now)
  return `
  select 'account ' || ${hex('m.account_id')} as subject, ${text} as text
  from daily_total_marks m
  left join (
    select m.account_id, sum(t.amount_cents) as cents
    from daily_total_marks m
    join ledger_accounts l on l.kind = 'balance' and l.account_id = m.account_id
    join transfers t on t.credit_id = l.id and t.id <= m.transfer_id group by 1
  ) c on c.account_id = m.account_id
  where ${where}`
}

export function rollupChecks(now: Date): Checks {
  return { deposit_day: day, deposit_day_mark: mark(sqlTime(now)) }
}
