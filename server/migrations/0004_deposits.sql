-- What an account holder's own program wants to know of a deposit later: the JSON text of an object. The text keeps the
-- order of its keys, and is part of what the charge's id proves.
alter table charges add column metadata text;
alter table charges add constraint charges_metadata check (octet_length(metadata) <= 4096) not valid;
