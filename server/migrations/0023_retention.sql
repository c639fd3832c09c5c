-- The person behind the account was erased: see src/domain/accounts/erase-account.ts. Such an account stays suspended.
alter table accounts add column erased_at timestamptz;
alter table accounts add constraint accounts_erased check (erased_at is null or suspended_at is not null) not valid;

-- Lines about sign-ins and invitations are deleted after RETAIN_SIGN_INS_DAYS. Of an erased account, lines that name
-- the person or its systems are deleted too. Lines about money, terms and suspensions stay: the audit
-- compares them with the books.
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
create or replace trigger audit_log_append_only before update or truncate on audit_log
  for each statement execute function refuse_change();
