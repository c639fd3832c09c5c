-- A charge is written three times: as an intent, when the provider accepts it with its code of some 150 characters, and
-- when it is paid. In a burst a page fills with intents before the first of them is accepted. With two thirds of the
-- page free, all three versions fit on it, and neither update touches an index. The space is used: paid charges fill
-- three quarters of a page. Pages that exist stay as they are.
alter table charges set (fillfactor = 35);

-- Every new charge locked the row of its account, the same row for all deposits of a busy account, to prove what cannot
-- be otherwise: the account comes from the caller's key, and accounts are never deleted. The audit checks it.
alter table charges drop constraint charges_account_id_fkey;
