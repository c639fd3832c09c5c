-- Lasting codes: each Pix that carries the txid of one is a deposit of its own. See docs/decisions/0051-codes.md.

create table codes (
  id uuid primary key,
  account_id uuid not null references accounts,
  external_id text not null check (length(external_id) between 1 and 64),
  provider text not null,
  txid text not null unique check (txid ~ '^[0-9a-z]{25}$'), -- the id with the digits 0 to 9 and a to z
  -- Null until the provider has made it: nobody has seen the code, and nothing is credited by it.
  emv text,
  code_seal bytea,
  version integer not null check (version > 0), -- a deposit names the version by which it was credited
  description text check (length(description) between 1 and 140),
  min_value_cents bigint check (min_value_cents > 0),
  max_value_cents bigint check (max_value_cents > 0),
  created_at timestamptz not null,
  changed_at timestamptz not null check (changed_at >= created_at),
  closed_at timestamptz,
  unique (account_id, external_id),
  check (min_value_cents <= max_value_cents),
  check ((emv is null) = (code_seal is null))
);
create index codes_by_account on codes (account_id, id desc);
create trigger codes_kept before delete or truncate on codes for each statement execute function refuse_change();
-- Whose it is and where it leads never change, and a version is never used twice.
create trigger codes_fixed before update on codes for each row
  when (
    (old.id, old.account_id, old.external_id, old.provider, old.txid, old.created_at)
    is distinct from (new.id, new.account_id, new.external_id, new.provider, new.txid, new.created_at)
    or (coalesce(old.emv, new.emv), coalesce(old.code_seal, new.code_seal)) is distinct from (new.emv, new.code_seal)
    or new.version <> old.version + (old.emv is not null)::int
  )
  execute function refuse_change();

-- The code that a payment made this charge by, which is COMPLETED from its first moment.
alter table charges add column code_id uuid;
alter table charges add column code_version integer;
alter table charges add constraint charges_of_code check (
  (code_id is null) = (code_version is null) and (code_id is null or status = 'COMPLETED')
) not valid;

-- code_closed: the code that it names was closed. code_limits: its value is outside the limits of the code or of its
-- account, or not above its fee. The rows of before passed a narrower check, so there is nothing to validate.
alter table exceptions drop constraint exceptions_kind_check;
alter table exceptions add constraint exceptions_kind_check check (
  kind in (
    'unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'refunded_payment', 'unnamed_payment',
    'foreign_refund', 'undone_refund', 'code_closed', 'code_limits'
  )
) not valid;

-- A payment may also complete the charge that it makes by a code. Its txid is that of the code, which is shorter.
create or replace trigger payments_fixed before update on payments for each row
  when (
    old.credited
    or not new.credited
    or coalesce(old.charge_id, new.charge_id) is distinct from new.charge_id
    or coalesce(old.account_id, new.account_id) is distinct from new.account_id
    or coalesce(old.txid, new.txid) is distinct from new.txid
    or (lower(new.txid) is distinct from replace(new.charge_id::text, '-', '') and coalesce(length(new.txid), 0) <> 25)
    or (old.id, old.provider, old.end_to_end_id, old.amount_cents, old.occurred_at, old.recorded_at)
    is distinct from (new.id, new.provider, new.end_to_end_id, new.amount_cents, new.occurred_at, new.recorded_at)
  )
  execute function refuse_change();
