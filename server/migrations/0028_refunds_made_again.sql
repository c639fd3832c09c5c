-- no transaction
alter table refunds validate constraint refunds_undone_exception_id_fkey;
alter table refunds validate constraint refunds_made_again;
alter table exceptions validate constraint exceptions_resolution;

-- A refund of the provider's is recorded once, and once more after each time that it was undone. A FAILED refund that
-- the provider made all the same is recorded again, as made without us.
create unique index concurrently if not exists refunds_once_made
  on refunds (payment_id, provider_refund_id, undone_exception_id) nulls not distinct where status <> 'FAILED';
drop index concurrently if exists refunds_once;
