import { broken, check, hex, SKEW, type Checks } from './rules.ts'

// Every transfer that payments, refunds and exceptions require, with all its columns. A new kind of transfer is a line
// here.
const WANTED = `
  select v.kind, v.debit_id, v.credit_id, v.amount_cents, p.id as payment_id, v.charge_id, null::uuid as refund_id, null::uuid as exception_id,
    p.occurred_at, p.recorded_at, case when v.charge_id is not null then c.account_id end as account_id
  from payments p
  left join charges c on c.id = p.charge_id
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  left join books cash on cash.kind = 'cash' and cash.provider = p.provider
  left join books owner on owner.kind = 'balance' and owner.account_id = c.account_id
  cross join single s
  cross join lateral (values
    ('deposit', p.credited and m.id is null, cash.id, owner.id, p.amount_cents - c.fee_cents, p.charge_id),
    ('fee', p.credited and m.id is null and c.fee_cents > 0, cash.id, s.fees, c.fee_cents, p.charge_id),
    ('suspense', not p.credited or m.id is not null, cash.id, s.suspense, p.amount_cents,
      case when m.kind = 'unknown_charge' then null else p.charge_id end)
  ) v (kind, is_wanted, debit_id, credit_id, amount_cents, charge_id)
  where v.is_wanted
  union all
  select v.kind, v.debit_id, v.credit_id, v.amount_cents, r.payment_id, r.charge_id, r.id, null, v.at, v.at,
    coalesce(r.account_id, c.account_id)
  from refunds r
  join payments p on p.id = r.payment_id
  left join charges c on c.id = r.charge_id
  left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
  left join books cash on cash.kind = 'cash' and cash.provider = p.provider
  left join books bearer on bearer.kind = 'balance' and bearer.account_id = r.account_id
  cross join single s
  cross join lateral (select case when r.source = 'suspense' then s.suspense else bearer.id end as id) src
  cross join lateral (values
    ('fee_returned', r.source <> 'provider' and r.fee_returned_cents > 0, s.fees, src.id, r.fee_returned_cents, r.created_at),
    ('refund_reserved', r.source <> 'provider', src.id, s.refunding, r.amount_cents, r.created_at),
    ('refund_paid', r.source <> 'provider' and r.status = 'DONE', s.refunding, cash.id, r.amount_cents, r.ended_at),
    ('refund_released', r.source <> 'provider' and r.status = 'FAILED', s.refunding, src.id, r.amount_cents, r.ended_at),
    ('fee_kept', r.source <> 'provider' and r.status = 'FAILED' and r.fee_returned_cents > 0, src.id, s.fees, r.fee_returned_cents,
      r.ended_at),
    ('refund_seen', r.source = 'provider', case when r.exception_id is null then s.missing else s.suspense end, cash.id, r.amount_cents,
      r.created_at),
    ('refund_undone', u.id is not null, cash.id, s.suspense, r.amount_cents, u.opened_at)
  ) v (kind, is_wanted, debit_id, credit_id, amount_cents, at)
  where v.is_wanted
  union all
  select v.kind, v.debit_id, v.credit_id, v.amount_cents, x.payment_id, v.charge_id,
    x.refund_id, x.id, x.resolved_at, x.resolved_at, coalesce(x.account_id, case when v.charge_id is not null then c.account_id end)
  from exceptions x
  join payments p on p.id = x.payment_id
  left join refunds f on f.id = x.refund_id
  left join charges c on c.id = p.charge_id
  left join books chosen on chosen.kind = 'balance' and chosen.account_id = x.account_id
  left join books owner on owner.kind = 'balance' and owner.account_id = c.account_id
  cross join single s
  cross join lateral (
    -- The statement of an account names no charge of another account.
    select x.kind = 'foreign_refund' as is_loss, coalesce(f.amount_cents, p.amount_cents) as amount_cents,
      case when x.account_id is null or x.account_id = c.account_id then p.charge_id end as charge_id
  ) o
  cross join lateral (values
    ('exception_credited', x.resolution = 'credit', s.suspense, chosen.id, o.amount_cents, o.charge_id),
    ('exception_written_off', x.resolution = 'write_off' and not o.is_loss, s.suspense, s.written_off, o.amount_cents, o.charge_id),
    ('refund_charged', x.resolution = 'charge_account', chosen.id, s.missing, o.amount_cents, o.charge_id),
    ('refund_written_off', x.resolution = 'write_off' and o.is_loss, s.written_off, s.missing, o.amount_cents, o.charge_id),
    ('matched_deposit', x.resolution = 'match', s.suspense, owner.id, p.amount_cents - c.fee_cents, p.charge_id),
    ('matched_fee', x.resolution = 'match' and c.fee_cents > 0, s.suspense, s.fees, c.fee_cents, p.charge_id)
  ) v (kind, is_wanted, debit_id, credit_id, amount_cents, charge_id)
  where v.is_wanted`

const BOOKS = `
  select id, kind, account_id, provider, kind || coalesce(' ' || account_id, ' ' || provider, '') as name
  from ledger_accounts`

const SINGLE = `
  select max(id) filter (where kind = 'fees') as fees, max(id) filter (where kind = 'suspense') as suspense,
    max(id) filter (where kind = 'refunding') as refunding, max(id) filter (where kind = 'missing') as missing,
    max(id) filter (where kind = 'written_off') as written_off
  from books`

const transferRules = broken({
  'the debited account': ['dt.name', 'dw.name'],
  'the credited account': ['ct.name', 'cw.name'],
  'the amount': ['x.t_amount', 'x.w_amount'],
  'the charge': ['x.t_charge', 'x.w_charge'],
  'the account': ['x.t_account', 'x.w_account'],
  'the refund': ['x.t_refund', 'x.w_refund'],
  'the exception': ['x.t_exception', 'x.w_exception'],
  occurred_at: ['x.t_occurred', 'x.w_occurred'],
  recorded_at: ['x.t_recorded', 'x.w_recorded'],
})

// Unique indexes allow one transfer of a kind for each payment, refund and exception; the check `schema` guards them.
const transfer = `
  with books as (${BOOKS}), single as (${SINGLE}), wanted as (${WANTED}), x as (
    select t.id, coalesce(t.kind, w.kind) as kind, w.kind is not null as is_wanted, coalesce(t.payment_id, w.payment_id) as payment_id,
      t.debit_id as t_debit, w.debit_id as w_debit, t.credit_id as t_credit, w.credit_id as w_credit,
      t.amount_cents as t_amount, w.amount_cents as w_amount, t.charge_id as t_charge, w.charge_id as w_charge,
      t.refund_id as t_refund, w.refund_id as w_refund, t.exception_id as t_exception, w.exception_id as w_exception,
      t.occurred_at as t_occurred, w.occurred_at as w_occurred, t.recorded_at as t_recorded, w.recorded_at as w_recorded,
      t.account_id as t_account, w.account_id as w_account
    from transfers t
    full join wanted w on w.payment_id = t.payment_id and w.kind = t.kind
      and coalesce(w.refund_id, w.exception_id, w.payment_id) = coalesce(t.refund_id, t.exception_id, t.payment_id)
    where (t.debit_id, t.credit_id, t.amount_cents, t.charge_id, t.account_id, t.refund_id, t.exception_id, t.occurred_at, t.recorded_at)
      is distinct from (w.debit_id, w.credit_id, w.amount_cents, w.charge_id, w.account_id, w.refund_id, w.exception_id, w.occurred_at, w.recorded_at)
      or t.id is null or w.kind is null
  )
  select case when x.id is not null then 'transfer ' || x.id
      when x.w_refund is not null then 'refund ' || ${hex('x.w_refund')}
      when x.w_exception is not null then 'exception ' || ${hex('x.w_exception')}
      else 'payment ' || coalesce(p.end_to_end_id, x.payment_id::text) end as subject,
    case when x.id is null then format('lacks its transfer %s of %s cents from %s to %s', x.kind, x.w_amount, coalesce(dw.name, 'nowhere'),
        coalesce(cw.name, 'nowhere'))
      when not x.is_wanted then format('%s of %s cents from %s to %s follows from no payment, refund or exception', x.kind, x.t_amount,
        coalesce(dt.name, 'nowhere'), coalesce(ct.name, 'nowhere'))
      else format('%s: %s', x.kind, ${transferRules.text}) end as text
  from x
  left join payments p on p.id = x.payment_id
  left join books dt on dt.id = x.t_debit left join books dw on dw.id = x.w_debit
  left join books ct on ct.id = x.t_credit left join books cw on cw.id = x.w_credit`

// The balance of an account is always the sum of its transfers.
const balance = `
  select l.kind || ' ' || coalesce(l.account_id::text, l.provider, '') as subject,
    format('keeps debits %s and credits %s, but its transfers add up to %s and %s', coalesce(b.debits_cents::text, 'none'),
      coalesce(b.credits_cents::text, 'none'), coalesce(d.sum, 0), coalesce(c.sum, 0)) as text
  from ledger_accounts l
  left join ledger_balances b on b.ledger_account_id = l.id
  left join (select debit_id as id, sum(amount_cents) from transfers group by 1) d using (id)
  left join (select credit_id as id, sum(amount_cents) from transfers group by 1) c using (id)
  where b.debits_cents is distinct from coalesce(d.sum, 0) or b.credits_cents is distinct from coalesce(c.sum, 0)`

// Each transfer has its accounts' balances after it. Together they form an unbroken chain, below zero only where
// allowed. A balance is locked while a transfer gets its id, so ids are in the order of time; `guiche seed` makes up a
// past.
const chain = `
  select 'transfer ' || id as subject,
    case when after <> running then format('ledger account %s holds %s after it, should be %s', account, after, running)
      when is_late then format('stands in ledger account %s behind one that was recorded later', account)
      else format('ledger account %s (%s) holds %s after it, and may not be below zero', account, kind, after) end as text
  from (
    select s.id, s.account, s.after, l.kind, sum(s.amount) over history as running,
      l.kind = 'balance' and z.account_id is null and s.recorded_at < max(s.recorded_at) over history - ${SKEW} as is_late
    from (
      select id, debit_id as account, -amount_cents as amount, debit_after_cents as after, recorded_at from transfers
      union all
      select id, credit_id, amount_cents, credit_after_cents, recorded_at from transfers
    ) s
    left join ledger_accounts l on l.id = s.account
    left join (select distinct account_id from audit_log where action = 'history.seeded') z on z.account_id = l.account_id
    window history as (partition by s.account order by s.id)
  ) lines
  where after <> running or is_late or (after < 0 and kind not in ('cash', 'missing', 'written_off'))`

// One balance for each account, cash for each provider that money came from, fees, and one of each other kind.
const ledgerAccount = `
  ${check({
    subject: `'ledger account ' || l.id`,
    prefix: `l.kind || ' '`,
    from: `ledger_accounts l
  left join ledger_balances b on b.ledger_account_id = l.id
  left join accounts a on a.id = l.account_id
  left join (select distinct provider from payments) p on p.provider = l.provider`,
    exists: { 'has no row of balances': 'b.ledger_account_id is not null' },
    rules: {
      may_be_negative: ['b.may_be_negative', `l.kind in ('cash', 'missing', 'written_off')`],
      account_id: ['l.account_id', `case when l.kind = 'balance' then a.id end`],
      provider: ['l.provider', `case when l.kind = 'cash' then p.provider end`],
    },
  })}
  union all
  select 'account ' || a.id, format('has %s balances in the ledger instead of one', count(l.id))
  from accounts a left join ledger_accounts l on l.kind = 'balance' and l.account_id = a.id group by a.id having count(l.id) <> 1
  union all
  select 'provider ' || p.provider, 'has no cash account in the ledger'
  from (select distinct provider from payments) p left join ledger_accounts l on l.kind = 'cash' and l.provider = p.provider
  where l.id is null
  union all
  select 'ledger', format('has %s accounts of the kind %s instead of one', count(l.id), k.kind)
  from unnest(array['fees', 'suspense', 'refunding', 'missing', 'written_off']) as k (kind)
  left join ledger_accounts l on l.kind = k.kind group by k.kind having count(l.id) <> 1
  union all
  select l.kind || ' ' || coalesce(l.account_id::text, l.provider, ''), format('holds %s cents, more than programs count exactly (%s)',
    sum(b.credits_cents - b.debits_cents), ${Number.MAX_SAFE_INTEGER})
  from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
  group by l.kind, l.account_id, l.provider having abs(sum(b.credits_cents - b.debits_cents)) > ${Number.MAX_SAFE_INTEGER}
  union all
  select 'ledger account ' || b.ledger_account_id, 'has balances, and is not there'
  from ledger_balances b left join ledger_accounts l on l.id = b.ledger_account_id where l.id is null`

// The shared accounts hold what is open.
const total = `
  with wanted (kind, cents) as (
    select 'suspense', (
      select coalesce(sum(coalesce(f.amount_cents, p.amount_cents)), 0) from exceptions x join payments p on p.id = x.payment_id
      left join refunds f on f.id = x.refund_id
      where x.kind <> 'foreign_refund' and x.resolution is null)
    union all
    select 'refunding', (select coalesce(sum(amount_cents), 0) from refunds where status = 'PROCESSING')
    union all
    select 'missing', (
      select -coalesce(sum(f.amount_cents), 0) from exceptions x join refunds f on f.id = x.refund_id
      where x.kind = 'foreign_refund' and x.resolved_at is null)
    union all
    select 'fees', (select coalesce(sum(c.fee_cents), 0) from payments p join charges c on c.id = p.charge_id where p.credited)
      - (select coalesce(sum(fee_returned_cents), 0) from refunds where status <> 'FAILED')
  )
  select w.kind as subject, format('holds %s cents, but what is open comes to %s', held.cents, w.cents) as text
  from wanted w
  left join (
    select l.kind, sum(b.credits_cents - b.debits_cents) as cents
    from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id group by 1
  ) held on held.kind = w.kind
  where held.cents is distinct from w.cents`

export const LEDGER_CHECKS: Checks = { transfer, balance, chain, ledger_account: ledgerAccount, total }
