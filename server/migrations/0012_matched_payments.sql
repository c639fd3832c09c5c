-- A payment in suspense can complete its charge afterwards, and one Pix is booked once, whichever provider reports it.

-- An endToEndId is unique in all of Pix. Two configured providers that are the same bank account, or a provider that was renamed, report the same money
-- twice. If this fails, one Pix stands in the books under two providers: correct that before you upgrade.
alter table payments
  drop constraint payments_provider_end_to_end_id_key,
  add constraint payments_end_to_end_id_key unique (end_to_end_id);

-- A payment changes at most once, and in one way: it came to suspense, and now completes its charge.
drop trigger payments_append_only on payments;
create trigger payments_kept before delete or truncate on payments for each statement execute function refuse_change();
create trigger payments_fixed before update on payments for each row
  when (
    old.credited
    or not new.credited
    or coalesce(old.charge_id, new.charge_id) is distinct from new.charge_id
    or coalesce(old.txid, new.txid) is distinct from new.txid
    or new.txid is distinct from replace(new.charge_id::text, '-', '')
    or (old.id, old.provider, old.end_to_end_id, old.amount_cents, old.occurred_at, old.recorded_at)
    is distinct from (new.id, new.provider, new.end_to_end_id, new.amount_cents, new.occurred_at, new.recorded_at)
  )
  execute function refuse_change();

-- What was received, where an operator completed the charge with a payment of another amount. Null: the charge's value.
alter table charges
  add column received_cents bigint,
  add constraint charges_received check (
    received_cents is null or (status = 'COMPLETED' and received_cents > fee_cents and received_cents <> value_cents)
  );

-- match: the payment completed its charge after all.
alter table exceptions
  drop constraint exceptions_resolution,
  add constraint exceptions_resolution check (
    case
      when kind = 'foreign_refund' then resolution in ('charge_account', 'write_off')
      when kind = 'undone_refund' then resolution in ('credit', 'write_off')
      when kind in ('unknown_charge', 'wrong_amount') then resolution in ('credit', 'refund', 'write_off', 'match')
      else resolution in ('credit', 'refund', 'write_off')
    end
  );

alter table transfers
  drop constraint transfers_kind_check,
  add constraint transfers_kind_check check (
    case
      when kind in ('deposit', 'fee', 'suspense') then refund_id is null and exception_id is null
      when kind in ('fee_returned', 'refund_reserved', 'refund_paid', 'refund_released', 'fee_kept', 'refund_seen', 'refund_undone')
        then refund_id is not null and exception_id is null
      when kind in ('exception_credited', 'exception_written_off') then exception_id is not null
      when kind in ('refund_charged', 'refund_written_off') then refund_id is not null and exception_id is not null
      when kind in ('matched_deposit', 'matched_fee') then refund_id is null and exception_id is not null and charge_id is not null
      else false
    end
  );
-- An exception is resolved in one way. The fee of a match is the second transfer of that one way.
drop index transfers_one_resolution;
create unique index transfers_one_resolution on transfers (exception_id) where exception_id is not null and kind <> 'matched_fee';
create unique index transfers_one_matched_fee on transfers (exception_id) where kind = 'matched_fee';
