-- no transaction
-- The same for the id of a charge, whose last 12 digits are random.
create index concurrently if not exists charges_by_pieces on charges
  using gin ((array[
    substr(right(id::text, 12) collate "C", 1, 4),
    substr(right(id::text, 12) collate "C", 5, 4),
    substr(right(id::text, 12) collate "C", 9, 4)
  ]))
  with (gin_pending_list_limit = 256);
