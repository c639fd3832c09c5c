-- The people who sign in to the dashboard: their passwords, sessions and second factors. better-auth asks for most of
-- these columns; src/http/auth/better-auth.ts maps its names to ours.

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
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  provider_id text not null check (provider_id = 'credential'),
  account_id text not null,
  password text not null, -- argon2id
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (user_id, provider_id)
);

-- The token alone opens nothing: the cookie also carries a signature, by a key that is not in the database.
create table sessions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  token text not null unique,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  authenticated_at timestamptz not null, -- when the user last gave the password
  last_used_at timestamptz, -- null: not used since it was opened; written at most once a minute
  ip_address text,
  user_agent text
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

-- Links to reset a password, and sign-ins that wait for the second factor. Identifiers are hashed.
create table verifications (
  id uuid primary key,
  identifier text not null,
  value text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null
);
create index verifications_by_identifier on verifications (identifier);
create index verifications_by_value on verifications (value);
create index verifications_by_expiry on verifications (expires_at);

-- The secret and the recovery codes are encrypted.
create table second_factors (
  id uuid primary key,
  user_id uuid not null unique references users on delete cascade,
  secret text not null,
  backup_codes text not null,
  verified boolean not null default true,
  failed_verification_count integer not null default 0,
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
