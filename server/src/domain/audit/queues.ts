import { columnOf } from '../../db/sql-values.ts'
import { EXPIRY_GRACE_MS } from '../deposits/charge-states.ts'
import { TIME_ZONE } from '../accounts/time-zone.ts'
import { DAY_ZONE } from '../core/business-days.ts'
import { byOwnField } from '../core/charge-facts.ts'
import { check, hex, idMs, isHashOf, NOW, SKEW, timeMs, type Checks } from './rules.ts'

// A check is put off by at most five minutes, and a claim ends after two.
const PATIENCE = `interval '10 minutes'`
// The longest pause between sweeps that can be set.
const SWEEP_WITHIN = `interval '1 day'`
// Every charge that can still be paid has a check when it expires. No check is put off for ever, or without a charge.
// One of another account would hide its charge from the list of PENDING ones.
const dueCheck = `
  select 'charge ' || ${hex('c.id')} as subject, case when k.subject is null then format('is %s, and no check of it is queued', c.status)
    else format('is %s, and its check is only due at %s', c.status, k.due_at) end as text
  from charges c
  left join checks k on k.provider = c.provider and k.subject = ${hex('c.id')} and k.kind = 'charge'
  where c.status in ('OPENING', 'PENDING')
    and (k.subject is null or k.due_at > greatest(c.expires_at + ${EXPIRY_GRACE_MS} * interval '1 millisecond', ${NOW}) + ${PATIENCE})
  union all
  select 'check ' || k.subject, case when c.id is null then 'is of a charge that does not exist' else 'is of another account than its charge' end
  from checks k left join charges c on ${hex('c.id')} = k.subject
  where k.kind in ('charge', 'withdrawal') and (c.id is null or k.account_id <> c.account_id)
  union all
  select 'check ' || k.subject, format('is only due at %s', k.due_at)
  from checks k where k.kind <> 'charge' and k.due_at > ${NOW} + ${PATIENCE}`

// A charge that can be or was paid has its external id, unless it is marked because another one paid the order. So an
// order is credited once. Release 1.0.0-rc.1, whose events have no seal, left the id of a late charge to another one.
const externalId = `
  select 'charge ' || ${hex('c.id')} as subject, format('is %s%s with external id %s, which %s', c.status,
    case when c.order_paid then ' and marked as of a paid order,' end, c.external_id, case when i.charge_id is null then 'no charge has'
      else format('belongs to charge %s, which is %s', ${hex('i.charge_id')}, coalesce(h.status, 'gone')) end) as text
  from charges c
  left join external_ids i on i.account_id = c.account_id and i.external_id = c.external_id
  left join charges h on h.id = i.charge_id
  where (c.order_paid and (c.status = 'COMPLETED' or h.status is distinct from 'COMPLETED'))
    or (c.external_id is not null and c.status in ('OPENING', 'PENDING', 'COMPLETED') and (i.charge_id is distinct from c.id) <> c.order_paid
      and (not c.paid_late or c.id in (select subject_id from events where kind = 'DEPOSIT_ASSET_SUCCESS' and seal is not null)))
  union all
  select 'external id ' || i.external_id, format('of account %s belongs to a charge that may not have it', i.account_id)
  from external_ids i left join charges c on c.id = i.charge_id
  where (c.account_id, c.external_id) is distinct from (i.account_id, i.external_id) or c.status in ('EXPIRED', 'CANCELED', 'FAILED')`

// With the default expiry, or with its own.
const REQUEST = { ...byOwnField((name) => `c.${columnOf(name)}`), valueCents: 'c.original_value_cents' }
const SECONDS = `div((${timeMs('c.expires_at')} - ${idMs('c.id')})::numeric, 1000)`
const REQUESTS = [REQUEST, { ...REQUEST, expiresInSeconds: SECONDS }]

const idempotencyKey = check({
  subject: `'idempotency key ' || k.key`,
  from: 'idempotency_keys k left join charges c on c.id = k.charge_id',
  rules: {
    'belongs to no charge, or to one of another account': 'c.account_id = k.account_id',
    'was used with another request than its charge': REQUESTS.map((request) =>
      isHashOf('k.request_hash', request),
    ).join(' or '),
  },
})

// A cursor in the future skips payments that arrive until then.
const sweep = `
  select 'provider ' || s.provider as subject, format('is swept until %s, closed next on %s and swept again at %s, which lies in the future',
    s.swept_until, s.next_closing, s.due_at) as text
  from sweeps s
  where s.swept_until > ${NOW} + ${SKEW} or s.began_at > ${NOW} + ${SKEW} or s.due_at > ${NOW} + ${SWEEP_WITHIN}
    or s.next_closing > (${NOW} at time zone '${DAY_ZONE}')::date
  union all
  select 'provider ' || s.provider, format('day %s was passed over and not closed', d.day::date)
  from sweeps s
  cross join lateral generate_series((s.began_at at time zone '${DAY_ZONE}')::date, s.next_closing - 1, interval '1 day') as d (day)
  left join closings c on c.provider = s.provider and c.day = d.day::date and c.revision = 1
  where c.provider is null`

// ---- Daily totals ----

// The totals of each day, less what is counted again up to the same marks; see daily-totals.ts for what counts when.
const depositDay = `
  with paid as (
    select t.charge_id, t.credit_id, t.id, t.occurred_at from transfers t where t.kind in ('deposit', 'matched_deposit')
  )
  select format('account %s on %s', account_id, day) as subject,
    format('counts deposits that the books do not have, or lacks some (-): %s made, %s paid, %s cents and %s of fees',
      sum(created), sum(paid), sum(paid_cents), sum(fee_cents)) as text
  from (
    select account_id, day, created, paid, paid_cents, fee_cents from daily_totals
    union all
    select c.account_id, (c.created_at at time zone ${TIME_ZONE})::date, -1, 0, 0, 0
    from charges c
    join daily_total_marks m on m.account_id = c.account_id
    join accounts a on a.id = c.account_id
    left join paid d on d.charge_id = c.id and c.emv is null
    where c.id <= m.charge_id and c.status not in ('OPENING', 'FAILED') and (c.emv is not null or d.id is null or d.id <= m.transfer_id)
    union all
    select m.account_id, (d.occurred_at at time zone ${TIME_ZONE})::date, 0, -1, -coalesce(c.received_cents, c.value_cents), -c.fee_cents
    from daily_total_marks m
    join accounts a on a.id = m.account_id
    join ledger_accounts l on l.kind = 'balance' and l.account_id = m.account_id
    join paid d on d.credit_id = l.id and d.id <= m.transfer_id
    join charges c on c.id = d.charge_id
  ) counted group by account_id, day having (sum(created), sum(paid), sum(paid_cents), sum(fee_cents)) <> (0, 0, 0, 0)`

const depositDayMark = check({
  subject: `'account ' || ${hex('m.account_id')}`,
  from: `daily_total_marks m
  left join (
    select m.account_id, sum(t.amount_cents) as cents
    from daily_total_marks m
    join ledger_accounts l on l.kind = 'balance' and l.account_id = m.account_id
    join transfers t on t.credit_id = l.id and t.id <= m.transfer_id group by 1
  ) c on c.account_id = m.account_id`,
  rules: {
    'counts deposits that are yet to be made': `${idMs('m.charge_id')} <= ${timeMs(NOW)}`,
    'counts transfers that are yet to be made': 'm.transfer_id <= coalesce((select max(id) from transfers), 0)',
    'says that more was credited than was counted': 'm.credits_cents <= coalesce(c.cents, 0)',
  },
})

export const QUEUE_CHECKS: Checks = {
  check: dueCheck,
  external_id: externalId,
  idempotency_key: idempotencyKey,
  sweep,
  deposit_day: depositDay,
  deposit_day_mark: depositDayMark,
}
