-- Who is to pay a deposit, and who did. See docs/decisions/0053-who-paid.md.

-- A JSON text: the policy, what kind of number it is, its last two digits, and a keyed hash of it. Sealed by the id of
-- the charge.
alter table charges add column payer text;

-- The number itself, encrypted: a bank can only be asked by it. The row goes with the answer, or a day after the end of
-- the charge.
create table payer_numbers (
  charge_id uuid primary key,
  account_id uuid not null,
  number text not null
);

-- What the provider said of a payment. One answer for each, whoever asks.
create table payer_answers (
  end_to_end_id text primary key,
  charge_id uuid not null,
  answer text not null check (answer in ('matched', 'mismatched')),
  answered_at timestamptz not null,
  seal bytea not null
);
create index payer_answers_by_charge on payer_answers (charge_id);
create trigger payer_answers_kept before update or delete or truncate on payer_answers
  for each statement execute function refuse_change();

-- payer: whether the person that the charge names made this payment.
alter table checks drop constraint checks_kind_check;
alter table checks add constraint checks_kind_check check (kind in ('charge', 'payment', 'withdrawal', 'payer')) not valid;

-- payer_unconfirmed: it fits its charge, which is credited only after the provider has confirmed who paid.
alter table exceptions drop constraint exceptions_kind_check;
alter table exceptions add constraint exceptions_kind_check check (
  kind in (
    'unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'refunded_payment', 'unnamed_payment',
    'foreign_refund', 'undone_refund', 'code_closed', 'code_limits', 'payer_unconfirmed'
  )
) not valid;
alter table exceptions drop constraint exceptions_resolution;
alter table exceptions add constraint exceptions_resolution check (
  case
    when kind = 'foreign_refund' then resolution in ('charge_account', 'write_off')
    when kind = 'unnamed_payment' then resolution in ('match', 'write_off')
    when kind in ('unknown_charge', 'wrong_amount', 'refunded_payment', 'payer_unconfirmed')
      then resolution in ('credit', 'refund', 'write_off', 'match')
    else resolution in ('credit', 'refund', 'write_off')
  end
) not valid;

-- Whatever the code does: such a charge completes only by a payment whose payer was confirmed, or that a person
-- accepted.
create function refuse_unconfirmed_payer() returns trigger language plpgsql as $$
begin
  if exists (
    select from payments p
    left join payer_answers a on a.end_to_end_id = p.end_to_end_id
    left join exceptions x on x.payment_id = p.id and x.refund_id is null
    where p.end_to_end_id = new.end_to_end_id
      and (a.answer = 'matched' or (a.answer is null and x.resolution = 'match' and x.resolved_by_kind <> 'system'))
  ) then
    return new;
  end if;
  raise exception 'charge % was not paid by a confirmed payer', new.id;
end
$$;
create trigger charges_payer before update on charges for each row
  when (
    new.status = 'COMPLETED' and old.status <> 'COMPLETED' and new.payer is not null
    and new.payer::json ->> 'policy' = 'require'
  )
  execute function refuse_unconfirmed_payer();
