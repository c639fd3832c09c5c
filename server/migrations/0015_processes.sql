-- The processes that share this database. A process is alive while its lease runs, by the database's clock.

create table processes (
  instance integer primary key check (instance > 0), -- made by the process; see src/db/presence.ts
  role text not null check (role in ('all', 'api', 'worker', 'command')),
  host text not null,
  version text not null,
  started_at timestamptz not null,
  leased_until timestamptz not null
) with (fillfactor = 50); -- each row is updated every few seconds; free space on its page keeps that off the index
