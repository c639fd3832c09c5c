-- Some banks return a txid in upper case. A payment keeps the bank's spelling, and names its charge in either case.
-- Otherwise the trigger is as in 0018.
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
        or lower(new.txid) is distinct from replace(new.charge_id::text, '-', '')
        or coalesce(old.account_id, new.account_id) is distinct from new.account_id
    end
    or (old.id, old.provider, old.end_to_end_id, old.amount_cents, old.occurred_at, old.recorded_at)
    is distinct from (new.id, new.provider, new.end_to_end_id, new.amount_cents, new.occurred_at, new.recorded_at)
  )
  execute function refuse_change();
