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
create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change();
