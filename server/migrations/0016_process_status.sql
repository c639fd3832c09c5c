-- What a process says of itself when it renews its lease, for `guiche top`; see src/domain/reports/process-status.ts.

alter table processes add column status jsonb;
