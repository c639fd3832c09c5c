-- The schema after all migrations, for reading. test/schema.test.ts compares it and can rewrite it.

create extension btree_gin;

create extension pg_trgm;

create or replace function public.fold_text(text)
 returns text
 language sql
 immutable parallel safe strict
return replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(lower($1), 'á', 'a'), 'à', 'a'), 'â', 'a'), 'ã', 'a'), 'é', 'e'), 'ê', 'e'), 'í', 'i'), 'ó', 'o'), 'ô', 'o'), 'õ', 'o'), 'ú', 'u'), 'ü', 'u'), 'ç', 'c'), 'ñ', 'n');

create or replace function public.have_one_balance()
 returns trigger
 language plpgsql
as $function$
begin
  perform from ledger_accounts where id = new.ledger_account_id for no key update;
  if exists (select from ledger_balances where ledger_account_id = new.ledger_account_id) then
    raise unique_violation using message = format('ledger account %s has a balance already', new.ledger_account_id);
  end if;
  return new;
end $function$;

create or replace function public.keep_audit_log()
 returns trigger
 language plpgsql
as $function$
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
end $function$;

create or replace function public.move_balance(moved_id bigint, debits bigint, credits bigint)
 returns bigint
 language plpgsql
 set enable_bitmapscan to 'off'
 set enable_sort to 'off'
as $function$
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
end $function$;

create or replace function public.refuse_change()
 returns trigger
 language plpgsql
as $function$
begin
  raise exception '% is append only', tg_table_name;
end $function$;

create table account_terms (
  id bigint generated always as identity not null,
  account_id uuid not null,
  valid_from timestamptz not null,
  fee_bps integer,
  fee_fixed_cents bigint,
  fee_min_cents bigint,
  fee_max_cents bigint,
  fee_bearer text,
  value_min_cents bigint,
  value_max_cents bigint,
  set_by_kind text not null,
  set_by text not null,
  reason text not null,
  constraint account_terms_pkey primary key (id),
  constraint account_terms_check check (fee_min_cents <= fee_max_cents),
  constraint account_terms_check1 check (value_min_cents <= value_max_cents),
  constraint account_terms_fee_bearer_check check (fee_bearer = any (array['account', 'payer'])),
  constraint account_terms_fee_bps_check check (fee_bps >= 0 and fee_bps <= 10000),
  constraint account_terms_fee_fixed_cents_check check (fee_fixed_cents >= 0),
  constraint account_terms_fee_max_cents_check check (fee_max_cents >= 0),
  constraint account_terms_fee_min_cents_check check (fee_min_cents >= 0),
  constraint account_terms_reason_check check (length(reason) >= 1 and length(reason) <= 500),
  constraint account_terms_set_by_kind_check check (set_by_kind = any (array['operator', 'account', 'console', 'system'])),
  constraint account_terms_value_max_cents_check check (value_max_cents > 0),
  constraint account_terms_value_min_cents_check check (value_min_cents > 0),
  constraint account_terms_account_id_fkey foreign key (account_id) references accounts(id)
);
create index account_terms_by_account on account_terms using btree (account_id, id desc);
create trigger account_terms_append_only before delete or update or truncate on account_terms for each statement execute function refuse_change();

create table accounts (
  id uuid not null,
  user_id uuid not null,
  user_kind text default 'account' not null,
  email text not null,
  name text not null,
  fee_bps integer,
  fee_fixed_cents bigint,
  fee_min_cents bigint,
  fee_max_cents bigint,
  fee_bearer text,
  value_min_cents bigint,
  value_max_cents bigint,
  created_at timestamptz not null,
  suspended_at timestamptz,
  suspended_reason text,
  erased_at timestamptz,
  constraint accounts_pkey primary key (id),
  constraint accounts_email_key unique (email),
  constraint accounts_user_id_key unique (user_id),
  constraint accounts_email_check check (email = lower(email) and length(email) >= 3 and length(email) <= 254),
  constraint accounts_erased check (erased_at is null or suspended_at is not null),
  constraint accounts_fee_bearer_check check (fee_bearer = any (array['account', 'payer'])),
  constraint accounts_fee_bps_check check (fee_bps >= 0 and fee_bps <= 10000),
  constraint accounts_fee_fixed_cents_check check (fee_fixed_cents >= 0),
  constraint accounts_fee_max_cents_check check (fee_max_cents >= 0),
  constraint accounts_fee_min_cents_check check (fee_min_cents >= 0),
  constraint accounts_name_check check (length(name) >= 1 and length(name) <= 100),
  constraint accounts_suspended check ((suspended_at is null) = (suspended_reason is null)),
  constraint accounts_user_kind_check check (user_kind = 'account'),
  constraint accounts_value_max_cents_check check (value_max_cents > 0),
  constraint accounts_value_min_cents_check check (value_min_cents > 0),
  constraint accounts_user foreign key (user_id, user_kind, email) references users(id, kind, email) on update cascade
);

create table api_keys (
  id uuid not null,
  account_id uuid,
  operator_id uuid,
  name text not null,
  prefix text not null,
  hash bytea not null,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  constraint api_keys_pkey primary key (id),
  constraint api_keys_hash_key unique (hash),
  constraint api_keys_hash_check check (length(hash) = 32),
  constraint api_keys_name_check check (length(name) >= 1 and length(name) <= 100),
  constraint api_keys_one_holder check (num_nonnulls(account_id, operator_id) = 1),
  constraint api_keys_operator_scope check (
  case
      when operator_id is null then not scopes && array['operator', 'metrics:read']
      else scopes = array['operator'] or scopes = array['metrics:read']
  end),
  constraint api_keys_scopes_check check (cardinality(scopes) > 0),
  constraint api_keys_account_id_fkey foreign key (account_id) references accounts(id),
  constraint api_keys_operator_id_fkey foreign key (operator_id) references operators(id)
);
create index api_keys_by_account on api_keys using btree (account_id, created_at);
create index api_keys_by_operator on api_keys using btree (operator_id, created_at) where operator_id is not null;

create table attempts (
  event_id uuid not null,
  webhook_id uuid not null,
  number integer not null,
  at timestamptz not null,
  status integer,
  error text,
  error_code text,
  error_detail text,
  latency_ms integer not null,
  excerpt text not null,
  constraint attempts_check check ((status is null) = (error is not null) and (error is null) = (error_code is null))
) partition by range (at);
create index attempts_by_event on only attempts using btree (event_id, at);

create table attempts_default partition of attempts default;

create table audit_log (
  id bigint generated always as identity not null,
  at timestamptz not null,
  actor_kind text not null,
  actor text not null,
  key_id uuid,
  action text not null,
  subject text not null,
  account_id uuid,
  reason text,
  details jsonb not null,
  constraint audit_log_pkey primary key (id),
  constraint audit_log_actor_kind_check check (actor_kind = any (array['operator', 'account', 'console', 'system'])),
  constraint audit_log_account_id_fkey foreign key (account_id) references accounts(id),
  constraint audit_log_key_id_fkey foreign key (key_id) references api_keys(id)
);
create index audit_log_by_account on audit_log using btree (account_id, id desc);
create index audit_log_by_actor on audit_log using btree (actor, id desc);
create index audit_log_sign_ins on audit_log using btree (at) where action = any (array['session.opened', 'sessions.ended', 'password.changed', 'password.reset', 'password.set', 'email.confirmed', 'second_factor.enabled', 'second_factor.disabled', 'second_factor.locked', 'recovery_codes.made', 'recovery_code.used', 'invitation.created', 'invitation.revoked']);
create trigger audit_log_append_only before update or truncate on audit_log for each statement execute function refuse_change();
create trigger audit_log_kept before delete on audit_log for each row execute function keep_audit_log();

create table charges (
  id uuid not null,
  payment_link_id uuid not null,
  account_id uuid not null,
  provider text not null,
  status text not null,
  original_value_cents bigint not null,
  value_cents bigint not null,
  fee_cents bigint not null,
  received_cents bigint,
  refunded_cents bigint default 0 not null,
  emv text,
  external_id text,
  description text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  opening_instance integer,
  end_to_end_id text,
  paid_at timestamptz,
  paid_late boolean default false not null,
  closed_at timestamptz,
  constraint charges_pkey primary key (id),
  constraint charges_payment_link_id_key unique (payment_link_id),
  constraint charges_check check (fee_cents < value_cents),
  constraint charges_check1 check (value_cents = original_value_cents or value_cents = (original_value_cents + fee_cents)),
  constraint charges_check2 check (status <> 'PENDING' or emv is not null),
  constraint charges_check3 check ((status = 'COMPLETED') = (end_to_end_id is not null and paid_at is not null)),
  constraint charges_description_check check (length(description) <= 140),
  constraint charges_external_id_check check (length(external_id) >= 1 and length(external_id) <= 64),
  constraint charges_fee_cents_check check (fee_cents >= 0),
  constraint charges_original_value_cents_check check (original_value_cents > 0),
  constraint charges_received check (received_cents is null or status = 'COMPLETED' and received_cents > fee_cents and received_cents <> value_cents),
  constraint charges_refunded_cents_check check (refunded_cents >= 0),
  constraint charges_status_check check (status = any (array['OPENING', 'PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED', 'FAILED']))
) with (fillfactor=35);
create index charges_by_account on charges using btree (account_id, id desc);
create index charges_by_external_id on charges using btree (account_id, external_id) where external_id is not null;
create index charges_by_value on charges using btree (account_id, value_cents, id desc);
create index charges_by_words on charges using gin (account_id, fold_text((coalesce(external_id, '') || ' ') || coalesce(description, '')) gin_trgm_ops) with (gin_pending_list_limit='256') where external_id is not null or description is not null;

create table checks (
  provider text not null,
  subject text not null,
  kind text not null,
  account_id uuid,
  due_at timestamptz not null,
  claim uuid,
  attempts integer default 0 not null,
  constraint checks_pkey primary key (provider, subject),
  constraint checks_account check (kind <> 'charge' or account_id is not null),
  constraint checks_kind_check check (kind = any (array['charge', 'payment', 'withdrawal']))
) with (fillfactor=70);
create index checks_by_due on checks using btree (due_at);
create index checks_of_account on checks using btree (account_id, (subject::uuid)) where kind = 'charge';

create table closings (
  provider text not null,
  day date not null,
  revision integer not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  provider_count bigint not null,
  provider_total_cents bigint not null,
  ledger_count bigint not null,
  ledger_total_cents bigint not null,
  difference_count bigint not null,
  differences jsonb not null,
  closed_at timestamptz not null,
  constraint closings_pkey primary key (provider, day, revision),
  constraint closings_check check (ends_at > starts_at),
  constraint closings_difference_count_check check (difference_count >= 0),
  constraint closings_differences_check check (jsonb_typeof(differences) = 'array'),
  constraint closings_ledger_count_check check (ledger_count >= 0),
  constraint closings_ledger_total_cents_check check (ledger_total_cents >= 0),
  constraint closings_provider_count_check check (provider_count >= 0),
  constraint closings_provider_total_cents_check check (provider_total_cents >= 0),
  constraint closings_revision_check check (revision > 0)
);
create index closings_by_day on closings using btree (day desc, provider, revision desc);
create trigger closings_append_only before delete or update or truncate on closings for each statement execute function refuse_change();

create table credentials (
  id uuid not null,
  user_id uuid not null,
  provider_id text not null,
  account_id text not null,
  password text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint credentials_pkey primary key (id),
  constraint credentials_user_id_provider_id_key unique (user_id, provider_id),
  constraint credentials_provider_id_check check (provider_id = 'credential'),
  constraint credentials_user_id_fkey foreign key (user_id) references users(id) on delete cascade
);

create table daily_total_marks (
  account_id uuid not null,
  transfer_id bigint not null,
  credits_cents bigint not null,
  charge_id uuid not null,
  constraint daily_total_marks_pkey primary key (account_id),
  constraint daily_total_marks_account_id_fkey foreign key (account_id) references accounts(id)
);

create table daily_totals (
  account_id uuid not null,
  day date not null,
  created bigint not null,
  paid bigint not null,
  paid_cents bigint not null,
  fee_cents bigint not null,
  constraint daily_totals_pkey primary key (account_id, day),
  constraint daily_totals_account_id_fkey foreign key (account_id) references accounts(id)
);

create table deliveries (
  event_id uuid not null,
  webhook_id uuid not null,
  due_at timestamptz not null,
  leased_until timestamptz,
  attempts integer default 0 not null,
  constraint deliveries_pkey primary key (event_id, webhook_id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000);
create index deliveries_in_order on deliveries using btree (webhook_id, due_at, event_id);

create table delivery_outcomes (
  event_id uuid not null,
  webhook_id uuid not null,
  outcome text not null,
  attempts integer not null,
  ended_at timestamptz not null,
  constraint delivery_outcomes_pkey primary key (event_id, webhook_id),
  constraint delivery_outcomes_outcome_check check (outcome = any (array['delivered', 'failed']))
);
create index delivery_outcomes_failed_events on delivery_outcomes using btree (webhook_id, event_id) where outcome = 'failed';

create table events (
  id uuid not null,
  account_id uuid not null,
  kind text not null,
  subject_id uuid not null,
  body text not null,
  created_at timestamptz not null,
  constraint events_pkey primary key (id),
  constraint events_kind_subject_id_key unique (kind, subject_id)
);
create index events_of_account on events using btree (account_id, id);
create trigger events_append_only before delete or update or truncate on events for each statement execute function refuse_change();

create table exceptions (
  id uuid not null,
  payment_id uuid,
  charge_id uuid,
  kind text not null,
  refund_id uuid,
  opened_at timestamptz not null,
  resolution text,
  account_id uuid,
  resolved_by_kind text,
  resolved_by text,
  reason text,
  resolved_at timestamptz,
  constraint exceptions_pkey primary key (id),
  constraint exceptions_kind_check check (kind = any (array['unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'refunded_payment', 'unnamed_payment', 'foreign_refund', 'undone_refund'])),
  constraint exceptions_of_charge check ((kind = 'unnamed_payment') = (charge_id is not null) and (payment_id is null) = (charge_id is not null)),
  constraint exceptions_of_refund check ((kind = any (array['foreign_refund', 'undone_refund'])) = (refund_id is not null)),
  constraint exceptions_reason_check check (length(reason) >= 1 and length(reason) <= 500),
  constraint exceptions_resolution check (
  case
      when kind = 'foreign_refund' then resolution = any (array['charge_account', 'write_off'])
      when kind = 'unnamed_payment' then resolution = any (array['match', 'write_off'])
      when kind = any (array['unknown_charge', 'wrong_amount', 'refunded_payment']) then resolution = any (array['credit', 'refund', 'write_off', 'match'])
      else resolution = any (array['credit', 'refund', 'write_off'])
  end),
  constraint exceptions_resolved check ((num_nonnulls(resolution, resolved_by_kind, resolved_by, reason) = any (array[0, 4])) and (resolved_at is null or resolution is not null) and (resolution is null or resolution = 'refund' or resolved_at is not null) and (account_id is not null) = coalesce(resolution = any (array['credit', 'charge_account']), false)),
  constraint exceptions_resolved_by_kind_check check (resolved_by_kind = any (array['operator', 'account', 'console', 'system'])),
  constraint exceptions_account_id_fkey foreign key (account_id) references accounts(id),
  constraint exceptions_charge_id_fkey foreign key (charge_id) references charges(id),
  constraint exceptions_payment_id_fkey foreign key (payment_id) references payments(id),
  constraint exceptions_refund_id_fkey foreign key (refund_id) references refunds(id)
);
create unique index exceptions_once_per_charge on exceptions using btree (charge_id) where charge_id is not null;
create unique index exceptions_once_per_payment on exceptions using btree (payment_id) where refund_id is null;
create unique index exceptions_once_per_refund on exceptions using btree (refund_id, kind) where refund_id is not null;
create index exceptions_open on exceptions using btree (opened_at) where resolved_at is null;
create trigger exceptions_fixed before update on exceptions for each row when (old.resolved_at is not null or old.id is distinct from new.id or old.payment_id is distinct from new.payment_id or old.charge_id is distinct from new.charge_id or old.kind is distinct from new.kind or old.opened_at is distinct from new.opened_at or old.refund_id is distinct from new.refund_id) execute function refuse_change();
create trigger exceptions_kept before delete or truncate on exceptions for each statement execute function refuse_change();

create table external_ids (
  account_id uuid not null,
  external_id text not null,
  charge_id uuid not null,
  constraint external_ids_pkey primary key (account_id, external_id)
);

create table idempotency_keys (
  account_id uuid not null,
  key text not null,
  request_hash bytea not null,
  charge_id uuid not null,
  created_at timestamptz not null,
  constraint idempotency_keys_pkey primary key (account_id, key),
  constraint idempotency_keys_key_check check (length(key) >= 1 and length(key) <= 255)
);
create index idempotency_keys_by_age on idempotency_keys using btree (created_at);

create table invitations (
  id uuid not null,
  token_hash bytea not null,
  email text,
  made_by_kind text not null,
  made_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  used_by uuid,
  revoked_at timestamptz,
  constraint invitations_pkey primary key (id),
  constraint invitations_token_hash_key unique (token_hash),
  constraint invitations_check check (expires_at > created_at),
  constraint invitations_check1 check ((used_at is null) = (used_by is null)),
  constraint invitations_check2 check (used_at is null or revoked_at is null),
  constraint invitations_email_check check (email = lower(email) and length(email) >= 3 and length(email) <= 254),
  constraint invitations_made_by_kind_check check (made_by_kind = any (array['operator', 'account', 'console', 'system'])),
  constraint invitations_token_hash_check check (length(token_hash) = 32),
  constraint invitations_used_by_fkey foreign key (used_by) references accounts(id)
);

create table ledger_accounts (
  id bigint generated always as identity not null,
  kind text not null,
  account_id uuid,
  provider text,
  stripe smallint default 0 not null,
  constraint ledger_accounts_pkey primary key (id),
  constraint ledger_accounts_check check ((kind = 'balance') = (account_id is not null)),
  constraint ledger_accounts_check1 check ((kind = 'cash') = (provider is not null)),
  constraint ledger_accounts_kind_check check (kind = any (array['cash', 'balance', 'fees', 'suspense', 'refunding', 'missing', 'written_off'])),
  constraint ledger_accounts_stripe check (stripe = 0 or stripe >= 1 and stripe <= 7 and (kind = any (array['cash', 'fees']))),
  constraint ledger_accounts_account_id_fkey foreign key (account_id) references accounts(id)
);
create unique index ledger_accounts_once on ledger_accounts using btree (kind, account_id, provider, stripe) nulls not distinct;

create table ledger_balances (
  ledger_account_id bigint not null,
  version bigint default 0 not null,
  debits_cents bigint default 0 not null,
  credits_cents bigint default 0 not null,
  may_be_negative boolean not null,
  constraint ledger_balances_pkey primary key (ledger_account_id, version),
  constraint ledger_balances_check check (may_be_negative or credits_cents >= debits_cents),
  constraint ledger_balances_credits_cents_check check (credits_cents >= 0),
  constraint ledger_balances_debits_cents_check check (debits_cents >= 0),
  constraint ledger_balances_ledger_account_id_fkey foreign key (ledger_account_id) references ledger_accounts(id)
) with (fillfactor=50);
create trigger ledger_balances_once before insert on ledger_balances for each row execute function have_one_balance();

create table migrations (
  name text not null,
  checksum text not null,
  applied_at timestamptz default now() not null,
  constraint migrations_pkey primary key (name)
);

create table operators (
  id uuid not null,
  user_id uuid not null,
  user_kind text default 'operator' not null,
  email text not null,
  name text not null,
  created_at timestamptz not null,
  disabled_at timestamptz,
  constraint operators_pkey primary key (id),
  constraint operators_email_key unique (email),
  constraint operators_user_id_key unique (user_id),
  constraint operators_email_check check (email = lower(email) and length(email) >= 3 and length(email) <= 254),
  constraint operators_name_check check (length(name) >= 1 and length(name) <= 100),
  constraint operators_user_kind_check check (user_kind = 'operator'),
  constraint operators_user foreign key (user_id, user_kind, email) references users(id, kind, email) on update cascade
);

create table payments (
  id uuid not null,
  provider text not null,
  end_to_end_id text not null,
  txid text,
  amount_cents bigint not null,
  charge_id uuid,
  account_id uuid,
  credited boolean not null,
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  constraint payments_pkey primary key (id),
  constraint payments_end_to_end_id_key unique (end_to_end_id),
  constraint payments_account check ((account_id is null) = (charge_id is null)),
  constraint payments_amount_cents_check check (amount_cents > 0),
  constraint payments_check check (not credited or charge_id is not null)
);
create index payments_by_occurrence on payments using brin (occurred_at timestamptz_minmax_multi_ops) with (autosummarize='on');
create unique index payments_one_credit_per_charge on payments using btree (charge_id) where credited;
create index payments_uncredited_by_charge on payments using btree (charge_id) where not credited;
create trigger payments_fixed before update on payments for each row when (old.credited or not new.credited or coalesce(old.charge_id, new.charge_id) is distinct from new.charge_id or coalesce(old.account_id, new.account_id) is distinct from new.account_id or coalesce(old.txid, new.txid) is distinct from new.txid or lower(new.txid) is distinct from replace(new.charge_id::text, '-', '') or old.id is distinct from new.id or old.provider is distinct from new.provider or old.end_to_end_id is distinct from new.end_to_end_id or old.amount_cents is distinct from new.amount_cents or old.occurred_at is distinct from new.occurred_at or old.recorded_at is distinct from new.recorded_at) execute function refuse_change();
create trigger payments_kept before delete or truncate on payments for each statement execute function refuse_change();

create table processes (
  instance integer not null,
  role text not null,
  host text not null,
  version text not null,
  started_at timestamptz not null,
  leased_until timestamptz not null,
  status jsonb,
  constraint processes_pkey primary key (instance),
  constraint processes_instance_check check (instance > 0),
  constraint processes_role_check check (role = any (array['all', 'api', 'worker', 'command']))
) with (fillfactor=50);

create table provider_notifications (
  provider text not null,
  received_at timestamptz not null,
  constraint provider_notifications_pkey primary key (provider)
);

create table purge_cursors (
  name text not null,
  read_until uuid not null,
  constraint purge_cursors_pkey primary key (name)
);

create table refund_checks (
  refund_id uuid not null,
  due_at timestamptz not null,
  attempts integer default 0 not null,
  constraint refund_checks_pkey primary key (refund_id),
  constraint refund_checks_refund_id_fkey foreign key (refund_id) references refunds(id)
);
create index refund_checks_due on refund_checks using btree (due_at);

create table refunds (
  id uuid not null,
  payment_id uuid not null,
  charge_id uuid,
  source text not null,
  account_id uuid,
  exception_id uuid,
  undone_exception_id uuid,
  provider_refund_id text not null,
  amount_cents bigint not null,
  fee_returned_cents bigint default 0 not null,
  status text not null,
  reason text,
  failure text,
  requested_by_kind text not null,
  requested_by text not null,
  idempotency_key text,
  request_hash bytea,
  created_at timestamptz not null,
  sent_at timestamptz,
  doubted_at timestamptz,
  absent_since timestamptz,
  attention text,
  ended_by_kind text,
  ended_by text,
  ended_reason text,
  ended_at timestamptz,
  due_at timestamptz,
  attempts integer default 0 not null,
  constraint refunds_pkey primary key (id),
  constraint refunds_absent check (absent_since is null or doubted_at is not null),
  constraint refunds_amount_cents_check check (amount_cents > 0),
  constraint refunds_attention_check check (length(attention) >= 1 and length(attention) <= 500),
  constraint refunds_check check (fee_returned_cents >= 0 and fee_returned_cents <= amount_cents),
  constraint refunds_check1 check ((source = 'balance') = (account_id is not null)),
  constraint refunds_check10 check ((idempotency_key is null) = (request_hash is null)),
  constraint refunds_check2 check (source <> 'suspense' or exception_id is not null),
  constraint refunds_check3 check (source <> 'balance' or exception_id is null),
  constraint refunds_check4 check (source <> 'balance' or charge_id is not null),
  constraint refunds_check5 check (source <> 'provider' or status = 'DONE'),
  constraint refunds_check6 check (fee_returned_cents = 0 or source = 'balance'),
  constraint refunds_check7 check ((status = 'PROCESSING') = (ended_at is null)),
  constraint refunds_check8 check ((status = 'PROCESSING') = (due_at is not null)),
  constraint refunds_check9 check (failure is null or status = 'FAILED'),
  constraint refunds_doubt check (doubted_at is null or sent_at is not null),
  constraint refunds_ended_by check ((num_nonnulls(ended_by_kind, ended_by, ended_reason) = any (array[0, 3])) and (ended_by is null or status <> 'PROCESSING')),
  constraint refunds_ended_by_kind_check check (ended_by_kind = any (array['operator', 'console'])),
  constraint refunds_ended_reason_check check (length(ended_reason) >= 1 and length(ended_reason) <= 500),
  constraint refunds_idempotency_key_check check (length(idempotency_key) >= 1 and length(idempotency_key) <= 255),
  constraint refunds_made_again check (undone_exception_id is null or source = 'provider' and coalesce(exception_id, undone_exception_id) = undone_exception_id),
  constraint refunds_provider_refund_id_check check (length(provider_refund_id) > 0),
  constraint refunds_requested_by_kind_check check (requested_by_kind = any (array['operator', 'account', 'console', 'system'])),
  constraint refunds_source_check check (source = any (array['balance', 'suspense', 'provider'])),
  constraint refunds_status_check check (status = any (array['PROCESSING', 'DONE', 'FAILED'])),
  constraint refunds_account_id_fkey foreign key (account_id) references accounts(id),
  constraint refunds_charge_id_fkey foreign key (charge_id) references charges(id),
  constraint refunds_exception_id_fkey foreign key (exception_id) references exceptions(id),
  constraint refunds_payment_id_fkey foreign key (payment_id) references payments(id),
  constraint refunds_undone_exception_id_fkey foreign key (undone_exception_id) references exceptions(id)
) with (fillfactor=80);
create index refunds_by_charge on refunds using btree (charge_id, id) where charge_id is not null;
create index refunds_by_exception on refunds using btree (exception_id, id) where exception_id is not null;
create unique index refunds_by_key on refunds using btree (account_id, requested_by_kind, idempotency_key) where idempotency_key is not null;
create index refunds_due on refunds using btree (due_at) where due_at is not null;
create index refunds_in_doubt on refunds using btree (id) where status = 'PROCESSING' and doubted_at is not null;
create unique index refunds_once_made on refunds using btree (payment_id, provider_refund_id, undone_exception_id) nulls not distinct where status <> 'FAILED';
create unique index refunds_one_per_exception on refunds using btree (exception_id) where status <> 'FAILED';
create trigger refunds_fixed before update on refunds for each row when (old.status <> 'PROCESSING' or old.id is distinct from new.id or old.payment_id is distinct from new.payment_id or old.charge_id is distinct from new.charge_id or old.source is distinct from new.source or old.account_id is distinct from new.account_id or old.exception_id is distinct from new.exception_id or old.provider_refund_id is distinct from new.provider_refund_id or old.amount_cents is distinct from new.amount_cents or old.fee_returned_cents is distinct from new.fee_returned_cents or old.created_at is distinct from new.created_at) execute function refuse_change();
create trigger refunds_kept before delete or truncate on refunds for each statement execute function refuse_change();

create table second_factors (
  id uuid not null,
  user_id uuid not null,
  secret text not null,
  backup_codes text not null,
  verified boolean default true not null,
  failed_verification_count integer default 0 not null,
  locked_until timestamptz,
  last_step bigint default 0 not null,
  constraint second_factors_pkey primary key (id),
  constraint second_factors_user_id_key unique (user_id),
  constraint second_factors_user_id_fkey foreign key (user_id) references users(id) on delete cascade
);

create table secret_key_ids (
  id text not null,
  used_at timestamptz not null,
  constraint secret_key_ids_pkey primary key (id),
  constraint secret_key_ids_id_check check (length(id) = 8)
);

create table sessions (
  id uuid not null,
  user_id uuid not null,
  token text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  authenticated_at timestamptz not null,
  last_used_at timestamptz,
  ip_address text,
  user_agent text,
  constraint sessions_pkey primary key (id),
  constraint sessions_token_key unique (token),
  constraint sessions_user_id_fkey foreign key (user_id) references users(id) on delete cascade
);
create index sessions_by_expiry on sessions using btree (expires_at);
create index sessions_by_user on sessions using btree (user_id);

create unlogged table shared_limits (
  name text not null,
  per_second double precision not null,
  burst double precision not null,
  tokens double precision not null,
  filled_at timestamptz not null,
  open_until timestamptz,
  constraint shared_limits_pkey primary key (name),
  constraint shared_limits_burst_check check (burst > 0::double precision),
  constraint shared_limits_per_second_check check (per_second >= 0::double precision)
) with (fillfactor=50);

create table sweeps (
  provider text not null,
  began_at timestamptz not null,
  swept_until timestamptz not null,
  next_closing date not null,
  due_at timestamptz not null,
  claim uuid,
  constraint sweeps_pkey primary key (provider),
  constraint sweeps_check check (swept_until >= began_at)
);

create table transfers (
  id bigint generated always as identity not null,
  kind text not null,
  debit_id bigint not null,
  credit_id bigint not null,
  amount_cents bigint not null,
  debit_after_cents bigint not null,
  credit_after_cents bigint not null,
  payment_id uuid not null,
  charge_id uuid,
  refund_id uuid,
  exception_id uuid,
  account_id uuid,
  occurred_at timestamptz not null,
  recorded_at timestamptz not null,
  constraint transfers_pkey primary key (id),
  constraint transfers_account check (charge_id is null or account_id is not null),
  constraint transfers_amount_cents_check check (amount_cents > 0),
  constraint transfers_check check (debit_id <> credit_id),
  constraint transfers_kind_check check (
  case
      when kind = any (array['deposit', 'fee', 'suspense']) then refund_id is null and exception_id is null
      when kind = any (array['fee_returned', 'refund_reserved', 'refund_paid', 'refund_released', 'fee_kept', 'refund_seen', 'refund_undone']) then refund_id is not null and exception_id is null
      when kind = any (array['exception_credited', 'exception_written_off']) then exception_id is not null
      when kind = any (array['refund_charged', 'refund_written_off']) then refund_id is not null and exception_id is not null
      when kind = any (array['matched_deposit', 'matched_fee']) then refund_id is null and exception_id is not null and charge_id is not null
      else false
  end)
);
create index transfers_of_credited on transfers using btree (credit_id, id) where kind <> all (array['fee', 'suspense']);
create index transfers_of_debited on transfers using btree (debit_id, id) where kind <> all (array['deposit', 'fee', 'suspense']);
create unique index transfers_once_per_payment on transfers using btree (payment_id, kind) where refund_id is null;
create unique index transfers_once_per_refund on transfers using btree (refund_id, kind) where refund_id is not null;
create unique index transfers_one_end on transfers using btree (refund_id) where kind = any (array['refund_paid', 'refund_released', 'refund_seen']);
create unique index transfers_one_matched_fee on transfers using btree (exception_id) where kind = 'matched_fee';
create unique index transfers_one_resolution on transfers using btree (exception_id) where exception_id is not null and kind <> 'matched_fee';
create trigger transfers_append_only before delete or update or truncate on transfers for each statement execute function refuse_change();

create table users (
  id uuid not null,
  kind text not null,
  email text not null,
  email_verified boolean default false not null,
  name text not null,
  two_factor_enabled boolean default false not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint users_pkey primary key (id),
  constraint users_email_key unique (email),
  constraint users_id_kind_email_key unique (id, kind, email),
  constraint users_email_check check (email = lower(email) and length(email) >= 3 and length(email) <= 254),
  constraint users_kind_check check (kind = any (array['account', 'operator'])),
  constraint users_name_check check (length(name) >= 1 and length(name) <= 100)
);

create table verifications (
  id uuid not null,
  identifier text not null,
  value text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  constraint verifications_pkey primary key (id)
);
create index verifications_by_expiry on verifications using btree (expires_at);
create index verifications_by_identifier on verifications using btree (identifier);
create index verifications_by_value on verifications using btree (value);

create table webhooks (
  id uuid not null,
  account_id uuid not null,
  name text not null,
  url text not null,
  event_kinds text[] not null,
  authorization_box text,
  secret_box text not null,
  previous_secret_box text,
  previous_secret_until timestamptz,
  created_at timestamptz not null,
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_code text,
  disabled_reason text,
  deleted_at timestamptz,
  constraint webhooks_pkey primary key (id),
  constraint webhooks_check check (num_nonnulls(disabled_at, disabled_code, disabled_reason) = any (array[0, 3])),
  constraint webhooks_check1 check ((previous_secret_box is null) = (previous_secret_until is null)),
  constraint webhooks_event_kinds_check check (cardinality(event_kinds) > 0),
  constraint webhooks_name_check check (length(name) >= 1 and length(name) <= 100),
  constraint webhooks_url_check check (length(url) >= 1 and length(url) <= 2048),
  constraint webhooks_account_id_fkey foreign key (account_id) references accounts(id)
) with (fillfactor=80);
create index webhooks_by_account on webhooks using btree (account_id, created_at) where deleted_at is null;
