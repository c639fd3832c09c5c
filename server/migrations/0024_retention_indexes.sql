-- no transaction
alter table accounts validate constraint accounts_erased;

-- Finds the lines that RETAIN_SIGN_INS_DAYS deletes, without reading those that stay.
create index concurrently if not exists audit_log_sign_ins on audit_log (at) where action in (
  'session.opened', 'sessions.ended', 'password.changed', 'password.reset', 'password.set', 'email.confirmed',
  'second_factor.enabled', 'second_factor.disabled', 'second_factor.locked', 'recovery_codes.made',
  'recovery_code.used', 'invitation.created', 'invitation.revoked'
);
