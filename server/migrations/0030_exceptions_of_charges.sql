-- Two more kinds of exceptions. refunded_payment: when the provider first told of the Pix, it had refunded it.
-- unnamed_payment: the provider calls a charge paid and names no Pix that paid it. It has a charge and no payment.
alter table exceptions add column charge_id uuid;
alter table exceptions alter column payment_id drop not null;
alter table exceptions add constraint exceptions_charge_id_fkey foreign key (charge_id) references charges not valid;
alter table exceptions add constraint exceptions_of_charge check (
  (kind = 'unnamed_payment') = (charge_id is not null) and (payment_id is null) = (charge_id is not null)
) not valid;

alter table exceptions drop constraint exceptions_kind_check;
alter table exceptions add constraint exceptions_kind_check check (
  kind in (
    'unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'refunded_payment', 'unnamed_payment',
    'foreign_refund', 'undone_refund'
  )
) not valid;

-- An unnamed_payment is matched when the provider names the Pix. An operator who writes it off lets the charge expire.
alter table exceptions drop constraint exceptions_resolution;
alter table exceptions add constraint exceptions_resolution check (
  case
    when kind = 'foreign_refund' then resolution in ('charge_account', 'write_off')
    when kind = 'unnamed_payment' then resolution in ('match', 'write_off')
    when kind in ('unknown_charge', 'wrong_amount', 'refunded_payment')
      then resolution in ('credit', 'refund', 'write_off', 'match')
    else resolution in ('credit', 'refund', 'write_off')
  end
) not valid;

create or replace trigger exceptions_fixed before update on exceptions for each row
  when (
    old.resolved_at is not null
    or (old.id, old.payment_id, old.charge_id, old.kind, old.opened_at, old.refund_id)
    is distinct from (new.id, new.payment_id, new.charge_id, new.kind, new.opened_at, new.refund_id)
  )
  execute function refuse_change();
