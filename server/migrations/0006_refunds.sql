-- Money that cannot be credited by itself (exceptions), and money that goes back to payers (refunds).

-- Open: nothing is set. Being resolved: resolution is set; only a refund takes longer than a moment. Resolved:
-- resolved_at is set too.
create table exceptions (
  id uuid primary key,
  payment_id uuid not null references payments,
  -- foreign_refund: somebody refunded at the provider, without us.
  -- undone_refund: the provider made a refund and took it back. The money is in suspense until somebody decides.
  kind text not null check (
    kind in ('unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'foreign_refund', 'undone_refund')
  ),
  refund_id uuid, -- the refund that a foreign_refund or an undone_refund is about
  opened_at timestamptz not null,
  resolution text,
  account_id uuid references accounts, -- the account that was credited or charged
  resolved_by_kind text check (resolved_by_kind in ('operator', 'account', 'console', 'system')),
  resolved_by text,
  reason text check (length(reason) between 1 and 500),
  resolved_at timestamptz,
  constraint exceptions_of_refund check ((kind in ('foreign_refund', 'undone_refund')) = (refund_id is not null)),
  -- match: the payment completed its charge after all.
  constraint exceptions_resolution check (
    case
      when kind = 'foreign_refund' then resolution in ('charge_account', 'write_off')
      when kind = 'undone_refund' then resolution in ('credit', 'write_off')
      when kind in ('unknown_charge', 'wrong_amount') then resolution in ('credit', 'refund', 'write_off', 'match')
      else resolution in ('credit', 'refund', 'write_off')
    end
  ),
  constraint exceptions_resolved check (
    num_nonnulls(resolution, resolved_by_kind, resolved_by, reason) in (0, 4)
    and (resolved_at is null or resolution is not null)
    and (resolution is null or resolution = 'refund' or resolved_at is not null)
    and (account_id is not null) = coalesce(resolution in ('credit', 'charge_account'), false)
  )
);
create index exceptions_open on exceptions (opened_at) where resolved_at is null;
create unique index exceptions_once_per_payment on exceptions (payment_id) where refund_id is null;
-- A refund that was made without us may also be undone: two exceptions, at most one of each kind.
create unique index exceptions_once_per_refund on exceptions (refund_id, kind) where refund_id is not null;
-- What an exception is about never changes, and nothing of it changes once it is resolved.
create trigger exceptions_kept before delete or truncate on exceptions for each statement execute function refuse_change();
create trigger exceptions_fixed before update on exceptions for each row
  when (
    old.resolved_at is not null
    or (old.id, old.payment_id, old.kind, old.opened_at, old.refund_id)
    is distinct from (new.id, new.payment_id, new.kind, new.opened_at, new.refund_id)
  )
  execute function refuse_change();

create table refunds (
  id uuid primary key, -- its 32 hexadecimal digits are the provider's id, if we requested the refund
  payment_id uuid not null references payments,
  charge_id uuid references charges, -- the charge that the payment completed
  -- Where the money comes from: an account's balance, an exception in suspense, or made at the provider without us.
  source text not null check (source in ('balance', 'suspense', 'provider')),
  account_id uuid references accounts,
  exception_id uuid references exceptions, -- the exception whose money it returns
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
  -- Set before the first request that could make the refund. Null: no request was ever sent.
  sent_at timestamptz,
  -- A request ended without a clear answer from the provider. PROCESSING with doubted_at means: in doubt.
  doubted_at timestamptz,
  -- The first of an unbroken series of "not found" answers. Null while a request is out, and after any other answer.
  absent_since timestamptz,
  -- For the operator: why the last attempt could not decide it.
  attention text check (length(attention) between 1 and 500),
  -- The operator who ended it by hand, if one did.
  ended_by_kind text check (ended_by_kind in ('operator', 'console')),
  ended_by text,
  ended_reason text check (length(ended_reason) between 1 and 500),
  ended_at timestamptz,
  due_at timestamptz, -- when the provider is asked again; claiming moves it to the end of the lease
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
  check ((idempotency_key is null) = (request_hash is null)),
  constraint refunds_doubt check (doubted_at is null or sent_at is not null),
  constraint refunds_absent check (absent_since is null or doubted_at is not null),
  constraint refunds_ended_by check (
    num_nonnulls(ended_by_kind, ended_by, ended_reason) in (0, 3) and (ended_by is null or status <> 'PROCESSING')
  )
) with (fillfactor = 80);
create index refunds_by_charge on refunds (charge_id, id) where charge_id is not null;
create index refunds_by_exception on refunds (exception_id, id) where exception_id is not null;
create index refunds_due on refunds (due_at) where due_at is not null;
create index refunds_in_doubt on refunds (id) where status = 'PROCESSING' and doubted_at is not null;
-- A FAILED refund that the provider made all the same is recorded again, as made without us.
create unique index refunds_once on refunds (payment_id, provider_refund_id) where status <> 'FAILED';
create unique index refunds_one_per_exception on refunds (exception_id) where status <> 'FAILED';
create unique index refunds_by_key on refunds (account_id, requested_by_kind, idempotency_key)
  where idempotency_key is not null;
-- What a refund is never changes, and nothing of it changes once it has ended.
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

-- Each of the two tables refers to the other.
alter table exceptions add foreign key (refund_id) references refunds;
