-- A provider contradicts how a refund ended here: its list calls a refund failed that it made, or made one that it took
-- back. Lists lag, so nothing is booked on their word. The worker asks about each of these refunds by itself.
create table refund_checks (
  refund_id uuid primary key references refunds,
  due_at timestamptz not null, -- claiming moves it to the end of the lease
  attempts integer not null default 0
);
create index refund_checks_due on refund_checks (due_at);

-- The undone_refund after which the provider made this refund again, under the same id.
alter table refunds add column undone_exception_id uuid;
alter table refunds add constraint refunds_undone_exception_id_fkey
  foreign key (undone_exception_id) references exceptions not valid;
alter table refunds add constraint refunds_made_again check (
  undone_exception_id is null
  or (source = 'provider' and coalesce(exception_id, undone_exception_id) = undone_exception_id)
) not valid;

-- An undone_refund is also resolved by the refund itself: the provider made it again before anybody decided.
alter table exceptions drop constraint exceptions_resolution;
alter table exceptions add constraint exceptions_resolution check (
  case
    when kind = 'foreign_refund' then resolution in ('charge_account', 'write_off')
    when kind in ('unknown_charge', 'wrong_amount') then resolution in ('credit', 'refund', 'write_off', 'match')
    else resolution in ('credit', 'refund', 'write_off')
  end
) not valid;
