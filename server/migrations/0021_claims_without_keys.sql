-- Both keys were deferred, which other engines lack, and each new deposit paid for them twice: a lookup and a lock of
-- the charge at its commit. One statement inserts the charge and what refers to it, charges are never deleted, and the
-- audit proves that each of them exists.
alter table idempotency_keys drop constraint idempotency_keys_charge_id_fkey;
alter table external_ids drop constraint external_ids_charge_id_fkey;
