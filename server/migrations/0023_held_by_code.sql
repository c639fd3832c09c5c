-- no transaction
-- Payments that are held of a lasting code, which has their txid. A payment that is credited is not in it.
create index concurrently if not exists payments_held_by_code on payments (lower(txid)) where not credited and charge_id is null;
