-- The account of a check's charge. The list of PENDING charges reads it: the status of a charge is in no index, because
-- it changes.
alter table checks add column account_id uuid;

-- How the search compares texts: in lower case, and without the accents of Portuguese. translate() does the same in one
-- call, and takes five times as long.
create function fold_text(text) returns text language sql immutable strict parallel safe
return replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
  lower($1), 'á', 'a'), 'à', 'a'), 'â', 'a'), 'ã', 'a'), 'é', 'e'), 'ê', 'e'), 'í', 'i'), 'ó', 'o'), 'ô', 'o'),
  'õ', 'o'), 'ú', 'u'), 'ü', 'u'), 'ç', 'c'), 'ñ', 'n');
