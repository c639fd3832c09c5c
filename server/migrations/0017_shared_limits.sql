-- Limits that all processes on this database share: calls to a provider, requests of an API key. Each row is a token
-- bucket. Unlogged, because a crash may empty it: every bucket is then full, as after a start. So a report of what a
-- process took waits for no disk and for no standby.

create unlogged table shared_limits (
  name text primary key, -- provider:<name> or key:<id>; see src/base/shared-buckets.ts
  per_second double precision not null check (per_second >= 0),
  burst double precision not null check (burst > 0),
  tokens double precision not null, -- at filled_at; below zero, so many must flow in first
  filled_at timestamptz not null,
  open_until timestamptz -- until when the breaker of a process is open
) with (fillfactor = 50); -- each row is updated often; free space on its page keeps that off the index
