-- no transaction
-- For the search by a part of an endToEndId: pieces of its last 11 characters, which tell those of one minute apart.
-- See docs/decisions/0045-search-by-pieces.md. A short list of pending entries bounds the work of any one insert.
-- Bytes compare faster than letters of a language, and are in the same order after an update of the system.
create index concurrently if not exists payments_by_pieces on payments
  using gin ((array[
    substr(lower(right(end_to_end_id, 11) collate "C"), 1, 4),
    substr(lower(right(end_to_end_id, 11) collate "C"), 5, 4),
    substr(lower(right(end_to_end_id, 11) collate "C"), 8, 4)
  ]))
  with (gin_pending_list_limit = 256);
