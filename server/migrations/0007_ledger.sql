-- Double-entry bookkeeping: ledger accounts, their balances, and the transfers between them.

-- cash: what we hold at a provider. balance: what we owe an account. fees: what we earned. suspense: received, and not
-- assigned to anybody yet. refunding: promised to a payer, and not paid out yet. missing: gone from a provider without
-- us, and not charged to anybody yet. written_off: gained or lost by an operator's decision, so it may have either
-- sign.
create table ledger_accounts (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('cash', 'balance', 'fees', 'suspense', 'refunding', 'missing', 'written_off')),
  account_id uuid references accounts,
  provider text,
  check ((kind = 'balance') = (account_id is not null)),
  check ((kind = 'cash') = (provider is not null)),
  unique nulls not distinct (kind, account_id, provider)
);

-- Apart from ledger_accounts, so that the foreign keys of transfers do not lock the rows that every settlement updates.
create table ledger_balances (
  ledger_account_id bigint primary key references ledger_accounts,
  debits_cents bigint not null default 0 check (debits_cents >= 0),
  credits_cents bigint not null default 0 check (credits_cents >= 0),
  may_be_negative boolean not null,
  check (may_be_negative or credits_cents >= debits_cents)
) with (fillfactor = 50);

-- The ledger accounts of which there is only one each.
with made as (
  insert into ledger_accounts (kind) values ('fees'), ('suspense'), ('refunding'), ('missing'), ('written_off')
  returning id, kind
)
insert into ledger_balances (ledger_account_id, may_be_negative) select id, kind in ('missing', 'written_off') from made;

-- One row has both sides, so no set of rows can be out of balance. A row gets its id while the balances of both sides
-- are locked, so the order of ids is the order of each ledger account's history.
create table transfers (
  id bigint generated always as identity primary key,
  kind text not null,
  debit_id bigint not null references ledger_accounts,
  credit_id bigint not null references ledger_accounts,
  amount_cents bigint not null check (amount_cents > 0),
  -- Credits less debits of each side after this transfer.
  debit_after_cents bigint not null,
  credit_after_cents bigint not null,
  payment_id uuid not null references payments,
  charge_id uuid references charges,
  refund_id uuid references refunds,
  exception_id uuid references exceptions, -- the exception that this transfer resolves
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  check (debit_id <> credit_id),
  constraint transfers_kind_check check (
    case
      when kind in ('deposit', 'fee', 'suspense') then refund_id is null and exception_id is null
      when kind in (
        'fee_returned', 'refund_reserved', 'refund_paid', 'refund_released', 'fee_kept', 'refund_seen', 'refund_undone'
      )
        then refund_id is not null and exception_id is null
      -- With refund_id: of an undone_refund. A payment may have several of those, so each is unique by its refund.
      when kind in ('exception_credited', 'exception_written_off') then exception_id is not null
      when kind in ('refund_charged', 'refund_written_off') then refund_id is not null and exception_id is not null
      when kind in ('matched_deposit', 'matched_fee')
        then refund_id is null and exception_id is not null and charge_id is not null
      else false
    end
  )
);
create index transfers_by_debit on transfers (debit_id, id);
create index transfers_by_credit on transfers (credit_id, id);
-- A payment is booked once, and so is each step of a refund. A payment may have many refunds.
create unique index transfers_once_per_payment on transfers (payment_id, kind) where refund_id is null;
create unique index transfers_once_per_refund on transfers (refund_id, kind) where refund_id is not null;
-- A refund ends in one way, and an exception is resolved in one way, whatever the code does. The fee of a match is the
-- second transfer of that one way.
create unique index transfers_one_end on transfers (refund_id)
  where kind in ('refund_paid', 'refund_released', 'refund_seen');
create unique index transfers_one_resolution on transfers (exception_id)
  where exception_id is not null and kind <> 'matched_fee';
create unique index transfers_one_matched_fee on transfers (exception_id) where kind = 'matched_fee';
create trigger transfers_append_only before update or delete or truncate on transfers
  for each statement execute function refuse_change();
