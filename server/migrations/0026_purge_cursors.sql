-- How far a purge has read a table that has no index on what it looks for.
create table purge_cursors (
  name text primary key,
  read_until uuid not null
);
insert into purge_cursors (name, read_until) values ('failed_charges', '00000000-0000-0000-0000-000000000000');
