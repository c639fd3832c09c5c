-- no transaction
-- A dispute holds once and releases once, whatever the code does.
create unique index concurrently if not exists transfers_once_per_dispute
  on transfers (dispute_id, kind) where dispute_id is not null;
