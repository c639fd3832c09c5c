-- A payment has the account of its charge in its own row, so that it can be stored where its account is: see
-- docs/scale.md. Null if it names no charge of ours.
alter table payments add column account_id uuid;

-- Until the next release: the version before this one may run beside it, and does not write the column.
create function fill_payment_account() returns trigger language plpgsql as $$
begin
  new.account_id := (select account_id from charges where id = new.charge_id);
  return new;
end $$;
create trigger payments_account before insert or update on payments for each row
  when (new.account_id is null and new.charge_id is not null)
  execute function fill_payment_account();

-- A payment changes in one way: it was in suspense, and now it completes its charge. Besides, an empty account is
-- filled in.
create or replace trigger payments_fixed before update on payments for each row
  when (
    case
      when (old.credited, old.charge_id, old.txid) is not distinct from (new.credited, new.charge_id, new.txid)
        then old.account_id is not null or new.account_id is null
      else
        old.credited
        or not new.credited
        or coalesce(old.charge_id, new.charge_id) is distinct from new.charge_id
        or coalesce(old.txid, new.txid) is distinct from new.txid
        or new.txid is distinct from replace(new.charge_id::text, '-', '')
        or coalesce(old.account_id, new.account_id) is distinct from new.account_id
    end
    or (old.id, old.provider, old.end_to_end_id, old.amount_cents, old.occurred_at, old.recorded_at)
    is distinct from (new.id, new.provider, new.end_to_end_id, new.amount_cents, new.occurred_at, new.recorded_at)
  )
  execute function refuse_change();

-- Tables whose older rows a worker fills in, a batch at a time, in the order of their ids. A table that is done has no
-- row here. See src/domain/deposits/backfill.ts.
create table backfills (
  table_name text primary key,
  filled_until text not null -- the id of the last row of the last batch
);
insert into backfills (table_name, filled_until)
select 'payments', '00000000-0000-0000-0000-000000000000' where exists (select from payments);
