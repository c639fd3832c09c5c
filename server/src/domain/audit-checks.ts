import { EXCEPTION_STATE } from './exception-life.ts'

// A transfer of a refund or an exception in one line, such as: refund_paid refunding > cash sandbox 5000
const LINES = `(
  select t.refund_id, t.exception_id, format('%s %s > %s %s', t.kind, d.kind || coalesce(' ' || d.account_id, ' ' || d.provider, ''),
    c.kind || coalesce(' ' || c.account_id, ' ' || c.provider, ''), t.amount_cents) as line
  from transfers t join ledger_accounts d on d.id = t.debit_id join ledger_accounts c on c.id = t.credit_id
  where t.refund_id is not null or t.exception_id is not null
) lines`

// Each statement yields a row for every thing that is not as it must be.
export const BOOK_CHECKS = {
  // What is kept per account is at all times the sum of its transfers.
  balance: `
    select l.kind || ' ' || coalesce(l.account_id::text, l.provider, '') as subject,
      format('keeps debits %s and credits %s, but its transfers add up to %s and %s', coalesce(b.debits_cents::text, 'none'),
        coalesce(b.credits_cents::text, 'none'), coalesce(d.sum, 0), coalesce(c.sum, 0)) as text
    from ledger_accounts l
    left join ledger_balances b on b.ledger_account_id = l.id
    left join (select debit_id as id, sum(amount_cents) from transfers group by 1) d using (id)
    left join (select credit_id as id, sum(amount_cents) from transfers group by 1) c using (id)
    where b.debits_cents is distinct from coalesce(d.sum, 0) or b.credits_cents is distinct from coalesce(c.sum, 0)`,
  // Each transfer says what its accounts held after it; together they form an unbroken chain.
  chain: `
    select 'transfer ' || id as subject, format('ledger account %s holds %s after it, should be %s', account, after, running) as text
    from (
      select id, account, after, sum(amount) over (partition by account order by id) as running
      from (
        select id, debit_id as account, -amount_cents as amount, debit_after_cents as after from transfers
        union all
        select id, credit_id, amount_cents, credit_after_cents from transfers
      ) sides
    ) lines
    where after <> running`,
  // Every centavo that arrived went through its provider's cash, once: no credit stands without money behind it, and no money without
  // a credit.
  cash: `
    select 'payment ' || p.end_to_end_id as subject,
      format('brought %s cents, but %s stand for it in the cash of %s', p.amount_cents, coalesce(t.sum, 0),
        coalesce(t.providers, 'any provider')) as text
    from payments p
    left join (
      select t.payment_id as id, sum(t.amount_cents), string_agg(distinct l.provider, ', ') as providers
      from transfers t join ledger_accounts l on l.id = t.debit_id where l.kind = 'cash' group by 1
    ) t using (id)
    where t.sum is distinct from p.amount_cents or t.providers <> p.provider`,
  // A COMPLETED charge has one payment of its value, its transfers, and its event.
  completed: `
    select 'charge ' || replace(c.id::text, '-', '') as subject,
      format('COMPLETED with value %s and fee %s, but has %s credited payments of %s, deposits of %s, fees of %s and %s events',
        c.value_cents, c.fee_cents, coalesce(p.count, 0), coalesce(p.sum, 0), coalesce(t.deposits, 0), coalesce(t.fees, 0),
        coalesce(e.count, 0)) as text
    from charges c
    left join (select charge_id as id, count(*), sum(amount_cents) from payments where credited group by 1) p using (id)
    left join (
      select t.charge_id as id,
        sum(t.amount_cents) filter (where t.kind in ('deposit', 'matched_deposit') and l.account_id = c.account_id) as deposits,
        sum(t.amount_cents) filter (where t.kind in ('fee', 'matched_fee')) as fees
      from transfers t join ledger_accounts l on l.id = t.credit_id join charges c on c.id = t.charge_id
      where t.kind in ('deposit', 'fee', 'matched_deposit', 'matched_fee') group by 1
    ) t using (id)
    left join (select subject_id as id, count(*) from events where kind = 'DEPOSIT_ASSET_SUCCESS' group by 1) e using (id)
    where c.status = 'COMPLETED' and (p.count is distinct from 1 or p.sum is distinct from coalesce(c.received_cents, c.value_cents)
      or t.deposits is distinct from coalesce(c.received_cents, c.value_cents) - c.fee_cents or coalesce(t.fees, 0) <> c.fee_cents or e.count is distinct from 1)`,
  // And nothing else has any of these.
  uncompleted: `
    select 'charge ' || replace(c.id::text, '-', '') as subject, format('is %s, but a payment was credited to it', c.status) as text
    from charges c
    join (
      select charge_id as id from payments where credited
      union select charge_id from transfers where kind in ('deposit', 'fee', 'matched_deposit', 'matched_fee')
      union select subject_id from events where kind = 'DEPOSIT_ASSET_SUCCESS'
    ) credited using (id)
    where c.status <> 'COMPLETED'`,
  // A payment that completed nothing came to suspense with its exception; one that did came to neither, unless it was matched later.
  suspense: `
    select 'payment ' || p.end_to_end_id as subject,
      case when p.credited then 'was credited and is an exception too' else 'completed nothing, and is not wholly in suspense' end as text
    from payments p
    left join exceptions x on x.payment_id = p.id and x.kind <> 'foreign_refund'
    left join transfers t on t.payment_id = p.id and t.kind = 'suspense'
    where case when p.credited and x.resolution is distinct from 'match' then x.id is not null or t.id is not null
      else x.id is null or t.amount_cents is distinct from p.amount_cents end`,
  // A refund has exactly the transfers of where it stands. So what is on its way back adds up to the refunds that are PROCESSING, and the cash to
  // the payments less the refunds that are DONE.
  refund: `
    select 'refund ' || replace(r.id::text, '-', '') as subject,
      format('is %s, so its transfers should be [%s], but are [%s]', r.status, wanted.text, coalesce(booked.text, '')) as text
    from refunds r
    join payments p on p.id = r.payment_id
    cross join lateral (
      select case when r.source = 'suspense' then 'suspense' else 'balance ' || coalesce(r.account_id::text, 'of nobody') end as name
    ) source
    cross join lateral (
      select string_agg(line, ', ' order by line) as text from unnest(
        case when r.source = 'provider' then array[format('refund_seen %s > cash %s %s',
          case when r.exception_id is null then 'missing' else 'suspense' end, p.provider, r.amount_cents)]
        else array[
          case when r.fee_returned_cents > 0 then format('fee_returned fees > %s %s', source.name, r.fee_returned_cents) end,
          format('refund_reserved %s > refunding %s', source.name, r.amount_cents),
          case when r.status = 'DONE' then format('refund_paid refunding > cash %s %s', p.provider, r.amount_cents) end,
          case when r.status = 'FAILED' then format('refund_released refunding > %s %s', source.name, r.amount_cents) end,
          case when r.status = 'FAILED' and r.fee_returned_cents > 0
            then format('fee_kept %s > fees %s', source.name, r.fee_returned_cents) end
        ] end
      ) as line
    ) wanted
    left join (
      select refund_id, string_agg(line, ', ' order by line) as text from ${LINES} where exception_id is null group by 1
    ) booked on booked.refund_id = r.id
    where booked.text is distinct from wanted.text`,
  // A charge says what was given back of it, which is never more than was paid.
  refunded: `
    select 'charge ' || replace(c.id::text, '-', '') as subject,
      format('says that %s cents of %s were refunded, but its refunds come to %s', c.refunded_cents, c.value_cents,
        coalesce(r.sum, 0)) as text
    from charges c
    left join (select charge_id as id, sum(amount_cents) from refunds where status = 'DONE' group by 1) r using (id)
    where c.refunded_cents <> coalesce(r.sum, 0) or c.refunded_cents > coalesce(c.received_cents, c.value_cents)`,
  // The account holder was told of every refund that is done, and of no other.
  refund_event: `
    select 'refund ' || replace(coalesce(r.id, e.id)::text, '-', '') as subject,
      format('is %s, and has %s events', coalesce(r.status, 'not there'), coalesce(e.count, 0)) as text
    from refunds r
    full join (select subject_id as id, count(*) from events where kind = 'DEPOSIT_REFUNDED' group by 1) e using (id)
    where coalesce(e.count, 0) <> coalesce(r.status = 'DONE' and r.charge_id is not null, false)::int`,
  // An exception that is open has its money where it came to; one that is resolved has the transfer that says so, or the refund. So suspense adds up to
  // the exceptions that are open.
  exception: `
    select 'exception ' || replace(x.id::text, '-', '') as subject,
      format('is %s by %s, so it should have [%s] and a refund that is %s, but has [%s] and %s', ${EXCEPTION_STATE},
        coalesce(x.resolution, 'nothing'), coalesce(wanted.text, ''), coalesce(wanted.refund, 'not there'),
        coalesce(booked.text, ''), coalesce(r.status, 'not there')) as text
    from exceptions x
    join payments p on p.id = x.payment_id
    left join charges m on m.id = p.charge_id
    left join refunds f on f.id = x.refund_id
    cross join lateral (
      select case x.kind || ' ' || coalesce(x.resolution, '')
          when 'foreign_refund charge_account' then format('refund_charged balance %s > missing %s', x.account_id, f.amount_cents)
          when 'foreign_refund write_off' then format('refund_written_off written_off > missing %s', f.amount_cents)
          else case x.resolution
            when 'credit' then format('exception_credited suspense > balance %s %s', x.account_id, p.amount_cents)
            when 'write_off' then format('exception_written_off suspense > written_off %s', p.amount_cents)
            when 'match' then format('matched_deposit suspense > balance %s %s', m.account_id, p.amount_cents - m.fee_cents)
              || case when m.fee_cents > 0 then format(', matched_fee suspense > fees %s', m.fee_cents) else '' end
          end
        end as text,
        case when x.kind = 'foreign_refund' then 'DONE'
          when x.resolution = 'refund' then case when x.resolved_at is null then 'PROCESSING' else 'DONE' end
        end as refund
    ) wanted
    left join (
      select exception_id, string_agg(line, ', ' order by line) as text from ${LINES} where exception_id is not null group by 1
    ) booked on booked.exception_id = x.id
    left join refunds r on r.id = coalesce(
      x.refund_id, (select o.id from refunds o where o.exception_id = x.id and o.status <> 'FAILED')
    )
    where booked.text is distinct from wanted.text or r.status is distinct from wanted.refund`,
  // A refund that was made without us is an exception, or gave back the money of one.
  foreign_refund: `
    select 'refund ' || replace(r.id::text, '-', '') as subject, 'was made without us, and is no exception' as text
    from refunds r left join exceptions x on x.refund_id = r.id
    where r.source = 'provider' and r.exception_id is null and x.id is null`,
}
