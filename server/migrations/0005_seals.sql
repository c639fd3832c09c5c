-- Rows are sealed as they are written, by a key that is not in the database: see docs/decisions/0040-seals.md. What
-- the release before wrote has no seal. guiche seals it as found when no process of that release is left.

-- The seal of each row that a line tells of, as the row was after the change. `json` and not `jsonb`, because the seal
-- of the line covers its exact text.
alter table audit_log add column rows json;
alter table audit_log add column seal bytea;

alter table events add column seal bytea;

-- The code that the provider made, and the end of a charge that was not paid.
alter table charges add column code_seal bytea;
alter table charges add column end_seal bytea;

alter table delivery_outcomes add column seal bytea;

-- Lines of the audit log that seal rows as they were found. The seal of each later line names the newest of them, so
-- one that disappears is missed.
create table seal_marks (line_id bigint primary key);

-- False for a process of a release that writes rows without seals.
alter table processes add column seals boolean not null default false;
