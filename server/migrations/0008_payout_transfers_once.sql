-- no transaction
-- A payout is reserved once, and it ends once and in one way, whatever the code does.
create unique index concurrently if not exists transfers_once_per_payout
  on transfers (payout_id, (kind = 'payout_reserved')) where payout_id is not null;
