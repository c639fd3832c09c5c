-- While an old snapshot is open (a dump, a long report), PostgreSQL keeps all versions of a row. The balance of a busy
-- account then has one for each settlement since, and whoever looked it up by its id walked through all of them.
-- Versions have numbers now, and the newest is found first. The version of guiche before this one does not count
-- them; that only makes it slow.
alter table ledger_balances add column version bigint not null default 0;
-- allowed: one row for each account holder, so it is built within a second
create unique index ledger_balances_newest on ledger_balances (ledger_account_id, version);
-- A unique index of the id alone would compare each new version with all older ones. A trigger takes its place.
alter table ledger_balances drop constraint ledger_balances_pkey;
alter table ledger_balances add constraint ledger_balances_pkey primary key using index ledger_balances_newest;

create function have_one_balance() returns trigger language plpgsql as $$
begin
  perform from ledger_accounts where id = new.ledger_account_id for no key update;
  if exists (select from ledger_balances where ledger_account_id = new.ledger_account_id) then
    raise unique_violation using message = format('ledger account %s has a balance already', new.ledger_account_id);
  end if;
  return new;
end $$;
create trigger ledger_balances_once before insert on ledger_balances for each row execute function have_one_balance();

-- Moves a balance, and returns what it holds then. If another transaction is just moving it, this waits, and goes on
-- from what that one leaves: its version is a later one than those that this statement has seen. Its plan takes the
-- first entry of the index, where PostgreSQL may otherwise read all versions and sort them.
create function move_balance(moved_id bigint, debits bigint, credits bigint) returns bigint language plpgsql
set enable_bitmapscan = off set enable_sort = off as $$
declare
  held bigint;
begin
  update ledger_balances
  set debits_cents = debits_cents + debits, credits_cents = credits_cents + credits, version = version + 1
  where ledger_account_id = moved_id and version >= (
    select version from ledger_balances where ledger_account_id = moved_id order by version desc limit 1
  )
  returning credits_cents - debits_cents into held;
  if not found then
    raise 'ledger account % has no balance', moved_id;
  end if;
  return held;
end $$;
