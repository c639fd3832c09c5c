-- Disputes: a payer contests a payment at the bank, and the provider tells of it. See docs/decisions/0054-disputes.md.

create table disputes (
  id uuid primary key,
  provider text not null,
  provider_dispute_id text not null check (length(provider_dispute_id) between 1 and 64),
  payment_id uuid not null references payments,
  charge_id uuid references charges, -- the charge that the payment completed, and its account, when the dispute began
  account_id uuid references accounts,
  amount_cents bigint not null check (amount_cents > 0),
  -- What was set aside of the balance when the dispute was found: at most what was available then.
  held_cents bigint not null check (held_cents between 0 and amount_cents),
  reason text check (length(reason) between 1 and 500), -- in the words of the payer or the provider
  status text not null check (status in ('OPEN', 'ACCEPTED', 'REJECTED', 'CANCELED')),
  opened_at timestamptz not null, -- at the provider
  deadline_at timestamptz not null check (deadline_at > opened_at),
  recorded_at timestamptz not null,
  ended_at timestamptz,
  unique (provider, provider_dispute_id),
  check ((charge_id is null) = (account_id is null)),
  check (account_id is not null or held_cents = 0),
  check ((ended_at is null) = (status = 'OPEN'))
);
create index disputes_by_account on disputes (account_id, id desc);
create index disputes_by_payment on disputes (payment_id);
create index disputes_open on disputes (deadline_at, id) where status = 'OPEN';
-- What a dispute is never changes, and nothing of it changes once it has ended.
create trigger disputes_kept before delete or truncate on disputes for each statement execute function refuse_change();
create trigger disputes_fixed before update on disputes for each row
  when (
    old.status <> 'OPEN'
    or (old.id, old.provider, old.provider_dispute_id, old.payment_id, old.charge_id, old.account_id, old.amount_cents,
      old.held_cents, old.reason, old.opened_at, old.deadline_at, old.recorded_at)
    is distinct from (new.id, new.provider, new.provider_dispute_id, new.payment_id, new.charge_id, new.account_id,
      new.amount_cents, new.held_cents, new.reason, new.opened_at, new.deadline_at, new.recorded_at)
  )
  execute function refuse_change();

-- A file for the provider, which is sent by the worker. Its bytes go when that has ended.
create table dispute_evidence (
  id uuid primary key,
  dispute_id uuid not null references disputes,
  file_name text not null check (length(file_name) between 1 and 100),
  file_type text not null check (file_type in ('application/pdf', 'image/png', 'image/jpeg')),
  file_bytes integer not null check (file_bytes > 0),
  sha256 bytea not null check (length(sha256) = 32),
  description text check (length(description) between 1 and 500),
  content bytea,
  access text unique, -- the secret part of the address at which the provider fetches it
  status text not null check (status in ('SENDING', 'SENT', 'REFUSED')),
  failure text,
  given_by_kind text not null check (given_by_kind in ('operator', 'account', 'console')),
  given_by text not null,
  given_at timestamptz not null,
  ended_at timestamptz,
  due_at timestamptz,
  attempts integer not null default 0,
  constraint dispute_evidence_ended check (
    case status
      when 'SENDING' then num_nulls(content, access, due_at) = 0 and num_nonnulls(ended_at, failure) = 0
      else num_nonnulls(content, access, due_at) = 0 and ended_at is not null
        and (failure is not null) = (status = 'REFUSED')
    end
  )
);
-- The same file counts once, unless it was refused.
create unique index dispute_evidence_once on dispute_evidence (dispute_id, sha256) where status <> 'REFUSED';
create index dispute_evidence_due on dispute_evidence (due_at) where due_at is not null;
create trigger dispute_evidence_kept before delete or truncate on dispute_evidence
  for each statement execute function refuse_change();
create trigger dispute_evidence_fixed before update on dispute_evidence for each row
  when (
    old.status <> 'SENDING'
    or (old.id, old.dispute_id, old.file_name, old.file_type, old.file_bytes, old.sha256, old.description,
      old.given_by_kind, old.given_by, old.given_at)
    is distinct from (new.id, new.dispute_id, new.file_name, new.file_type, new.file_bytes, new.sha256, new.description,
      new.given_by_kind, new.given_by, new.given_at)
  )
  execute function refuse_change();

-- Questions to a provider about the dispute of a Pix: after a notification, and from time to time while it is open.
create table dispute_checks (
  provider text not null,
  end_to_end_id text not null,
  due_at timestamptz not null,
  attempts integer not null default 0,
  primary key (provider, end_to_end_id)
);
create index dispute_checks_due on dispute_checks (due_at);

-- held: what is set aside of a balance while a dispute is open. The rows of before passed narrower checks than those
-- that replace them here, so there is nothing to validate.
alter table ledger_accounts drop constraint ledger_accounts_kind_check;
alter table ledger_accounts drop constraint ledger_accounts_check;
alter table ledger_accounts add constraint ledger_accounts_kind_check check (
  kind in (
    'cash', 'balance', 'reserved', 'held', 'owed', 'fees', 'suspense', 'refunding', 'paid_out', 'missing',
    'written_off'
  )
) not valid;
alter table ledger_accounts add constraint ledger_accounts_check check (
  (kind in ('balance', 'reserved', 'held', 'owed')) = (account_id is not null)
) not valid;

-- A transfer is about a payment, a payout or a dispute, or pays what the account owes.
alter table transfers add column dispute_id uuid;
alter table transfers drop constraint transfers_one_subject;
alter table transfers add constraint transfers_one_subject check (
  num_nonnulls(payment_id, payout_id, dispute_id) = (kind <> 'debt_paid')::int
) not valid;
alter table transfers drop constraint transfers_kind_check;
alter table transfers add constraint transfers_kind_check check (
  case
    when kind in ('deposit', 'fee', 'suspense') then refund_id is null and exception_id is null
    when kind in (
      'fee_returned', 'refund_reserved', 'refund_paid', 'refund_released', 'fee_kept', 'refund_seen', 'refund_undone'
    )
      then refund_id is not null and exception_id is null
    -- With refund_id: of an undone_refund. A payment may have several of those, so each is unique by its refund.
    when kind in ('exception_credited', 'exception_written_off') then exception_id is not null
    when kind in ('refund_charged', 'reversal_charged', 'refund_written_off')
      then refund_id is not null and exception_id is not null
    -- Beside a reversal_charged, which has the exception: each resolution has it once.
    when kind = 'reversal_owed' then refund_id is not null and exception_id is null and account_id is not null
    when kind = 'debt_paid'
      then num_nonnulls(charge_id, refund_id, exception_id) = 0 and account_id is not null
    when kind in ('matched_deposit', 'matched_fee')
      then refund_id is null and exception_id is not null and charge_id is not null
    when kind in ('payout_reserved', 'payout_paid', 'payout_returned')
      then payout_id is not null and num_nonnulls(charge_id, refund_id, exception_id) = 0 and account_id is not null
    when kind in ('dispute_held', 'dispute_released')
      then dispute_id is not null and num_nonnulls(refund_id, exception_id) = 0 and num_nulls(charge_id, account_id) = 0
    else false
  end
  and (payout_id is null or kind like 'payout_%')
  and (dispute_id is null or kind like 'dispute_%')
) not valid;
