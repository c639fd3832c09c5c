-- A refund whose outcome nobody knows is in doubt, and stays so in every process until the provider, time or an operator ends it.

alter table refunds
  -- Set before the first request that could make the refund. Null: it was surely never sent.
  add column sent_at timestamptz,
  -- A request ended without a clear word from the provider. PROCESSING with doubted_at: in doubt.
  add column doubted_at timestamptz,
  -- The first of an unbroken run of answers "not there". Null while a request is out, and when anything else was heard.
  add column absent_since timestamptz,
  -- Why the last attempt could not decide it, for the operator.
  add column attention text check (length(attention) between 1 and 500),
  -- The operator who ended it, if one did.
  add column ended_by_kind text check (ended_by_kind in ('operator', 'console')),
  add column ended_by text,
  add column ended_reason text check (length(ended_reason) between 1 and 500);

-- What was asked for before these columns were there has been sent, and of what is under way nobody wrote down how that ended.
alter table refunds disable trigger refunds_fixed;
update refunds set sent_at = created_at, doubted_at = case when status = 'PROCESSING' then created_at end where source <> 'provider';
alter table refunds enable trigger refunds_fixed;

alter table refunds
  add constraint refunds_doubt check (doubted_at is null or sent_at is not null),
  add constraint refunds_absent check (absent_since is null or doubted_at is not null),
  add constraint refunds_ended_by check (
    num_nonnulls(ended_by_kind, ended_by, ended_reason) in (0, 3) and (ended_by is null or status <> 'PROCESSING')
  );
create index refunds_in_doubt on refunds (id) where status = 'PROCESSING' and doubted_at is not null;

-- undone_refund: the provider made a refund and took it back. The money is at the provider again, and waits in suspense for a decision.
alter table exceptions
  drop constraint exceptions_kind_check,
  drop constraint exceptions_foreign_refund,
  drop constraint exceptions_resolution,
  add constraint exceptions_kind_check check (
    kind in ('unknown_charge', 'wrong_provider', 'wrong_amount', 'second_payment', 'foreign_refund', 'undone_refund')
  ),
  add constraint exceptions_of_refund check ((kind in ('foreign_refund', 'undone_refund')) = (refund_id is not null)),
  add constraint exceptions_resolution check (
    case kind
      when 'foreign_refund' then resolution in ('charge_account', 'write_off')
      when 'undone_refund' then resolution in ('credit', 'write_off')
      else resolution in ('credit', 'refund', 'write_off')
    end
  );
drop index exceptions_once_per_payment;
create unique index exceptions_once_per_payment on exceptions (payment_id) where refund_id is null;
-- A refund made without us may be undone as well: two questions, each asked once.
drop index exceptions_once_per_refund;
create unique index exceptions_once_per_refund on exceptions (refund_id, kind) where refund_id is not null;

alter table transfers
  drop constraint transfers_kind_check,
  add constraint transfers_kind_check check (
    case
      when kind in ('deposit', 'fee', 'suspense') then refund_id is null and exception_id is null
      when kind in ('fee_returned', 'refund_reserved', 'refund_paid', 'refund_released', 'fee_kept', 'refund_seen', 'refund_undone')
        then refund_id is not null and exception_id is null
      -- With refund_id: of an undone_refund. A payment may have several of those, so each is unique by its refund.
      when kind in ('exception_credited', 'exception_written_off') then exception_id is not null
      when kind in ('refund_charged', 'refund_written_off') then refund_id is not null and exception_id is not null
      else false
    end
  );
