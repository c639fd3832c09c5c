-- Refunds, how exceptions are resolved, and what both do in the ledger.

-- refunding: promised back to a payer, and not gone yet. missing: gone from a provider without us, and nobody has borne it yet.
-- written_off: what the house gained or lost by its operator's decision, so the one that may stand on either side.
alter table ledger_accounts drop constraint ledger_accounts_kind_check;
alter table ledger_accounts add constraint ledger_accounts_kind_check
  check (kind in ('cash', 'balance', 'fees', 'suspense', 'refunding', 'missing', 'written_off'));
with made as (
  insert into ledger_accounts (kind) values ('refunding'), ('missing'), ('written_off') returning id, kind
)
insert into ledger_balances (ledger_account_id, may_be_negative) select id, kind <> 'refunding' from made;

create table refunds (
  id uuid primary key, -- its 32 hexadecimal digits are the provider's id, if we asked for it
  payment_id uuid not null references payments,
  charge_id uuid references charges, -- the charge that the payment completed
  -- Where the money comes from: an account's balance, an exception in suspense, or made at the provider without us.
  source text not null check (source in ('balance', 'suspense', 'provider')),
  account_id uuid references accounts,
  exception_id uuid references exceptions, -- whose money in suspense it gives back
  provider_refund_id text not null check (length(provider_refund_id) > 0),
  amount_cents bigint not null check (amount_cents > 0),
  fee_returned_cents bigint not null default 0 check (fee_returned_cents between 0 and amount_cents),
  status text not null check (status in ('PROCESSING', 'DONE', 'FAILED')),
  reason text,
  failure text,
  requested_by_kind text not null check (requested_by_kind in ('operator', 'account', 'console', 'system')),
  requested_by text not null,
  idempotency_key text check (length(idempotency_key) between 1 and 255),
  request_hash bytea,
  created_at timestamptz not null,
  ended_at timestamptz,
  due_at timestamptz, -- when the provider is asked again; claiming pushes it to the end of the lease
  attempts integer not null default 0,
  check ((source = 'balance') = (account_id is not null)),
  check (source <> 'suspense' or exception_id is not null),
  check (source <> 'balance' or exception_id is null),
  check (source <> 'balance' or charge_id is not null),
  check (source <> 'provider' or status = 'DONE'),
  check (fee_returned_cents = 0 or source = 'balance'),
  check ((status = 'PROCESSING') = (ended_at is null)),
  check ((status = 'PROCESSING') = (due_at is not null)),
  check (failure is null or status = 'FAILED'),
  check ((idempotency_key is null) = (request_hash is null))
) with (fillfactor = 80);
create index refunds_by_charge on refunds (charge_id, id) where charge_id is not null;
create index refunds_by_exception on refunds (exception_id, id) where exception_id is not null;
create index refunds_due on refunds (due_at) where due_at is not null;
-- One that failed and was made all the same is recorded again, as made without us.
create unique index refunds_once on refunds (payment_id, provider_refund_id) where status <> 'FAILED';
create unique index refunds_one_per_exception on refunds (exception_id) where status <> 'FAILED';
create unique index refunds_by_key on refunds (account_id, requested_by_kind, idempotency_key) where idempotency_key is not null;
-- What a refund is does not change, and once it has ended nothing of it does.
create trigger refunds_kept before delete or truncate on refunds for each statement execute function refuse_change();
create trigger refunds_fixed before update on refunds for each row
  when (
    old.status <> 'PROCESSING'
    or (old.id, old.payment_id, old.charge_id, old.source, old.account_id, old.exception_id, old.provider_refund_id,
      old.amount_cents, old.fee_returned_cents, old.created_at)
    is distinct from (new.id, new.payment_id, new.charge_id, new.source, new.account_id, new.exception_id,
      new.provider_refund_id, new.amount_cents, new.fee_returned_cents, new.created_at)
  )
  execute function refuse_change();

-- The sum of its refunds that are done, so that reading a charge does not add them up.
alter table charges add column refunded_cents bigint not null default 0 check (refunded_cents >= 0);

-- open: nothing is set. Being resolved: resolution is set, which only a refund is for longer than a moment. Resolved: resolved_at too.
alter table exceptions
  add column refund_id uuid references refunds, -- the one that a foreign_refund is about
  add column resolution text,
  add column account_id uuid references accounts, -- which was credited or charged
  add column resolved_by_kind text check (resolved_by_kind in ('operator', 'account', 'console', 'system')),
  add column resolved_by text,
  add column reason text check (length(reason) between 1 and 500),
  drop constraint exceptions_payment_id_key,
  drop constraint exceptions_kind_check,
  add constraint exceptions_kind_check
    check (kind in ('unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'foreign_refund')),
  add constraint exceptions_foreign_refund check ((kind = 'foreign_refund') = (refund_id is not null)),
  add constraint exceptions_resolution check (
    case when kind = 'foreign_refund' then resolution in ('charge_account', 'write_off')
      else resolution in ('credit', 'refund', 'write_off') end
  ),
  add constraint exceptions_resolved check (
    num_nonnulls(resolution, resolved_by_kind, resolved_by, reason) in (0, 4)
    and (resolved_at is null or resolution is not null)
    and (resolution is null or resolution = 'refund' or resolved_at is not null)
    and (account_id is not null) = coalesce(resolution in ('credit', 'charge_account'), false)
  );
create unique index exceptions_once_per_payment on exceptions (payment_id) where kind <> 'foreign_refund';
create unique index exceptions_once_per_refund on exceptions (refund_id) where refund_id is not null;
create trigger exceptions_kept before delete or truncate on exceptions for each statement execute function refuse_change();
create trigger exceptions_fixed before update on exceptions for each row
  when (
    old.resolved_at is not null
    or (old.id, old.payment_id, old.kind, old.opened_at, old.refund_id)
    is distinct from (new.id, new.payment_id, new.kind, new.opened_at, new.refund_id)
  )
  execute function refuse_change();

alter table transfers
  add column refund_id uuid references refunds,
  add column exception_id uuid references exceptions, -- which this transfer resolves
  drop constraint transfers_kind_check,
  drop constraint transfers_payment_id_kind_key,
  add constraint transfers_kind_check check (
    case
      when kind in ('deposit', 'fee', 'suspense') then refund_id is null and exception_id is null
      when kind in ('fee_returned', 'refund_reserved', 'refund_paid', 'refund_released', 'fee_kept', 'refund_seen')
        then refund_id is not null and exception_id is null
      when kind in ('exception_credited', 'exception_written_off') then refund_id is null and exception_id is not null
      when kind in ('refund_charged', 'refund_written_off') then refund_id is not null and exception_id is not null
      else false
    end
  );
-- A payment is booked once, and each step of a refund is, although a payment may have many refunds.
create unique index transfers_once_per_payment on transfers (payment_id, kind) where refund_id is null;
create unique index transfers_once_per_refund on transfers (refund_id, kind) where refund_id is not null;
-- A refund ends in one way, and an exception is resolved in one way, whatever the code does.
create unique index transfers_one_end on transfers (refund_id) where kind in ('refund_paid', 'refund_released', 'refund_seen');
create unique index transfers_one_resolution on transfers (exception_id) where exception_id is not null;
