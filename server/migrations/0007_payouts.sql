-- Payouts: an account holder asks for a part of the balance, and the operator pays it outside of guiche. See
-- docs/decisions/0041-payouts-are-records.md.

create table payouts (
  id uuid primary key,
  account_id uuid not null references accounts,
  value_cents bigint not null check (value_cents > 0),
  note text check (length(note) between 1 and 140),
  status text not null check (status in ('REQUESTED', 'PAID', 'REJECTED')),
  requested_by_kind text not null check (requested_by_kind in ('operator', 'account', 'console')),
  requested_by text not null,
  idempotency_key text check (length(idempotency_key) between 1 and 255),
  request_hash bytea,
  requested_at timestamptz not null,
  ended_at timestamptz,
  ended_by_kind text check (ended_by_kind in ('operator', 'console')),
  ended_by text,
  reference text check (length(reference) between 1 and 100), -- by which the bank knows the transfer
  paid_at date, -- src/domain/core/business-days.ts says when a day begins
  reason text check (length(reason) between 1 and 500), -- why it was rejected
  check ((idempotency_key is null) = (request_hash is null)),
  constraint payouts_ended check (
    case status
      when 'REQUESTED' then num_nonnulls(ended_at, ended_by_kind, ended_by, reference, paid_at, reason) = 0
      when 'PAID' then num_nulls(ended_at, ended_by_kind, ended_by, reference, paid_at) = 0 and reason is null
      else num_nulls(ended_at, ended_by_kind, ended_by, reason) = 0 and num_nonnulls(reference, paid_at) = 0
    end
  ),
  constraint payouts_paid_at check (
    paid_at between (requested_at at time zone 'America/Sao_Paulo')::date
    and (ended_at at time zone 'America/Sao_Paulo')::date
  )
);
create index payouts_by_account on payouts (account_id, id desc);
create index payouts_open on payouts (id) where status = 'REQUESTED';
create unique index payouts_by_key on payouts (account_id, requested_by_kind, idempotency_key)
  where idempotency_key is not null;
-- What a payout is never changes, and nothing of it changes once it has ended.
create trigger payouts_kept before delete or truncate on payouts for each statement execute function refuse_change();
create trigger payouts_fixed before update on payouts for each row
  when (
    old.status <> 'REQUESTED'
    or (old.id, old.account_id, old.value_cents, old.note, old.requested_by_kind, old.requested_by, old.idempotency_key,
      old.request_hash, old.requested_at)
    is distinct from (new.id, new.account_id, new.value_cents, new.note, new.requested_by_kind, new.requested_by,
      new.idempotency_key, new.request_hash, new.requested_at)
  )
  execute function refuse_change();

-- reserved: what an account holder asked for, and the operator has not paid yet. paid_out: what the operator paid. The
-- rows of before passed narrower checks than those that replace them here, so there is nothing to validate.
alter table ledger_accounts drop constraint ledger_accounts_kind_check;
alter table ledger_accounts drop constraint ledger_accounts_check;
alter table ledger_accounts add constraint ledger_accounts_kind_check check (
  kind in (
    'cash', 'balance', 'reserved', 'fees', 'suspense', 'refunding', 'paid_out', 'missing', 'written_off'
  )
) not valid;
alter table ledger_accounts add constraint ledger_accounts_check check (
  (kind in ('balance', 'reserved')) = (account_id is not null)
) not valid;

-- A transfer is about a payment or a payout.
alter table transfers alter column payment_id drop not null;
alter table transfers add column payout_id uuid;
alter table transfers add constraint transfers_one_subject check (num_nonnulls(payment_id, payout_id) = 1) not valid;
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
    when kind in ('refund_charged', 'refund_written_off') then refund_id is not null and exception_id is not null
    when kind in ('matched_deposit', 'matched_fee')
      then refund_id is null and exception_id is not null and charge_id is not null
    when kind in ('payout_reserved', 'payout_paid', 'payout_returned')
      then payout_id is not null and num_nonnulls(charge_id, refund_id, exception_id) = 0 and account_id is not null
    else false
  end
  and (payout_id is null or kind like 'payout_%')
) not valid;
