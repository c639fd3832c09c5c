-- A transfer has its account in its own row too: the one whose balance it moves, or else the one of its charge. Null
-- for money that arrived for nobody.
alter table transfers add column account_id uuid;

-- Until the next release, as in 0018.
create function fill_transfer_account() returns trigger language plpgsql as $$
begin
  new.account_id := coalesce(
    (select account_id from ledger_accounts where id = new.debit_id),
    (select account_id from ledger_accounts where id = new.credit_id),
    (select account_id from charges where id = new.charge_id)
  );
  return new;
end $$;
create trigger transfers_account before insert on transfers for each row
  when (new.account_id is null) execute function fill_transfer_account();

-- Nothing of a transfer changes, but an empty account is filled in.
drop trigger transfers_append_only on transfers;
create trigger transfers_kept before delete or truncate on transfers for each statement execute function refuse_change();
create trigger transfers_fixed before update on transfers for each row
  when (
    old.account_id is not null
    or new.account_id is null
    or (old.id, old.kind, old.debit_id, old.credit_id, old.amount_cents)
    is distinct from (new.id, new.kind, new.debit_id, new.credit_id, new.amount_cents)
    or (old.debit_after_cents, old.credit_after_cents) is distinct from (new.debit_after_cents, new.credit_after_cents)
    or (old.payment_id, old.charge_id, old.refund_id, old.exception_id, old.occurred_at, old.recorded_at)
    is distinct from (new.payment_id, new.charge_id, new.refund_id, new.exception_id, new.occurred_at, new.recorded_at)
  )
  execute function refuse_change();

insert into backfills (table_name, filled_until) select 'transfers', '0' where exists (select from transfers);
