-- Accounts, keys, charges, payments, ledger, events, exceptions. The rules that must never break are constraints here; the code
-- that obeys them is in src/domain. Statements keep to what PostgreSQL 15 knows.

create table accounts (
  id uuid primary key,
  email text not null unique check (email = lower(email) and length(email) between 3 and 254),
  name text not null check (length(name) between 1 and 100),
  password_hash text not null,
  -- Null means: as the deployment says.
  fee_bps integer check (fee_bps between 0 and 10000),
  fee_fixed_cents bigint check (fee_fixed_cents >= 0),
  fee_min_cents bigint check (fee_min_cents >= 0),
  fee_max_cents bigint check (fee_max_cents >= 0),
  fee_bearer text check (fee_bearer in ('account', 'payer')),
  value_min_cents bigint check (value_min_cents > 0),
  value_max_cents bigint check (value_max_cents > 0),
  created_at timestamptz not null
);

create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  name text not null check (length(name) between 1 and 100),
  -- The first characters, to tell keys apart in a list. The key itself is stored nowhere.
  prefix text not null,
  hash bytea not null unique check (length(hash) = 32),
  scopes text[] not null check (cardinality(scopes) > 0),
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index api_keys_by_account on api_keys (account_id, created_at);

-- OPENING and FAILED are ours alone: the intent that is stored before the provider is asked, and what becomes of it when the
-- provider made no charge. Callers see the other four.
create table charges (
  id uuid primary key, -- its 32 hexadecimal digits are the provider's txid
  payment_link_id uuid not null unique,
  account_id uuid not null references accounts,
  provider text not null,
  status text not null check (status in ('OPENING', 'PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED', 'FAILED')),
  original_value_cents bigint not null check (original_value_cents > 0),
  value_cents bigint not null,
  fee_cents bigint not null check (fee_cents >= 0),
  emv text,
  external_id text check (length(external_id) between 1 and 64),
  description text check (length(description) <= 140),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  opening_instance integer, -- which process is opening it, see db/presence.ts
  end_to_end_id text,
  paid_at timestamptz,
  paid_late boolean not null default false,
  closed_at timestamptz, -- when it left PENDING
  check (fee_cents < value_cents),
  check (value_cents in (original_value_cents, original_value_cents + fee_cents)),
  check (status <> 'PENDING' or emv is not null),
  check ((status = 'COMPLETED') = (end_to_end_id is not null and paid_at is not null))
) with (fillfactor = 80); -- each row is updated two times; room on its page keeps those updates off the indexes
-- No index mentions the status: one that did would make every change of status rewrite the row's index entries.
create index charges_by_account on charges (account_id, id desc);

-- A row is the claim of a charge that is PENDING or COMPLETED on its external id. A table and not a partial unique index, because
-- a late payment must complete its charge even when the id was claimed again meanwhile.
create table external_ids (
  account_id uuid not null,
  external_id text not null,
  charge_id uuid not null references charges deferrable initially deferred,
  primary key (account_id, external_id)
);

create table idempotency_keys (
  account_id uuid not null,
  key text not null check (length(key) between 1 and 255),
  request_hash bytea not null,
  charge_id uuid not null references charges deferrable initially deferred,
  created_at timestamptz not null,
  primary key (account_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- What the provider is to be asked, and when: every open charge stands here with the time at which its fate is decided, and a
-- notification brings that time forward. Claiming a row pushes due_at to the end of the lease.
create table checks (
  provider text not null,
  subject text not null, -- a txid or an endToEndId
  kind text not null check (kind in ('charge', 'payment')),
  due_at timestamptz not null,
  attempts integer not null default 0,
  primary key (provider, subject)
) with (fillfactor = 70);
create index checks_by_due on checks (due_at);

create table payments (
  id uuid primary key,
  provider text not null,
  end_to_end_id text not null,
  txid text,
  amount_cents bigint not null check (amount_cents > 0),
  charge_id uuid references charges,
  credited boolean not null check (not credited or charge_id is not null),
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  unique (provider, end_to_end_id)
);
-- A charge is completed by one payment, whatever the code does.
create unique index payments_one_credit_per_charge on payments (charge_id) where credited;

create table ledger_accounts (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('cash', 'balance', 'fees', 'suspense')),
  account_id uuid references accounts,
  provider text,
  check ((kind = 'balance') = (account_id is not null)),
  check ((kind = 'cash') = (provider is not null)),
  unique nulls not distinct (kind, account_id, provider)
);

-- Apart from ledger_accounts, so that foreign keys of transfers do not lock the rows that every settlement updates.
create table ledger_balances (
  ledger_account_id bigint primary key references ledger_accounts,
  debits_cents bigint not null default 0 check (debits_cents >= 0),
  credits_cents bigint not null default 0 check (credits_cents >= 0),
  may_be_negative boolean not null,
  check (may_be_negative or credits_cents >= debits_cents)
) with (fillfactor = 50);

-- One row has both sides, so no set of rows can be out of balance. The id is given while the balances of both sides are locked, so
-- the order of ids is the order of each ledger account's history.
create table transfers (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('deposit', 'fee', 'suspense')),
  debit_id bigint not null references ledger_accounts,
  credit_id bigint not null references ledger_accounts,
  amount_cents bigint not null check (amount_cents > 0),
  -- Credits less debits of each side after this transfer.
  debit_after_cents bigint not null,
  credit_after_cents bigint not null,
  payment_id uuid not null references payments,
  charge_id uuid references charges,
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  check (debit_id <> credit_id),
  unique (payment_id, kind)
);
create index transfers_by_debit on transfers (debit_id, id);
create index transfers_by_credit on transfers (credit_id, id);

create table events (
  id uuid primary key,
  account_id uuid not null references accounts,
  kind text not null,
  subject_id uuid not null,
  body text not null, -- the exact bytes that receivers get
  created_at timestamptz not null,
  unique (kind, subject_id)
);
create index events_by_account on events (account_id, id desc);

create table exceptions (
  id uuid primary key,
  payment_id uuid not null unique references payments,
  kind text not null check (kind in ('unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment')),
  opened_at timestamptz not null,
  resolved_at timestamptz
);
create index exceptions_open on exceptions (opened_at) where resolved_at is null;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append only', tg_table_name;
end $$;

create trigger transfers_append_only before update or delete or truncate on transfers
  for each statement execute function refuse_change();
create trigger payments_append_only before update or delete or truncate on payments
  for each statement execute function refuse_change();
create trigger events_append_only before update or delete or truncate on events
  for each statement execute function refuse_change();

-- The two ledger accounts there is only one of.
with made as (
  insert into ledger_accounts (kind) values ('fees'), ('suspense') returning id
)
insert into ledger_balances (ledger_account_id, may_be_negative) select id, false from made;
