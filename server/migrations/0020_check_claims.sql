-- The claim of the process that asks about it. Whatever else changes the row replaces it, so that a claim that lost its
-- row cannot end it. PostgreSQL's own version of a row (xmin) did the same, but other engines have none.
alter table checks add column claim uuid;
