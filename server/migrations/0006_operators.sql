-- Operators, a role apart from account holders; the dated terms of accounts; suspension; which key did what.

create table operators (
  id uuid primary key,
  email text not null unique check (email = lower(email) and length(email) between 3 and 254),
  name text not null check (length(name) between 1 and 100),
  password_hash text not null,
  created_at timestamptz not null,
  disabled_at timestamptz -- while it is set, the operator's keys do not work
);

-- A key belongs to an account or to an operator. What the one may do the other may not, whatever the code does.
alter table api_keys alter column account_id drop not null;
alter table api_keys add column operator_id uuid references operators;
alter table api_keys add constraint api_keys_one_holder check (num_nonnulls(account_id, operator_id) = 1);
alter table api_keys add constraint api_keys_operator_scope check (
  case when operator_id is null then not scopes @> array['operator'] else scopes = array['operator'] end
);
create index api_keys_by_operator on api_keys (operator_id, created_at) where operator_id is not null;

alter table accounts add column suspended_at timestamptz;
alter table accounts add column suspended_reason text;
alter table accounts add constraint accounts_suspended check ((suspended_at is null) = (suspended_reason is null));

-- What the columns of accounts said, and from when on. The newest row is what they say now; a charge keeps the terms of its creation.
create table account_terms (
  id bigint generated always as identity primary key,
  account_id uuid not null references accounts,
  valid_from timestamptz not null,
  -- Null means: as the deployment says.
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

-- Accounts that have terms of their own already begin their history with them.
insert into account_terms (account_id, valid_from, fee_bps, fee_fixed_cents, fee_min_cents, fee_max_cents, fee_bearer,
  value_min_cents, value_max_cents, set_by_kind, set_by, reason)
select id, created_at, fee_bps, fee_fixed_cents, fee_min_cents, fee_max_cents, fee_bearer, value_min_cents, value_max_cents,
  'system', 'guiche', 'as found when the history began'
from accounts
where num_nonnulls(fee_bps, fee_fixed_cents, fee_min_cents, fee_max_cents, fee_bearer, value_min_cents, value_max_cents) > 0
order by created_at;

-- A person may have several keys; when one leaks, what was done with it must be told from the rest.
alter table audit_log add column key_id uuid references api_keys;
create index audit_log_by_actor on audit_log (actor, id desc);
