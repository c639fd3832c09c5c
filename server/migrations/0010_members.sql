-- The people who act for an account, each with a role: src/domain/accounts/roles.ts says what a role may do. A member
-- who was removed keeps the row, because lines of the audit log tell of it.
create table members (
  id uuid primary key,
  account_id uuid not null references accounts,
  user_id uuid not null references users,
  role text not null constraint members_role check (role in ('owner', 'finance', 'developer', 'cashier', 'viewer')),
  added_at timestamptz not null,
  removed_at timestamptz,
  used_at timestamptz, -- when the person last chose this account: the newest is the first after signing in
  constraint members_once unique (account_id, user_id)
);
create index members_by_user on members (user_id);

-- Whoever makes an account is its first owner. A trigger, because a process of the last release makes accounts too.
create function add_first_owner() returns trigger language plpgsql as $$
begin
  insert into members (id, account_id, user_id, role, added_at)
  values (new.id, new.id, new.user_id, 'owner', new.created_at);
  return null;
end $$;
create trigger accounts_first_owner after insert on accounts for each row execute function add_first_owner();
insert into members (id, account_id, user_id, role, added_at) select id, id, user_id, 'owner', created_at from accounts;

-- Open invitations of members; one that was used or revoked is deleted, and the audit log tells of it. The seal keeps
-- one that was put in by hand from letting anybody in.
create table member_invitations (
  id uuid primary key,
  account_id uuid not null references accounts,
  email text not null check (email = lower(email) and length(email) between 3 and 254),
  role text not null constraint member_invitations_role check (
    role in ('owner', 'finance', 'developer', 'cashier', 'viewer')
  ),
  token_hash bytea not null unique check (length(token_hash) = 32),
  invited_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  seal bytea not null,
  constraint member_invitations_once unique (account_id, email)
);

-- Null: no. So rows from before keep their seals.
alter table accounts add column requires_second_factor boolean;

-- The account that the person acts for. Null: the one whose contact the person is, as in the last release.
alter table sessions add column account_id uuid;

-- The e-mail of the member who made the key in the dashboard.
alter table api_keys add column made_by text;

-- Refunds took deposits:write before they had a scope of their own, and keys that could refund still can.
-- allowed: an account has at most a hundred active keys, and accounts are made by people
update api_keys set scopes = scopes || array['refunds:write']
where 'deposits:write' = any(scopes) and not 'refunds:write' = any(scopes) and revoked_at is null;

-- Passkeys (WebAuthn). The private key never leaves the person's device.
create table passkeys (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  credential_id bytea not null unique,
  public_key bytea not null,
  sign_count bigint not null check (sign_count >= 0),
  name text not null check (length(name) between 1 and 100),
  created_at timestamptz not null,
  last_used_at timestamptz
);
create index passkeys_by_user on passkeys (user_id);

-- What a passkey must sign, hashed. Each is deleted when it is used.
create table passkey_challenges (
  hash bytea primary key check (length(hash) = 32),
  user_id uuid references users on delete cascade, -- who adds a passkey; null: somebody signs in
  expires_at timestamptz not null
);
create index passkey_challenges_by_expiry on passkey_challenges (expires_at);

-- The person signed in with a passkey, which is two factors: the device, and how it knows its owner.
alter table sessions add column by_passkey boolean not null default false;

-- Lines about members name people, so they go when the account is erased.
create or replace function keep_audit_log() returns trigger language plpgsql as $$
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
    'webhook.disabled', 'webhook.secret_rotated', 'member.invited', 'member.uninvited', 'member.joined',
    'member.role_changed', 'member.removed', 'account.second_factor_demanded', 'passkey.added', 'passkey.removed'
  ) and exists (select from accounts where id = old.account_id and erased_at is not null) then
    return old;
  end if;
  raise exception 'audit_log is append only';
end $$;
