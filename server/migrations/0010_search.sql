-- Finding a deposit by part of what is known of it. Both extensions are PostgreSQL's own, and any owner of a database may create them.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- Rows without a reference and a description are not in it and cost nothing. Neither column ever changes, so that no change of a charge touches the index.
-- A short list of pending entries keeps the work of any one insert small.
create index charges_by_text on charges
  using gin (account_id, lower(coalesce(external_id, '') || ' ' || coalesce(description, '')) gin_trgm_ops)
  with (gin_pending_list_limit = 256)
  where external_id is not null or description is not null;

create index charges_by_value on charges (account_id, value_cents, id desc);
