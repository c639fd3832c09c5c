-- no transaction
-- The charges of an account that can be paid, in the order of their creation. Ascending, so that a new one is the last
-- of its account and pages fill up.
create index concurrently if not exists checks_of_account on checks (account_id, (subject::uuid)) where kind = 'charge';

-- As charges_by_text, without accents.
create index concurrently if not exists charges_by_words on charges
  using gin (account_id, fold_text(coalesce(external_id, '') || ' ' || coalesce(description, '')) gin_trgm_ops)
  with (gin_pending_list_limit = 256)
  where external_id is not null or description is not null;
drop index concurrently if exists charges_by_text;
