-- Several providers, and the record of who changed what.

-- A charge that one provider may still make although the deposit went to another is withdrawn there.
alter table checks drop constraint checks_kind_check;
alter table checks add constraint checks_kind_check check (kind in ('charge', 'payment', 'withdrawal'));

create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  -- Who, and which one: an operator's or account holder's e-mail (or account id), the user of the terminal, guiche itself.
  actor_kind text not null check (actor_kind in ('operator', 'account', 'console', 'system')),
  actor text not null,
  action text not null, -- such as 'exception.resolved'
  subject text not null, -- such as 'exception 0199…'
  account_id uuid references accounts, -- whose affair it is, if it is one's
  reason text,
  details jsonb not null
);
create index audit_log_by_account on audit_log (account_id, id desc);
create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change();
