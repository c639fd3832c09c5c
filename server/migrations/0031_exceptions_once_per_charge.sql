-- no transaction
alter table exceptions validate constraint exceptions_charge_id_fkey;
alter table exceptions validate constraint exceptions_of_charge;
alter table exceptions validate constraint exceptions_kind_check;
alter table exceptions validate constraint exceptions_resolution;

-- A charge that its provider calls paid without a Pix is one exception, whichever process learns of it.
create unique index concurrently if not exists exceptions_once_per_charge
  on exceptions (charge_id) where charge_id is not null;
