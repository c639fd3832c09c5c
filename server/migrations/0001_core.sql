-- What all tables take from the database. The rules that must never break are constraints and triggers, here and in the
-- files that follow; the code that obeys them is in src/domain. All SQL works on PostgreSQL 15.

-- For the search of deposits. Both come with PostgreSQL, and the owner of a database may create them.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- The trigger function of tables and rows that must not change.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append only', tg_table_name;
end $$;

-- The id of each SECRET_KEY that sealed something, never the key itself. The newest one is in use: a process without it
-- cannot open what other processes seal.
create table secret_key_ids (
  id text primary key check (length(id) = 8),
  used_at timestamptz not null
);
