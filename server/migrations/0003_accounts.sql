-- Account holders: their accounts, prices and limits, API keys, and the invitations by which they sign up.

create table accounts (
  id uuid primary key,
  user_id uuid not null unique,
  user_kind text not null default 'account' check (user_kind = 'account'),
  email text not null unique check (email = lower(email) and length(email) between 3 and 254),
  name text not null check (length(name) between 1 and 100),
  -- The terms. Null means: as the deployment is configured.
  fee_bps integer check (fee_bps between 0 and 10000),
  fee_fixed_cents bigint check (fee_fixed_cents >= 0),
  fee_min_cents bigint check (fee_min_cents >= 0),
  fee_max_cents bigint check (fee_max_cents >= 0),
  fee_bearer text check (fee_bearer in ('account', 'payer')),
  value_min_cents bigint check (value_min_cents > 0),
  value_max_cents bigint check (value_max_cents > 0),
  created_at timestamptz not null,
  suspended_at timestamptz,
  suspended_reason text,
  constraint accounts_suspended check ((suspended_at is null) = (suspended_reason is null)),
  constraint accounts_user foreign key (user_id, user_kind, email) references users (id, kind, email) on update cascade
);

-- The history of an account's terms. The newest row equals the columns of accounts; a charge keeps the terms under
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
