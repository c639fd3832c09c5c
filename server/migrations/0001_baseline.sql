-- The schema of the first release. The rules that must never break are constraints and triggers; the code that obeys
-- them is in src/domain. All SQL works on PostgreSQL 15.

-- ---- What all tables share ----

-- For the search of deposits. Both come with PostgreSQL, and the owner of a database may create them.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- The trigger function of tables and rows that must not change.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append only', tg_table_name;
end $$;

-- The id of each SECRET_KEY that sealed something, never the key itself. The newest one is in use: a process without it
-- cannot open what other processes seal.
create table secret_key_ids (
  id text primary key check (length(id) = 8),
  used_at timestamptz not null
);

-- ---- Users ----

-- The people who sign in to the dashboard: their passwords, sessions and second factors.

create table users (
  id uuid primary key,
  kind text not null check (kind in ('account', 'operator')),
  -- Unique over both kinds: control of one mailbox must never give the rights of an account holder and of an operator.
  email text not null unique check (email = lower(email) and length(email) between 3 and 254),
  email_verified boolean not null default false,
  name text not null check (length(name) between 1 and 100),
  two_factor_enabled boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (id, kind, email) -- for the foreign keys of accounts and operators
);

create table credentials (
  user_id uuid primary key references users on delete cascade,
  password text not null, -- argon2id
  updated_at timestamptz not null
);

-- The token alone opens nothing: the cookie also carries a signature, by a key that is not in the database.
create table sessions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  token text not null unique,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  until_closed boolean not null default false, -- the cookie ends with the browser
  authenticated_at timestamptz not null, -- when the user last gave the password
  last_used_at timestamptz, -- null: not used since it was opened; written at most once a minute
  ip_address text,
  user_agent text
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

-- Links to reset a password, and sign-ins that wait for the second factor. Identifiers are hashed.
create table verifications (
  identifier text primary key,
  kind text not null check (kind in ('reset', 'second_step')),
  user_id uuid not null references users on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  until_closed boolean not null default false, -- as in the session that a second step opens
  attempts integer not null default 0 -- codes that were tried in a second step
);
create index verifications_by_user on verifications (user_id);
create index verifications_by_expiry on verifications (expires_at);

-- The secret and the recovery codes are encrypted.
create table second_factors (
  user_id uuid primary key references users on delete cascade,
  secret text not null,
  recovery_codes text not null,
  failed_codes integer not null default 0, -- wrong codes in a row, at sign-in
  locked_until timestamptz,
  -- The time step of the newest accepted code. Codes of this step and of earlier ones are refused.
  last_step bigint not null default 0
);

create table operators (
  id uuid primary key,
  user_id uuid not null unique,
  user_kind text not null default 'operator' check (user_kind = 'operator'),
  email text not null unique check (email = lower(email) and length(email) between 3 and 254),
  name text not null check (length(name) between 1 and 100),
  created_at timestamptz not null,
  disabled_at timestamptz, -- while it is set, the operator's keys and sessions do not work
  constraint operators_user foreign key (user_id, user_kind, email) references users (id, kind, email) on update cascade
);

-- ---- Accounts ----

create table accounts (
  id uuid primary key,
  user_id uuid not null unique,
  user_kind text not null default 'account' check (user_kind = 'account'),
  email text not null unique check (email = lower(email) and length(email) between 3 and 254),
  name text not null check (length(name) between 1 and 100),
  created_at timestamptz not null,
  suspended_at timestamptz,
  suspended_reason text,
  erased_at timestamptz, -- when the person behind the account was erased: see src/domain/accounts/erase-account.ts
  constraint accounts_suspended check ((suspended_at is null) = (suspended_reason is null)),
  constraint accounts_erased check (erased_at is null or suspended_at is not null),
  constraint accounts_user foreign key (user_id, user_kind, email) references users (id, kind, email) on update cascade
);

-- The terms of an account: the newest row is in force, and the others are its history. A charge keeps the terms under
-- which it was created.
create table account_terms (
  id bigint generated always as identity primary key,
  account_id uuid not null references accounts,
  valid_from timestamptz not null,
  -- Null means: as the deployment is configured.
  fee_bps integer check (fee_bps between 0 and 10000),
  fee_fixed_cents bigint check (fee_fixed_cents >= 0),
  fee_min_cents bigint check (fee_min_cents >= 0),
  fee_max_cents bigint check (fee_max_cents >= 0),
  fee_bearer text check (fee_bearer in ('account', 'payer')),
  value_min_cents bigint check (value_min_cents > 0),
  value_max_cents bigint check (value_max_cents > 0),
  set_by_kind text not null check (set_by_kind in ('operator', 'account', 'console', 'system')),
  set_by text not null,
  reason text not null check (length(reason) between 1 and 500),
  check (fee_min_cents <= fee_max_cents),
  check (value_min_cents <= value_max_cents)
);
create index account_terms_by_account on account_terms (account_id, id desc);
create trigger account_terms_append_only before update or delete or truncate on account_terms
  for each statement execute function refuse_change();

-- A key belongs to an account or to an operator, never to both.
create table api_keys (
  id uuid primary key,
  account_id uuid references accounts,
  operator_id uuid references operators,
  name text not null check (length(name) between 1 and 100),
  -- The first characters, to tell keys apart in a list. The key itself is not stored.
  prefix text not null,
  hash bytea not null unique check (length(hash) = 32),
  scopes text[] not null check (cardinality(scopes) > 0),
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  constraint api_keys_one_holder check (num_nonnulls(account_id, operator_id) = 1),
  -- An operator's key has one of two scopes that accounts never get. A monitoring system gets metrics:read, which
  -- cannot move money.
  constraint api_keys_operator_scope check (
    case when operator_id is null then not scopes && array['operator', 'metrics:read']
      else scopes = array['operator'] or scopes = array['metrics:read'] end
  )
);
create index api_keys_by_account on api_keys (account_id, created_at);
create index api_keys_by_operator on api_keys (operator_id, created_at) where operator_id is not null;

create table invitations (
  id uuid primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  email text check (email = lower(email) and length(email) between 3 and 254), -- null: anybody who has the link
  made_by_kind text not null check (made_by_kind in ('operator', 'account', 'console', 'system')),
  made_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at),
  used_at timestamptz,
  used_by uuid references accounts,
  revoked_at timestamptz,
  check ((used_at is null) = (used_by is null)),
  check (used_at is null or revoked_at is null)
);

-- ---- Audit log ----

-- Who changed what, when and why.
create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  actor_kind text not null check (actor_kind in ('operator', 'account', 'console', 'system')),
  -- The email of an operator or account holder (or the account's id), the user of the terminal, or guiche.
  actor text not null,
  key_id uuid references api_keys, -- the key that was used: when one leaks, its changes must be told from the others
  action text not null, -- such as 'exception.resolved'
  subject text not null, -- such as 'exception 0199…'
  account_id uuid references accounts, -- the account that it concerns, if any
  reason text,
  details jsonb not null
);
create index audit_log_by_account on audit_log (account_id, id desc);
create index audit_log_by_actor on audit_log (actor, id desc);
-- Finds the lines that RETAIN_SIGN_INS_DAYS deletes, without reading those that stay.
create index audit_log_sign_ins on audit_log (at) where action in (
  'session.opened', 'sessions.ended', 'password.changed', 'password.reset', 'password.set', 'email.confirmed',
  'second_factor.enabled', 'second_factor.disabled', 'second_factor.locked', 'recovery_codes.made',
  'recovery_code.used', 'invitation.created', 'invitation.revoked'
);

-- Lines about sign-ins and invitations are deleted after RETAIN_SIGN_INS_DAYS. Of an erased account, lines that name
-- the person or its systems are deleted too. Lines about money, terms and suspensions stay: the audit compares them
-- with the books.
create function keep_audit_log() returns trigger language plpgsql as $$
begin
  if old.action in (
    'session.opened', 'sessions.ended', 'password.changed', 'password.reset', 'password.set', 'email.confirmed',
    'second_factor.enabled', 'second_factor.disabled', 'second_factor.locked', 'recovery_codes.made',
    'recovery_code.used', 'invitation.created', 'invitation.revoked'
  ) then
    return old;
  end if;
  if old.action in (
    'account.created', 'key.created', 'key.revoked', 'webhook.created', 'webhook.changed', 'webhook.deleted',
    'webhook.disabled', 'webhook.secret_rotated'
  ) and exists (select from accounts where id = old.account_id and erased_at is not null) then
    return old;
  end if;
  raise exception 'audit_log is append only';
end $$;
create trigger audit_log_kept before delete on audit_log for each row execute function keep_audit_log();
create trigger audit_log_append_only before update or truncate on audit_log
  for each statement execute function refuse_change();

-- ---- Deposits ----

-- The status OPENING is an intent, stored before the provider is asked. FAILED is an intent for which the provider made
-- no charge. The API shows only the other four.
-- account_id has no foreign key: every new charge would lock the row of its account, the same row for all deposits of a
-- busy account. It comes from the caller's key, and accounts are never deleted; the audit checks it.
create table charges (
  id uuid primary key, -- its 32 hexadecimal digits are the provider's txid
  payment_link_id uuid not null unique,
  account_id uuid not null,
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
  -- A charge is written three times: as an intent, when the provider accepts it with its code of some 150 characters,
  -- and when it is paid. With two thirds of a page free, all three versions fit on it, and neither update touches an
  -- index. Paid charges fill three quarters of a page.
) with (fillfactor = 35);
-- No index contains a column that changes. An index on the status would make each change rewrite the row's index
-- entries.
create index charges_by_account on charges (account_id, id desc);
create index charges_by_value on charges (account_id, value_cents, id desc);
create index charges_by_external_id on charges (account_id, external_id) where external_id is not null;

-- How the search compares texts: in lower case, and without the accents of Portuguese. translate() does the same in one
-- call, and takes five times as long.
create function fold_text(text) returns text language sql immutable strict parallel safe
return replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
  lower($1), 'á', 'a'), 'à', 'a'), 'â', 'a'), 'ã', 'a'), 'é', 'e'), 'ê', 'e'), 'í', 'i'), 'ó', 'o'), 'ô', 'o'),
  'õ', 'o'), 'ú', 'u'), 'ü', 'u'), 'ç', 'c'), 'ñ', 'n');
-- For the search by a part of the text. A charge without external id and description is not in it and costs nothing. A
-- short list of pending entries bounds the work of any one insert.
create index charges_by_words on charges
  using gin (account_id, fold_text(coalesce(external_id, '') || ' ' || coalesce(description, '')) gin_trgm_ops)
  with (gin_pending_list_limit = 256)
  where external_id is not null or description is not null;

-- The claim of a PENDING or COMPLETED charge on its external id. Not a partial unique index: a late payment must
-- complete its charge even if another charge has claimed the id since.
-- No foreign key on the charge, here and in the next table. One statement inserts the charge and what refers to it, and
-- only FAILED charges that nothing refers to are ever deleted. The audit proves that each charge is there.
create table external_ids (
  account_id uuid not null,
  external_id text not null,
  charge_id uuid not null,
  primary key (account_id, external_id)
);

create table idempotency_keys (
  account_id uuid not null,
  key text not null check (length(key) between 1 and 255),
  request_hash bytea not null,
  charge_id uuid not null,
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
  account_id uuid, -- of the charge; the list of PENDING charges reads it
  due_at timestamptz not null,
  -- Of the process that asks about it. Whatever else changes the row replaces it, so that a claim that lost its row
  -- cannot end it.
  claim uuid,
  attempts integer not null default 0,
  primary key (provider, subject),
  constraint checks_account check (kind <> 'charge' or account_id is not null)
) with (fillfactor = 70);
create index checks_by_due on checks (due_at);
-- The charges of an account that can be paid, in the order of their creation. Ascending, so that a new one is the last
-- of its account and pages fill up.
create index checks_of_account on checks (account_id, (subject::uuid)) where kind = 'charge';

-- When each provider last notified us, to within a minute.
create table provider_notifications (
  provider text primary key,
  received_at timestamptz not null
);

-- Rows of payments, transfers and events are made from those that they name, under their locks, and what they name is
-- never deleted. A foreign key would look up and lock a row for each of them: most of what a settlement takes. The
-- audit proves that each row they name exists.
create table payments (
  id uuid primary key,
  provider text not null,
  -- Unique in all of Pix. So money that is reported twice, by two providers with the same bank account or by a provider
  -- under a new name, is booked once.
  end_to_end_id text not null unique,
  txid text,
  amount_cents bigint not null check (amount_cents > 0),
  charge_id uuid,
  account_id uuid, -- of the charge, so that a payment can be stored where its account is: see docs/scale.md
  credited boolean not null check (not credited or charge_id is not null),
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  constraint payments_account check ((account_id is null) = (charge_id is null))
);
-- One payment completes a charge, whatever the code does.
create unique index payments_one_credit_per_charge on payments (charge_id) where credited;
-- Payments that completed no charge, by the charge that they were meant for. Pages and lists ask for them; they are
-- few.
create index payments_uncredited_by_charge on payments (charge_id) where not credited;
-- Rows are inserted roughly in the order of occurred_at, so a BRIN index finds a day. A B-tree would cost every
-- settlement an entry. This kind keeps several intervals for each range of pages, so a few late rows do not widen it.
create index payments_by_occurrence on payments
  using brin (occurred_at timestamptz_minmax_multi_ops) with (autosummarize = on);
-- A payment changes at most once and in one way: it was in suspense, and now it completes its charge. Some banks return
-- a txid in upper case, so it names its charge in either case.
create trigger payments_kept before delete or truncate on payments for each statement execute function refuse_change();
create trigger payments_fixed before update on payments for each row
  when (
    old.credited
    or not new.credited
    or coalesce(old.charge_id, new.charge_id) is distinct from new.charge_id
    or coalesce(old.account_id, new.account_id) is distinct from new.account_id
    or coalesce(old.txid, new.txid) is distinct from new.txid
    or lower(new.txid) is distinct from replace(new.charge_id::text, '-', '')
    or (old.id, old.provider, old.end_to_end_id, old.amount_cents, old.occurred_at, old.recorded_at)
    is distinct from (new.id, new.provider, new.end_to_end_id, new.amount_cents, new.occurred_at, new.recorded_at)
  )
  execute function refuse_change();

-- ---- Exceptions and refunds ----

-- Money that cannot be credited by itself. Open: nothing is set. Being resolved: resolution is set; only a refund takes
-- longer than a moment. Resolved: resolved_at is set too.
create table exceptions (
  id uuid primary key,
  payment_id uuid references payments,
  charge_id uuid references charges, -- only of an unnamed_payment, which has no payment
  -- refunded_payment: when the provider first told of the Pix, it had refunded it.
  -- unnamed_payment: the provider calls a charge paid and names no Pix that paid it.
  -- foreign_refund: somebody refunded at the provider, without us.
  -- undone_refund: the provider made a refund and took it back. The money is in suspense until somebody decides.
  kind text not null check (
    kind in (
      'unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'refunded_payment', 'unnamed_payment',
      'foreign_refund', 'undone_refund'
    )
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
  constraint exceptions_of_charge check (
    (kind = 'unnamed_payment') = (charge_id is not null) and (payment_id is null) = (charge_id is not null)
  ),
  -- match: the payment completed its charge after all. An unnamed_payment is matched when the provider names the Pix;
  -- writing it off lets the charge expire. refund of an undone_refund: the provider made it again.
  constraint exceptions_resolution check (
    case
      when kind = 'foreign_refund' then resolution in ('charge_account', 'write_off')
      when kind = 'unnamed_payment' then resolution in ('match', 'write_off')
      when kind in ('unknown_charge', 'wrong_amount', 'refunded_payment')
        then resolution in ('credit', 'refund', 'write_off', 'match')
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
create unique index exceptions_once_per_charge on exceptions (charge_id) where charge_id is not null;
-- A refund that was made without us may also be undone: two exceptions, at most one of each kind.
create unique index exceptions_once_per_refund on exceptions (refund_id, kind) where refund_id is not null;
-- What an exception is about never changes, and nothing of it changes once it is resolved.
create trigger exceptions_kept before delete or truncate on exceptions for each statement execute function refuse_change();
create trigger exceptions_fixed before update on exceptions for each row
  when (
    old.resolved_at is not null
    or (old.id, old.payment_id, old.charge_id, old.kind, old.opened_at, old.refund_id)
    is distinct from (new.id, new.payment_id, new.charge_id, new.kind, new.opened_at, new.refund_id)
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
  undone_exception_id uuid references exceptions, -- the undone_refund after which the provider made it again, by its id
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
  constraint refunds_made_again check (
    undone_exception_id is null
    or (source = 'provider' and coalesce(exception_id, undone_exception_id) = undone_exception_id)
  ),
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
-- A refund of the provider's is recorded once, and once more after each time that it was undone. A FAILED refund that
-- the provider made all the same is recorded again, as made without us.
create unique index refunds_once_made
  on refunds (payment_id, provider_refund_id, undone_exception_id) nulls not distinct where status <> 'FAILED';
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

-- A provider contradicts how a refund ended here: its list calls a refund failed that it made, or made one that it took
-- back. Lists lag, so nothing is booked on their word. The worker asks about each of these refunds by itself.
create table refund_checks (
  refund_id uuid primary key references refunds,
  due_at timestamptz not null, -- claiming moves it to the end of the lease
  attempts integer not null default 0
);
create index refund_checks_due on refund_checks (due_at);

-- ---- Ledger ----

-- Double-entry bookkeeping. cash: what we hold at a provider. balance: what we owe an account. fees: what we earned.
-- suspense: received, and not assigned to anybody yet. refunding: promised to a payer, and not paid out yet. missing:
-- gone from a provider without us, and not charged to anybody yet. written_off: gained or lost by an operator's
-- decision, so it may have either sign.
create table ledger_accounts (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('cash', 'balance', 'fees', 'suspense', 'refunding', 'missing', 'written_off')),
  account_id uuid references accounts,
  provider text,
  check ((kind = 'balance') = (account_id is not null)),
  check ((kind = 'cash') = (provider is not null))
);
create unique index ledger_accounts_once on ledger_accounts (kind, account_id, provider) nulls not distinct;

-- While an old snapshot is open (a dump, a long report), PostgreSQL keeps all versions of a row. So versions of a
-- balance have numbers, and the newest is found first, without walking through all of them. A unique index of the id
-- alone would compare each new version with all older ones; a trigger takes its place.
create table ledger_balances (
  ledger_account_id bigint references ledger_accounts,
  version bigint not null default 0,
  debits_cents bigint not null default 0 check (debits_cents >= 0),
  credits_cents bigint not null default 0 check (credits_cents >= 0),
  may_be_negative boolean not null,
  primary key (ledger_account_id, version),
  check (may_be_negative or credits_cents >= debits_cents)
) with (fillfactor = 50);

create function have_one_balance() returns trigger language plpgsql as $$
begin
  perform from ledger_accounts where id = new.ledger_account_id for no key update;
  if exists (select from ledger_balances where ledger_account_id = new.ledger_account_id) then
    raise unique_violation using message = format('ledger account %s has a balance already', new.ledger_account_id);
  end if;
  return new;
end $$;
create trigger ledger_balances_once before insert on ledger_balances for each row execute function have_one_balance();

-- Moves a balance, and returns what it holds then. If another transaction is just moving it, this waits, and goes on
-- from what that one leaves: its version is a later one than those that this statement has seen. Its plan takes the
-- first entry of the index, where PostgreSQL may otherwise read all versions and sort them.
create function move_balance(moved_id bigint, debits bigint, credits bigint) returns bigint language plpgsql
set enable_bitmapscan = off set enable_sort = off as $$
declare
  held bigint;
begin
  update ledger_balances
  set debits_cents = debits_cents + debits, credits_cents = credits_cents + credits, version = version + 1
  where ledger_account_id = moved_id and version >= (
    select version from ledger_balances where ledger_account_id = moved_id order by version desc limit 1
  )
  returning credits_cents - debits_cents into held;
  if not found then
    raise 'ledger account % has no balance', moved_id;
  end if;
  return held;
end $$;

-- The ledger accounts that are there from the start.
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
  debit_id bigint not null,
  credit_id bigint not null,
  amount_cents bigint not null check (amount_cents > 0),
  -- Credits less debits of each side after this transfer.
  debit_after_cents bigint not null,
  credit_after_cents bigint not null,
  payment_id uuid not null,
  charge_id uuid,
  refund_id uuid,
  exception_id uuid, -- the exception that this transfer resolves
  account_id uuid, -- whose balance it moves, or else of its charge; null for money that arrived for nobody
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  check (debit_id <> credit_id),
  constraint transfers_account check (charge_id is null or account_id is not null),
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
-- Only statements and daily totals look for the transfers of a ledger account, and only of balances. The transfers of
-- cash, fees and suspense that every payment makes are in no such index.
create index transfers_of_debited on transfers (debit_id, id) where kind not in ('deposit', 'fee', 'suspense');
create index transfers_of_credited on transfers (credit_id, id) where kind not in ('fee', 'suspense');
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

-- ---- Webhooks ----

create table events (
  id uuid primary key,
  account_id uuid not null,
  kind text not null,
  subject_id uuid not null,
  body text not null, -- the exact bytes that are sent
  created_at timestamptz not null,
  unique (kind, subject_id)
);
-- Ascending, so that a new event is the last of its account and pages fill up. A list of the newest reads it backwards.
create index events_of_account on events (account_id, id);
create trigger events_append_only before update or delete or truncate on events
  for each statement execute function refuse_change();

create table webhooks (
  id uuid primary key,
  account_id uuid not null references accounts,
  name text not null check (length(name) between 1 and 100),
  url text not null check (length(url) between 1 and 2048),
  event_kinds text[] not null check (cardinality(event_kinds) > 0),
  -- Sealed, see src/domain/core/secret-box.ts. The row's id is part of the seal, so a value copied to another row does
  -- not open.
  authorization_box text,
  secret_box text not null,
  previous_secret_box text,
  previous_secret_until timestamptz,
  created_at timestamptz not null,
  failing_since timestamptz, -- the first failure after the last success
  disabled_at timestamptz,
  disabled_code text, -- the reason for programs
  disabled_reason text, -- the reason for people
  deleted_at timestamptz, -- its deliveries and attempts stay readable
  check (num_nonnulls(disabled_at, disabled_code, disabled_reason) in (0, 3)),
  check ((previous_secret_box is null) = (previous_secret_until is null))
) with (fillfactor = 80);
create index webhooks_by_account on webhooks (account_id, created_at) where deleted_at is null;

-- Only what is still to be delivered: a row leaves when it is delivered or given up. A claim writes leased_until, which
-- is in no index and for which each page has free space, so claiming touches no index.
-- No foreign keys here and below. Rows are made from the tables to which they would refer, and nothing is ever deleted
-- there; each key would lock and rewrite the referenced row, thousands of times a second.
create table deliveries (
  event_id uuid not null,
  webhook_id uuid not null,
  due_at timestamptz not null,
  leased_until timestamptz,
  attempts integer not null default 0,
  primary key (event_id, webhook_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index deliveries_in_order on deliveries (webhook_id, due_at);

create table delivery_outcomes (
  event_id uuid not null,
  webhook_id uuid not null,
  outcome text not null check (outcome in ('delivered', 'failed')),
  attempts integer not null,
  ended_at timestamptz not null,
  primary key (event_id, webhook_id)
);
-- By event and not by time: the log of deliveries is in the order of events.
create index delivery_outcomes_failed_events on delivery_outcomes (webhook_id, event_id) where outcome = 'failed';

-- One partition a day, so that old days are dropped whole.
create table attempts (
  event_id uuid not null,
  webhook_id uuid not null,
  number integer not null,
  at timestamptz not null,
  status integer, -- of the response; null if there was none
  error text,
  error_code text,
  error_detail text,
  latency_ms integer not null,
  excerpt text not null, -- the beginning of the response
  check ((status is null) = (error is not null) and (error is null) = (error_code is null))
) partition by range (at);
create index attempts_by_event on attempts (event_id, at);
-- For days that have no partition, so that a late worker never loses the record of an attempt.
create table attempts_default partition of attempts default;

-- ---- Reconciliation ----

-- How far we have read each provider's list of received Pix. One process at a time sweeps a provider. It writes its
-- claim and moves due_at to the end of a lease, which it renews while it works.
create table sweeps (
  provider text primary key,
  began_at timestamptz not null, -- payments that the provider received earlier are not ours
  swept_until timestamptz not null check (swept_until >= began_at),
  next_closing date not null, -- the day that is closed next; src/domain/core/business-days.ts says when a day begins
  due_at timestamptz not null,
  claim uuid
);

-- How each day compared with the ledger. A day that is closed again gets another row, and the newest row counts.
create table closings (
  provider text not null,
  day date not null,
  revision integer not null check (revision > 0),
  starts_at timestamptz not null, -- the beginning of the day; on a provider's first day, the time at which we began
  ends_at timestamptz not null check (ends_at > starts_at),
  provider_count bigint not null check (provider_count >= 0),
  provider_total_cents bigint not null check (provider_total_cents >= 0),
  ledger_count bigint not null check (ledger_count >= 0),
  ledger_total_cents bigint not null check (ledger_total_cents >= 0),
  difference_count bigint not null check (difference_count >= 0),
  differences jsonb not null check (jsonb_typeof(differences) = 'array'), -- the first hundred
  closed_at timestamptz not null,
  primary key (provider, day, revision)
);
create index closings_by_day on closings (day desc, provider, revision desc);
create trigger closings_append_only before update or delete or truncate on closings
  for each statement execute function refuse_change();

-- ---- Reports ----

-- How many deposits an account had each day, and their sums. Those who look at them bring them up to date, so they cost
-- a settlement nothing. See src/domain/reports/daily-totals.ts.
create table daily_totals (
  account_id uuid not null references accounts,
  day date not null, -- src/domain/core/business-days.ts says when a day begins
  created bigint not null,
  paid bigint not null,
  paid_cents bigint not null,
  fee_cents bigint not null,
  primary key (account_id, day)
);

-- How far they are counted: the last deposit in the ledger, the sum of all credits of the balance at that time, and the
-- last charge.
create table daily_total_marks (
  account_id uuid primary key references accounts,
  transfer_id bigint not null,
  credits_cents bigint not null,
  charge_id uuid not null
);

-- ---- Processes ----

-- The processes that share this database. A process is alive while its lease runs, by the database's clock.
create table processes (
  instance integer primary key check (instance > 0), -- made by the process; see src/db/presence.ts
  role text not null check (role in ('all', 'api', 'worker', 'command')),
  host text not null,
  version text not null,
  started_at timestamptz not null,
  leased_until timestamptz not null,
  status jsonb -- what the process says of itself, for `guiche top`; see src/domain/reports/process-status.ts
) with (fillfactor = 50); -- each row is updated every few seconds; free space on its page keeps that off the index

-- Limits that all processes on this database share: calls to a provider, requests of an API key. Each row is a token
-- bucket. Unlogged, because a crash may empty it: every bucket is then full, as after a start. So a report of what a
-- process took waits for no disk and for no standby.
create unlogged table shared_limits (
  name text primary key, -- provider:<name> or key:<id>; see src/base/shared-buckets.ts
  per_second double precision not null check (per_second >= 0),
  burst double precision not null check (burst > 0),
  tokens double precision not null, -- at filled_at; below zero, so many must flow in first
  filled_at timestamptz not null,
  open_until timestamptz -- until when the breaker of a process is open
) with (fillfactor = 50); -- each row is updated often; free space on its page keeps that off the index

-- How far a purge has read a table that has no index on what it looks for.
create table purge_cursors (
  name text primary key,
  read_until uuid not null
);
insert into purge_cursors (name, read_until) values ('failed_charges', '00000000-0000-0000-0000-000000000000');
