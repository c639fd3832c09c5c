-- Settlement without queues: foreign keys that locked a hot row for each payment are gone, and the ledger accounts that
-- every payment touches become several.

-- Each of these looked up and locked a row, or at least ran a trigger, for each row inserted: most of what a settlement
-- took. The rows of these tables are made from those that they would refer to, under their locks, and nothing is ever
-- deleted there. The audit proves that each row they name exists (src/domain/audit).
alter table transfers
  drop constraint transfers_debit_id_fkey,
  drop constraint transfers_credit_id_fkey,
  drop constraint transfers_payment_id_fkey,
  drop constraint transfers_charge_id_fkey,
  drop constraint transfers_refund_id_fkey,
  drop constraint transfers_exception_id_fkey;
alter table payments drop constraint payments_charge_id_fkey;
alter table events drop constraint events_account_id_fkey;

-- A settlement holds the balances that it moves until it commits, so all of them would queue for a provider's one cash
-- and for the one account of fees. Those two kinds have up to eight rows each, and a transaction uses the one of its
-- connection: see STRIPE in src/domain/ledger/ledger.ts. The version before uses any one of them.
alter table ledger_accounts add column stripe smallint not null default 0;
alter table ledger_accounts add constraint ledger_accounts_stripe
  check (stripe = 0 or (stripe between 1 and 7 and kind in ('cash', 'fees'))) not valid;
-- allowed: one row per account holder, so it is built within a second
create unique index ledger_accounts_once on ledger_accounts (kind, account_id, provider, stripe) nulls not distinct;
alter table ledger_accounts drop constraint ledger_accounts_kind_account_id_provider_key;
