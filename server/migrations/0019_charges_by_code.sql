-- no transaction
-- The deposits of a code, newest first. A charge without one is not in it and costs nothing.
create index concurrently if not exists charges_by_code on charges (code_id, id desc) where code_id is not null;
