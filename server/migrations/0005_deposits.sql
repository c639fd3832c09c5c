-- Charges, what must be asked of the providers about them, and the payments that the providers reported.

-- The status OPENING is an intent, stored before the provider is asked. FAILED is an intent for which the provider made
-- no charge. The API shows only the other four.
create table charges (
  id uuid primary key, -- its 32 hexadecimal digits are the provider's txid
  payment_link_id uuid not null unique,
  account_id uuid not null references accounts,
  provider text not null,
  status text not null check (status in ('OPENING', 'PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED', 'FAILED')),
  original_value_cents bigint not null check (original_value_cents > 0),
  value_cents bigint not null,
  fee_cents bigint not null check (fee_cents >= 0),
  -- What was received, if an operator completed the charge with a payment of another amount. Null: the charge's value.
  received_cents bigint,
  -- The sum of the refunds that are DONE, so that reading a charge does not have to add them up.
  refunded_cents bigint not null default 0 check (refunded_cents >= 0),
  emv text,
  external_id text check (length(external_id) between 1 and 64),
  description text check (length(description) <= 140),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  opening_instance integer, -- the process that holds the intent, see src/db/presence.ts
  end_to_end_id text,
  paid_at timestamptz,
  paid_late boolean not null default false,
  closed_at timestamptz, -- when it left PENDING
  check (fee_cents < value_cents),
  check (value_cents in (original_value_cents, original_value_cents + fee_cents)),
  check (status <> 'PENDING' or emv is not null),
  check ((status = 'COMPLETED') = (end_to_end_id is not null and paid_at is not null)),
  constraint charges_received check (
    received_cents is null or (status = 'COMPLETED' and received_cents > fee_cents and received_cents <> value_cents)
  )
) with (fillfactor = 80); -- each row is updated twice; free space on its page keeps those updates off the indexes
-- No index contains a column that changes. An index on the status would make each change rewrite the row's index
-- entries.
create index charges_by_account on charges (account_id, id desc);
create index charges_by_value on charges (account_id, value_cents, id desc);
create index charges_by_external_id on charges (account_id, external_id) where external_id is not null;
-- For the search by a part of the text. A charge without external id and description is not in it and costs nothing. A
-- short list of pending entries bounds the work of any one insert.
create index charges_by_text on charges
  using gin (account_id, lower(coalesce(external_id, '') || ' ' || coalesce(description, '')) gin_trgm_ops)
  with (gin_pending_list_limit = 256)
  where external_id is not null or description is not null;

-- The claim of a PENDING or COMPLETED charge on its external id. Not a partial unique index: a late payment must
-- complete its charge even if another charge has claimed the id since.
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

-- The queue of questions to providers. Every open charge has a row, due when its outcome must be known, and a
-- notification makes it due at once. Claiming a row moves due_at to the end of the lease.
create table checks (
  provider text not null,
  subject text not null, -- a txid or an endToEndId
  -- withdrawal: the deposit went to another provider, so this one must cancel the charge that it may still have made.
  kind text not null check (kind in ('charge', 'payment', 'withdrawal')),
  due_at timestamptz not null,
  attempts integer not null default 0,
  primary key (provider, subject)
) with (fillfactor = 70);
create index checks_by_due on checks (due_at);

-- When each provider last notified us, to within a minute.
create table provider_notifications (
  provider text primary key,
  received_at timestamptz not null
);

create table payments (
  id uuid primary key,
  provider text not null,
  -- Unique in all of Pix. So money that is reported twice, by two providers with the same bank account or by a provider
  -- under a new name, is booked once.
  end_to_end_id text not null unique,
  txid text,
  amount_cents bigint not null check (amount_cents > 0),
  charge_id uuid references charges,
  credited boolean not null check (not credited or charge_id is not null),
  occurred_at timestamptz not null,
  recorded_at timestamptz not null
);
-- One payment completes a charge, whatever the code does.
create unique index payments_one_credit_per_charge on payments (charge_id) where credited;
-- Payments that completed no charge, by the charge that they were meant for. Pages and lists ask for them; they are
-- few.
create index payments_uncredited_by_charge on payments (charge_id) where not credited;
-- Rows are inserted roughly in the order of occurred_at, so a BRIN index finds a day. A B-tree would cost every
-- settlement an entry.
create index payments_by_time on payments using brin (occurred_at) with (autosummarize = on);
-- A payment changes at most once and in one way: it was in suspense, and now it completes its charge.
create trigger payments_kept before delete or truncate on payments for each statement execute function refuse_change();
create trigger payments_fixed before update on payments for each row
  when (
    old.credited
    or not new.credited
    or coalesce(old.charge_id, new.charge_id) is distinct from new.charge_id
    or coalesce(old.txid, new.txid) is distinct from new.txid
    or new.txid is distinct from replace(new.charge_id::text, '-', '')
    or (old.id, old.provider, old.end_to_end_id, old.amount_cents, old.occurred_at, old.recorded_at)
    is distinct from (new.id, new.provider, new.end_to_end_id, new.amount_cents, new.occurred_at, new.recorded_at)
  )
  execute function refuse_change();
