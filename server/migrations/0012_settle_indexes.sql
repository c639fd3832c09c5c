-- no transaction
-- Fewer and cheaper index entries for each payment. What makes it happen once stays: payments_end_to_end_id_key,
-- payments_one_credit_per_charge, transfers_once_per_payment, events_kind_subject_id_key.

alter table ledger_accounts validate constraint ledger_accounts_stripe;

-- Only statements and daily totals look for the transfers of a ledger account, and only of balances. The transfers of
-- cash, fees and suspense that every payment makes are in no such index.
create index concurrently if not exists transfers_of_debited on transfers (debit_id, id)
  where kind not in ('deposit', 'fee', 'suspense');
create index concurrently if not exists transfers_of_credited on transfers (credit_id, id)
  where kind not in ('fee', 'suspense');
drop index concurrently if exists transfers_by_debit;
drop index concurrently if exists transfers_by_credit;

-- Ascending, so that a new event is the last of its account and pages fill up. A list of the newest reads it backwards.
create index concurrently if not exists events_of_account on events (account_id, id);
drop index concurrently if exists events_by_account;
