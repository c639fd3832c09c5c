-- People who sign in to the dashboard: their passwords, sessions and second factors, and invitations. Columns are those that better-auth
-- asks for, in our spelling; src/http/better-auth.ts names each.

create table users (
  id uuid primary key,
  -- An e-mail is an account holder's or an operator's, and never both: who reads the one's mail must not get the other's rights.
  kind text not null check (kind in ('account', 'operator')),
  email text not null unique check (email = lower(email) and length(email) between 3 and 254),
  email_verified boolean not null default false,
  name text not null check (length(name) between 1 and 100),
  image text,
  two_factor_enabled boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (id, kind, email)
);

create table credentials (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  provider_id text not null check (provider_id = 'credential'),
  account_id text not null,
  password text not null, -- argon2id
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (user_id, provider_id)
);

-- The token alone opens nothing: the cookie carries it with a signature by a key that is not in the database.
create table sessions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  token text not null unique,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  authenticated_at timestamptz not null, -- when the password was last given
  ip_address text,
  user_agent text
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

-- Links to reset a password and second steps of a sign-in that are under way; identifiers are hashed.
create table verifications (
  id uuid primary key,
  identifier text not null,
  value text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null
);
create index verifications_by_identifier on verifications (identifier);
create index verifications_by_expiry on verifications (expires_at);

-- Secret and recovery codes are encrypted.
create table second_factors (
  id uuid primary key,
  user_id uuid not null unique references users on delete cascade,
  secret text not null,
  backup_codes text not null,
  verified boolean not null default true,
  failed_verification_count integer not null default 0,
  locked_until timestamptz
);

create table invitations (
  id uuid primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  email text check (email = lower(email) and length(email) between 3 and 254), -- null: whoever has the link
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

do $$
declare
  shared text;
begin
  select string_agg(email, ', ' order by email) into shared from accounts join operators using (email);
  if shared is not null then
    raise exception 'these e-mails are an account holder''s and an operator''s at once, and from now on an e-mail is one person''s: %; give the operators others, for example: update operators set email = ''ops@example.com'' where email = ''…''', shared;
  end if;
end $$;

-- Whoever has an account already was given it in person, so their e-mail counts as confirmed.
insert into users (id, kind, email, email_verified, name, created_at, updated_at)
select id, 'account', email, true, name, created_at, created_at from accounts
union all
select id, 'operator', email, true, name, created_at, created_at from operators;

insert into credentials (id, user_id, provider_id, account_id, password, created_at, updated_at)
select id, id, 'credential', id::text, password_hash, created_at, created_at from accounts
union all
select id, id, 'credential', id::text, password_hash, created_at, created_at from operators;

alter table accounts add column user_id uuid unique;
alter table accounts add column user_kind text not null default 'account' check (user_kind = 'account');
update accounts set user_id = id;
alter table accounts alter column user_id set not null;
alter table accounts add constraint accounts_user foreign key (user_id, user_kind, email)
  references users (id, kind, email) on update cascade;
alter table accounts drop column password_hash;

alter table operators add column user_id uuid unique;
alter table operators add column user_kind text not null default 'operator' check (user_kind = 'operator');
update operators set user_id = id;
alter table operators alter column user_id set not null;
alter table operators add constraint operators_user foreign key (user_id, user_kind, email)
  references users (id, kind, email) on update cascade;
alter table operators drop column password_hash;
