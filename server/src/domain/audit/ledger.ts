import { CREDITS, DEBITS } from '../ledger/account-statement.ts'
import { broken, check, hex, SKEW, type Checks } from './rules.ts'

// Every transfer that payments, refunds, exceptions, payouts and disputes require, with all its columns. A new kind of
// transfer is a line here. Accounts of the ledger have their names.
const WANTED = `
  select v.kind, v.debit, v.credit, v.amount_cents, p.id as payment_id, v.charge_id, null::uuid as refund_id, null::uuid as exception_id,
    null::uuid as payout_id, null::uuid as dispute_id, p.occurred_at, p.recorded_at, case when v.charge_id is not null then c.account_id end as account_id
  from payments p
  left join charges c on c.id = p.charge_id
  left join exceptions m on m.payment_id = p.id and m.resolution = 'match'
  cross join lateral (values
    ('deposit', p.credited and m.id is null, 'cash ' || p.provider, 'balance ' || c.account_id, p.amount_cents - c.fee_cents, p.charge_id),
    ('fee', p.credited and m.id is null and c.fee_cents > 0, 'cash ' || p.provider, 'fees', c.fee_cents, p.charge_id),
    ('suspense', not p.credited or m.id is not null, 'cash ' || p.provider, 'suspense', p.amount_cents,
      case when m.kind = 'unknown_charge' then null else p.charge_id end)
  ) v (kind, is_wanted, debit, credit, amount_cents, charge_id)
  where v.is_wanted
  union all
  select v.kind, v.debit, v.credit, v.amount_cents, r.payment_id, r.charge_id, r.id, null, null, null, v.at, v.at,
    coalesce(r.account_id, c.account_id)
  from refunds r
  join payments p on p.id = r.payment_id
  left join charges c on c.id = r.charge_id
  left join exceptions u on u.refund_id = r.id and u.kind = 'undone_refund'
  cross join lateral (
    select 'cash ' || p.provider as cash, case when r.source = 'suspense' then 'suspense' else 'balance ' || r.account_id end as source
  ) o
  cross join lateral (values
    ('fee_returned', r.source <> 'provider' and r.fee_returned_cents > 0, 'fees', o.source, r.fee_returned_cents, r.created_at),
    ('refund_reserved', r.source <> 'provider', o.source, 'refunding', r.amount_cents, r.created_at),
    ('refund_paid', r.source <> 'provider' and r.status = 'DONE', 'refunding', o.cash, r.amount_cents, r.ended_at),
    ('refund_released', r.source <> 'provider' and r.status = 'FAILED', 'refunding', o.source, r.amount_cents, r.ended_at),
    ('fee_kept', r.source <> 'provider' and r.status = 'FAILED' and r.fee_returned_cents > 0, o.source, 'fees', r.fee_returned_cents,
      r.ended_at),
    ('refund_seen', r.source = 'provider', case when r.exception_id is null then 'missing' else 'suspense' end, o.cash, r.amount_cents,
      r.created_at),
    ('refund_undone', u.id is not null, o.cash, 'suspense', r.amount_cents, u.opened_at)
  ) v (kind, is_wanted, debit, credit, amount_cents, at)
  where v.is_wanted
  union all
  select v.kind, v.debit, v.credit, v.amount_cents, x.payment_id, v.charge_id,
    x.refund_id, case when v.kind <> 'reversal_owed' then x.id end, null, null, x.resolved_at, x.resolved_at, coalesce(x.account_id, case when v.charge_id is not null then c.account_id end)
  from exceptions x
  join payments p on p.id = x.payment_id
  left join refunds f on f.id = x.refund_id
  left join charges c on c.id = p.charge_id
  cross join lateral (
    -- The statement of an account names no charge of another account.
    select x.kind = 'foreign_refund' as is_loss, coalesce(f.amount_cents, p.amount_cents) as amount_cents,
      case when x.account_id is null or x.account_id = c.account_id then p.charge_id end as charge_id,
      coalesce(f.amount_cents - x.owed_cents, f.amount_cents) as charged_cents,
      f.nature is not null and f.charge_id is not null as is_reversal
  ) o
  cross join lateral (values
    ('exception_credited', x.resolution = 'credit', 'suspense', 'balance ' || x.account_id, o.amount_cents, o.charge_id),
    ('exception_written_off', x.resolution = 'write_off' and not o.is_loss, 'suspense', 'written_off', o.amount_cents, o.charge_id),
    (case when o.is_reversal then 'reversal_charged' else 'refund_charged' end, x.resolution = 'charge_account' and o.charged_cents > 0,
      'balance ' || x.account_id, 'missing', o.charged_cents, o.charge_id),
    ('reversal_owed', x.owed_cents is not null, 'owed ' || x.account_id, 'missing', x.owed_cents, o.charge_id),
    ('refund_written_off', x.resolution = 'write_off' and o.is_loss, 'written_off', 'missing', o.amount_cents, o.charge_id),
    ('matched_deposit', x.resolution = 'match', 'suspense', 'balance ' || c.account_id, p.amount_cents - c.fee_cents, p.charge_id),
    ('matched_fee', x.resolution = 'match' and c.fee_cents > 0, 'suspense', 'fees', c.fee_cents, p.charge_id)
  ) v (kind, is_wanted, debit, credit, amount_cents, charge_id)
  where v.is_wanted
  union all
  select v.kind, v.debit, v.credit, o.value_cents, null, null, null, null, o.id, null, v.at, v.at, o.account_id
  from payouts o
  cross join lateral (values
    ('payout_reserved', true, 'balance ' || o.account_id, 'reserved ' || o.account_id, o.requested_at),
    ('payout_paid', o.status = 'PAID', 'reserved ' || o.account_id, 'paid_out', o.ended_at),
    ('payout_returned', o.status = 'REJECTED', 'reserved ' || o.account_id, 'balance ' || o.account_id, o.ended_at)
  ) v (kind, is_wanted, debit, credit, at)
  where v.is_wanted
  union all
  select v.kind, v.debit, v.credit, d.held_cents, null, d.charge_id, null, null, null, d.id, v.at, v.at, d.account_id
  from disputes d
  cross join lateral (values
    ('dispute_held', true, 'balance ' || d.account_id, 'held ' || d.account_id, d.recorded_at),
    ('dispute_released', d.status <> 'OPEN', 'held ' || d.account_id, 'balance ' || d.account_id, d.ended_at)
  ) v (kind, is_wanted, debit, credit, at)
  where v.is_wanted and d.held_cents > 0`

// An index keeps the names unique. What pays a debt follows from the balances, see `debt`.
const POSTED = `
  select t.*, coalesce(d.name, 'nowhere') as debit, coalesce(c.name, 'nowhere') as credit
  from transfers t left join books d on d.id = t.debit_id left join books c on c.id = t.credit_id
  where t.kind <> 'debt_paid'`

const transferRules = broken({
  'the debited account': ['t.debit', 'w.debit'],
  'the credited account': ['t.credit', 'w.credit'],
  'the amount': ['t.amount_cents', 'w.amount_cents'],
  'the charge': ['t.charge_id', 'w.charge_id'],
  'the account': ['t.account_id', 'w.account_id'],
  'the refund': ['t.refund_id', 'w.refund_id'],
  'the exception': ['t.exception_id', 'w.exception_id'],
  occurred_at: ['t.occurred_at', 'w.occurred_at'],
  recorded_at: ['t.recorded_at', 'w.recorded_at'],
})

// Unique indexes allow one transfer of a kind for each payment, refund, exception, payout and dispute; the check
// `schema` guards them.
const transfer = `
  with books as (
    select id, kind || coalesce(' ' || account_id, ' ' || provider, '') as name from ledger_accounts
  ), posted as (${POSTED}), wanted as (${WANTED})
  select case when t.id is not null then 'transfer ' || t.id
      when w.refund_id is not null then 'refund ' || ${hex('w.refund_id')}
      when w.exception_id is not null then 'exception ' || ${hex('w.exception_id')}
      when w.payout_id is not null then 'payout ' || ${hex('w.payout_id')}
      when w.dispute_id is not null then 'dispute ' || ${hex('w.dispute_id')}
      else 'payment ' || (select end_to_end_id from payments p where p.id = w.payment_id) end as subject,
    case when t.id is null then format('lacks its transfer %s of %s cents from %s to %s', w.kind, w.amount_cents, w.debit, w.credit)
      when w.kind is null then format('%s of %s cents from %s to %s follows from no payment, refund, exception, payout or dispute', t.kind, t.amount_cents,
        t.debit, t.credit)
      else format('%s: %s', t.kind, ${transferRules.text}) end as text
  from posted t
  full join wanted w on coalesce(w.payment_id, w.payout_id, w.dispute_id) = coalesce(t.payment_id, t.payout_id, t.dispute_id) and w.kind = t.kind
    and coalesce(w.refund_id, w.exception_id, w.payment_id, w.payout_id, w.dispute_id)
      = coalesce(t.refund_id, t.exception_id, t.payment_id, t.payout_id, t.dispute_id)
  where t.id is null or w.kind is null or ${transferRules.where}`

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
      else format('ledger account %s (%s) holds %s after it, which it may not', account, kind, after) end as text
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
  where after <> running or is_late or (after < 0 and kind not in ('cash', 'missing', 'written_off', 'owed'))
    or (after > 0 and kind = 'owed')`

// An index allows one of each kind for each account and provider. The transfers of one that is gone are named.
const ledgerAccount = `
  ${check({
    subject: `'ledger account ' || l.id`,
    prefix: `l.kind || ' '`,
    from: `ledger_accounts l
  left join ledger_balances b on b.ledger_account_id = l.id
  left join (select distinct provider from payments) p on p.provider = l.provider`,
    exists: { 'has no row of balances': 'b.ledger_account_id is not null' },
    rules: {
      may_be_negative: ['b.may_be_negative', `l.kind in ('cash', 'missing', 'written_off', 'owed')`],
      provider: ['l.provider', `case when l.kind = 'cash' then p.provider end`],
    },
  })}
  union all
  select 'account ' || a.id, format('has %s balances in the ledger instead of one', count(l.id))
  from accounts a left join ledger_accounts l on l.kind = 'balance' and l.account_id = a.id group by a.id having count(l.id) <> 1
  union all
  select l.kind || ' ' || coalesce(l.account_id::text, l.provider, ''), format('holds %s cents, more than programs count exactly (%s)',
    sum(b.credits_cents - b.debits_cents), ${Number.MAX_SAFE_INTEGER})
  from ledger_accounts l join ledger_balances b on b.ledger_account_id = l.id
  group by l.kind, l.account_id, l.provider having abs(sum(b.credits_cents - b.debits_cents)) > ${Number.MAX_SAFE_INTEGER}`

// The shared accounts hold what is open.
const total = `
  with wanted (kind, cents) as (
    select 'suspense', (
      select coalesce(sum(coalesce(f.amount_cents, p.amount_cents)), 0) from exceptions x join payments p on p.id = x.payment_id
      left join refunds f on f.id = x.refund_id
      where x.kind <> 'foreign_refund' and x.resolution is null)
    union all
    select 'reserved', (select coalesce(sum(value_cents), 0) from payouts where status = 'REQUESTED')
    union all
    select 'held', (select coalesce(sum(held_cents), 0) from disputes where status = 'OPEN')
    union all
    select 'paid_out', (select coalesce(sum(value_cents), 0) from payouts where status = 'PAID')
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
  -- The first payout makes the accounts of payouts, and the first dispute that of disputes.
  where coalesce(held.cents, case when w.kind in ('reserved', 'held', 'paid_out') then 0 end) is distinct from w.cents`

// What a balance gets pays a debt first, so nobody has both. A reversal takes all that there is before it makes a debt.
// A constraint keeps each debt_paid from leaving both.
const debt = `
  select 'account ' || o.account_id as subject, format('owes %s cents and has a balance of %s', -w.cents, h.cents) as text
  from ledger_accounts o
  join ledger_accounts l on l.kind = 'balance' and l.account_id = o.account_id
  cross join lateral (select credits_cents - debits_cents as cents from ledger_balances where ledger_account_id = o.id) w
  cross join lateral (select credits_cents - debits_cents as cents from ledger_balances where ledger_account_id = l.id) h
  where o.kind = 'owed' and w.cents < 0 and h.cents > 0
  union all
  ${check({
    subject: `'transfer ' || t.id`,
    prefix: `t.kind || ': '`,
    from: `(select * from transfers where kind in ('reversal_owed', 'debt_paid')) t
  left join ledger_accounts d on d.id = t.debit_id
  left join ledger_accounts c on c.id = t.credit_id
  left join ledger_accounts l on l.kind = 'balance' and l.account_id = t.account_id
  left join lateral (
    select cents from (
      (select id, debit_after_cents as cents from transfers where debit_id = l.id and ${DEBITS} and id < t.id order by id desc limit 1)
      union all
      (select id, credit_after_cents from transfers where credit_id = l.id and ${CREDITS} and id < t.id order by id desc limit 1)
    ) sides order by id desc limit 1
  ) before on t.kind = 'reversal_owed'`,
    rules: {
      'does not pay what this account owes, from its balance': `
        t.kind <> 'debt_paid' or ((d.kind, c.kind) = ('balance', 'owed') and d.account_id = t.account_id and c.account_id = t.account_id)`,
      'was booked at another time than it happened': 't.occurred_at = t.recorded_at',
      'made a debt although there was a balance': 'coalesce(before.cents, 0) = 0',
    },
  })}`

export const LEDGER_CHECKS: Checks = { transfer, balance, chain, debt, ledger_account: ledgerAccount, total }
