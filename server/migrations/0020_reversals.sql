-- Reversals: the bank returned a payment that was credited, and the account did not ask for it. See
-- docs/decisions/0052-reversals.md.

-- Why the provider returned it, of a return that nobody here asked for. Null: it was asked for here, or an older
-- release booked it. other: an ordinary refund, made at the bank, or a word that we do not know.
alter table refunds add column nature text;
alter table refunds add constraint refunds_nature check (
  nature is null or (source = 'provider' and nature in ('fraud', 'operational', 'automatic', 'other'))
) not valid;
create trigger refunds_nature_fixed before update on refunds for each row
  when (old.nature is distinct from new.nature) execute function refuse_change();

-- Who decides about reversals of an account: charge takes them from its balance, operator opens an exception. Null
-- means: as the deployment is configured.
alter table account_terms add column reversal_policy text;
alter table account_terms add constraint account_terms_reversal_policy
  check (reversal_policy in ('charge', 'operator')) not valid;

-- What the balance lacked when the account was charged. It is owed, and in the ledger.
alter table exceptions add column owed_cents bigint;
alter table exceptions add constraint exceptions_owed check (
  owed_cents is null or (owed_cents > 0 and resolution is not distinct from 'charge_account')
) not valid;

-- owed: what an account holder owes for reversals, below zero. The rows of before passed narrower checks than those
-- that replace them here, so there is nothing to validate.
alter table ledger_accounts drop constraint ledger_accounts_kind_check;
alter table ledger_accounts drop constraint ledger_accounts_check;
alter table ledger_accounts add constraint ledger_accounts_kind_check check (
  kind in (
    'cash', 'balance', 'reserved', 'owed', 'fees', 'suspense', 'refunding', 'paid_out', 'missing', 'written_off'
  )
) not valid;
alter table ledger_accounts add constraint ledger_accounts_check check (
  (kind in ('balance', 'reserved', 'owed')) = (account_id is not null)
) not valid;

-- debt_paid is about the account, and not about the payment that happened to pay the debt.
alter table transfers drop constraint transfers_one_subject;
alter table transfers add constraint transfers_one_subject check (
  num_nonnulls(payment_id, payout_id) = (kind <> 'debt_paid')::int
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
    else false
  end
  and (payout_id is null or kind like 'payout_%')
) not valid;
-- No more is paid than is owed, no less than there is, and what is owed is never above zero.
alter table transfers add constraint transfers_debt check (
  case kind
    when 'debt_paid' then credit_after_cents <= 0 and (credit_after_cents = 0 or debit_after_cents = 0)
    when 'reversal_owed' then debit_after_cents < 0
    else true
  end
) not valid;

-- Whether an account owes something that its balance, which holds this much now, can pay. It is called after the
-- balance was moved, and sees what others committed while that waited for its lock. Planning it each time would take
-- longer than the rest of a settlement.
create function has_debt_to_pay(debtor uuid, held bigint) returns boolean language plpgsql
set plan_cache_mode = force_generic_plan as $$
declare
  owes boolean;
begin
  if held <= 0 then
    return false;
  end if;
  select b.debits_cents > b.credits_cents into owes
  from ledger_accounts o join ledger_balances b on b.ledger_account_id = o.id
  where o.kind = 'owed' and o.account_id = debtor;
  return coalesce(owes, false);
end $$;
